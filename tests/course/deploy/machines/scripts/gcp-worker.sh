#!/bin/bash
# Start-up script of a machine of the cluster course-NAME: cloud-init runs it once, as root.
# The machine ends when its process ends (its scheduler does after 1200 s without work), when the scheduler has been
# silent for 300 s (1200 s at first), and after 28800 s whatever happens.
umask 077
shutdown -h +485 # where even this script hangs

end() {
    trap - EXIT
    shutdown -h now
}
trap end EXIT

watch() {
    limit=1200 heard=$SECONDS
    while [ $((SECONDS - heard)) -lt $limit ] && [ $SECONDS -lt 28800 ]; do
        sleep 20
        if timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT' 2>/dev/null; then
            limit=300 heard=$SECONDS
        fi
    done
    echo "the scheduler at 127.0.0.1:PORT was last heard $((SECONDS - heard)) s ago, and $SECONDS of 28800 s are over: the end"
    end
}
watch &

if ! command -v docker >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    timeout 1200 apt-get update -q || exit 1
    timeout 1200 apt-get install -q -y docker.io || exit 1
fi
timeout 1200 docker pull -q course:1 || exit 1

# The cluster's certificate and its key, as Dask reads them.
export DASK_INTERNAL_INHERIT_CONFIG=CONFIG
docker run --rm --net=host -e DASK_INTERNAL_INHERIT_CONFIG --entrypoint python course:1 -m distributed.cli.dask_spec tls://127.0.0.1:PORT --spec '{"cls": "course.deploy.clouds.named_tasks.TaskNanny", "opts": {"death_timeout": "300 s", "worker_port": "PORTS", "name": "dask-course-NAME-worker-NAME"}}'

#!/bin/bash
# Start-up script of a machine of the cluster @CLUSTER@: cloud-init runs it once, as root.
# The machine ends when its process ends (its scheduler does after @IDLE@ s without work), when the scheduler has been
# silent for @LOST@ s (@STARTS@ s at first), and after @LAST@ s whatever happens.
umask 077
shutdown -h +@MINUTES@ # where even this script hangs

end() {
    trap - EXIT
@END@    shutdown -h now
}
trap end EXIT

watch() {
    limit=@STARTS@ heard=$SECONDS
    while [ $((SECONDS - heard)) -lt $limit ] && [ $SECONDS -lt @LAST@ ]; do
        sleep @EVERY@
        if timeout 5 bash -c 'exec 3<>/dev/tcp/@HOST@/@PORT@' 2>/dev/null; then
            limit=@LOST@ heard=$SECONDS
        fi
    done
    echo "the scheduler at @HOST@:@PORT@ was last heard $((SECONDS - heard)) s ago, and $SECONDS of @LAST@ s are over: the end"
    end
}
watch &

if ! command -v docker >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    timeout @STARTS@ apt-get update -q || exit 1
    timeout @STARTS@ apt-get install -q -y docker.io || exit 1
fi
timeout @STARTS@ docker pull -q @IMAGE@ || exit 1

# The cluster's certificate and its key, as Dask reads them.
export DASK_INTERNAL_INHERIT_CONFIG=@CONFIG@
docker run --rm --net=host -e DASK_INTERNAL_INHERIT_CONFIG --entrypoint python @IMAGE@ @COMMAND@

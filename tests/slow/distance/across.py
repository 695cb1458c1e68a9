"""The same rounds on two hosts: the server on one, workers and driver on the other, and the relay beside these.

As a program, with what `connect` needs, it is the driver: it prints the figures as JSON.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from course.cluster import ClusterSpec, connect
from course.cluster.certificates import write_certificate
from tests.helpers.namespaces import two_hosts
from tests.helpers.shells import Members
from tests.slow.distance.rounds import row, trained

PATIENCE = 300  # seconds; the driver's rounds take a minute at most
DESIGNS = {"asynchronous": "async", "synchronous": "sync"}


def across(workers, rounds, delays):
    """Return a row for each design and delay; NotHereError where there can be no two hosts."""
    with two_hosts() as (server, workshop), tempfile.TemporaryDirectory() as folder:
        certificate = Path(folder) / "cluster.pem"
        write_certificate(certificate)
        spec = {"ps_hosts": f"{server.address}:2222"}
        spec["worker_hosts"] = ",".join(f"{workshop.address}:{2222 + number}" for number in range(workers))
        flags = ["--ps-hosts", spec["ps_hosts"], "--worker-hosts", spec["worker_hosts"], "--certificate", certificate]
        with Members(*flags) as members:
            members.start("ps", prefix=_inside(server))
            for number in range(workers):
                members.start("worker", number, prefix=_inside(workshop))
            for member in members.started:
                member.says("listens at")
            work = json.dumps({"spec": spec, "certificate": str(certificate), "rounds": rounds, "delays": delays})
            driver = [*_inside(workshop), sys.executable, "-m", __name__, work]
            done = subprocess.run(driver, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(f"the driver failed: {done.stderr}")
        return json.loads(done.stdout)


def _inside(host):
    return ("ip", "netns", "exec", host.name)


def drive(spec, certificate, rounds, delays):
    """Train on the tasks of the spec at each delay; return the rows."""
    with connect(ClusterSpec.from_flags(**spec), security=certificate) as cluster:
        workers = len(cluster.tasks) - 1
        return [
            row(design, delay, None, trained(cluster, mode, workers, rounds, delay, None), workers)
            for delay in delays
            for design, mode in DESIGNS.items()
        ]


if __name__ == "__main__":
    print(json.dumps(drive(**json.loads(sys.argv[1]))))

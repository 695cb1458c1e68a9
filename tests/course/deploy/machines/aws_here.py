"""AWS without AWS, in a network namespace of its own: moto answers as EC2 does, and its machines' scripts run for real.

Run as a program it takes names of cases from its standard input and answers each with a line of JSON. In the namespace
there is loopback alone, and every address leads there: moto hands out public ones, which must never be dialled outside.
"""

import io
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from urllib.parse import parse_qs

REGION = "eu-central-1"


def main():
    """Answer each case that standard input names."""
    _only_loopback()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    folder = tempfile.mkdtemp(prefix="aws-here-")
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": f"{folder}/none",
        "AWS_SHARED_CREDENTIALS_FILE": f"{folder}/none",
        "XDG_STATE_HOME": f"{folder}/state",
        "DASK_CONFIG": f"{folder}/dask",
        "MOTO_AMIS_PATH": f"{folder}/images",
        "HOME": folder,
    }
    Path(folder, "images").write_text(json.dumps(_IMAGES))
    answers, sys.stdout = sys.stdout, sys.stderr
    from tests.course.deploy.machines import aws_cases

    with Cloud(Path(folder)) as cloud:
        os.environ["AWS_ENDPOINT_URL"] = cloud.address
        cloud.warm_up()
        print(json.dumps("ready"), file=answers, flush=True)
        for line in sys.stdin:
            cloud.empty()
            try:
                said = {"told": getattr(aws_cases, line.strip())(cloud)}
            except BaseException:
                said = {"failed": traceback.format_exc()}
            print(json.dumps(said, default=str), file=answers, flush=True)


def _only_loopback():
    """Leave where there is a way out of here."""
    devices = {line.split(":")[0].strip() for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]}
    if devices != {"lo"}:
        sys.exit(f"this runs in a network namespace of its own alone; here are {devices}")
    for words in ("link set lo up", "route add local 0.0.0.0/0 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)


class Cloud:
    """EC2 by moto; a machine that is there gets a `Computer`, unless `boots` is off. `refuse`: see `refusals`."""

    def __init__(self, folder):
        self.folder, self.boots, self.refuse, self.requests, self.pull = folder, True, None, [], 0
        self.computers = {}
        self._over = threading.Event()

    def __enter__(self):
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._threads = [threading.Thread(target=one) for one in (self._server.serve_forever, self._watch)]
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._server.shutdown()
        for one in self._threads:
            one.join(10)
        self._server.server_close()
        self.empty()

    def _answer(self, environ, start_response):
        """Note what is asked for; refuse what `refuse(action, count)` gives an error code for; moto does the rest."""
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        query = {name: one for name, [one, *_] in parse_qs(body.decode()).items()}
        action = query.get("Action", "")
        self.requests.append((action, query))
        count = sum(name == action for name, _ in self.requests)
        if self.refuse and (code := self.refuse(action, count)):
            start_response("400 Bad Request", [("content-type", "text/xml")])
            return [_ERROR.format(code=code).encode()]
        return self._moto(environ, start_response)

    @property
    def backend(self):
        """Moto's own view of the region."""
        from moto.ec2.models import ec2_backends

        return ec2_backends["123456789012"][REGION]

    def machines(self, *states):
        """Return moto's machines in these states."""
        found = [one for held in list(self.backend.reservations.values()) for one in held.instances]
        return [one for one in found if one.state in states]

    def _watch(self):
        """Start a computer for each new machine; take it from the net when its machine is terminated."""
        while not self._over.wait(0.02):
            there = {one.id: one for one in self.machines("pending", "running")}
            for id in there.keys() - self.computers.keys():
                if self.boots:
                    self.computers[id] = self._boot(there[id])
            for id in self.computers.keys() - there.keys():
                self.computers[id].pull_the_plug()

    def _boot(self, machine):
        from tests.course.deploy.machines.computers_here import Computer

        script = machine.user_data.decode()

        def off():
            self.backend.terminate_instances([machine.id])

        return Computer(self.folder / machine.id, script, off, self.pull).start()

    def empty(self):
        """Forget everything."""
        for one in list(self.computers.values()):
            one.pull_the_plug()
        from moto.moto_api._internal.models import moto_api_backend

        self.boots, self.refuse = False, None
        moto_api_backend.reset()
        self.computers, self.requests, self.boots, self.pull = {}, [], True, 0

    def warm_up(self):
        """Have moto read its files, which takes seconds."""
        import boto3

        client = boto3.client("ec2", region_name=REGION, endpoint_url=self.address)
        client.describe_instance_types(InstanceTypes=["m6i.large"])  # to write down all of them takes two seconds more

    def left(self):
        """Return what there is of clusters: machines that live, disks, groups, the ledger's entries, processes."""
        from course.deploy.ledger import entries

        machines = [one.id for one in self.machines("pending", "running", "stopping", "stopped")]
        groups = [one.name for held in self.backend.groups.values() for one in held.values() if one.name != "default"]
        disks = list(self.backend.volumes)
        running = [id for id, one in list(self.computers.items()) if not one.wait(5)]
        return [*machines, *groups, *disks, *(one.name for one in entries()), *running]

    def asked(self, action):
        """Return the parameters of the requests for `action`."""
        return [query for name, query in self.requests if name == action]


_ERROR = """<?xml version="1.0" encoding="UTF-8"?>
<Response><Errors><Error><Code>{code}</Code><Message>A message of {code}.</Message></Error></Errors>
<RequestID>none</RequestID></Response>"""


_NAME = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-"
_IMAGE = {"owner_id": "099720109477", "architecture": "x86_64", "root_device_name": "/dev/sda1"}
_IMAGES = [
    {**_IMAGE, "ami_id": "ami-01d", "name": f"{_NAME}20250101", "creation_date": "2025-01-01T00:00:00.000Z"},
    {**_IMAGE, "ami_id": "ami-0ew", "name": f"{_NAME}20261101", "creation_date": "2026-11-01T00:00:00.000Z"},
    {**_IMAGE, "ami_id": "ami-0evil", "name": f"{_NAME}20270101", "owner_id": "666666666666"},
]

if __name__ == "__main__":
    main()

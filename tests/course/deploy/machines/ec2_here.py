"""AWS behind its HTTP boundary: moto answers as EC2 does, and each machine's start-up script runs in a `Computer`.

Moto makes up public addresses, which must never be dialled: no answer has one. 127.0.0.1 stands for every address
outside the cloud's network and 127.0.0.2 for every one inside it.
"""

import io
import json
import logging
import re
import threading
from urllib.parse import parse_qs

from tests.course.deploy.machines.rest_here import Here

REGION = "eu-central-1"
_MAKES = ("Run", "Create", "Authorize")  # with what the names of requests begin that make something
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


def settings(folder):
    """Return the environment variables by which AWS's libraries, and moto, use `folder` and no account."""
    (folder / "images").write_text(json.dumps(_IMAGES))
    return {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": f"{folder}/none",
        "AWS_SHARED_CREDENTIALS_FILE": f"{folder}/none",
        "MOTO_AMIS_PATH": f"{folder}/images",
    }


class Ec2(Here):
    """EC2 in one region; `refuse(action, count)` gives the code of an error."""

    def __init__(self, folder):
        super().__init__(folder)
        from moto.moto_api._internal.models import moto_api_backend
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        moto_api_backend.reset()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._moto = DomainDispatcherApplication(create_backend_app)
        # one thread for all: the computers that it starts end with the thread that started them
        self._server = make_server("127.0.0.1", 0, self._respond)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self):
        super().close()
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()

    def _respond(self, environ, start_response):
        """Note what is asked for; refuse what `refuse` gives a code for; moto does the rest."""
        from werkzeug.wrappers import Response

        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        query = {name: value for name, [value, *_] in parse_qs(body.decode()).items()}
        action = query.get("Action", "")
        if action.startswith(_MAKES):
            self.asked.append((action, query))
        if code := self.refuse(action, sum(kind == action for kind, _ in self.asked)):
            response = Response(_ERROR.format(code=code), 400, content_type="text/xml")
        else:
            response = Response.from_app(self._moto, environ)
            inside = re.sub(rb">172(\.\d+){3}<", b">127.0.0.2<", response.get_data())
            response.set_data(re.sub(rb">(?!127\.)\d+(\.\d+){3}<", b">127.0.0.1<", inside))
            self._boot_or_unplug()
        return response(environ, start_response)

    @property
    def _backend(self):
        from moto.ec2.models import ec2_backends

        return ec2_backends["123456789012"][REGION]

    def machines(self, *states):
        """Return moto's machines in these states, by their ids."""
        machines = [machine for held in self._backend.reservations.values() for machine in held.instances]
        return {machine.id: machine for machine in machines if machine.state in states}

    def _boot_or_unplug(self):
        machines = self.machines("pending", "running")
        for id in machines.keys() - self.computers.keys():
            self.boot(id, id, machines[id].user_data.decode())
        for id in self.computers.keys() - machines.keys():
            self.unplug(id)

    def off(self, id):
        """The machine has shut itself down: that terminates it."""
        self._backend.terminate_instances([id])

    def left(self):
        """Return what there is: machines that live, disks, security groups, processes."""
        groups = [group.name for held in self._backend.groups.values() for group in held.values()]
        running = [id for id, computer in self.computers.items() if not computer.wait()]
        machines = self.machines("pending", "running", "stopping", "stopped")
        return [*machines, *(name for name in groups if name != "default"), *self._backend.volumes, *running]

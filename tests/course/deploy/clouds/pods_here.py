"""The pods of a `DaskCluster` as processes of this machine: their commands, variables, ports and Secrets are real."""

import base64
import os
import subprocess
import sys
from itertools import count

from tests.helpers.cluster.ports import free_ports

_NUMBERS = count(1)  # of the pods' own addresses, all of loopback


class Pods:
    """The processes of one resource, whose logs and Secrets' files are in `folder`.

    `ports`: a port of the scheduler's, as text -> the one where it is here; `hosts`: each worker's own address.
    """

    def __init__(self, folder):
        self._folder = folder
        self.processes: dict[str, subprocess.Popen] = {}
        self.ports: dict[str, int] = {}
        self.hosts: dict[str, str] = {}

    def run(self, made, secrets):
        """Start the processes of the resource `made`, as kubelets would; `secrets`: those that there are, by name."""
        self.ports.update(zip(("8786", "8787"), free_ports(2), strict=True))
        name, spec = made["metadata"]["name"], made["spec"]
        here = {f"tls://{name}-scheduler:8786": f"tls://127.0.0.1:{self.ports['8786']}", "0.0.0.0": "127.0.0.1"}
        self._start(f"{name}-scheduler", spec["scheduler"]["spec"], {}, secrets, here)
        for index in range(spec["worker"]["replicas"]):
            pod = f"{name}-worker-{index}"
            plain = f"tcp://127.0.0.1:{self.ports['8786']}"  # the operator knows of no other
            own = {"DASK_WORKER_NAME": pod, "DASK_SCHEDULER_ADDRESS": plain}
            self.hosts[pod] = f"127.{os.getpid() % 250 + 1}.{next(_NUMBERS)}.1"
            self._start(pod, spec["worker"]["spec"], own, secrets, here, "--host", self.hosts[pod])

    def _start(self, pod, spec, more, secrets, here, *alone):
        [container] = spec["containers"]
        environment = {one["name"]: one["value"] for one in container["env"]} | more
        folders = {one["mountPath"]: self._mounted(pod, spec, one, secrets) for one in container["volumeMounts"]}
        command = []
        for word in container["command"]:
            word = here.get(word, str(self.ports.get(word.strip(":"), word)))
            word = environment.get(word.removeprefix("$(").removesuffix(")"), word)
            for inside, folder in folders.items():
                word = word.replace(f"{inside}/", f"{folder}/")
            command.append(word)
        assert command[0] == "dask"
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd(), **environment}
        with open(self._folder / pod, "wb") as log:
            self.processes[pod] = subprocess.Popen(
                [sys.executable, "-m", *command, *alone],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _mounted(self, pod, spec, mount, secrets):
        """Write the files of the Secret that is mounted so; return their folder."""
        [secret] = [volume["secret"] for volume in spec["volumes"] if volume["name"] == mount["name"]]
        folder = self._folder / "mounted" / pod
        folder.mkdir(parents=True)
        for name, value in secrets[secret["secretName"]]["data"].items():
            (folder / name).write_bytes(base64.b64decode(value, validate=True))
            (folder / name).chmod(secret["defaultMode"])
        return folder

    def end(self):
        """End all of them."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        self.processes.clear()

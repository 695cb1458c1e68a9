"""The page's lines about a container, typed as they stand: `docker build` is buildah's, all else Podman's."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.slow.containers.engine import ROOT

PAGE = (ROOT / "modelserver" / "docs" / "serving.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\$ (.*)$", PAGE.partition("## In a container\n")[2].partition("\n## ")[0], re.M)
SECONDS = 120.0
EXPORT = "import torch, modelserver as m; m.export(torch.nn.Linear(4, 2), torch.ones(2, 4), 'models', name='line')"
#: Without systemd, and where no limit may be raised, Podman needs to be told so.
SCRIPT = """#!/bin/sh
word=$1; shift
case $word in
build) cd {root}; exec buildah {store} build {building} "$@" ;;
run) set -- --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 "$@" ;;
esac
exec podman {store} --runtime runc --cgroup-manager cgroupfs $word "$@"
"""


def typed(engine, folder: Path) -> dict:
    """Type the page's lines in `folder`, with a model in it; return the model's metadata as `curl` got it.

    Raises CalledProcessError for a line that fails, TimeoutError where the server doesn't answer.
    """
    docker = folder / "bin" / "docker"
    docker.parent.mkdir()
    store, building = (" ".join(map(str, words)) for words in (engine.store, engine.building()))
    docker.write_text(SCRIPT.format(root=ROOT, store=store, building=building))
    docker.chmod(0o755)
    path = os.pathsep.join(map(str, (docker.parent, Path(sys.executable).parent, os.environ["PATH"])))
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", EXPORT], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)

    def shell(line):
        said = subprocess.run(
            ["sh", "-c", f"{line} 2>&1"], cwd=folder, env=environment, check=True, capture_output=True
        )
        return said.stdout.decode()

    *before, logs, curl, stop = LINES
    for line in before:
        shell(line)
    try:
        (token,) = _until(lambda: re.findall(r"Bearer (\S+)", shell(logs)))
        return json.loads(_until(lambda: re.findall(r'\{"name":"line".*', shell(curl.replace("TOKEN", token))))[0])
    finally:
        shell(stop)


def _until(read):
    ends = time.monotonic() + SECONDS
    while not (found := read()):
        if time.monotonic() > ends:
            raise TimeoutError(f"not so after {SECONDS:g} s")
        time.sleep(0.5)
    return found

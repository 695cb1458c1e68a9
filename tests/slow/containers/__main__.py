"""`make containers`: builds the three images, runs what compose.yaml starts in them, and says what was seen.

It types the lines of the page about serving, too, with Podman in Docker's place: an image is built, a container with a
network of its own and a published port is asked, and stopped. It needs root, buildah, Podman with runc, catatonit and
iptables, debootstrap and bubblewrap. What it does not do: pull the pinned base (its own is made of the same packages),
start Docker or compose, give each service of compose.yaml a network address of its own, or build with CUDA.
"""

import os
import re
import shutil
import tempfile
import time
from pathlib import Path

import click

from tests.deploy.docker import dockerfile
from tests.deploy.docker.compose_file import FOLDER, ROOT, compose, plan
from tests.deploy.docker.room import happened
from tests.slow.containers.engine import Engine
from tests.slow.containers.typed import typed

TARGETS = ("worker", "server", "lab")
CELL = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "operators" / "docker.md").read_text("utf-8"), re.S)[1]
OLD = {  # what is tried in each image beside the services, and what must be said
    "dask-scheduler --help": "Usage: dask scheduler",
    "dask-worker --help": "Usage: dask worker",
    "id -u": "1000",
    "python -m pip list --editable": "course",
    "touch course/x": "Permission denied",
    "cat .venv/course-setup.json": '"state": "ready"',
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--folder", default=str(ROOT / "build" / "containers"), show_default=True, help="Keeps the images.")
def main(folder):
    """End with 1 when an image can't be built, a service is not healthy, or a program fails."""
    needed = ("buildah", "podman", "runc", "iptables", "debootstrap", "bwrap")
    missing = [name for name in needed if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        raise click.ClickException(f"needs root, and {', '.join(missing) or 'nothing more'}: apt install buildah …")
    engine = Engine(folder)
    _timed("the base", engine.make_base)
    for target in TARGETS:
        _timed(f"the image {target}", engine.build, target)
        click.echo(f"  {engine.size(target)}")
    stages, _ = dockerfile.read((FOLDER / "Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        about = _timed("the page's lines, typed", typed, engine, Path(scratch))
    click.echo(f"  a container answers: {about['name']}, versions {about['versions']}")
    well = _timed("the services", _services, engine, stages)
    raise SystemExit(0 if well else 1)


def _timed(what, function, *arguments):
    began = time.monotonic()
    result = function(*arguments)
    click.echo(f"{what}: {time.monotonic() - began:.0f} s")
    return result


def _services(engine, stages):
    """Run all services in the lab's file system, which has what the other two have, and the old names in each."""
    well = True
    for target in TARGETS:
        container, root = engine.opened(target)
        try:
            services = plan(compose(), stages) if target == "lab" else []
            programs = [["sh", "-c", f"{command} 2>&1"] for command in OLD]
            programs += [["python", "-c", CELL]] if services else []
            with tempfile.TemporaryDirectory() as scratch:
                seen = happened(Path(scratch), services, programs, killed=["worker-1"] if services else [], image=root)
        finally:
            engine.run("umount", container)
            engine.run("rm", container)
        well &= _judged(target, seen)
    return well


def _judged(target, seen):
    click.echo(f"{target}: healthy {seen['healthy']}, ended {seen['ended']}")
    wrong = [seen["problem"]] if "problem" in seen else []
    for (command, wanted), done in zip(OLD.items(), seen["programs"], strict=False):
        wrong += [] if wanted in done["said"] else [f"{command}: {done['said']}"]
    for done in seen["programs"][len(OLD) :]:
        click.echo(f"  the page's cell: {done['said'].strip()}")
        wrong += [done["erred"]] if done["code"] else []
    wrong += [f"{name} ended with {code}" for name, code in seen["ended"].items() if code]
    wrong += [f"{name} is not healthy" for name, well in seen["healthy"].items() if not well and name != "worker-1"]
    wrong += ["the killed worker-1 is healthy"] if seen["healthy"].get("worker-1") else []
    for sentence in wrong:
        click.echo(f"  WRONG: {sentence}")
    if wrong:
        click.echo("\n".join(f"  {name}: {text[-1000:]}" for name, text in seen["logs"].items()))
    return not wrong


if __name__ == "__main__":
    main()

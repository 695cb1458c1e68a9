"""`make binder`: a launch as Binder's, whole: environment, binder/postBuild, chapters in Chromium, a cluster's page.

The environment has binder/environment.yml's packages in its ranges, by pip: conda and the container are not here.
"""

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import click
import psutil

import install_pip
from benchmarks.scaling.memory import proportional, tree
from tests.browser.hub import ROOT, environment, launched
from tests.browser.lab_page import failures, lab_page, running_chromium, shut_kernels, write_notebook
from tests.browser.test_hub_in_chromium import CLUSTER
from tests.project.test_binder import BINDER, CONDA_NAMES, conda

CHAPTERS = ("03_game_of_life", "04_mapreduce_mean", "06_async_regression")
LIMIT = 2 * 2**30  # bytes: what Binder gives
PATIENCE = 300  # seconds for a chapter; one takes half a minute on two idle cores


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--folder", default=str(ROOT / "build" / "binder"), show_default=True, help="Keeps the environment.")
@click.option("--keep-kernels", is_flag=True, help="Leave each chapter's kernel running, as a reader does.")
def main(folder, keep_kernels):
    """End with 1 when a chapter fails, another host is asked, or memory exceeds 2 GiB."""
    python = made(Path(folder))
    with tempfile.TemporaryDirectory() as scratch:
        checkout, home = Path(scratch, "repository"), Path(scratch, "home")
        home.mkdir()
        checked_out(checkout)
        built(checkout, home, python)
        write_notebook(checkout, "90_cluster", CLUSTER)
        began = time.monotonic()
        with launched(checkout, home, python) as (address, server), Watched(server.pid) as watched:
            click.echo(f"the server answers after {time.monotonic() - began:.1f} s, {watched.peak / 2**20:.0f} MB")
            with running_chromium() as browser, lab_page(browser.new_context(), address, checkout) as lab:
                problems = toured(lab, watched, keep_kernels)
    click.echo(f"at most {watched.peak / 2**20:.0f} MB (PSS) of 2048; {'; '.join(problems) or 'all is well'}")
    raise SystemExit(bool(problems) or watched.peak > LIMIT)


def made(folder):
    """Return the Python of an environment with what binder/environment.yml asks for; made when it changed."""
    python, note = folder / "bin" / "python", folder / "environment.yml"
    wanted = (BINDER / "environment.yml").read_text(encoding="utf-8")
    if note.exists() and note.read_text(encoding="utf-8") == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    names = {theirs: ours for ours, others in CONDA_NAMES.items() for theirs in others}
    asked, _ = conda(BINDER / "environment.yml")
    packages = {names.get(name, name): span for name, span in asked.items() if name not in ("python", "pip")}
    install_pip.install_torch(str(python), False, click.echo)  # the one of the set-up: without CUDA wherever it is had
    subprocess.run([python, "-m", "pip", "install", "-q", *(n + s for n, s in packages.items())], check=True)
    note.write_text(wanted, encoding="utf-8")
    return python


def checked_out(folder):
    """Copy what git tracks into `folder`, as a clone has it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)


def built(folder, home, python):
    """Run binder/postBuild in the clone; raises CalledProcessError."""
    began = time.monotonic()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [str(folder / "binder" / "postBuild")]
    subprocess.run(command, cwd=folder, env=environment(home, python), check=True, timeout=600, **quiet)
    click.echo(f"binder/postBuild: {time.monotonic() - began:.1f} s")


def toured(lab, watched, keep_kernels):
    """Land on the first chapter, run chapters, open a cluster's page; return what went wrong, a sentence each."""
    lab.page.goto(lab.address, wait_until="load")
    lab.shows("00_start_here")
    problems = []
    for name in (*CHAPTERS, "90_cluster"):
        if not keep_kernels:
            shut_kernels(lab.address)
        watched.begin()
        lab.open(name)
        began, cpu = time.monotonic(), watched.cpu()
        notebook = lab.run_all(name, PATIENCE)
        problems += [f"{name}: {failure}" for failure in failures(notebook)]
        spent = f"{time.monotonic() - began:.0f} s, {watched.cpu() - cpu:.0f} s of a core"
        click.echo(f"{name}: {spent}, at most {watched.since / 2**20:.0f} MB")
    said = "".join(output.get("text", [""])[0] for output in notebook["cells"][0]["outputs"])
    lab.page.goto(lab.address.partition("/user/")[0] + said.split()[-1], wait_until="load")
    lab.until("document.querySelectorAll('[class*=bk-]').length > 3")
    click.echo(f"the cluster's page: {lab.page.title()}")
    shut_kernels(lab.address)
    return problems + [f"another host was asked: {url}" for url in lab.foreign]


class Watched(threading.Thread):
    """Within the `with`, looks twice a second at the memory of a process and all below it; `peak` in bytes (PSS)."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.peak = self.since = 0
        self._process, self._ended = psutil.Process(pid), threading.Event()

    def __enter__(self):
        self._look()
        self.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join()

    def begin(self):
        """Begin anew to note the most, in `since`."""
        self.since = 0

    def cpu(self):
        """Return the seconds of a core that the process, all below it, and those of them that ended have used."""
        seconds = 0.0
        for process in tree(self._process.pid):
            with suppress(psutil.NoSuchProcess):
                seconds += sum(process.cpu_times()[:4])  # the last two are of children that ended
        return seconds

    def run(self):
        while not self._ended.wait(0.5):
            self._look()

    def _look(self):
        now = proportional(tree(self._process.pid))
        self.since, self.peak = max(self.since, now), max(self.peak, now)


if __name__ == "__main__":
    main()

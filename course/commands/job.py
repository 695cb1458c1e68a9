"""`python -m course job job.toml`: have a training run by itself, from a file; ask how it is, read its log, end it.

A job's folder has job.toml as it was submitted, entry.json on the process that runs it, its log, and at last its end.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from course.commands.command_run import errors_as_messages, exit_code_of_interrupt, say
from course.signals import held_back, taken

if TYPE_CHECKING:
    from course.commands.job_file import Job
    from course.deploy.ledger import Entry

#: For a job that is told to stop to save a checkpoint and end its cluster: a cloud's machines take the longest.
JOB_STOPS = 240.0
_LOOKS_EVERY = 0.1  # seconds between two looks at a job's log and end


@click.command()
@click.argument("job", metavar="[FILE|NAME]", required=False)
@click.option("--status", "action", flag_value="status", help="Say whether it runs, and how it ended.")
@click.option("--logs", "action", flag_value="logs", help="Print what it has printed.")
@click.option("--stop", "action", flag_value="stop", help="End it: it saves a checkpoint where it has a folder.")
@click.option("--wait", "action", flag_value="wait", help="Submit it, and print its log until it ends.")
@click.option("--run", "action", flag_value="run", hidden=True)
def job(job: str | None, action: str | None) -> None:
    """Submit the training that the job's FILE describes; it runs on when this shell ends. Without FILE, list jobs."""
    errors = errors_as_messages(RuntimeError, ImportError, OSError)
    with exit_code_of_interrupt(), errors, errors_as_messages(ValueError, usage=True):
        if job is None and action in (None, "status"):
            folders = sorted(file.parent for file in _jobs().glob("*/entry.json"))
            say("\n".join(map(_status, folders)) or "no job was submitted from here")
        elif action in ("status", "logs", "stop"):
            {"status": _say_status, "logs": _say_log, "stop": _stop}[action](_folder_of(job))
        elif job is None:
            raise ValueError("name the job's file, as in `python -m course job job.toml`")
        else:
            {None: _submit, "wait": _wait, "run": _run}[action](Path(job))


def _jobs():
    from course.deploy.ledger import ledger

    return ledger().parent / "jobs"


def _folder_of(job):
    """Return the folder of the job with this file or name; ValueError where none was submitted."""
    from course.commands.job_file import read_job

    if job is None:
        raise ValueError("name the job, or its file; `python -m course job` lists them")
    folder = _jobs() / (read_job(Path(job)).name if Path(job).is_file() else job)
    if not (folder / "entry.json").exists():
        raise ValueError(f"{job}: no such job was submitted; `python -m course job` lists them")
    return folder


def _submit(file: Path) -> Path:
    """Check the file, start the process that runs its job, and return the job's folder."""
    with held_back():
        from course.commands.job_file import read_job
        from course.commands.train import check
    described = read_job(file)
    try:
        check(described.counts["worker"], **described.train)
    except ValueError as error:
        raise ValueError(f"{file}: [train] {str(error).replace('--', '', 1)}") from None
    folder = _jobs() / described.name
    if (folder / "entry.json").exists() and _entry(folder).client != "gone" and not (folder / "end").exists():
        raise ValueError(
            f"{file}: the job {described.name!r} is not over: `python -m course job {described.name} --stop` ends it, "
            "another name = … starts one beside it"
        )
    with held_back():  # a job that runs is known
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        shutil.copyfile(file, folder / "job.toml")
        command = [sys.executable, "-m", "course", "job", str(folder / "job.toml"), "--run"]
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        _write_entry(folder, described, process.pid)
    say(f"{described.name}: submitted, process {process.pid}; `python -m course job {described.name} --logs` follows")
    return folder


def _write_entry(folder: Path, described: "Job", pid: int) -> None:
    from course.deploy.ledger import Entry

    tasks = tuple(f"/job:{job}/task:{index}" for job, count in described.counts.items() for index in range(count))
    entry = Entry(described.name, described.where, tasks, socket.gethostname(), pid, time.time())
    (folder / "entry.json").write_text(json.dumps(asdict(entry)), encoding="utf-8")


def _entry(folder: Path) -> "Entry":
    from course.deploy.ledger import Entry

    return Entry(**json.loads((folder / "entry.json").read_text(encoding="utf-8")))


def _status(folder: Path) -> str:
    """Return a line on the job: how it ended, or for how long it runs, where, and the last line of its log."""
    entry, end = _entry(folder), folder / "end"
    if end.exists():
        return f"{entry.name}: {end.read_text(encoding='utf-8')}"
    if entry.client == "gone":
        return f"{entry.name}: its process {entry.pid} was killed; submit it again, and it goes on from its checkpoints"
    last = "".join((folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()[-1:])
    where = entry.kind if entry.client == "alive" else f"{entry.kind}, by {entry.host}"
    return f"{entry.name}: running on {where} for {time.time() - entry.began:.0f} s; {last or 'it has printed nothing'}"


def _say_status(folder):
    say(_status(folder))


def _say_log(folder):
    say((folder / "log").read_text(encoding="utf-8", errors="replace"), end="")


def _stop(folder):
    """End the job as Ctrl-C would, and wait for its end."""
    entry = _entry(folder)
    if entry.client == "elsewhere":
        raise ValueError(f"{entry.name}: it was submitted on {entry.host}; stop it there")
    if not (folder / "end").exists() and entry.client == "alive":
        os.kill(entry.pid, signal.SIGTERM)
        if not _ended(folder, JOB_STOPS):
            raise TimeoutError(
                f"{entry.name}: process {entry.pid} has not ended for {JOB_STOPS:.0f} s; --logs says more"
            )
        if not (folder / "end").exists():  # it was still starting, and could not say so itself
            (folder / "end").write_text("stopped", encoding="utf-8")
    say(_status(folder))


def _ended(folder, seconds):
    """Wait for the job's end; return whether it came in time."""
    deadline, entry = time.monotonic() + seconds, _entry(folder)
    while not (folder / "end").exists() and entry.client == "alive":
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOKS_EVERY)
    return True


def _wait(file):
    folder = _submit(file)
    with open(folder / "log", encoding="utf-8", errors="replace") as log:
        while not _ended(folder, _LOOKS_EVERY):
            say(log.read(), end="")
        say(log.read(), end="")
    say(_status(folder))
    raise SystemExit(not _status(folder).endswith(": done"))


def _run(file):
    """Be the job's process: train, and leave in the file `end` how that ended."""
    end = "failed; --logs has its last words"
    try:
        with taken(signal.default_int_handler, signal.SIGTERM, signal.SIGINT):
            with held_back():
                from course.commands.job_file import read_job
                from course.commands.train import report
            job = read_job(file)
            counts = {"workers": job.counts["worker"], "ps": job.counts["ps"]}
            report(say, **job.train, **counts, where=job.where, options=job.options)
        end = "done"
    except KeyboardInterrupt:
        end = "stopped"
    except (ValueError, TypeError, RuntimeError, ImportError, OSError) as error:
        end = f"failed: {error}"
        raise
    finally:
        (file.parent / "end.new").write_text(end, encoding="utf-8")
        os.replace(file.parent / "end.new", file.parent / "end")

"""Run inside the room: starts what a plan says, in its order, asks the health checks, runs programs, ends everything.

`python inside.py PLAN.json RESULT.json`. Standard library only: it runs in an image too, which has no tests.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

DEADLINE = 240.0  # seconds for a service to turn green
STOPS = 60.0  # six times what Docker gives a container: this machine is busy


def main(plan, result):
    plan, seen, running = json.loads(Path(plan).read_text()), {"healthy": {}, "programs": [], "ended": {}}, {}
    try:
        for service in plan["services"]:
            _start(service, plan, running, seen)
        for service in plan["services"]:
            _wait_until_healthy(service, running, seen)
        for program in plan["programs"]:
            done = subprocess.run(program, cwd=plan["folder"], capture_output=True, text=True, timeout=DEADLINE)
            seen["programs"].append({"code": done.returncode, "said": done.stdout, "erred": done.stderr})
        for name in plan["killed"]:  # its health check must turn red
            running[name].kill()
            running[name].wait()
            service = next(one for one in plan["services"] if one["name"] == name)
            seen["healthy"][name] = _asked(service, plan["folder"])
    except (AssertionError, subprocess.TimeoutExpired) as error:
        seen["problem"] = str(error)
    finally:
        _end(running, seen)
        seen["logs"] = {path.stem: path.read_text(errors="replace") for path in Path("/tmp").glob("*.log")}
        Path(result).write_text(json.dumps(seen))


def _start(service, plan, running, seen):
    for other, condition in service["after"].items():
        if condition == "service_healthy":
            _wait_until_healthy(next(one for one in plan["services"] if one["name"] == other), running, seen)
    with open(f"/tmp/{service['name']}.log", "wb") as log:
        process = subprocess.Popen(
            service["command"], cwd=plan["folder"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    service["folder"] = plan["folder"]
    if service["health"] is None:  # to end by itself, well
        assert process.wait(DEADLINE) == 0, f"{service['name']} ended with {process.returncode}"
    else:
        running[service["name"]] = process


def _wait_until_healthy(service, running, seen):
    name, end = service["name"], time.monotonic() + DEADLINE
    while service["health"] and not seen["healthy"].get(name):
        assert running[name].poll() is None, f"{name} ended with {running[name].returncode}"
        seen["healthy"][name] = _asked(service, service["folder"])
        assert time.monotonic() < end, f"{name} was not healthy after {DEADLINE:g} s"


def _asked(service, folder):
    asked = subprocess.run(service["health"], cwd=folder, capture_output=True, timeout=DEADLINE)
    if asked.returncode:
        time.sleep(0.5)
    return asked.returncode == 0


def _end(running, seen):
    """Tell all to end, as `docker compose down` does; note the exit code of each, "killed" where it took too long."""
    alive = {name: process for name, process in running.items() if process.poll() is None}
    for process in alive.values():
        process.send_signal(signal.SIGTERM)
    end = time.monotonic() + STOPS
    for name, process in alive.items():
        try:
            seen["ended"][name] = process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            seen["ended"][name] = "killed"


if __name__ == "__main__":
    main(*sys.argv[1:])

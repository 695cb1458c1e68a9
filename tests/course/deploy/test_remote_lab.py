"""`python -m course lab --remote` on one host, and on another one the line that it prints: a tunnel to its page."""

import getpass
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course.lab import tunnel
from tests.course.deploy.sshd_here import need_sshd, sshd_here
from tests.helpers.namespaces import missing, two_hosts

need_sshd()

ROOT = Path(__file__).resolve().parents[3]
GET = """
import sys, time, urllib.request
end = time.monotonic() + float(sys.argv[2])
while True:
    try:
        with urllib.request.urlopen(sys.argv[1], timeout=20) as answer:
            print(answer.status, answer.read().decode())
            break
    except OSError as error:
        if time.monotonic() > end:
            sys.exit(str(error))
        time.sleep(0.05)
"""


@pytest.fixture
def hosts():
    """Two hosts: where the reader sits, and the one that the lab is on."""
    if reason := missing():
        assert "COURSE_MUST_HAVE_SSHD" not in os.environ or os.geteuid() != 0, reason
        pytest.skip(f"NOT TESTED HERE, a second host can't be made: {reason}")
    with two_hosts() as both:
        yield both


@pytest.fixture
def checkout(tmp_path):
    """A copy of the course with its first chapter."""
    folder = tmp_path / "my course"
    shutil.copytree(ROOT / "course", folder / "course", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "00_start_here.ipynb", folder / "notebooks")
    return folder


def get(host, address, seconds=60):
    """Return what `address` answers to `host`: exit code, and status and body or the error."""
    with host.start(
        sys.executable, "-c", GET, address, str(seconds), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as asked:
        said, _ = asked.communicate(timeout=120)
    return asked.returncode, said


def started(folder, home):
    """Return the shell's line that starts the lab of the copy in `folder`."""
    kept = [f"{name}={home / name}" for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")]
    command = ["env", "-u", "JUPYTER_TOKEN", *kept, sys.executable, "-m", "course", "lab", "--remote", "--port", "0"]
    return f"cd {shlex.quote(str(folder))} && exec {shlex.join(command)}"


def read_until(lines, pattern):
    """Return all that came up to the first line that `pattern` is found in."""
    said = ""
    for line in lines:
        said += line
        if re.search(pattern, line):
            return said
    pytest.fail(f"nothing like {pattern} was printed:\n{said}")


def test_the_printed_line_leads_to_the_lab_and_nothing_else_does(hosts, checkout, tmp_path):
    here, far = hosts
    with sshd_here(far) as sshd:
        # what a reader has in ~/.ssh: their key, the host's, and that its name is this address
        mine = ["-i", sshd.key, "-o", "IdentitiesOnly=yes", "-o", f"UserKnownHostsFile={sshd.known_hosts}"]
        mine += ["-F", "none", "-o", "BatchMode=yes", "-o", f"HostName={far.address}"]
        login = ["ssh", *mine, "-p", str(sshd.port), f"{getpass.getuser()}@far", started(checkout, tmp_path)]
        with here.start(*login, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as lab:
            try:
                said = read_until(lab.stdout, r"http://127\.0\.0\.1:\d+/\S*token=\w+")
                address = re.search(r"http://127\.0\.0\.1:(\d+)/\S*token=\w+", said)
                line = re.search(r"^ +(ssh .*)$", said, re.M)[1]
                assert get(here, address[0], 0)[0] != 0  # before the tunnel there is no way
                assert "refused" in get(here, f"http://{far.address}:{address[1]}/api", 0)[1]  # nor past it
                program, *rest = shlex.split(line)
                with here.start(program, *mine, *rest, stderr=subprocess.DEVNULL) as tunnel:
                    try:
                        code, page = get(here, address[0])
                        assert code == 0 and page.startswith("200") and "jupyter-config-data" in page
                        assert "Password or token" in get(here, address[0].partition("?")[0])[1]
                    finally:
                        tunnel.terminate()
            finally:
                lab.kill()


def test_the_line_names_the_ports_and_in_a_job_the_login_node():
    plain = tunnel(8890, {})
    assert re.fullmatch(r"ssh -N -L 8890:127\.0\.0\.1:8890 \S+@\S+", plain)
    assert tunnel(8890, {"SSH_CONNECTION": "10.0.0.9 50000 10.0.0.1 22"}) == plain
    assert " -p 2222 " in tunnel(8890, {"SSH_CONNECTION": "10.0.0.9 50000 10.0.0.1 2222"})
    job = {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_HOST": "login1", "SSH_CONNECTION": "10.0.0.9 50000 10.0.0.1 2222"}
    assert re.search(r" -J \S+@login1 ", tunnel(8890, job)) and " -p " not in tunnel(8890, job)


def test_remote_and_browser_exclude_each_other():
    command = [sys.executable, "-m", "course", "lab", "--remote", "--browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "--remote opens no browser here" in done.stderr

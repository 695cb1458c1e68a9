"""docs/deploy.md is so: its three cells differ in one line and give the same number; its tests are there."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from course import estimate_pi
from course.deadlines import NOTHING_LEFT
from course.deploy.clouds.kinds import CLOUDS
from course.deploy.clouds.machines.machine_ends_itself import MACHINE_LOST
from course.deploy.ledger import entries
from course.deploy.options import SlurmOptions, SshOptions

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
CELLS = dict(zip(["local", "slurm", "ssh"], re.findall(r"```python\n(.*?)```", PAGE, re.S), strict=False))


@pytest.mark.parametrize("kind", ["slurm", "ssh"])
def test_a_cell_differs_from_the_local_one_in_one_line(kind):
    here, there = (CELLS[name].splitlines() for name in ("local", kind))
    changed = [(one, other) for one, other in zip(here, there, strict=True) if one != other]
    assert len(changed) == 1
    assert changed[0][0] == "cluster = local_cluster(ps=1, worker=2)" and f'deploy("{kind}"' in changed[0][1]


def test_chapter_09_changes_the_same_line_as_the_page():
    chapter = (ROOT / "notebooks" / "source" / "09_beyond_one_machine.py").read_text(encoding="utf-8")
    for kind, cell in CELLS.items():
        line = next(line for line in cell.splitlines() if line.startswith("cluster = "))
        assert re.search(rf"^(# )?{re.escape(line)}$", chapter, re.M), kind
    assert next(line for line in CELLS["local"].splitlines() if line.startswith("found = ")) in chapter


def run(cell):
    found = {}
    exec(compile(cell, "a cell of docs/deploy.md", "exec"), found)
    return found["found"]


@pytest.mark.long
def test_the_same_cell_gives_the_same_pi_on_slurm(slurm):
    assert run(CELLS["slurm"]) == estimate_pi(1_000_000)
    assert not entries()


@pytest.mark.long
def test_the_same_cell_gives_the_same_pi_over_ssh(sshd, tmp_path, monkeypatch):
    (tmp_path / ".ssh").mkdir(mode=0o700)  # of a home in which `ssh alpha` and `ssh beta` lead to a server of our own
    host = f"HostName 127.0.0.1\nPort {sshd.port}\nIdentityFile {sshd.key}\nUserKnownHostsFile {sshd.known_hosts}\n"
    (tmp_path / ".ssh" / "config").write_text(f"Host alpha beta\n{host}")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(CELLS["ssh"]) == estimate_pi(1_000_000)
    assert not entries()


def test_every_test_that_the_page_names_is_there():
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    files = [*Path(__file__).parent.rglob("test_*.py"), *(ROOT / "tests" / "slow" / "deploy").glob("*.py")]
    there = "".join(file.read_text(encoding="utf-8") for file in files)
    assert named and {name for name in named if f"def {name}(" not in there} == set()


def test_whatever_the_page_calls_tried_or_checked_names_its_test():
    for row in re.findall(r"^\|.*\|$", PAGE.partition("## What each system has")[2], re.M):
        for cell in row.split("|"):
            assert not re.match(r" (tried|checked)", cell) or re.search(r"`test_\w+`", cell), row


#: A system's name on the page -> its options.
OPTIONS = {"Slurm": SlurmOptions, "SSH": SshOptions, "Google Cloud": CLOUDS["gcp"].options} | {
    name: CLOUDS[name.lower()].options for name in ("Kubernetes", "Gateway", "AWS", "Azure")
}


def cells(section, name):
    """Return the cells of the row `name` in the table of a section."""
    part = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return [cell.strip() for cell in re.search(rf"^\| {name} \|(.*)\|$", part, re.M)[1].split("|")]


def minutes(text):
    return [60 * int(number) for number in re.findall(r"(\d+) minutes", text)]


def test_every_system_has_its_row_of_what_is_forgotten():
    assert {*OPTIONS.values()} == {SlurmOptions, SshOptions, *(one.options for one in CLOUDS.values())}
    assert all(len(cells("What is forgotten", name)) == 3 for name in OPTIONS)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "Gateway"])
def test_the_page_says_after_how_many_minutes_without_work_a_cluster_ends(name):
    idle, killed, _ = cells("What is forgotten", name)
    default = next(one.default for one in fields(OPTIONS[name]) if one.name == "idle")
    assert minutes(idle) == [default] and set(minutes(killed)) <= {default}
    if "caretaker, else" not in killed:
        assert f"{NOTHING_LEFT:g} s" in killed


@pytest.mark.long
def test_the_page_says_what_a_gateways_owner_has_to_set(clouds_libraries):
    from dask_gateway_server.backends import base

    screen = (ROOT / "docs" / "operators" / "gateway.md").read_text(encoding="utf-8")
    assert minutes(cells("What is forgotten", "Gateway")[0]) == [int(re.search(r"idle_timeout = (\d+)", screen)[1])]
    assert base.ClusterConfig.idle_timeout.default_value == 0  # never


@pytest.mark.parametrize("name", ["AWS", "Google Cloud", "Azure"])
def test_the_page_says_after_how_many_hours_a_clouds_machines_end_whatever_happens(name):
    hours = next(one.default for one in fields(OPTIONS[name]) if one.name == "hours")
    assert cells("What is forgotten", name)[2] == f"{hours:g} hours (`hours=`)"
    assert f"ends {MACHINE_LOST / 60:g} minutes after that was last there" in PAGE


@pytest.mark.parametrize("options", [SlurmOptions, *(one.options for one in CLOUDS.values())])
def test_every_option_stands_on_the_page(options):
    assert [one.name for one in fields(options) if f"`{one.name}`" not in PAGE] == []

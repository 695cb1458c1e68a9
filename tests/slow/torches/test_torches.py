"""`make torches`: what is made anew, what is no fault of ours and what is, and the lines at the end."""

import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import install
import install_pip
from tests.slow.torches import __main__ as command
from tests.slow.torches import environments, runs
from tests.slow.torches.environments import NOTE, NotHad, environment, newest
from tests.slow.torches.runs import Run, counted, lines

TORCH, PYTEST = "torch[pyyaml]==2.11.*", "pytest>=8.3,<10"


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """The making of an environment without pip; `.did` notes what it would have done, `.fails` says what pip does."""
    quick = SimpleNamespace(did=[], fails={})

    def make_venv(venv):
        quick.did.append("venv")
        (tmp_path / "build" / "torches" / "2.11").mkdir()

    def run(python, arguments, purpose, say, seconds):
        quick.did.append(arguments[-1])
        if problem := quick.fails.get(quick.did[-1]):
            raise problem

    def ask_python(python, program):
        return "1" if (tmp_path / "build" / "torches" / "2.11").exists() else None

    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "packages", lambda: [PYTEST])
    monkeypatch.setattr(environments, "_imported", lambda python, wanted: quick.did.append("import"))
    monkeypatch.setattr(install, "make_venv", make_venv)
    monkeypatch.setattr(install, "ask_python", ask_python)
    monkeypatch.setattr(install_pip, "run", run)
    monkeypatch.setattr(environments.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**11))
    for folder in (tmp_path, tmp_path / "simgpu"):
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").write_text("")
    quick.whole = ["venv", TORCH, "import", PYTEST, str(tmp_path / "simgpu")]
    quick.folder = tmp_path / "build" / "torches" / "2.11"
    return quick


def installed_by_another_call(quick):
    quick.did.clear()
    environment("2.11.*", print)
    return quick.did


def test_the_first_call_installs_and_the_second_does_nothing(quick, tmp_path):
    assert installed_by_another_call(quick) == quick.whole
    assert installed_by_another_call(quick) == []
    (tmp_path / "pyproject.toml").write_text("# changed")
    assert installed_by_another_call(quick) == quick.whole[1:]  # what is there is added to
    assert installed_by_another_call(quick) == []


def test_what_was_cut_off_in_the_middle_is_installed_by_another_call(quick):
    installed_by_another_call(quick)
    (quick.folder / NOTE).unlink()
    assert installed_by_another_call(quick) == quick.whole
    (quick.folder / NOTE).write_text('{"torch": "2.')
    assert installed_by_another_call(quick) == quick.whole
    noted = json.loads((quick.folder / NOTE).read_text())
    (quick.folder / NOTE).write_text(json.dumps(noted | {"root": "/elsewhere"}))
    assert installed_by_another_call(quick) == quick.whole


def test_an_index_or_a_disk_that_refuses_is_no_fault_of_ours_and_our_own_package_is(quick, monkeypatch, tmp_path):
    for problem in (install_pip.NetworkGone("no network"), install_pip.PipFailed("the package index has no torch")):
        quick.fails = {TORCH: problem}
        with pytest.raises(NotHad, match="no network|has no torch"):
            installed_by_another_call(quick)
    for requirement in (PYTEST, str(tmp_path / "simgpu")):
        quick.fails = {requirement: install_pip.NetworkGone("no network")}
        with pytest.raises(NotHad, match="no network"):
            installed_by_another_call(quick)
        quick.fails = {requirement: install_pip.PipFailed("pyproject.toml can't be read")}
        with pytest.raises(install_pip.PipFailed, match="can't be read"):
            installed_by_another_call(quick)
    assert not (quick.folder / NOTE).exists()
    quick.fails = {}
    monkeypatch.setattr(environments.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**10))
    with pytest.raises(NotHad, match="10000 MB of the disk are free, and 15000 MB are wanted"):
        installed_by_another_call(quick)
    assert quick.did == []


def test_the_newest_is_the_indexs_within_simgpus_range(monkeypatch):
    offered, messages = {"torch>=2.11": "2.15.0+cpu"}, []

    def report(python, purpose, seconds):
        if purpose[-1] not in offered:
            raise install_pip.NetworkGone("no network")
        return {"install": [{"metadata": {"version": offered[purpose[-1]]}}]}

    monkeypatch.setattr(install_pip, "report", report)
    assert newest(messages.append) == "2.15.0" and messages == []
    offered["torch>=2.11"] = "2.16.1"
    with pytest.raises(NotHad, match="no network"):
        newest(messages.append)
    offered["torch>=2.11,<2.16"] = "2.15.3"
    messages.clear()
    assert newest(messages.append) == "2.15.3" and "make torches TORCH=2.16.1 tries it" in messages[0]


def test_each_package_comes_in_the_range_of_the_course():
    requirements = environments.packages()
    assert len(requirements) == len(environments.NEEDED) and all(">=" in entry for entry in requirements)


CASE = '<testcase classname="tests.a" name="{}">{}</testcase>'


@pytest.mark.parametrize(
    ("cases", "status", "failed", "passed"),
    [
        ([("one", ""), ("two", '<skipped message="no GPU" />')], 0, False, 1),
        ([("one", ""), ("two", "<failure>no</failure>")], 1, True, 1),
        ([("one", ""), ("two", "<error>no</error>")], 1, True, 1),
        ([("one", "")], 1, True, 1),  # pytest itself went wrong
        ([("one", "")], "not done after 1 s", True, 1),
        ([], 0, True, 0),
        (None, 0, True, 0),  # no report
    ],
)
def test_a_run_is_green_only_where_tests_passed_and_nothing_failed(tmp_path, cases, status, failed, passed):
    report = tmp_path / "report.xml"
    if cases is not None:
        report.write_text(
            f"<testsuites><testsuite>{''.join(CASE.format(*entry) for entry in cases)}</testsuite></testsuites>"
        )
    run = counted(report, status, Run("2.11.*"))
    assert (run.failed, run.passed) == (failed, passed)
    assert not counted(report, status, Run("2.11.*", wrong="the build")).passed or run.passed
    assert counted(report, status, Run("2.11.*", wrong="the build")).failed
    assert all(f"  skipped, 1: {reason}" in lines(run) for reason in run.skips)


@pytest.fixture
def stood_in(monkeypatch, tmp_path):
    """The command without environments and tests: `.newest` is a version or an exception, `.passes` says of which."""
    stood_in = SimpleNamespace(newest="2.15.0", passes=True, ran=[], make=lambda wanted: "python")

    def find(say):
        if isinstance(stood_in.newest, Exception):
            raise stood_in.newest
        return stood_in.newest

    def run(python, wanted, quick, lanes):
        stood_in.ran.append((wanted, quick, lanes))
        environments.folder_of(wanted).mkdir()
        return Run(wanted, passed=1, failures=[] if stood_in.passes else ["tests.a::one"])

    monkeypatch.setattr(command, "newest", find)
    monkeypatch.setattr(command, "environment", lambda wanted, say: stood_in.make(wanted))
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    (tmp_path / "build" / "torches").mkdir(parents=True)
    stood_in.folder = tmp_path / "build" / "torches"
    monkeypatch.setattr(command, "run", run)
    return stood_in


def test_the_oldest_and_the_newest_are_run_or_the_one_that_is_named(stood_in):
    assert CliRunner().invoke(command.main, ["--lanes", "3"]).exit_code == 0
    assert stood_in.ran == [("2.11.*", False, 3), ("2.15.0", False, 3)]
    assert CliRunner().invoke(command.main, ["--torch", "2.14.*", "--quick", "--remove"]).exit_code == 0
    assert stood_in.ran[2:] == [("2.14.*", True, 2)]
    assert {entry.name for entry in stood_in.folder.iterdir()} == {"2.11", "2.15"}
    refused = CliRunner().invoke(command.main, ["--torch", "newest"])
    assert refused.exit_code == 2 and "is no version of torch" in refused.output


def test_a_torch_that_cannot_be_had_is_said_and_a_test_that_fails_ends_with_1(stood_in):
    stood_in.newest = NotHad("no network")
    done = CliRunner().invoke(command.main, ["--remove"])
    assert done.exit_code == 0 and "torch (the newest): could not be had. no network" in done.output
    stood_in.passes = False
    done = CliRunner().invoke(command.main, ["--remove"])
    assert done.exit_code == 1 and "  1 passed, 1 failed, 0 skipped in 0 s\n  FAILED tests.a::one\n" in done.output


def test_the_quick_form_begins_none_when_the_time_is_up(stood_in, monkeypatch):
    monkeypatch.setattr(command, "PATIENCE", -1)
    done = CliRunner().invoke(command.main, ["--quick"])
    assert done.exit_code == 0 and "torch 2.11.*: could not be had. Of the quick form none is begun" in done.output
    assert stood_in.ran == []
    assert CliRunner().invoke(command.main).exit_code == 0 and len(stood_in.ran) == 2


def test_what_of_ours_cannot_be_installed_ends_with_1(stood_in):
    def make(wanted):
        environments.folder_of(wanted).mkdir()
        raise install_pip.PipFailed("pyproject.toml can't be read")

    stood_in.make = make
    done = CliRunner().invoke(command.main, ["--remove"])
    assert done.exit_code == 1 and done.output.count("WRONG pyproject.toml can't be read") == 2
    assert stood_in.ran == [] and not any(stood_in.folder.iterdir())


def test_what_is_run_and_what_is_left_out_is_there():
    assert all((environments.ROOT / name).is_dir() for name in runs.ALL)
    assert all((environments.ROOT / name.removeprefix("--ignore=")).exists() for name in runs.QUICK)

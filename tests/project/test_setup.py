"""`install.py`: what each Python and each state of .venv gets, and that every failure is a plain sentence."""

import ast
import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import install
import install_pip
from tests.helpers.shells import eventually

ROOT = Path(__file__).resolve().parents[2]
#: The extras that the command itself asks for, as pip takes them.
LEARNERS = f"[{','.join(sorted(install.LEARNERS))}]"


@pytest.fixture
def checkout(tmp_path):
    """A small checkout, with a space in its path."""
    root = tmp_path / "my course"
    (root / "course").mkdir(parents=True)
    (root / "course" / "__init__.py").write_text("")
    for folder in (root, *(root / part for part in install.PARTS)):
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").write_text("[project]")
    (root / "install_pip.py").write_text("")
    return str(root)


@pytest.fixture
def quick(monkeypatch):
    """`install` without its slow parts: a .venv that links this Python, packages that are taken as installed."""
    installed = []
    quick = SimpleNamespace(installed=installed, version="{}.{}".format(*sys.version_info[:2]))

    def ask_python(python, program):
        if not os.path.exists(python):
            return None
        origin = Path(python).parents[3 if "build" in python else 2] / "course" / "__init__.py"
        return f"{quick.version} {origin}" if "find_spec" in program else quick.version

    def make_venv(venv):
        installed.append("venv")
        Path(venv, "bin").mkdir(parents=True)
        Path(venv, "bin", "python").touch()

    def took_torch(python, cuda, say, wanted):
        installed.append("torch" if wanted == install_pip.TORCH else wanted)

    monkeypatch.setattr(install, "ask_python", ask_python)
    monkeypatch.setattr(install, "make_venv", make_venv)
    monkeypatch.setattr(install, "python_of", lambda venv: os.path.join(venv, "bin", "python"))
    monkeypatch.setattr(install_pip, "install_torch", took_torch)

    def ran_pip(python, arguments, what, say):  # the course stands first, another torch last
        installed.append(arguments[-1] if arguments[-1].startswith("torch==") else arguments[2])

    monkeypatch.setattr(install_pip, "run", ran_pip)
    return quick


def set_up(quick, root, extras=(), chosen=False, torch=""):
    """Run the set-up and return what it installed."""
    quick.installed.clear()
    install.set_up(root, list(extras), False, chosen, torch)
    return list(quick.installed)


# --- Python ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["install.py", "install_pip.py"])
def test_its_syntax_parses_on_python_3_6(name):
    ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 6))


def run_as_python(version, *arguments, path=""):
    program = (
        f"import runpy, sys; sys.version_info = {version}; sys.argv = ['install.py', *{arguments}];"
        f"runpy.run_path({str(ROOT / 'install.py')!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | {"PATH": path})


@pytest.mark.parametrize("version", [(3, 6, 9, "final", 0), (3, 10, 0, "final", 0), (3, 15, 0, "final", 0)])
def test_a_python_out_of_range_gets_one_sentence_with_the_range_and_the_next_step(version):
    done = run_as_python(version)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"is Python {version[0]}.{version[1]}" in done.stdout
    assert "needs Python 3.11 to 3.14" in done.stdout and "make lab PYTHON=" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for Python")
def test_a_newer_python_on_the_path_is_used_and_said_unless_one_was_named(tmp_path):
    fake = tmp_path / "python3.12"
    fake.write_text('#!/bin/sh\ncase "$*" in *version_info*) echo 3.12;; *) echo "ran: $*";; esac\n')
    fake.chmod(0o755)
    broken = tmp_path / "python3.13"  # as pyenv leaves them: on the PATH, and not working
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    done = run_as_python((3, 9, 0, "final", 0), "--test", path=str(tmp_path))
    assert f"using {fake}" in done.stdout and "install.py --test" in done.stdout and done.returncode == 0
    named = run_as_python((3, 9, 0, "final", 0), "--chosen", path=str(tmp_path))
    assert named.returncode == 1 and "ran:" not in named.stdout


def test_a_python_without_venv_names_the_package_that_brings_it(monkeypatch, tmp_path):
    monkeypatch.setattr(install, "ask_python", lambda python, program: None)
    with pytest.raises(install.Stop, match=r"sudo apt install python3\.\d+-venv"):
        install.make_venv(str(tmp_path / ".venv"))


def test_make_names_a_python_that_is_not_there():
    done = subprocess.run(
        ["make", "env", "PYTHON=python3.99"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env=make_environment(),
    )
    assert done.returncode != 0 and "There is no python3.99 here" in done.stdout


def make_environment():
    """The environment for a `make` of our own, when these tests themselves run under one."""
    return {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}


# --- the states of .venv -------------------------------------------------------------------------------------------


def test_the_first_run_installs_and_the_second_does_nothing(quick, checkout, capsys):
    assert set_up(quick, checkout) == ["venv", "torch", checkout]
    assert set_up(quick, checkout) == []
    assert "nothing to do" in capsys.readouterr().out


def test_another_torch_is_installed_apart_and_leaves_the_learners_environment_alone(quick, checkout):
    set_up(quick, checkout)
    noted = Path(checkout, ".venv", install.STATE).read_text()
    wanted = "torch==2.15.*"
    assert set_up(quick, checkout, torch="2.15.*") == ["venv", wanted, wanted]  # the second: with the course
    assert json.loads(Path(checkout, "build", "torch-2.15", install.STATE).read_text())["state"] == "ready"
    assert set_up(quick, checkout, torch="2.15.*") == []
    assert Path(checkout, ".venv", install.STATE).read_text() == noted
    assert set_up(quick, checkout) == []


def test_what_is_no_version_of_torch_is_refused_before_anything_is_made(quick, checkout):
    for given in ("newest", "../2.15", "2.15.*; x", ".."):
        with pytest.raises(install.Stop, match=r"no version of torch.*TORCH='2\.15"):
            set_up(quick, checkout, torch=given)
    assert not Path(checkout, "build").exists()


def test_test_packages_are_added_once_and_not_lost_again(quick, checkout):
    set_up(quick, checkout)
    assert set_up(quick, checkout, ["test"]) == ["torch", checkout + "[test]"]
    assert set_up(quick, checkout) == []
    Path(checkout, "pyproject.toml").write_text("[project] # changed")
    assert set_up(quick, checkout) == ["torch", checkout + "[test]"]


def test_an_interrupted_run_is_mended_from_the_start(quick, checkout, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(install, "HERE", checkout)
    with monkeypatch.context() as patch:
        patch.setattr(install_pip, "run", interrupted)
        assert install.main([]) == 130
    assert set_up(quick, checkout) == ["venv", "torch", checkout + LEARNERS]
    assert "did not finish" in capsys.readouterr().out


def test_a_note_cut_off_in_mid_word_counts_as_interrupted(quick, checkout):
    set_up(quick, checkout)
    Path(checkout, ".venv", install.STATE).write_text('{"state": "rea')
    assert set_up(quick, checkout) == ["venv", "torch", checkout]


def test_a_network_that_goes_away_leaves_what_is_installed(quick, checkout, monkeypatch):
    def gone(*_):
        raise install_pip.NetworkGone("no network")

    with monkeypatch.context() as patch:
        patch.setattr(install_pip, "run", gone)
        with pytest.raises(install.Stop, match="no network"):
            install.set_up(checkout, [], False, False)
    assert set_up(quick, checkout) == ["torch", checkout]


def test_a_moved_checkout_gets_a_new_venv(quick, checkout):
    set_up(quick, checkout)
    moved = checkout + " moved"
    os.rename(checkout, moved)
    assert set_up(quick, moved) == ["venv", "torch", moved]


def test_a_venv_whose_python_is_gone_is_made_again(quick, checkout):
    set_up(quick, checkout)
    Path(checkout, ".venv", "bin", "python").unlink()
    assert set_up(quick, checkout) == ["venv", "torch", checkout]


def test_a_venv_that_is_not_ours_is_never_removed(quick, checkout):
    theirs = Path(checkout, ".venv", "precious")
    theirs.parent.mkdir()
    theirs.touch()
    with pytest.raises(install.Stop, match="Move it away"):
        install.set_up(checkout, [], False, False)
    assert theirs.exists()
    Path(checkout, ".venv", "bin").mkdir()
    Path(checkout, ".venv", "bin", "python").touch()  # one that works is added to
    assert set_up(quick, checkout) == ["torch", checkout]
    assert theirs.exists()


def test_another_python_is_taken_only_when_it_is_named(quick, checkout, capsys):
    quick.version = "3.99"
    set_up(quick, checkout)
    assert set_up(quick, checkout) == []
    quick.version = "3.14"
    set_up(quick, checkout)
    assert set_up(quick, checkout, chosen=True) == ["venv", "torch", checkout]
    assert ".venv has Python 3.14" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="no file locks of this kind on Windows")
def test_two_set_ups_of_one_folder_take_turns(quick, checkout, capsys):
    lock = install.take_turns(checkout)
    second = threading.Thread(target=install.set_up, args=(checkout, [], False, False))
    second.start()
    eventually(lambda: "waiting for it" in capsys.readouterr().out)
    assert second.is_alive() and quick.installed == []
    os.close(lock)
    second.join(60)
    assert quick.installed == ["venv", "torch", checkout]


# --- the disk ------------------------------------------------------------------------------------------------------


def test_a_disk_without_room_is_seen_before_anything_is_made(quick, checkout, monkeypatch):
    monkeypatch.setattr(install.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**9))
    with pytest.raises(install.Stop, match=r"needs 3000 MB in .*my course and 1000 MB are free"):
        install.set_up(checkout, [], False, False)
    assert not Path(checkout, ".venv").exists()


def test_a_disk_that_fills_up_on_the_way_is_a_sentence(quick, checkout, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(install, "HERE", checkout)
    with monkeypatch.context() as patch:
        patch.setattr(install, "make_venv", full)
        assert install.main([]) == 1
    assert "the disk is full" in capsys.readouterr().out
    assert set_up(quick, checkout) == ["venv", "torch", checkout + LEARNERS]

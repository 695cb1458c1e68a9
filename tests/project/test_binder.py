"""conda and Binder: the ranges are pyproject's, and the scripts do their part, as far as that shows without conda."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import install

ROOT = Path(__file__).resolve().parents[2]
BINDER = ROOT / "binder"
#: PyPI's name -> conda-forge's, where they differ.
CONDA_NAMES = {
    "torch": {"pytorch", "pytorch-cpu"},
    "matplotlib": {"matplotlib-base"},
    "dask": {"dask-core"},
    "fastjsonschema": {"python-fastjsonschema"},
    "jupyter-server": {"jupyter_server"},
}
FIRST = "notebooks/00_start_here.ipynb"
unix = pytest.mark.skipif(os.name == "nt", reason="Binder's scripts run under bash on Linux")


def conda(path):
    """Return what `path` asks of conda, as {name: range}, and its pip lines."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))["dependencies"]
    pip_lines = [line for entry in listed if isinstance(entry, dict) for line in entry["pip"]]
    entries = [re.match(r"([\w.-]+)\s*(.*)", entry).groups() for entry in listed if isinstance(entry, str)]
    return dict(entries), pip_lines


@pytest.mark.parametrize("name", ["environment.yml", "binder/environment.yml"])
def test_conda_gets_the_same_ranges_as_pip(name):
    projects = [
        tomllib.loads((ROOT / part / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for part in (".", *install.PARTS)
    ]
    project = projects[0]
    found, _ = conda(ROOT / name)
    extras = install.LEARNERS + ["hub"] * name.startswith("binder")
    needed = {Requirement(one) for each in projects for one in each["dependencies"]}
    needed |= {Requirement(one) for extra in extras for one in project["optional-dependencies"][extra]}
    ours = {each["name"] for each in projects}
    ranges = {(one.name, one.specifier) for one in needed if one.name not in ours}
    assert len(ranges) == len(dict(ranges)), "two projects ask for different ranges of a library"
    for requirement in [one for one in needed if (one.name, one.specifier) in ranges and one.marker is None]:
        names = CONDA_NAMES.get(requirement.name, {requirement.name}) & found.keys()
        assert len(names) == 1, f"{name} lacks {requirement.name}"
        assert SpecifierSet(found.pop(names.pop())) == requirement.specifier, requirement.name
    python = found.pop("python")
    oldest = SpecifierSet(project["requires-python"])
    assert python == "=3.12" or SpecifierSet(python) & oldest == SpecifierSet(python)
    assert found == {"pip": ""}


@pytest.mark.parametrize(("library", "unsafe"), [("jupyterlab", "4.6.3"), ("jupyter-server", "2.19.0")])
def test_no_jupyter_is_installed_in_which_a_notebook_that_is_opened_can_run_scripts(library, unsafe):
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    (requirement,) = [one for one in map(Requirement, dependencies) if one.name == library]
    assert unsafe not in requirement.specifier


def test_conda_adds_the_course_itself_and_nothing_else_by_pip():
    assert conda(ROOT / "environment.yml")[1] == ["-e ./simgpu", "-e ./modelserver", "-e ./grader", "-e ."]
    assert conda(BINDER / "environment.yml")[1] == []  # its files are not there yet; postBuild adds them


@unix
@pytest.mark.parametrize("script", ["binder/postBuild", "binder/start", ".ci/run"])
def test_scripts_are_executable_and_parse(script):
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", script], cwd=ROOT, check=True, timeout=30)


@unix
def test_start_runs_what_it_is_given_with_the_courses_configuration(tmp_path):
    program = "import os, sys; print(sys.argv[1:], os.environ['JUPYTER_CONFIG_PATH'])"
    command = [str(BINDER / "start"), sys.executable, "-c", program, "a b", "--ip=0.0.0.0"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        env=os.environ | {"JUPYTER_CONFIG_PATH": "/hub"},
    )
    assert done.stdout == f"['a b', '--ip=0.0.0.0'] {ROOT / 'course' / 'lab_config'}:/hub\n", done.stderr


@pytest.mark.long
@unix
def test_post_build_installs_trusts_and_sets_the_page(tmp_path):
    """Run for real, but for pip, which is only asked: a `python` before it on the PATH writes down its arguments."""
    copy = tmp_path / "a copy"
    (copy / "notebooks").mkdir(parents=True)
    (copy / "binder").symlink_to(BINDER)
    minimal = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (copy / FIRST).write_text(json.dumps(minimal))
    commands = tmp_path / "bin"
    commands.mkdir()
    stand_in(commands / "python", 'echo "$@" > "$ASKED"')
    stand_in(commands / "jupyter", f'exec "{sys.executable}" -m jupyter "$@"')
    here = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "ASKED")}
    path = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | here | {"PATH": path, "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces")}
    done = subprocess.run(
        [str(BINDER / "postBuild")], cwd=copy, capture_output=True, text=True, timeout=100, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert Path(here["ASKED"]).read_text() == (
        "-m pip install --no-deps --editable ./simgpu --editable ./modelserver --editable ./grader --editable .\n"
    )
    assert f"Signing notebook: {FIRST}" in done.stdout + done.stderr
    [workspace] = (tmp_path / "workspaces").iterdir()
    imported = json.loads(workspace.read_text())
    assert imported["metadata"]["id"] == "default"
    assert imported["data"][f"notebook:{FIRST}"]["data"]["path"] == FIRST


def stand_in(path, line):
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


@unix
def test_ci_installs_what_the_machine_lacks_and_runs_its_commands_in_a_folder_of_any_name(tmp_path):
    """Run on a machine that has nothing but these stand-ins: no Chromium, and a Python without venv."""
    for name in ("bash", "dirname", "env", "mktemp", "rm", "mkdir"):
        (tmp_path / name).symlink_to(shutil.which(name))
    stand_in(tmp_path / "id", "echo 0")
    stand_in(tmp_path / "python3", "exit 1")
    stand_in(tmp_path / "apt-get", 'echo "apt-get $@"')
    stand_in(tmp_path / "npm", 'echo "npm $@"')
    stand_in(tmp_path / "git", 'for folder; do :; done; mkdir "$folder"')
    stand_in(tmp_path / "make", 'echo "${PWD##*/}: make $@, $COURSE_MUST_HAVE_CHROMIUM"; [ "$1" != "$FAILS" ]')

    def ran(fails):
        variables = {"PATH": str(tmp_path), "FAILS": fails}
        return subprocess.run([ROOT / ".ci" / "run"], capture_output=True, text=True, timeout=30, env=variables)

    done = ran(fails="nothing")
    assert done.returncode == 0, done.stderr
    asked, update, install, proxy, *commands = done.stdout.splitlines()
    assert "python3-venv chromium" in asked and update == "apt-get update -q"
    assert "python3-venv chromium fonts-dejavu-core bubblewrap" in install  # and what else is not in /usr/sbin
    assert proxy.startswith("npm install") and proxy.endswith("configurable-http-proxy@5")
    made = ["make test, 1", "make long, 1", "make torches QUICK=1 REMOVE=1 LANES=2, 1"]
    assert commands == [f"a b é: {command}" for command in made]
    assert {ran(fails=command).returncode for command in ("test", "long", "torches")} == {1}


@pytest.fixture
def copy(tmp_path):
    """A folder with what the repository's address stands in."""
    for name in PUBLISHED:
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


PUBLISHED = ("pyproject.toml", "README.md", "CITATION.cff")
PUBLISH = runpy.run_path(str(ROOT / "docs" / "publish.py"))


def texts(folder):
    return {name: (folder / name).read_text(encoding="utf-8") for name in PUBLISHED}


def test_every_way_in_opens_the_same_page(copy):
    PUBLISH["main"](["https://github.com/someone/their-course.git"], copy)
    [launch] = re.findall(r"https://mybinder\.org/v2/gh/([^)\s]+)", texts(copy)["README.md"])
    repository, _, page = unquote(launch).partition("?urlpath=")
    assert repository == "someone/their-course/HEAD" and page == f"lab/tree/{FIRST}"
    configured = json.loads((ROOT / "course" / "lab_config" / "jupyter_lab_config.json").read_text())
    assert configured["LabApp"]["default_url"] == f"/{page}"


def test_one_command_sets_the_address_everywhere_and_takes_it_away(copy):
    PUBLISH["main"](["none"], copy)
    before = texts(copy)
    for address in ("https://github.com/someone/course", "https://git.example.org/a/b/course"):
        PUBLISH["main"]([address], copy)
        project = tomllib.loads(texts(copy)["pyproject.toml"])
        assert project["project"]["urls"] == {"Source": address} == {"Source": project["tool"]["course"]["repository"]}
        assert yaml.safe_load(texts(copy)["CITATION.cff"])["repository-code"] == address
        assert texts(copy)["README.md"].count("mybinder.org/v2/") == 1
    PUBLISH["main"](["none"], copy)
    assert texts(copy) == before


def test_what_is_committed_follows_from_the_setting_and_without_one_there_is_no_link():
    address = PUBLISH["setting"]()
    assert PUBLISH["made"](address) == texts(ROOT)
    if not address:
        assert not re.search("mybinder|repository-code|project.urls", "".join(texts(ROOT).values()))


@pytest.mark.parametrize(
    "wrong", ["github.com/a/b", "http://github.com/a/b", "https://github.com/a", "https://x/a/b?c"]
)
def test_what_is_no_repositorys_address_is_refused(copy, wrong):
    before = texts(copy)
    with pytest.raises(SystemExit, match="Give one as in https://github.com/OWNER/NAME"):
        PUBLISH["main"]([wrong], copy)
    assert texts(copy) == before

"""Four distributions of one checkout: nothing belongs to two, and each works where only its requirements are."""

import importlib.metadata
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import course

ROOT = Path(__file__).resolve().parents[2]
#: distribution -> the folder of its project; its package has the folder's name, the root's is `course`.
PROJECTS = {"simgpu": "simgpu", "modelserver": "modelserver", "course-grader": "grader", "course": "."}
PACKAGES = {name: name if folder == "." else folder for name, folder in PROJECTS.items()}
DATA = ("*.py", "*.json", "*.css", "*.js", "*.rle", "*.journal", "*.sh", "*.txt", "*.proto", "*.binpb", "py.typed")


def settings(name):
    return tomllib.loads((ROOT / PROJECTS[name] / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(name):
    return {one.name: one for one in map(Requirement, settings(name)["project"]["dependencies"])}


# --- what the projects state ------------------------------------------------------------------------------------------


def test_one_place_states_the_version_and_the_projects_ask_for_each_other_by_it():
    for name, folder in PROJECTS.items():
        stated = settings(name)
        assert stated["project"]["dynamic"] == ["version"]
        assert (ROOT / folder / stated["tool"]["hatch"]["version"]["path"]).samefile(course.__file__)
        for wanted, requirement in requirements(name).items():
            if wanted in PROJECTS:
                major, minor, _ = map(int, course.__version__.split("."))
                assert str(requirement.specifier) == f"<{major}.{minor + 1},>={major}.{minor}"
    assert {name for name in requirements("course") if name in PROJECTS} == {"simgpu", "modelserver"}
    assert "course" in requirements("course-grader")


def test_the_projects_ask_for_the_same_range_of_a_library_and_have_one_licence():
    ranges = {}
    for name, folder in PROJECTS.items():
        for library, requirement in requirements(name).items():
            assert ranges.setdefault(library, requirement.specifier) == requirement.specifier, library
        assert settings(name)["project"]["requires-python"] == settings("course")["project"]["requires-python"]
        assert (ROOT / folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert set(requirements("simgpu")) == {"torch"}


def test_no_package_and_no_entry_point_belongs_to_two_projects():
    owned = Counter()
    for name in PROJECTS:
        project, wheel = settings(name)["project"], settings(name)["tool"]["hatch"]["build"]["targets"]["wheel"]
        owned.update(wheel.get("packages") or wheel["sources"].values())
        for group, points in {**project.get("entry-points", {}), "scripts": project.get("scripts", {})}.items():
            owned.update((group, point) for point in points)
            assert all(point.split(".")[0] == PACKAGES[name] for point in points.values())
    assert set(owned.values()) == {1}
    assert set(PACKAGES.values()) <= set(owned)


# --- the wheels -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels, {distribution: file}."""
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", folder]
    subprocess.run([*command, *(ROOT / place for place in PROJECTS.values())], check=True, timeout=280)
    return {path.name.split("-")[0].replace("_", "-"): path for path in folder.glob("*.whl")}


@pytest.mark.long
@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_has_all_of_its_package_and_nothing_else(wheels, name):
    assert set(wheels) == set(PROJECTS)
    inside = {file for file in zipfile.ZipFile(wheels[name]).namelist() if ".dist-info/" not in file}
    folder = ROOT / PACKAGES[name]
    files = {path.relative_to(ROOT) for kind in DATA for path in folder.rglob(kind)}
    assert inside == {path.as_posix() for path in files if path.parts[1] not in ("tests", "docs")}


class Environment:
    """A Python in `folder` that has a distribution's wheel, and links to what its metadata asks for; nothing else."""

    def __init__(self, folder, wheels, name):
        self._folder, self._wheels, self._present = folder, wheels, set()
        venv.create(folder / "python", with_pip=False, symlinks=True)
        self._commands = folder / "python" / "bin"
        (self._site,) = folder.glob("python/lib/python*/site-packages")
        self._add(Requirement(name))

    def _add(self, requirement):
        name = requirement.name.lower().replace("_", "-")
        if name in self._present:
            return
        self._present.add(name)
        if name in self._wheels:
            pip = [sys.executable, "-m", "pip", "--python", self._commands / "python", "install", "--quiet"]
            subprocess.run([*pip, "--no-deps", "--no-index", self._wheels[name]], check=True, timeout=100)
            (info,) = self._site.glob(f"{name.replace('-', '_')}-*.dist-info")
            distribution = importlib.metadata.PathDistribution(info)
        else:
            distribution = importlib.metadata.distribution(name)
            for top in {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}:
                if not (self._site / top).exists():
                    (self._site / top).symlink_to(distribution.locate_file(top))
        extras = requirement.extras or {""}
        for needed in map(Requirement, distribution.requires or ()):
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                self._add(needed)

    def run(self, command, *arguments, status=0):
        """Return what a command of this environment wrote."""
        words = [self._commands / command, *arguments]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(words, capture_output=True, text=True, timeout=250, cwd=self._folder, env=environment)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    def lacks(self, package):
        """Whether a package can't be imported here."""
        return "No module named" in self.run("python", "-c", f"import {package}", status=1)


@pytest.mark.long
def test_simgpu_works_alone(wheels, tmp_path):
    here = Environment(tmp_path, wheels, "simgpu")
    (tmp_path / "train.py").write_text("import torch\nprint(torch.ones(2, device='cuda:1').sum().item())\n")
    written = here.run("simgpu", "run", "--gpus", "2", "train.py")
    assert "2.0\n" in written and "Peak memory of 131.32 GiB each: cuda:1 1024 bytes" in written
    assert here.lacks("course") and here.lacks("modelserver")


SERVED = """
import torch
from modelserver import Client, export, local_server

model = torch.nn.Linear(4, 2)
export(model, torch.ones(2, 4), "models", name="line")
with local_server("models", workers=1) as server, Client(server.url) as client:
    answer = client.infer("line", {"input": torch.ones(1, 4).numpy()})
    print(torch.allclose(torch.from_numpy(answer["output"]), model(torch.ones(1, 4))), client.metadata()["version"])
"""


@pytest.mark.long
def test_modelserver_works_alone(wheels, tmp_path):
    here = Environment(tmp_path, wheels, "modelserver")
    (tmp_path / "served.py").write_text(SERVED)
    assert f"True {course.__version__}\n" in here.run("python", "served.py")
    assert "served: the newest good one" in here.run("modelserver", "versions", "models", "line")
    if here.lacks("grpc"):
        said = here.run("modelserver", "serve", "models", "--port", "0", "--grpc-port", "0", status=1)
        assert "python -m pip install 'modelserver[grpc]'" in said
    assert here.lacks("course") and here.lacks("simgpu")


@pytest.mark.long
def test_the_course_works_without_the_grader(wheels, tmp_path):
    here = Environment(tmp_path, wheels, "course[tuning]")
    assert "3.1" in here.run("python", "-m", "course", "pi", "--samples", "100000")
    here.run("python", "-c", "import course\nfor name in course.__all__: getattr(course, name)")
    assert "what marks labs is not installed here" in here.run("python", "-m", "course", "check", "a.ipynb", status=1)
    assert here.lacks("grader")


@pytest.mark.long
def test_the_grader_brings_the_command_that_marks(wheels, tmp_path):
    here = Environment(tmp_path, wheels, "course-grader")
    written = here.run("python", "-m", "course", "check", "a.ipynb", status=1)
    assert "not installed" not in written and "a.ipynb" in written
    assert "new-lab" in here.run("python", "-m", "grader", "--help")

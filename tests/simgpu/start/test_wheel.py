"""simgpu's own wheel: what is in it, and that it works in an environment that has torch and nothing of the course."""

import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", folder, ROOT / "simgpu"]
    subprocess.run(command, check=True, timeout=200)
    (made,) = folder.glob("simgpu-*.whl")
    return made


def test_it_has_all_of_the_package_and_nothing_else(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith("simgpu-")}
    here = {
        path.relative_to(ROOT).as_posix()
        for kind in ("*.py", "*.json", "py.typed")
        for path in (ROOT / "simgpu").rglob(kind)
    }
    assert inside == here


def test_the_two_projects_say_the_same():
    own, course = (tomllib.loads((ROOT / place / "pyproject.toml").read_text()) for place in ("simgpu", "."))
    for group in ("torch.backends", "pytest11"):
        assert own["project"]["entry-points"][group] == course["project"]["entry-points"][group]
    (torch,) = (one for one in course["project"]["dependencies"] if one.startswith("torch"))
    assert own["project"]["dependencies"] == [torch]
    assert (ROOT / "simgpu" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_it_works_in_an_environment_of_torch_alone(wheel, tmp_path):
    """torch and what it needs are linked to, one by one: nothing else of the course's environment is there."""
    folder = tmp_path / "empty"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (here,) = {Path(path) for path in sys.path if (Path(path) / "torch" / "__init__.py").is_file()}
    for name in (
        "torch",
        "torchgen",
        "functorch",
        "typing_extensions.py",
        "sympy",
        "mpmath",
        "networkx",
        "jinja2",
        "markupsafe",
        "filelock",
        "fsspec",
    ):
        if (here / name).exists():
            (site / name).symlink_to(here / name)
    for info in [*here.glob("torch-*.dist-info")]:
        (site / info.name).symlink_to(info)
    program = tmp_path / "train.py"
    program.write_text(
        "import sys, torch\nprint(torch.ones(2, device='cuda:1').sum().item(), 'course' in sys.modules)\n"
    )
    command = [python, "-W", "ignore", "-m", "simgpu", "run", "--gpus", "2", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=tmp_path)
    assert done.stdout == "2.0 False\n", done.stderr
    assert "Peak memory of 131.32 GiB each: cuda:1 1024 bytes" in done.stderr
    assert subprocess.run([python, "-c", "import course"], capture_output=True, cwd=tmp_path, timeout=60).returncode

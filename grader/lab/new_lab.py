"""The skeleton of a lab, `python -m grader new-lab FOLDER`: one small exercise, stated, checked, marked and got wrong.

It is fit for a class as it is made (`python -m grader selftest FOLDER`), and meant to be edited.
"""

import re
from pathlib import Path

from grader.lab.release import write_release
from grader.lab.source import LabError, load_lab

#: In its files NAME stands for the lab's.
SKELETON = Path(__file__).with_name("skeleton")


def make_lab(folder: Path) -> Path:
    """Make a lab of one exercise in `folder`, with its release; return the notebook's path.

    The folder's name is the lab's. Raises LabError where it is no name for one, or where the folder has files already.
    """
    folder = Path(folder).absolute()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", folder.name):
        raise LabError(f"{folder.name!r} is no name of a lab: lower-case letters, digits and _, such as lab31_steps.")
    if folder.exists() and any(folder.iterdir()):
        raise LabError(f"{folder} is not empty; name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for template in sorted(SKELETON.glob("*.py.txt")):
        text = template.read_text(encoding="utf-8").replace("NAME", folder.name)
        (folder / template.stem).write_text(text, encoding="utf-8")
    return write_release(load_lab(folder), folder)

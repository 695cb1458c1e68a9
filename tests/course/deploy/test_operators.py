"""Each screen for operators has the same headings and fits; what it says to type, and to call, is there."""

import ast
import importlib
import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path

import click
import pytest

from course.__main__ import main
from course.deploy.clouds.kinds import CLOUDS
from course.deploy.options import SlurmOptions, SshOptions

ROOT = Path(__file__).resolve().parents[3]
HEADINGS = ["Install", "The file", "Start", "Look", "Stop", "What it costs", "Who can reach what"]
SCREENS = sorted(path for path in (ROOT / "docs" / "operators").glob("*.md") if path.stem != "class_of_200")
OPTIONS = {kind: one.options for kind, one in CLOUDS.items()} | {"slurm": SlurmOptions, "ssh": SshOptions}
#: Commands of others, with the words and options of each that a screen may say: from their own manuals.
OTHERS = {
    "kubectl": "get describe logs delete port-forward config top -n -l",
    "helm": "install uninstall list --repo --create-namespace -n --generate-name",
    "dask-gateway-server": "-f",
    "docker": "compose exec logs ps down up build push run -f -p -t --build --target --wait --volumes",
    "az": "account group identity login network resource role vm --tag -g -l -n --role --scope --subnet-name "
    "--assignee-object-id --assignee-principal-type --query -o",
    "gcloud": "auth compute projects services --project --zone --filter --format",
    "aws": "configure ec2 iam sts --filters --query --region",
}


@pytest.mark.parametrize("screen", SCREENS, ids=lambda path: path.stem)
def test_a_screen_has_its_headings_in_order_and_fits(screen):
    words = screen.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", words, re.M) == HEADINGS
    assert len(words.splitlines()) <= 45 and "MEASURED" not in words


@pytest.mark.parametrize("screen", SCREENS, ids=lambda path: path.stem)
def test_what_a_screen_says_to_type_is_there(screen):
    for line in typed(screen.read_text(encoding="utf-8")):
        assert not wrong(line), f"{line}: {wrong(line)}"


def typed(words):
    """Yield the commands in a screen: the lines of its shell blocks, and whatever in backticks begins with one."""
    for block in re.findall(r"```(?:bash|sh|console)\n(.*?)```", words, re.S):
        yield from (line.removeprefix("$ ") for line in block.splitlines() if line.strip() and line[0] != "#")
    for line in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", words, flags=re.S)):
        if line.split()[0] in (*OTHERS, "make", "python") and " " in line:
            yield line


def wrong(line):
    """Return what is not there of a command line, or ""."""
    if "&&" in line:
        return ", ".join(filter(None, (wrong(one.strip()) for one in line.split("&&"))))
    command, *words = shlex.split(line)
    if words[:3] == ["-m", "pip", "install"] and command == "python":
        return unknown_extra(words[3:])
    if words[:2] == ["-m", "course"] and command == "python":
        return unknown_to_click(main, words[2:])
    if command == "make":
        return ""  # tests/project/test_docs.py looks at every page's targets
    if command not in OTHERS:
        return f"{command} is not in OTHERS"
    known = OTHERS[command].split()
    given = [words[0], *(word for word in words[1:] if word.startswith("-"))] if words else []
    return ", ".join(word for word in given if word.partition("=")[0] not in known)


def unknown_extra(words):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = re.findall(r"course\[([\w,]+)\]", " ".join(words))
    return ", ".join(one for names in named for one in names.split(",") if one not in extras)


def unknown_to_click(command, words):
    """Return the first word that `command` of click's doesn't know, or ""."""
    while isinstance(command, click.Group) and words:
        if words[0] not in command.commands:
            return words[0]
        command, words = command.commands[words[0]], words[1:]
    known = {name for one in command.params for name in one.opts}
    return ", ".join(word for word in words if word.startswith("-") and word.partition("=")[0] not in known)


@pytest.mark.parametrize("screen", SCREENS, ids=lambda path: path.stem)
def test_what_a_screen_says_to_call_is_there(screen):
    for block in re.findall(r"```python\n(.*?)```", screen.read_text(encoding="utf-8"), re.S):
        tree = ast.parse(block)
        for one in ast.walk(tree):
            if isinstance(one, ast.ImportFrom) and one.module.split(".")[0] == "course":
                room = importlib.import_module(one.module)
                assert all(hasattr(room, alias.name) for alias in one.names), ast.unparse(one)
            if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "deploy":
                given = {keyword.arg for keyword in one.keywords} - {"worker", "ps", "timeout", "wait", "say"}
                assert given <= {field.name for field in fields(OPTIONS[one.args[0].value])}, ast.unparse(one)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("python -m course deploy lst", "lst"),
        ("python -m course deploy list --all", "--all"),
        ("python -m pip install 'course[kubernets]'", "kubernets"),
        ("kubectl gett pods", "gett"),
        ("kubectl get pods --namespaces physics", "--namespaces"),
    ],
)
def test_a_slip_in_a_screens_command_is_seen(line, words):
    assert wrong(line) == words
    assert list(typed(f"Say `{line}`.")) == [line]

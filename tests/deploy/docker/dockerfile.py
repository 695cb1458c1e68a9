"""A Dockerfile read into its stages, and what is wrong with it by rules that hadolint does not have."""

import json
import re
from dataclasses import dataclass, field

SECRET = re.compile(r"(?i)\b\w*(password|passwd|secret|token|api_?key|credential)\w*\s*=\s*\S")


@dataclass
class Stage:
    """One `FROM`: its name, what it stands on, and its instructions as (word, text), continued lines joined."""

    name: str
    base: str
    instructions: list = field(default_factory=list)


def read(text):
    """Return the stages of a Dockerfile's `text` by name, in order, and the global `ARG`s by name."""
    stages, arguments = {}, {}
    joined = re.sub(r"\\\n(\s*#[^\n]*\n)*", " ", re.sub(r"^\s*#[^\n]*\n", "", text, flags=re.M))
    for line in filter(None, map(str.strip, joined.splitlines())):
        word, _, rest = line.partition(" ")
        if word.upper() == "FROM":
            base, _, name = re.sub(r"--\w+=\S+\s+", "", rest).partition(" AS ")
            stage = stages[name.strip() or str(len(stages))] = Stage(name.strip(), base.strip())
        elif not stages:
            assert word.upper() == "ARG", line
            name, _, value = rest.partition("=")
            arguments[name] = value
        else:
            stage.instructions.append((word.upper(), rest.strip()))
    return stages, arguments


def lineage(stages, name):
    """Return a stage and those that it stands on, the lowest first."""
    found = []
    while name in stages:
        found.insert(0, stages[name])
        name = stages[name].base
    return found


def last(stages, name, word):
    """Return the text of the last `word` that holds in the stage `name`; None where there is none."""
    texts = [text for stage in lineage(stages, name) for one, text in stage.instructions if one == word]
    return texts[-1] if texts else None


def command(stages, name):
    """Return the list of a stage's `CMD`."""
    return json.loads(last(stages, name, "CMD"))


def health(stages, name):
    """Return the list of a stage's `HEALTHCHECK … CMD`, or None."""
    text = last(stages, name, "HEALTHCHECK")
    return json.loads(text.partition("CMD ")[2]) if text else None


def faults(text, targets):
    """Return what is wrong with the Dockerfile `text`, of which `targets` are built, a sentence each."""
    stages, arguments = read(text)
    found = [f"there is no target {name}" for name in targets if name not in stages]
    for stage in stages.values():
        base = re.sub(r"\$\{?(\w+)\}?", lambda match: arguments.get(match[1], ""), stage.base)
        if base not in stages and not re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", base):
            found.append(f"{stage.name}: the base {base} is not pinned by its tag and digest")
        secrets = [word for word, rest in stage.instructions if word in ("ENV", "ARG", "RUN") and SECRET.search(rest)]
        found += [f"{stage.name}: a secret stands in {word}" for word in secrets]
    for name in set(targets) & stages.keys():
        user = (last(stages, name, "USER") or "root").partition(":")[0]
        if not user.isdigit() or user == "0":
            found.append(f"{name} runs as {user}: give a number that is not 0")
    return found

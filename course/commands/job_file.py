"""A job's file, job.toml: what to train, by the flags of `train`, and on which cluster, by the options of `deploy`."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from course.commands.flags import TRAIN, flags
from course.deploy.deploy import check_options, option_names
from course.deploy.options import did_you_mean

_TRAIN = "problem settings data mode steps epochs optimizer learning_rate seed max_staleness aggregate checkpoint_dir"
_TRAIN += " save_model_secs resume validate steps_to_validate summaries device"
_TYPES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text in quotes"}


@dataclass(frozen=True)
class Job:
    """A checked job: its name, the arguments of `report`, and the cluster's `where`, counts of tasks and options."""

    name: str
    train: dict[str, Any]
    where: str
    counts: dict[str, int]
    options: dict[str, Any]


def read_job(file: Path) -> Job:
    """Return the `Job` in `file`; ValueError that names the key, its value, what is legal, and the next step."""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: it is no TOML: {error}. `[train]` and `key = value` are its lines") from None
    try:
        return _job(tables)
    except (TypeError, ValueError, click.BadParameter) as error:
        raise ValueError(f"{file}: {getattr(error, 'message', error)}") from None


def _job(tables):
    _known("", tables, ("name", "train", "cluster"))
    name = tables.get("name", "job")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,62}", name):
        raise ValueError(f"name = {name!r}: give up to 63 letters, digits, '-', '_' and '.', as in name = \"digits\"")
    for table in ("train", "cluster"):
        if not isinstance(tables.get(table, {}), dict):
            raise ValueError(f"{table} = {tables[table]!r}: make it a table, with the line [{table}] and keys below it")
    cluster = {"where": "local", "ps": 1, "worker": 2, **tables.get("cluster", {})}
    where, counts = cluster.pop("where"), {job: cluster.pop(job) for job in ("ps", "worker")}
    try:
        _known("", cluster, ("where", "ps", "worker", *option_names(where)))
        check_options(where, **counts, **cluster)
    except (TypeError, ValueError) as error:
        raise ValueError(f"[cluster] {error}") from None
    return Job(name, _training(tables.get("train", {})), where, counts, cluster)


def _known(table, keys, legal):
    for key in keys:
        if key not in legal:
            raise ValueError(
                f"{table}there is no key {key!r}: the keys are {', '.join(legal)}.{did_you_mean(key, legal)}"
            )


def _training(table):
    """Return the arguments of a training: the table's, each as the flag of `train` by that name takes it, and more."""
    _known("[train] ", table, _TRAIN.split())
    command = click.command(flags(TRAIN)(lambda **_: None))
    context = command.make_context("job", [])  # whose parameters are the flags' defaults
    arguments = {name: value for name, value in context.params.items() if name in _TRAIN.split()}
    options = {option.name: option for option in command.params}
    return arguments | {name: _converted(options[name], value, context) for name, value in table.items()}


def _converted(option, value, context):
    kinds = {"integer": int, "integer range": int, "float": float, "float range": float, "boolean": bool}
    kind = kinds.get(option.type.name, str)
    if not isinstance(value, (int, float) if kind is float else kind) or (kind is not bool and isinstance(value, bool)):
        raise ValueError(f"[train] {option.name} = {value!r}: give {_TYPES[kind]}")
    try:
        return option.type.convert(value, option, context)
    except click.BadParameter as error:
        raise ValueError(f"[train] {option.name} = {value!r}: {error.message}") from None

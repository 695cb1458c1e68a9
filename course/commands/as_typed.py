"""Command lines as they were typed in the classic tutorials: their spelling of flags, and what has no counterpart."""

import re
from typing import Any

import click

_FLAG = re.compile(r"(--?)([A-Za-z][\w-]+)(=.*)?", re.DOTALL)
#: Beside the flags of `task` and `train`: the job and the index as two words; see `with_role`.
ROLE = click.argument("role", nargs=-1, metavar="[JOB INDEX]")
_HOSTS = "give every task with its port, as in --ps_hosts=localhost:2222 --worker_hosts=localhost:2223,localhost:2224."
#: Flags of the classic programs that no command here takes: what to type instead.
_INSTEAD = {
    "ps-host": _HOSTS,
    "worker-host": _HOSTS,
    "port": _HOSTS,
    "issync": "--mode=sync waits for all workers at each update; --mode=async, the usual, waits for none.",
    "num-gpus": "a worker computes on one GPU of its own: --device=/gpu:0, or leave it out for the CPU.",
    "batch-size": "a batch is the problem's own: --problem=MODULE:FUNCTION, which returns mnist(batch_size=128).",
    "data-dir": "the digits come with the course; --data=FILE takes others, --problem=MODULE:FUNCTION reads any data.",
    "model-base-path": "write the folder alone: `serve /tmp/models` serves every model in it.",
    "rest-api-port": "--port is HTTP's here, and --grpc-port is gRPC's.",
    "model-name": "a model is called as its folder is: `serve /tmp/models` serves /tmp/models/mnist/1 as mnist.",
}
_INSTEAD["data-path"] = _INSTEAD["data-dir"]


class AsTyped(click.Group):
    """Commands that take `-index=0` for `--index=0`, and say what to type for a flag that none of them has."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's own, with the rest of the line in this course's spelling; UsageError says what to type instead."""
        name, command, words = super().resolve_command(ctx, args)
        if command is None:
            return name, command, words
        options = {option for parameter in command.params for option in parameter.opts}
        return name, command, list(_in_our_spelling(words, options))


def with_role(settings: dict[str, Any]) -> dict[str, Any]:
    """Return a command's arguments with the words in `role`, such as `worker 1`, in their place; UsageError if wrong.

    One word is the index of a `task` whose spec has one job.
    """
    role, job = settings["role"], "job" if "job" in settings else "job_name"
    more = {name: value for name, value in settings.items() if name != "role"}
    match role:
        case ():
            return more
        case (index,) if index.isdigit() and job == "job":
            return more | {"task_index": int(index)}
        case (name, index) if index.isdigit():
            return more | {job: name, "task_index": int(index)}
    raise click.UsageError(f"{' '.join(role)}: a role is a job and a number, such as `worker 1`; all else is a flag.")


def _in_our_spelling(words, options):
    flags = True
    for word in words:
        flags = flags and word != "--"
        match = _FLAG.fullmatch(word) if flags else None
        if match:
            dashes, typed, value = match.groups("")
            name = typed.replace("_", "-")
            if f"--{name}" in options:
                word = f"--{name}{value}"
            elif name in _INSTEAD:
                raise click.UsageError(f"{dashes}{typed}: {_INSTEAD[name]}")
        yield word

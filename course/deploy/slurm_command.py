"""Runs one of Slurm's commands with a deadline; an error has Slurm's own words."""

import asyncio
from asyncio.subprocess import PIPE
from contextlib import suppress

from course.deploy.launcher import DeployError

#: Seconds for one of Slurm's commands: without slurmctld they try for 9 s and more, in silence.
SLURM_ANSWERS = 8.0

#: What Slurm's complaint has in it -> the next step, where its own words have none.
_NEXT = {
    "temporarily un": "Its queue is full (MaxJobCount): wait for other jobs to end, then start again",
    "configuration source": "Run this on a login node of the cluster, or say where its slurm.conf is: SLURM_CONF",
}


async def slurm(*command: str, stdin: str = "") -> str:
    """Return what one of Slurm's commands prints; DeployError with its own words, or when it takes too long."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except FileNotFoundError:
        raise DeployError(f"there is no `{command[0]}` here. Run this on a machine with Slurm's commands") from None
    output, complaint = bytearray(), bytearray()
    try:
        async with asyncio.timeout(SLURM_ANSWERS):
            await asyncio.gather(_send(process, stdin), _read(process.stdout, output), _read(process.stderr, complaint))
            await process.wait()
    except TimeoutError:
        if _advice(_line(complaint)):  # it says why, and tries again for minutes
            raise _refusal(command[0], complaint) from None
        meanwhile = f" it says: {_line(complaint)}." if complaint else ""
        silence = f"Slurm has not answered `{command[0]}` for {SLURM_ANSWERS:.0f} s"
        raise DeployError(f"{silence};{meanwhile} `scontrol ping` says whether slurmctld is up") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise _refusal(command[0], complaint or output)
    return output.decode(errors="replace")


def _refusal(command, output):
    words = _line(output)
    return DeployError(f"`{command}` says: {words}{_advice(words)}")


def _advice(words):
    return "".join(f". {step}" for part, step in _NEXT.items() if part in words)


async def _send(process, text):
    with suppress(ConnectionError):  # it has ended without reading
        process.stdin.write(text.encode())
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream, output):
    while data := await stream.read(1 << 16):
        output += data


def _line(words):
    return " ".join(words.decode(errors="replace").split())

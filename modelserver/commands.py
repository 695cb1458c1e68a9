"""`serve` and `versions`, the two commands: what they take, who may ask, over what, and what is there."""

import logging
import os
import secrets
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from modelserver.bucket import BucketPath, is_address, path_of
from modelserver.deadlines import MODEL_ANSWERS, REQUEST_ANSWERED
from modelserver.signals import held_back

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
#: Names of the token in the environment; the second is the one of version 0.1.
_TOKENS = ("MODELSERVER_TOKEN", "COURSE_SERVING_TOKEN")


@contextmanager
def _errors_as_text() -> Iterator[None]:
    """Within the `with`, an error that its reader can mend ends the command with its message alone."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except (OSError, ImportError) as error:
        raise click.ClickException(str(error)) from error


@click.command()
@click.argument("directory", type=click.Path(file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Another than loopback asks for a token, and TLS.")
@click.option("--port", default=8500, show_default=True, type=click.IntRange(0, 65535), help="0: any free one.")
@click.option("--grpc-port", type=click.IntRange(0, 65535), help="gRPC as well, at this port; 0: any free one.")
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1, 256), help="Processes that compute.")
@click.option("--device", default="cpu", show_default=True, help="What each worker computes on: cpu, /gpu:0, …")
@click.option("--simulated-gpus", default=0, type=click.IntRange(0, 128), help="Simulated GPUs for each worker.")
@click.option("--largest", default=64, show_default=True, type=click.IntRange(1, 65536), help="Rows of a batch.")
@click.option(
    "--queue", default=1024, show_default=True, type=click.IntRange(min=1), help="Requests that wait, at most."
)
@click.option(
    "--deadline",
    default=REQUEST_ANSWERED,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds for a request to be answered; then 503.",
)
@click.option("--model-seconds", default=MODEL_ANSWERS, show_default=True, help="A longer batch counts as hung.")
@click.option("--margin", default=0.02, show_default=True, help="A version's accuracy may be worse by this.")
@click.option("--token-file", metavar="FILE", help="Whoever asks must have the word in it; or MODELSERVER_TOKEN.")
@click.option("--tls", metavar="FILE", help="A certificate and its key, PEM, which nobody else may read.")
@click.option("--insecure", is_flag=True, help="Plain HTTP on another host than loopback.")
@click.option("--verbose", is_flag=True, help="Log every request, not only the slow and the failed.")
def serve(directory: str, **settings: Any) -> None:
    """Serve every model in DIRECTORY over HTTP, by the Open Inference Protocol v2; take up new versions as they appear.

    With --grpc-port the protocol is spoken over gRPC too: the same models and queue, token and certificate.
    Ctrl-C, or SIGTERM, ends it when what is under way is answered.
    """
    with _errors_as_text():
        run(partial(print, flush=True), directory, **settings)


@click.command()
@click.argument("directory", type=click.Path(file_okay=False))
@click.argument("model")
@click.option("--serve", metavar="N|previous|newest", help="Hold the model at a version, or no longer.")
def versions(directory: str, model: str, serve: str | None) -> None:
    """List the versions of MODEL in DIRECTORY; with --serve, roll back to one, or forward. Servers follow at once."""
    with _errors_as_text():
        for line in listed(directory, model, serve):
            click.echo(line)


def run(
    say: Callable[[str], None],
    directory: str,
    *,
    host: str,
    token_file: str | None,
    tls: str | None,
    insecure: bool,
    verbose: bool,
    **settings: Any,
) -> None:
    """Serve the models in `directory` until told to end. `say` takes a line for the reader; events are logged.

    Raises ValueError for settings that don't go together, OSError for a port, folder or file that can't be had,
    ImportError where a library is missing.
    """
    with held_back():  # PyTorch and numpy, imported in part, can't be imported again
        from modelserver.front.server import Settings, serve
        from modelserver.versions.ownership import check_only_yours

    if not is_address(directory):
        if not Path(directory).is_dir():
            raise NotADirectoryError(
                f"{directory}: there is no such folder; export() makes it, with the first model in it"
            )
        check_only_yours(Path(directory).resolve())
    if settings.get("simulated_gpus") and find_spec("simgpu") is None:
        raise ImportError("--simulated-gpus: simgpu is not installed here: python -m pip install simgpu")
    token = _token(token_file)
    token_is_made = not token  # one that is made here
    if host not in _LOOPBACK:
        token = token or secrets.token_urlsafe(24)
        if not (tls or insecure):
            raise ValueError(
                f"--host {host}: whoever listens on the way reads the token and all requests. Give --tls FILE, a "
                "certificate and its key, or --insecure if something before this server speaks TLS."
            )
    if tls:
        _check_certificate(Path(tls))
    _log_to_stderr(verbose)

    def ready(port, grpc_port):
        shown = f"[{host}]" if ":" in host else host
        second = "" if grpc_port is None else f", by gRPC at {shown}:{grpc_port}"
        say(f"serving {directory} at {'https' if tls else 'http'}://{shown}:{port}{second}; Ctrl-C ends it")
        if token and token_is_made:
            say(f"header Authorization: Bearer {token}")

    with _folder_of(directory, say) as folder:
        serve(folder, Settings(host=host, token=token, tls=tls, **settings), ready)


@contextmanager
def _folder_of(directory, say):
    """Give the folder to serve: `directory` itself, or one with copies of what is at that address."""
    if not is_address(directory):
        yield Path(directory)
        return
    from modelserver.versions.bucket_models import copied

    say(f"models are code: whoever may write to {directory} can run any command here")
    with tempfile.TemporaryDirectory(prefix="models-") as folder, copied(BucketPath(directory), Path(folder)):
        yield Path(folder)


def listed(directory: str, name: str, serve: str | None) -> Iterator[str]:
    """Yield a line for each version of a model, and for each of its signatures.

    Before that it is held at `serve`, as for `modelserver.pin`, if given.

    Raises ValueError for a model or version that isn't there.
    """
    from modelserver.versions.bucket_models import fetched
    from modelserver.versions.pin import pin, pinned
    from modelserver.versions.publish import model_folder
    from modelserver.versions.version import numbers, read_version

    folder = path_of(directory) / name
    if not numbers(folder):
        raise ValueError(f"{folder}: there is no version of a model; name a folder of models, and one of them")
    if serve is not None:
        pin(directory, name, serve)
    held = pinned(folder)
    for number in numbers(folder):
        try:
            if isinstance(folder, BucketPath):
                with tempfile.TemporaryDirectory(prefix="models-") as here:
                    version = read_version(fetched(folder / str(number), model_folder(here, name)))
            else:
                version = read_version(folder / str(number))
            about = f"torch {version.torch}" + (", labelled examples" if version.labelled else "")
            lines = [f"   {name}: {signature}" for name, signature in version.signatures.items()]
        except (ValueError, OSError) as error:
            about, lines = f"can't be served: {error}", []
        yield f"{number}{'  held at this' if number == held else ''}  {about}"
        yield from lines
    yield f"served: {f'version {held}' if held is not None else 'the newest good one'}"


def _token(file):
    if file:
        text = Path(file).read_text(encoding="utf-8").strip()
        if not text:
            raise ValueError(f"--token-file {file}: the file is empty; write a long random word into it")
    else:
        text = next((os.environ[name].strip() for name in _TOKENS if name in os.environ), "")
    if text and not (text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("the token is one word of ASCII, without blanks")
    return text or None


def _check_certificate(path):
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise ValueError(f"--tls {path}: others may read the key in it; say `chmod 600 {path}`")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)
    except ssl.SSLError as error:
        raise ValueError(
            f"--tls {path}: it must hold a certificate and its private key, in PEM form ({error})"
        ) from None


def _log_to_stderr(verbose):
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("modelserver")
    log.addHandler(handler)
    log.setLevel(logging.DEBUG if verbose else logging.INFO)
    log.propagate = False

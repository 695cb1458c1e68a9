"""`python -m course serve` and `versions`: who may ask, over what, and what is there."""

import logging
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from course.serving.versions.ownership import check_only_yours
from course.serving.versions.pin import pin, pinned
from course.serving.versions.version import numbers, read_version

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


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
    """Serve the models in `directory` until told to end. `say` takes a line for the reader; what happens is logged.

    Raises ValueError for settings that don't go together, OSError for a port, folder or file that can't be had,
    ImportError without the extra `serving`.
    """
    try:
        from course.serving.front.server import Settings, serve
    except ImportError as error:
        raise ImportError(
            f"{error}: serving needs Starlette and uvicorn: python -m pip install 'course[serving]'"
        ) from None
    folder = Path(directory)
    if not folder.is_dir():
        raise NotADirectoryError(f"{directory}: there is no such folder; export() makes it, with the first model in it")
    check_only_yours(folder.resolve())
    token = _token(token_file)
    if host not in _LOOPBACK:
        token = token or secrets.token_urlsafe(24)
        if not (tls or insecure):
            raise ValueError(
                f"--host {host}: whoever listens on the way reads the token and all requests. Give --tls FILE, made by "
                "`python -m course certificate FILE`, or --insecure if something before this server speaks TLS."
            )
    if tls:
        from course.cluster.certificates import read_certificate

        read_certificate(tls)  # its dates, and that only its owner may read it
    _log_to_stderr(verbose)

    def ready(port):
        shown = f"[{host}]" if ":" in host else host
        say(f"serving {folder} at {'https' if tls else 'http'}://{shown}:{port}; Ctrl-C ends it")
        if token and not token_file and "COURSE_SERVING_TOKEN" not in os.environ:
            say(f"header Authorization: Bearer {token}")

    serve(folder, Settings(host=host, token=token, tls=tls, **settings), ready)


def listed(directory: str, name: str, serve: str | None) -> Iterator[str]:
    """Yield a line for each version of a model, after holding it at `serve`, as for `course.serving.pin`, if given.

    Raises ValueError for a model or version that isn't there.
    """
    folder = Path(directory) / name
    if not numbers(folder):
        raise ValueError(f"{folder}: there is no version of a model; name a folder of models, and one of them")
    if serve is not None:
        pin(directory, name, serve)
    held = pinned(folder)
    for number in numbers(folder):
        try:
            version = read_version(folder / str(number))
            about = f"torch {version.torch}" + (", labelled examples" if version.labelled else "")
        except (ValueError, OSError) as error:
            about = f"can't be served: {error}"
        yield f"{number}{'  held at this' if number == held else ''}  {about}"
    yield f"served: {f'version {held}' if held is not None else 'the newest good one'}"


def _token(file):
    text = (
        Path(file).read_text(encoding="utf-8").strip() if file else os.environ.get("COURSE_SERVING_TOKEN", "").strip()
    )
    if file and not text:
        raise ValueError(f"--token-file {file}: the file is empty; write a long random word into it")
    if text and not (text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("the token is one word of ASCII, without blanks")
    return text or None


def _log_to_stderr(verbose):
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("course.serving")
    log.addHandler(handler)
    log.setLevel(logging.DEBUG if verbose else logging.INFO)
    log.propagate = False

"""A model that others call: exported in versions, served over HTTP by the Open Inference Protocol v2.

Read in this order: `versions` (a model on the disk), `protocol` (requests and answers as bytes), `compute` (a worker
that runs batches), `front` (the process that holds sockets, queue and workers), `client` (who asks).
modelserver/docs/serving.md says how to run it.
"""

import logging
from importlib import import_module
from typing import Any

from modelserver.signals import held_back

#: Loaded when first used: the front process needs no torch, a worker no web server.
_HOME = {
    "Answer": "modelserver.client",
    "Client": "modelserver.client",
    "ServingError": "modelserver.client",
    "Version": "modelserver.versions.version",
    "export": "modelserver.versions.export",
    "local_server": "modelserver.local",
    "pin": "modelserver.versions.pin",
    "read_version": "modelserver.versions.version",
}

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless its user asks for more

__all__ = ["Answer", "Client", "ServingError", "Version", "export", "local_server", "pin", "read_version"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'modelserver' has no {name!r}; its names are {', '.join(__all__)}")
    with held_back():
        return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

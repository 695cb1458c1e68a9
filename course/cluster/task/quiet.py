"""Dask's log lines and advice are for those who run clusters; keep them out of a notebook, unless its user set them."""

import logging

import dask
from distributed.client import AllExit  # this import also sets the levels and defaults that are looked at below

_ADVICE = "distributed.admin.large-graph-warning-threshold"


def quiet():
    """Silence, in this process, what Dask's configuration leaves as it came: log lines, advice on large arguments."""
    if not (dask.config.get("logging", None) or dask.config.get("distributed.logging", None)):
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    if dask.config.get(_ADVICE) == "10MB":
        dask.config.set({_ADVICE: "1GB"})  # handing a slice of the data to a task is the lesson here, not a mistake


def forget_abandoned_gathers(loop, context):
    """Handle a loop's exceptions, silent about the waits that an interrupted `client.gather` leaves behind."""
    if not isinstance(context.get("exception"), AllExit):
        loop.default_exception_handler(context)

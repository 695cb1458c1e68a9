"""Dask talks to operators; a notebook is for learners: raise its log levels and limits, unless its user chose them."""

import logging

import dask

_DEFAULTS = {
    "distributed.admin.large-graph-warning-threshold": "1GB",  # a slice of data in a submit is the lesson, not a fault
    "distributed.scheduler.work-stealing-interval": "100ms",
    "distributed.comm.retry.count": 0,
}


def quiet():
    """Quieten Dask in this process: log lines below an error, and advice that a course about this need not repeat."""
    for name in ("distributed", "distributed.client", "distributed.scheduler", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

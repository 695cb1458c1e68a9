"""A snapshot as bytes, on its way from a shard to the session."""

import io
from dataclasses import fields

import torch

from course.training.checkpoint.snapshot import Applied, Snapshot


def packed(snapshot):
    """Return the snapshot as bytes."""
    told = {field.name: getattr(snapshot, field.name) for field in fields(snapshot)}
    told["applied"] = {session: list(entry) for session, entry in snapshot.applied.items()}
    written = io.BytesIO()
    torch.save(told, written)
    return written.getvalue()


def unpacked(data):
    """Return the snapshot that `packed` made these bytes of; nothing but tensors and plain data is read."""
    told = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    told["applied"] = {session: Applied(*entry) for session, entry in told["applied"].items()}
    return Snapshot(**told)

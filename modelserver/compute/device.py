"""The name that torch has for a device."""

import torch


def torch_name(text: str) -> str:
    """Return torch's name for the device `text`: "/gpu:1" and "/device:GPU:1" are "cuda:1", a torch name is itself.

    Without a number it is the first of its kind. Raises ValueError for what names no device.
    """
    kind, _, index = text.lower().removeprefix("/").removeprefix("device:").partition(":")
    name = "cpu" if kind == "cpu" else f"{'cuda' if kind == 'gpu' else kind}:{index or 0}"
    try:
        return str(torch.device(name))
    except RuntimeError:
        raise ValueError(f"device {text!r}: give cpu, /gpu:0, or another name of torch's, such as cuda:1.") from None

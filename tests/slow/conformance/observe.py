"""Run a program on a device and write down all it made: values on the CPU, and the device each reports."""

from dataclasses import dataclass

import torch

#: Optimisers count on the CPU, also on CUDA, unless `capturable` or `fused`; ASGD alone counts on the device
#: (torch/optim/adam.py, nadam.py, asgd.py: `_init_group`).
COUNTS = ("step", "mu_product")


@dataclass(frozen=True)
class Seen:
    """One result: its `path` in the program's output, its `value` (on the CPU, if a tensor), and devices.

    `device` is what the tensor reports, `expected` where CUDA would have left it; both "" for what is no tensor.
    """

    path: str
    value: object
    device: str
    expected: str
    facts: tuple = ()


def observe(program, device):
    """Run `program(device)` to its end and return its list of `Seen`."""
    results = []
    for name, result, expected in program(device):
        results += list(_flat(name, result, _whole_name(expected)))
    return results


def _whole_name(device):
    device = torch.device(device)
    return "cuda:0" if str(device) == "cuda" else str(device)


def _flat(path, result, expected):
    if isinstance(result, torch.nn.Module):
        yield from _flat(path, _tensors_of(result), expected)
    elif isinstance(result, torch.optim.Optimizer):
        yield from _state(path, result, expected)
    elif isinstance(result, dict):
        for key, part in result.items():
            yield from _flat(f"{path}.{key}", part, expected)
    elif isinstance(result, (list, tuple)):
        for index, part in enumerate(result):
            yield from _flat(f"{path}[{index}]", part, expected)
    elif isinstance(result, torch.Tensor):
        yield _tensor(path, result, expected)
    else:
        yield Seen(path, result, "", "")


def _tensor(path, tensor, expected):
    # `.numpy()` is the proof that the values are plain ones on the CPU; bfloat16 has no numpy, so it goes as float32
    home = tensor.detach().cpu()
    home = home.float() if home.dtype is torch.bfloat16 else home
    value = torch.from_numpy(home.resolve_conj().resolve_neg().numpy().copy())
    facts = (str(tensor.dtype), tuple(tensor.shape), tuple(tensor.stride()), tensor.requires_grad)
    return Seen(path, value, str(tensor.device), expected, facts)


def _tensors_of(module):
    parameters = dict(module.named_parameters())
    gradients = {f"{name}.grad": p.grad for name, p in parameters.items() if p.grad is not None}
    return {**parameters, **gradients, **dict(module.named_buffers())}


def _state(path, optimiser, expected):
    on_the_cpu = () if isinstance(optimiser, torch.optim.ASGD) else COUNTS
    for k, state in enumerate(optimiser.state.values()):
        for key, part in state.items():
            yield from _flat(f"{path}.{k}.{key}", part, "cpu" if key in on_the_cpu else expected)


def misplaced(results):
    """Return a line for each result that isn't where CUDA would have left it."""
    return [f"{s.path} is on {s.device}, CUDA leaves it on {s.expected}" for s in results if s.device != s.expected]


def differences(results, reference, exact=True):
    """Return a line for each result that differs from the CPU's: value, dtype, shape, strides, gradient flag."""
    lines = []
    if [s.path for s in results] != [r.path for r in reference]:
        return [f"other results: {[s.path for s in results]} for {[r.path for r in reference]}"]
    for s, r in zip(results, reference, strict=True):
        if s.facts != r.facts:
            lines.append(f"{s.path}: {s.facts} for the CPU's {r.facts}")
        elif not _same(s.value, r.value, exact):
            lines.append(f"{s.path}: {s.value} for the CPU's {r.value}")
    return lines


def _same(value, reference, exact):
    if isinstance(value, torch.Tensor):
        if exact or not (value.is_floating_point() or value.is_complex()):
            return torch.equal(torch.nan_to_num(value), torch.nan_to_num(reference))
        return torch.allclose(value, reference, rtol=1e-3, atol=1e-4, equal_nan=True)
    if isinstance(value, float) and not exact:
        return abs(value - reference) <= 1e-3 * max(1, abs(reference))
    return value == reference

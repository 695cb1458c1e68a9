"""One module on several devices: each copy takes a share of the batch, and the gradients are averaged by share."""

import copy
from collections.abc import Callable, Iterator, Sequence

import torch

from course.devices.names import name_of
from course.replicas.shares import shares
from course.replicas.split import resolved

#: `loss(outputs, *targets)`: a mean over the rows.
Loss = Callable[..., torch.Tensor]


def replicate(
    module: torch.nn.Module, devices: Sequence[str | torch.device] | str, weights: Sequence[float] | None = None
) -> "Replicas":
    """Return `Replicas`: a copy of `module` on each of `devices`; `module` itself stays where it is, as their master.

    - `devices`: one or more names such as `/gpu:0` or `cuda:1`; the same one may be named twice.
    - `weights`: one number a device, for devices that are not equally fast (default: equal shares of a batch).

    Raises ValueError for a device that isn't there, no devices, or weights that don't fit.

    >>> model = torch.nn.Linear(3, 1)
    >>> both = replicate(model, ["/cpu:0", "/cpu:0"])
    >>> both
    Replicas(Linear on /cpu:0, /cpu:0)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> loss = both.step(optimizer, torch.nn.functional.mse_loss, torch.ones(5, 3), torch.ones(5, 1))
    """
    places = resolved(devices, "replicate")
    shares(0, len(places), weights)  # raises for weights that don't fit, before anything is copied
    return Replicas(module, places, weights)


class Replicas:
    """Copies of a module that see different rows of a batch and stay equal; made by `replicate`.

    `module` is the master: give *its* parameters to the optimiser, save *it*. `copies` stand on `devices`. A copy that
    draws random numbers (dropout) draws its own.
    """

    def __init__(
        self, module: torch.nn.Module, devices: Sequence[torch.device], weights: Sequence[float] | None = None
    ):
        self.module, self.devices, self.weights = module, devices, weights
        self.copies = [copy.deepcopy(module).to(device) for device in devices]
        self._followed = self._versions()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the module's outputs for `inputs` (rows along dimension 0), joined on the CPU; no gradients."""
        self._follow_master()
        _rows([inputs])
        busy = self._busy(len(inputs))
        with torch.no_grad():
            results = [twin(inputs[rows].to(device)) for twin, device, rows in busy]
            home = [result.to("cpu") for result in results]
            self._average_buffers(busy)
        return torch.cat(home)

    def step(self, optimizer: torch.optim.Optimizer, loss: Loss, *batch: torch.Tensor) -> float:
        """Make one training step, as `module` alone would on the whole batch, to rounding; return the loss, a float.

        `optimizer` has the master's parameters; `loss` and `batch` are as in `backward`. Afterwards the master and all
        copies are equal.
        """
        value = self.backward(loss, *batch)
        optimizer.step()
        self.broadcast()
        return value

    def backward(self, loss: Loss, *batch: torch.Tensor) -> float:
        """Set the master's `.grad` to the gradient of the whole batch's loss; return that loss, a float.

        - `loss(outputs, *targets)` is a *mean* over the rows it gets; so a share counts by its size.
        - `batch`: the inputs, then the targets, tensors of the same number of rows (at least 1).

        Floating-point buffers (BatchNorm's running mean) become the mean over the copies, by share; others the first
        copy's. BatchNorm sees only a share at a time, so with it the step is not that of the whole batch.
        """
        total = _rows(batch)
        self._follow_master()
        busy = self._busy(total)
        losses = [_share_loss(twin, device, rows, loss, batch) for twin, device, rows in busy]
        for share_loss in losses:  # only now: every device has its work before the host waits for any
            share_loss.backward()
        with torch.no_grad():
            self._average_gradients(busy)
            self._average_buffers(busy)
            return _weighted(losses, busy, "cpu").item()

    def broadcast(self) -> None:
        """Copy the master's parameters and buffers to every copy, what is frozen, and whether it is training."""
        with torch.no_grad():
            for twin in self.copies:
                for mine, theirs in zip(_tensors(twin), _tensors(self.module), strict=True):
                    mine.requires_grad_(theirs.requires_grad).copy_(theirs)
                for mine, theirs in zip(twin.modules(), self.module.modules(), strict=True):
                    mine.training = theirs.training
        self._followed = self._versions()

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Return the master's parameters, for an optimiser."""
        return self.module.parameters()

    def _busy(self, rows):
        """Return (copy, device, slice of the rows) for every copy that gets at least one row."""
        parts = zip(self.copies, self.devices, shares(rows, len(self.copies), self.weights), strict=True)
        return [(twin, device, part) for twin, device, part in parts if part.stop > part.start]

    def _follow_master(self):
        # the caller may have loaded a checkpoint into the master, or called its eval(), since the last step
        if self._versions() != self._followed:
            self.broadcast()

    def _versions(self):
        modes = [part.training for part in self.module.modules()]
        return [(id(tensor), tensor._version, tensor.requires_grad) for tensor in _tensors(self.module)], modes

    def _average_gradients(self, busy):
        for master, *mine in zip(self.module.parameters(), *(twin.parameters() for twin, _, _ in busy), strict=True):
            unused = all(parameter.grad is None for parameter in mine)
            gradients = [
                torch.zeros_like(parameter) if parameter.grad is None else parameter.grad for parameter in mine
            ]
            master.grad = None if unused else _weighted(gradients, busy, master.device)

    def _average_buffers(self, busy):
        changed = False
        for master, *mine in zip(self.module.buffers(), *(twin.buffers() for twin, _, _ in busy), strict=True):
            values = [buffer.to(master.device) for buffer in mine]
            if all(torch.equal(buffer, master) for buffer in values):
                continue  # a constant: its mean may differ from it in the last bit
            master.copy_(_weighted(values, busy, master.device) if master.is_floating_point() else values[0])
            changed = True
        if changed:
            self.broadcast()

    def __repr__(self):
        return f"Replicas({type(self.module).__name__} on {', '.join(map(name_of, self.devices))})"


def _share_loss(twin, device, rows, loss, batch):
    twin.zero_grad()
    inputs, *targets = (tensor[rows].to(device) for tensor in batch)
    return loss(twin(inputs), *targets)


def _weighted(tensors, busy, device):
    """Return Σ share · tensor on `device`, added up in the order of the copies; the shares add up to 1."""
    sizes = [rows.stop - rows.start for _, _, rows in busy]
    return sum(size / sum(sizes) * tensor.to(device) for size, tensor in zip(sizes, tensors, strict=True))


def _tensors(module):
    return [*module.parameters(), *module.buffers()]


def _rows(batch):
    lengths = [len(tensor) for tensor in batch]
    if not lengths or lengths[0] == 0 or len(set(lengths)) != 1:
        raise ValueError(
            f"Replicas: a batch of {len(lengths)} tensors of {lengths} rows; give the inputs and their targets, "
            "the same number of rows each, at least 1."
        )
    return lengths[0]

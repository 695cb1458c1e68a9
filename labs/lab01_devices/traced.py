"""Tensors without numbers: they have a shape and a device, and write down what is done to them, line by line.

A function that is called with them leaves a program behind, such as

    t1 = a.to(cuda:0)
    t2 = b.to(cuda:0)
    t3 = t1 @ t2
    t4 = t3.to(cpu)
    return t4

The program is what a placement is judged by: run elsewhere, on numbers of the judge's choice, it gives the result, the
devices and the bytes. Nothing in here knows a right one. This file goes into the sandbox as text: it stands alone.
"""

DEVICES = ("cpu", "cuda:0", "cuda:1")


class Traced:
    """A tensor of `shape` on `device` that is called `name` in the list of lines `program`."""

    def __init__(self, name, shape, device, program):
        self.name, self.shape, self.device, self.program = name, tuple(shape), device, program

    def to(self, device, *_, **__):
        """Copy it to `device`; on the device where it lies, it is itself, as in torch."""
        device = _device(device)
        if device == self.device:
            return self
        return self._made(f"{self.name}.to({device})", self.shape, device)

    def cpu(self):
        return self.to("cpu")

    def cuda(self, device=0, **_):
        return self.to(f"cuda:{device}" if isinstance(device, int) else device)

    def __matmul__(self, other):
        if not isinstance(other, Traced):
            return NotImplemented
        if self.device != other.device:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {self.device} and "
                f"{other.device}!"
            )
        if len(self.shape) != 2 or len(other.shape) != 2 or self.shape[1] != other.shape[0]:
            raise RuntimeError(f"the shapes {self.shape} and {other.shape} cannot be multiplied")
        return self._made(f"{self.name} @ {other.name}", (self.shape[0], other.shape[1]), self.device)

    def mm(self, other):
        return self @ other

    matmul = mm

    def relu(self, *_, **__):
        return self._made(f"{self.name}.relu()", self.shape, self.device)

    @property
    def is_cuda(self):
        return self.device != "cpu"

    def size(self, axis=None):
        return self.shape if axis is None else self.shape[axis]

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<{self.name}, {self.shape[0]} × {self.shape[1]}, on {self.device}>"

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        # torch.mm(a, b), torch.relu(a): the same as the method so called
        return getattr(args[0], function.__name__)(*args[1:], **(kwargs or {}))

    def _made(self, text, shape, device):
        name = f"t{len(self.program) + 1}"
        self.program.append(f"{name} = {text}")
        return Traced(name, shape, device, self.program)


def _device(device):
    text = str(device).lower().removeprefix("/").removeprefix("device:").replace("gpu", "cuda")
    text = {"cuda": "cuda:0", "cpu:0": "cpu"}.get(text, text)
    if text not in DEVICES:
        raise RuntimeError(f"invalid device {str(device)!r}: this machine has {', '.join(DEVICES)}")
    return text


def inputs(shapes):
    """Return tensors on the CPU that share a program, for `shapes`: name -> shape."""
    program = []
    return [Traced(name, shape, "cpu", program) for name, shape in shapes.items()]


def program_of(result):
    """Return the lines that made `result`."""
    if not isinstance(result, Traced):
        raise TypeError(f"it returned {type(result).__name__}, where a tensor made of the given ones was asked for")
    return [*result.program, f"return {result.name}"]


def drive(entry, shapes, *more):
    """Return the program that `entry` leaves behind on tensors of these shapes."""
    return program_of(entry(*inputs(shapes), *more))

"""What one matrix product took: measured, recorded or modelled, and the figure says which."""

from dataclasses import dataclass

KINDS = ("measured", "recorded", "modelled")


@dataclass(frozen=True)
class MatmulTiming:
    """Seconds for one product of two `size` × `size` matrices on `device`.

    - `to_device`, `from_device`: copying both factors there and the product back; 0 on the CPU, where nothing moves.
    - `compute`: the product itself, steady state (a median over `repeats`, spread `iqr`); `first_call`: the very first
      one, set-up included. `threads` is the number of CPU threads, 0 where that has no meaning.
    - `kind`: "measured" here and now, "recorded" on another day, "modelled" from a data sheet; `origin` names the
      hardware, and the date where there is one.
    """

    size: int
    device: str
    compute: float
    to_device: float = 0.0
    from_device: float = 0.0
    first_call: float = 0.0
    iqr: float = 0.0
    repeats: int = 0
    threads: int = 0
    dtype: str = "float32"
    kind: str = "measured"
    origin: str = ""

    @property
    def on_cpu(self):
        """Whether the product ran on the CPU."""
        return self.device.rpartition("/")[2].startswith("cpu")

    @property
    def total(self):
        """Seconds with both copies counted."""
        return self.compute + self.copies

    @property
    def copies(self):
        """Seconds of both copies, there and back."""
        return self.to_device + self.from_device

    @property
    def flops(self):
        """Floating-point operations of the product: size² results, each of size multiplications and additions."""
        return 2 * self.size**3

    @property
    def gflops(self):
        """10⁹ floating-point operations a second, copies not counted."""
        return self.flops / self.compute / 1e9

    @property
    def label(self):
        """Where the figure comes from, in words, to stand beside it wherever it is shown."""
        return f"{self.kind}: {self.origin}" if self.origin else self.kind

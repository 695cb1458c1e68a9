"""The seconds of one product, copy, op or game of Life; each is a `Figure`, so it says whether it was measured."""

from dataclasses import dataclass

from course.traces.measured_or_modelled import Figure


@dataclass(frozen=True)
class MatmulTiming(Figure):
    """Seconds for one product of two `size` × `size` matrices on `device`, with `kind` and `origin` of a `Figure`.

    - `to_device`, `from_device`: copying both factors there and the product back; 0 on the CPU, where nothing moves.
    - `compute`: the product itself, steady state (a median over `repeats`, spread `iqr`); `first_call`: the very first
      one, set-up included. `threads` is the number of CPU threads, 0 where that has no meaning.
    - `dtype`: of the matrices; "tfloat32" is float32 multiplied by a GPU's tensor cores with 10 bits of fraction.
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
    def on_cpu(self) -> bool:
        """Whether the product ran on the CPU."""
        return self.device.rpartition("/")[2].startswith("cpu")

    @property
    def total(self) -> float:
        """Seconds with both copies counted."""
        return self.compute + self.copies

    @property
    def copies(self) -> float:
        """Seconds of both copies, there and back."""
        return self.to_device + self.from_device

    @property
    def flops(self) -> int:
        """Floating-point operations of the product: size² results, each of size multiplications and additions."""
        return 2 * self.size**3

    @property
    def gflops(self) -> float:
        """10⁹ floating-point operations a second, copies not counted."""
        return self.flops / self.compute / 1e9


@dataclass(frozen=True)
class CopyTiming(Figure):
    """Seconds (a median over `repeats`, spread `iqr`) to copy `nbytes` once.

    - `direction`: "to device", "from device", or "in memory" where both ends lie in the memory of `device`, which then
      reads and writes every byte.
    - `memory`: what the host's end lies in: "pageable" (ordinary) or "pinned" (kept in place, so that a device can
      fetch from it by itself).
    """

    direction: str
    memory: str
    nbytes: int
    device: str
    seconds: float
    iqr: float = 0.0
    repeats: int = 0
    kind: str = "measured"
    origin: str = ""

    @property
    def bandwidth(self) -> float:
        """Bytes a second that arrived; a copy in memory has read as many besides."""
        return self.nbytes / self.seconds


@dataclass(frozen=True)
class OpTiming(Figure):
    """Seconds (a median over `repeats`, spread `iqr`) of one op on `numbers` numbers each of its inputs.

    `flops` are its floating-point operations, `nbytes` what it must read and write; `threads` as in `MatmulTiming`.
    """

    op: str
    numbers: int
    device: str
    seconds: float
    flops: int
    nbytes: int
    iqr: float = 0.0
    repeats: int = 0
    threads: int = 0
    dtype: str = "float32"
    kind: str = "measured"
    origin: str = ""

    @property
    def intensity(self) -> float:
        """Operations for each byte that is read or written."""
        return self.flops / self.nbytes

    @property
    def speed(self) -> float:
        """Floating-point operations a second."""
        return self.flops / self.seconds

    @property
    def bandwidth(self) -> float:
        """Bytes read and written a second."""
        return self.nbytes / self.seconds


@dataclass(frozen=True)
class LifeTiming(Figure):
    """Seconds (a median over `repeats`, spread `iqr`) of `generations` of Life on a `height` × `width` board."""

    engine: str
    height: int
    width: int
    generations: int
    device: str
    seconds: float
    iqr: float = 0.0
    repeats: int = 0
    threads: int = 0
    kind: str = "measured"
    origin: str = ""

    @property
    def cells_a_second(self) -> float:
        """Cells decided a second."""
        return self.height * self.width * self.generations / self.seconds

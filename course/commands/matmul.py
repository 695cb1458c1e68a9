"""What `python -m course matmul cpu 1500` prints: one line a size, each with where its figures come from."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from course.devices import DeviceName, list_devices, simulated_gpus
from course.timing.matmul import measure_matmul
from course.traces import Trace, load_trace, names
from course.units import in_words


def report(
    device: str, sizes: Sequence[int], budget: float = 20.0, simulate: str | None = None, trace: str | None = None
) -> Iterator[str]:
    """Yield the lines of the command: one a size, then the sizes that are left out, and why.

    `simulate` names the model of a simulated GPU (modelled seconds), `trace` a trace (recorded) or data sheet
    (modelled), whose figures are shown in place of this machine's. Raises ValueError as `measure_matmul` and
    `load_trace` do; for a GPU that is not here, the error has both ways on.
    """
    if simulate is not None and trace is not None:
        raise ValueError("matmul: --simulate models a GPU, --trace shows what was recorded; give one of them.")
    if simulate is not None and DeviceName.parse(device).kind != "gpu":
        raise ValueError(f"matmul {device} --simulate: a GPU is simulated, not this; say gpu, or leave --simulate out.")
    _check_device(device, sizes, simulate or trace)
    if trace is not None:
        yield from _recorded(device, sizes, load_trace(trace))
        return
    with simulated_gpus(1, simulate) if simulate is not None else nullcontext():
        timings = measure_matmul(list(sizes), [device], budget=budget)
    yield from map(_line, timings)
    missing = [str(size) for size in sizes if size not in {t.size for t in timings}]
    if missing:
        yield f"left out, more than the budget of {budget:g} s allows: {', '.join(missing)}"


def _check_device(device, sizes, elsewhere):
    """Refuse a GPU that is neither here nor asked for from elsewhere, and say what to type instead."""
    name = DeviceName.parse(device)
    here = [d.name for d in list_devices()]
    if elsewhere or str(name) in here or name.kind != "gpu":
        return  # measure_matmul names any other device that is not here
    loaded = [load_trace(name) for name in names()]
    with_a_gpu = [t.name for t in loaded if not isinstance(t, Trace) or not all(row.on_cpu for row in t.matmul)]
    command = f"python -m course matmul {device} {' '.join(map(str, sizes))}"
    raise ValueError(
        f"{device} is not on this machine; it has {', '.join(here)}. Two ways to see a GPU's figures without one:\n"
        f"  {command} --simulate        modelled seconds of an NVIDIA H200; --simulate T4 for another\n"
        f"  {command} --trace NAME      what NAME took or would take: {', '.join(with_a_gpu)}"
    )


def _recorded(device, sizes, trace):
    """The lines of the figures that a trace or a data sheet has."""
    if not isinstance(trace, Trace):
        yield from (_line(trace.matmul(size)) for size in sizes)
        return
    kind = DeviceName.parse(device).kind
    has = {t.size: t for t in trace.matmul if t.dtype == "float32" and DeviceName.parse(t.device).kind == kind}
    if not has:
        there = ", ".join(sorted({t.device for t in trace.matmul}))
        raise ValueError(
            f"--trace {trace.name}: it was recorded on {there} ({trace.origin}). Ask for that in place of {device}."
        )
    yield from (_line(has[size]) for size in sizes if size in has)
    missing = [str(size) for size in sizes if size not in has]
    if missing:
        yield f"not recorded: {', '.join(missing)}; {trace.name!r} has {', '.join(map(str, has))}"


def _line(timing):
    steady = in_words(timing.compute)
    if timing.repeats > 1:
        steady += f" ± {in_words(timing.iqr)}, median of {timing.repeats}"
    facts = [f"{timing.gflops:.0f} GFLOP/s"]
    if timing.threads:
        facts.append(f"{timing.threads} threads")
    if not timing.on_cpu:
        facts.append(f"copies {in_words(timing.to_device)} there, {in_words(timing.from_device)} back")
    if timing.first_call:
        facts.append(f"first call {in_words(timing.first_call)}")
    return f"{timing.device} {timing.size}: {steady} ({', '.join(facts)}) {timing.label}"

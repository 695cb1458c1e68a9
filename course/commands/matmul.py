"""`python -m course matmul cpu 1500`: each size's figures and where they come from, its ops and where they ran."""

from contextlib import nullcontext

import click

from course.commands.command_run import errors_as_messages
from course.units import in_words


@click.command()
@click.argument("device", metavar="cpu|gpu|NAME")
@click.argument("sizes", nargs=-1, required=True, type=click.IntRange(min=1))
@click.option("--budget", default=20.0, show_default=True, help="Seconds to spend at most.")
@click.option(
    "--simulate",
    is_flag=False,
    flag_value="H200",
    metavar="[MODEL]",
    help="Modelled seconds of a simulated GPU, an H200 by default; last on the line.",
)
@click.option("--trace", metavar="NAME", help="Figures of a trace or data sheet, or of your own .json file of one.")
@errors_as_messages(ValueError)
def matmul(device: str, sizes: tuple[int, ...], budget: float, simulate: str | None, trace: str | None) -> None:
    """Time products of SIZE by SIZE matrices: copies apart from the product, the first call apart from the rest.

    Below a size's time stands where each op of one product ran, and the sum of the product's numbers.
    """
    for line in _lines(device, sizes, budget, simulate, trace):
        click.echo(line)


def _lines(device, sizes, budget, simulate, trace):
    """Yield the lines: one a size, the placement and the result of it, then the sizes that are left out, and why."""
    from course.devices import DeviceName, simulated_gpus
    from course.timing.matmul import measure_matmul
    from course.traces import load_trace

    if simulate is not None and trace is not None:
        raise ValueError("matmul: --simulate models a GPU, --trace shows what was recorded; give one of them.")
    if simulate is not None and DeviceName.parse(device).kind != "gpu":
        raise ValueError(f"matmul {device} --simulate: a GPU is simulated, not this; say gpu, or leave --simulate out.")
    _check_device(device, sizes, simulate or trace)
    if trace is not None:
        yield from _recorded(device, sizes, load_trace(trace))
        return
    with simulated_gpus(1, simulate) if simulate is not None else nullcontext():
        for timing in (timings := measure_matmul(list(sizes), [device], budget=budget)):
            yield _line(timing)
            yield from _placed(timing.size, device)
    missing = [str(size) for size in sizes if size not in {t.size for t in timings}]
    if missing:
        yield f"left out, more than the budget of {budget:g} s allows: {', '.join(missing)}"


def _placed(size, device):
    """Yield a line for each op of the product of a random matrix and its transpose, and one for its result."""
    import torch

    from course.devices import log_placement, place

    a = torch.rand(size, size, generator=torch.Generator().manual_seed(size))
    with log_placement() as log, place(device):
        total = (a @ a.T).sum()
    yield from (f"  {line}" for line in log.lines())
    yield f"  the product's numbers add up to {total.item():.6g}"


def _check_device(device, sizes, elsewhere):
    """Refuse a GPU that is neither here nor asked for from elsewhere, and say what to type instead."""
    from course.devices import DeviceName, list_devices
    from course.traces import Trace, load_trace, names

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
    from course.devices import DeviceName
    from course.traces import Trace

    if not isinstance(trace, Trace):
        yield from (_line(trace.matmul(size)) for size in sizes)
        return
    kind = DeviceName.parse(device).kind
    has = {t.size: t for t in trace.matmul if t.dtype == "float32" and DeviceName.parse(t.device).kind == kind}
    if not has:
        recorded = ", ".join(sorted({t.device for t in trace.matmul}))
        raise ValueError(
            f"--trace {trace.name}: it was recorded on {recorded} ({trace.origin}). Ask for that in place of {device}."
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

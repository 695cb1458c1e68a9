"""When is the GPU worth it? Two pictures: seconds over size with the crossover, and where the GPU's seconds go."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from course.draw.colours import ROLES, bar_style
from course.draw.picture import Picture, figure, picture

if TYPE_CHECKING:
    from course.timing.crossover import Crossover
    from course.traces import MatmulTiming


def crossover(timings: Sequence["MatmulTiming"], result: "Crossover") -> Picture:
    """Return a `Picture` of seconds over size for `timings` (`MatmulTiming` of one CPU and one GPU).

    `result` is their `Crossover`; its size with copies included makes the title. Lines that were not measured on this
    machine are dashed and say what they are.
    """
    cpu = sorted((t for t in timings if t.on_cpu), key=lambda t: t.size)
    gpu = sorted((t for t in timings if not t.on_cpu), key=lambda t: t.size)
    wins = result.with_transfers
    title = f"The GPU wins from n = {wins}, copies included" if wins else "The GPU never wins at these sizes"
    if gpu[0].kind != "measured":
        title += f" ({gpu[0].kind})"
    with figure(figsize=(7.2, 4.2)) as (drawn, axes):
        axes.set(xscale="log", yscale="log", xlabel="matrix size n (n × n)", ylabel="seconds a product")
        _line(axes, cpu, [t.compute for t in cpu], "cpu", "CPU", 2.0)
        _line(axes, gpu, [t.total for t in gpu], "gpu", "GPU with copies", 2.0)
        _line(axes, gpu, [t.compute for t in gpu], "gpu", "GPU, product alone", 1.0)
        sizes = [t.size for t in gpu]
        grey = (ROLES["bytes"].colour, 0.25)
        axes.fill_between(sizes, [t.compute for t in gpu], [t.total for t in gpu], facecolor=grey, linewidth=0)
        if wins:
            axes.axvline(wins, ymax=0.7, color=ROLES["bytes"].colour, linewidth=1, linestyle=":")
        axes.set_xlim(right=max(t.size for t in timings) * 12)  # room for the labels on the lines
        shown = [n for n in (16, 64, 192, 512, 1500, 4500) if n <= max(sizes)]
        axes.set_xticks(shown, labels=[str(n) for n in shown], minor=False)
        axes.minorticks_off()
        axes.set_title(title)
        labels = f"CPU {cpu[0].label}\nGPU {gpu[0].label}"
        axes.annotate(labels, (0.02, 0.98), xycoords="axes fraction", va="top", fontsize=9)
    return picture(drawn, f"{title}. CPU {cpu[0].label}; GPU {gpu[0].label}.")


def copy_share(timings: Sequence["MatmulTiming"]) -> Picture:
    """Return a `Picture` of where a GPU's seconds go at each size: in, product, out, as parts of the whole."""
    share = 1 - timings[0].compute / timings[0].total
    title = f"At n = {timings[0].size} the GPU's product waits for copies {share:.0%} of the time"
    with figure(figsize=(7.2, 0.6 * len(timings) + 1.3)) as (drawn, axes):
        for row, timing in enumerate(timings):
            start = 0.0
            parts = (timing.to_device, "bytes", "/"), (timing.compute, "gpu", "x"), (timing.from_device, "bytes", "\\")
            for seconds, role, hatch in parts:
                part = seconds / timing.total
                axes.barh(row, part, left=start, **bar_style(role, hatch=hatch))  # nobody measured this here
                start += part
        first, second = timings[0].to_device / timings[0].total, timings[0].compute / timings[0].total
        middles = first / 2, first + second / 2, (1 + first + second) / 2
        for place, word in zip(middles, ("to the GPU", "product", "back"), strict=True):
            axes.annotate(word, (place, -0.62), ha="center", va="bottom", annotation_clip=False)
        axes.set_yticks(range(len(timings)), labels=[f"n = {t.size}" for t in timings])
        axes.set_ylim(len(timings) - 0.5, -1.0)
        axes.set_xlabel(f"part of the seconds ({timings[0].label})")
        axes.set_title(title)
    return picture(drawn, f"{title}. {timings[0].label}.")


def _line(axes, timings, seconds, role, name, width):
    """Draw one labelled line; dashed unless the figures are of this machine, now."""
    style = "-" if timings[0].kind == "measured" else "--"
    colour, marker = ROLES[role].colour, ROLES[role].marker
    axes.plot([t.size for t in timings], seconds, style, color=colour, marker=marker, markersize=5, linewidth=width)
    text, end = f"{name} ({timings[0].kind})", (timings[-1].size, seconds[-1])
    axes.annotate(text, end, xytext=(8, 0), textcoords="offset points", color=colour, va="center", fontsize=9)

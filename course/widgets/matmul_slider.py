"""`MatmulSlider`: a product of two n × n matrices, timed on this CPU, beside what a GPU would take with its copies."""

from dataclasses import dataclass
from html import escape
from typing import Any

import torch
import traitlets

from course.draw import figure, html, picture
from course.draw.colours import bar_style
from course.draw.picture import Picture
from course.timing import measure_matmul
from course.traces import MatmulTiming, load_trace
from course.units import in_words
from course.widgets.exhibits.exhibit import Exhibit, headline

SIZES = [64, 128, 256, 512, 1024, 1500, 2048, 3000, 4500]
RECORDED = "epyc-2-cores"  # stands in for this CPU where no kernel can measure


class _Stopped(Exception):
    """The reader pressed Stop, or moved the slider on."""


@dataclass(frozen=True)
class Duel:
    """The same product on both: `cpu` measured or recorded, `gpu` modelled (or measured where there is one)."""

    cpu: MatmulTiming
    gpu: MatmulTiming


class MatmulSlider(Exhibit):
    """Move `size` and see who wins: this machine's CPU, measured in the background, or a GPU with its copies.

    `size` is one of `SIZES`; `gpu` names a data sheet ("h200", "t4"), or "cuda" on a machine that has one. What is
    stored, and the still, show a recorded CPU, so they are the same on every machine; every figure says what it is.
    """

    module = "matmul_slider.js"
    styles = ("matmul_slider.css",)
    background = True
    size = traitlets.Enum(SIZES, 1500).tag(state=True)
    gpu = traitlets.Enum(["h200", "t4", "cuda"], "h200").tag(state=True)

    def engine(self, size: int, gpu: str) -> Duel | None:
        """Measure the product on this CPU (and on CUDA, if that is chosen); None when stopped."""
        devices = ["/cpu:0", "/gpu:0"] if gpu == "cuda" else ["/cpu:0"]
        try:
            timings = measure_matmul([size], devices, budget=2.0, watch=self._watch)
        except _Stopped:
            return None
        return Duel(timings[0], timings[1] if gpu == "cuda" else _modelled(gpu, size))

    def data(self) -> dict[str, Any]:
        """Return what the controls offer."""
        return {"sizes": SIZES, "gpus": _gpus()}

    def stored(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return every size on every GPU of a data sheet, beside a recorded CPU."""
        shown = [(size, gpu) for gpu in ("h200", "t4") for size in SIZES]
        return [({"size": n, "gpu": gpu}, self.answer(Duel(_recorded(n), _modelled(gpu, n)))) for n, gpu in shown]

    def answer(self, result: Duel) -> dict[str, Any]:
        """Return the verdict, and both times in milliseconds."""
        cpu, gpu = result.cpu, result.gpu
        faster, ratio = _verdict(cpu.compute, gpu.total)
        return {
            "figure": f"{faster} {ratio} × faster",
            "small": f"n = {cpu.size}, copies included; CPU {cpu.kind}, GPU {gpu.kind}",
            "sentence": _sentence(cpu, gpu),
            "size": cpu.size,
            "cpu": _plain(cpu, cpu.compute),
            "gpu": _plain(gpu, gpu.total) | {"copies": 1 - gpu.compute / gpu.total},
        }

    def _watch(self, fraction):
        if self.stopped.is_set():
            raise _Stopped
        self.progress(fraction)

    def draw(self, result: Duel) -> Picture:
        """Return the verdict as a large number above two bars."""
        cpu, gpu, answer = result.cpu, result.gpu, self.answer(result)
        faster, ratio = _verdict(cpu.compute, gpu.total)
        verdict = f"n = {cpu.size}: the {faster} is {ratio} × faster, copies included ({gpu.kind})"
        shown = (
            f"{headline(answer['figure'], answer['small'])}{_bars(cpu, gpu).html}<p>{escape(answer['sentence'])}</p>"
        )
        return html(shown, f"{verdict}. {answer['sentence']}")

    def static(self) -> Picture:
        """Return the picture with a recorded CPU, and no kernel behind it."""
        return self.draw(Duel(_recorded(self.size), _modelled(self.gpu, self.size)))


def _plain(timing, seconds):
    """Return `seconds` of a timing as the page takes them, in milliseconds and in words."""
    return {"total": 1e3 * seconds, "kind": timing.kind, "words": in_words(seconds)}


def _gpus():
    """Return the GPUs to choose from: the data sheets, and the real one where there is one."""
    sheets = [("h200", "H200 (data sheet)"), ("t4", "T4 (data sheet)")]
    return sheets + ([("cuda", "this machine's")] if torch.cuda.is_available() else [])


def _sentence(cpu, gpu):
    copies = f"The GPU spends {1 - gpu.compute / gpu.total:.0%} of its time copying."
    return f"The product is {cpu.flops:,} operations. {copies} CPU {cpu.label}. GPU {gpu.label}."


def _recorded(size):
    return load_trace(RECORDED).at(size)


def _modelled(gpu, size):
    return load_trace(f"{'h200' if gpu == 'cuda' else gpu}-data-sheet").matmul(size)


def _verdict(cpu, gpu):
    """Return which is faster, and how many times, to two digits."""
    name, ratio = ("GPU", cpu / gpu) if gpu < cpu else ("CPU", gpu / cpu)
    return name, f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def _bars(cpu, gpu):
    """Two bars of milliseconds: dashed and hatched where the figure was not measured here."""
    with figure(figsize=(7.2, 1.9)) as (drawn, axes):
        axes.barh(0, cpu.compute * 1000, **bar_style("cpu", cpu.kind == "measured"))
        axes.barh(1, gpu.compute * 1000, **bar_style("gpu", gpu.kind == "measured"))
        copies = bar_style("bytes", gpu.kind == "measured")
        axes.barh(1, (gpu.total - gpu.compute) * 1000, left=gpu.compute * 1000, **copies)
        axes.set_xlabel("milliseconds a product (grey: copies)")
        axes.set_yticks([0, 1], labels=[f"CPU, {cpu.kind}", f"GPU, {gpu.kind}"])
        axes.set_ylim(1.6, -0.6)
    return picture(drawn, f"CPU {in_words(cpu.compute)}, GPU {in_words(gpu.total)}, copies included.")

"""An op's track under a roof, by size: hand-written SVG, quick enough to follow a finger, with a mark for each stop."""

from html import escape
from math import floor, log10
from typing import TYPE_CHECKING

from course.draw.colours import ROLES, role_of
from course.draw.picture import Picture, html, svg
from course.units import short

if TYPE_CHECKING:
    from course.timing.track import Track

_LEFT, _TOP, _WIDE, _TALL = 64, 14, 680, 290  # the axes, in pixels
_LOW, _HIGH = 0.04, 2500.0  # operations a byte


def track(op_track: "Track", size: int, alt: str) -> Picture:
    """Return a `Picture` of `op_track`, an op's `Track`, with the stop of `size` marked; `alt` says it in words.

    The elements of class `stop` carry `data-size`, `cx` and `cy`, so that a page can tell which one is near a pointer.
    """
    roof = op_track.roof
    scale = _Scale(roof, [stop.speed for stop in op_track.stops if stop.speed])
    role = role_of(roof.device)
    here = op_track.at(size)
    parts = [*_axes(scale), *_roof(scale, roof, role), *_stops(scale, op_track, role), *_here(scale, roof, here, role)]
    width, height = _LEFT + _WIDE + 10, _TOP + _TALL + 58
    parts.append(
        f'<text x="{_LEFT + _WIDE / 2}" y="{height - 22}" text-anchor="middle">operations a byte</text>'
        f'<text x="{_LEFT + _WIDE / 2}" y="{height - 5}" text-anchor="middle" font-size="11.5">'
        f"{escape(f'{roof.device} {roof.dtype}, {roof.label}')}</text>"
    )
    return html(svg(width, height, parts, alt), alt)


class _Scale:
    """From operations a byte and operations a second to pixels, both by powers of ten."""

    def __init__(self, roof, speeds):
        self.bottom = 10 ** floor(log10(min([roof.bound(_LOW * 2), *speeds])))
        self.top = roof.peak * 4

    def x(self, intensity):
        return _LEFT + _WIDE * log10(intensity / _LOW) / log10(_HIGH / _LOW)

    def y(self, speed):
        return _TOP + _TALL * (1 - log10(speed / self.bottom) / log10(self.top / self.bottom))


def _axes(scale):
    base, right = _TOP + _TALL, _LEFT + _WIDE
    yield f'<path d="M{_LEFT} {_TOP} V{base} H{right}" fill="none" stroke="currentColor"/>'
    for power in range(-1, 4):
        x = scale.x(10.0**power)
        yield f'<path d="M{x:.1f} {base} v5" stroke="currentColor"/>'
        yield f'<text x="{x:.1f}" y="{base + 18}" text-anchor="middle">{10.0**power:g}</text>'
    for power in range(round(log10(scale.bottom)), int(log10(scale.top)) + 1):
        y = scale.y(10.0**power)
        yield f'<path d="M{_LEFT} {y:.1f} H{right}" stroke="currentColor" stroke-opacity="0.12"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" font-size="11.5">{short(10.0**power)}</text>'
    yield f'<text x="{_LEFT + 6}" y="{_TOP + 4}" font-size="11.5">FLOP/s</text>'


def _roof(scale, roof, role):
    """The roof and its ridge, dashed unless it was measured here."""
    dashed = "" if roof.kind == "measured" else ' stroke-dasharray="7 4"'
    x, y = scale.x(roof.ridge), scale.y(roof.peak)
    yield (
        f'<path d="M{_LEFT} {scale.y(roof.bound(_LOW)):.1f} L{x:.1f} {y:.1f} H{_LEFT + _WIDE}" fill="none" '
        f'stroke="{role.colour}" stroke-width="2.5"{dashed}/>'
    )
    yield (
        f'<path d="M{x:.1f} {y:.1f} V{_TOP + _TALL}" stroke="{ROLES["bytes"].colour}" stroke-dasharray="2 4"/>'
        f'<text x="{x:.1f}" y="{y - 13:.1f}" text-anchor="middle">ridge {roof.ridge:.3g}</text>'
        f'<text x="{_LEFT + _WIDE - 4}" y="{y - 13:.1f}" text-anchor="end">arithmetic: {short(roof.peak)}FLOP/s</text>'
    )
    middle = (0.3 * roof.ridge) ** 0.5
    yield (
        f'<text x="{scale.x(middle) - 10:.1f}" y="{scale.y(roof.bound(middle)) - 10:.1f}" text-anchor="end">'
        f"memory: {short(roof.bandwidth)}B/s</text>"
    )


def _stops(scale, track, role):
    """The op's sizes: a thin line through hollow marks; a size without a speed is a mark on the roof."""
    timed = [stop for stop in track.stops if stop.speed]
    path = " ".join(f"{scale.x(s.intensity):.1f},{scale.y(s.speed):.1f}" for s in timed)
    yield f'<polyline points="{path}" fill="none" stroke="{role.colour}" stroke-opacity="0.6"/>'
    for stop in track.stops:
        y = scale.y(stop.speed or track.roof.bound(stop.intensity))
        faint = "" if stop.speed else ' stroke-opacity="0.35"'
        yield (
            f'<circle class="stop" data-size="{stop.size}" cx="{scale.x(stop.intensity):.1f}" cy="{y:.1f}" r="3.5" '
            f'fill="none" stroke="{role.colour}"{faint}/>'
        )


def _here(scale, roof, stop, role):
    """The present size: a large mark with its words, and the distance to the roof above it."""
    x, top = scale.x(stop.intensity), scale.y(roof.bound(stop.intensity))
    y = scale.y(stop.speed) if stop.speed else top
    reached = f"{short(stop.speed)}FLOP/s" if stop.speed else "speed not known"
    side, anchor = (0, "middle") if x > _LEFT + 0.8 * _WIDE else (14, "start")  # stay inside the picture
    hollow = "" if roof.kind == "measured" else ' stroke-dasharray="4 2"'
    yield f'<path d="M{x:.1f} {top:.1f} V{y:.1f}" stroke="{ROLES["bytes"].colour}" stroke-width="2"/>'
    yield (
        f'<circle class="handle" cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{role.colour}" fill-opacity="0.35" '
        f'stroke="{role.colour}" stroke-width="2.5"{hollow}/>'
    )
    yield (
        f'<text x="{x + side:.1f}" y="{y + 26:.1f}" text-anchor="{anchor}" font-weight="bold">n = {stop.size}</text>'
        f'<text x="{x + side:.1f}" y="{y + 42:.1f}" text-anchor="{anchor}">{reached}</text>'
    )

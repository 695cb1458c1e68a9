"""One HTML page of a run: a plot and a table a contest, what was missing, what the machine was. It needs no network."""

from html import escape

from benchmarks import report
from benchmarks.figures import Result
from course.draw import css, figure, picture

#: Of the neutral set for things compared; peers take the text's own colour, which each theme shows.
COLOURS = {"ours": "#018571", "limit": "#A6611A", "peer": "currentColor"}
_LOOKS = {"ours": ("o", "full"), "peer": ("o", "none"), "limit": ("|", "full")}
STYLE = """
:root { color-scheme: light dark; }
body { font-family: system-ui, sans-serif; margin: 0 auto; padding: 16px; max-width: 760px; line-height: 1.5; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } }
h2 { margin: 40px 0 0; } h3 { margin: 24px 0 0; font-size: 15px; }
.scroll { overflow-x: auto; } .scroll svg { min-width: 620px; }
.missed, .slower { color: #C0392B; font-weight: bold; }
@media (prefers-color-scheme: dark) { .missed, .slower { color: #FF8A7A; } }
"""


def page(told: dict, changes: list) -> str:
    """Return the page of a report and of its changes since another one."""
    about = told["machine"]
    parts = ["<h1>Beside peers and the limit</h1>", _head(told)]
    if changes:
        parts.append(_changes(changes))
    topic = ""
    for result in told["results"]:
        if result.topic != topic:
            topic = result.topic
            parts.append(f"<h2>{escape(topic)}</h2>")
        parts.append(_contest(result))
    versions = ", ".join(f"{name} {version}" for name, version in sorted(told["versions"].items()))
    parts.append(f'<h2>versions</h2><p class="note">Python {escape(about["python"])}, {escape(versions)}</p>')
    title = f"Benchmark of {about['date'][:10]}, {about['commit']}"
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f"<title>{escape(title)}</title><style>{css()}{STYLE}</style>"
    body = f'<div class="course">{"".join(parts)}</div>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'


def _head(told):
    about = told["machine"]
    lines = [
        f"{about['processor']}, {about['cores']} cores, {about['vectors']}, {about['memory_gb']:g} GB",
        about["system"],
        f"{about['date']}, commit {about['commit'] or 'unknown'}, {told['seconds']:.0f} s",
    ]
    if told["quick"]:
        lines.append(
            "quick: smaller sizes, fewer rounds, without the peers that are slow to start; so the figures are rough"
        )
    text = "".join(f'<p class="note">{escape(line)}</p>' for line in lines)
    text += "".join(f'<p class="missed">{escape(line)}</p>' for line in report.warnings(told["busy"]))
    read = (
        "Each contestant ran in a process of its own, in turns with the others. In a turn of a tenth of a second all, "
        "the limit too, repeat their run, and the best run counts. A mark is the best of the rounds, "
        "divided by the best of the limit (without one: of the first peer); the bar holds half of the rounds. "
        "● ours; ○ a peer; a line: the limit, a tuned C program, or the least work without which nothing is done."
    )
    return text + f"<p>{read}</p>"


def _changes(changes):
    told = [change for change in changes if change.verdict != "as before"]
    items = "".join(f'<li class="{change.verdict}">{escape(str(change))}</li>' for change in told)
    same = len(changes) - len(told)
    calm = f"<p>{same} of {len(changes)} figures are as before, within noise.</p>"
    return f"<h2>since the other run</h2><ul>{items}</ul>{calm}"


def _contest(result: Result) -> str:
    reference = result.reference()
    drawn = _plot(result, reference).html if reference else ""
    rows = "".join(_row(result, one, reference) for one in result.entries)
    heads = (result.unit, f"× {reference.name}" if reference else "", "half of the rounds")
    head = "<th>contestant</th>" + "".join(f'<th class="number">{escape(one)}</th>' for one in heads)
    targets = "".join(_target(line) for line in report.target_lines(result))
    table = f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'
    return f'<h3>{escape(report.heading(result))}</h3><div class="scroll">{drawn}</div>{table}{targets}'


def _row(result, one, reference):
    name = f"<td>{report.SIGNS[one.kind]} {escape(one.name)}</td>"
    if not one.figures:
        return f'<tr>{name}<td colspan="3">{escape(one.problem or "no figure")}</td></tr>'
    spread = result.ratio(one.name, reference.name) if reference and reference != one else None
    ratio, half = (
        (report.times(spread.best), f"{report.times(spread.low)}–{report.times(spread.high)}") if spread else ("", "")
    )
    problem = f' <span class="missed">{escape(one.problem)}</span>' if one.problem else ""
    cells = "".join(f'<td class="number">{text}</td>' for text in (report.short(result.best(one.name)), ratio, half))
    return f"<tr>{name}{cells}</tr>" + (f'<tr><td colspan="4">{problem}</td></tr>' if problem else "")


def _target(line):
    return f'<p class="note{" missed" if line.endswith("MISSED") else ""}">{escape(line)}</p>'


def _plot(result, reference):
    shown = [one for one in result.entries if one.figures]
    with figure(figsize=(7.2, 0.7 + 0.28 * len(shown))) as (drawn, axes):
        text, marks = axes.xaxis.label.get_color(), [1.0]
        for height, one in enumerate(reversed(shown)):
            spread = result.ratio(one.name, reference.name)
            colour = text if one.kind == "peer" else COLOURS[one.kind]
            if spread and spread.best > 0:
                marker, fill = _LOOKS[one.kind]
                marks += [spread.low, spread.high, spread.best]
                axes.plot([max(spread.low, 1e-9), spread.high], [height, height], color=colour, linewidth=1.2)
                axes.plot(spread.best, height, marker, color=colour, fillstyle=fill, markersize=7)
        axes.axvline(1, color=COLOURS["limit"] if reference.kind == "limit" else text, linewidth=1, linestyle="--")
        _log_axis(axes, [value for value in marks if value > 0])
        axes.set_yticks(range(len(shown)), [one.name for one in reversed(shown)])
        axes.set_ylim(-0.6, len(shown) - 0.4)
        axes.set_xlabel(f"× {reference.name}" + ("" if result.better == "more" else " (less is better)"))
    alt = "; ".join(f"{one.name} {report.short(result.best(one.name))} {result.unit}" for one in shown)
    return picture(drawn, f"{result.title}: {alt}")


def _log_axis(axes, marks):
    """Ratios on a log scale over all `marks`; its labels are plain figures, with 2 and 5 where there is room."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    low, high = min(marks) / 1.4, max(marks) * 1.4
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 200 else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: report.times(value * (1 + 1e-12))))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_minor_locator(NullLocator())

"""Draw the README's picture for light and for dark pages: `make picture` writes picture-light.svg, picture-dark.svg.

Three machines (one CPU, a GPU beside it, a cluster), three questions asked of each. Sizes of copies are exact; the bars
of the last row are a drawing, not a measurement.
"""

from html import escape
from pathlib import Path

from course.draw import ROLES, worker_colour

HERE = Path(__file__).resolve().parent
WIDTH, HEIGHT = 1000, 504
THEMES = {
    "light": {"panel": "#ffffff", "edge": "#d6d9de", "text": "#1c1f24", "quiet": "#5b626d"},
    "dark": {"panel": "#111111", "edge": "#34383f", "text": "#eef0f3", "quiet": "#a5acb8"},
}
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
MATRIX = 3000 * 3000 * 4  # bytes, float32
LINE = 2 * 4  # bytes of a slope and an intercept, float32
CPU, GPU, PS, BYTES, WAITING = (ROLES[name].colour for name in ("cpu", "gpu", "ps", "bytes", "waiting"))
COLUMNS = (150, 425, 712)  # left edges
ROWS = (104, 242, 372)  # top edges
ALT = (
    "Three machines and three questions. Where does it run? On one CPU; on a CPU and a GPU; on a parameter server and "
    "three workers. What moves? Nothing; 72 MB there and 36 MB back; 8 bytes each way, each step. Who waits? Nobody; "
    "the CPU and the GPU, each for the other; every worker, for the slowest."
)


def draw(theme):
    """Return the picture as SVG text in `theme`, a dictionary of four colours."""
    parts = [
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="14" fill="{theme["panel"]}" '
        f'stroke="{theme["edge"]}"/>',
        *headings(theme),
        *where(theme),
        *what_moves(theme),
        *who_waits(theme),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" font-family="{FONT}" font-size="15"><title>{escape(ALT)}</title>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def text(x, y, words, colour, size=15, weight="normal", anchor="start"):
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def headings(theme):
    for x, name, chapters in zip(
        COLUMNS,
        ("One CPU", "A GPU beside it", "A cluster"),
        ("chapter 01", "chapters 02 and 03", "chapters 04 to 06"),
        strict=True,
    ):
        yield text(x, 50, name, theme["text"], 22, "bold")
        yield text(x, 72, chapters, theme["quiet"], 14)
    for x in (COLUMNS[1] - 62, COLUMNS[2] - 62):
        yield arrow(x, x + 36, 44, 2, theme["quiet"])
    for y, first, second in zip(ROWS, ("Where", "What", "Who"), ("does it run?", "moves?", "waits?"), strict=True):
        yield f'<line x1="24" y1="{y - 12}" x2="{WIDTH - 24}" y2="{y - 12}" stroke="{theme["edge"]}"/>'
        yield text(28, y + 26, first, theme["text"], 20, "bold")
        yield text(28, y + 47, second, theme["quiet"])


def where(theme):
    """Row one: each device by its colour, its sign and its name."""
    y = ROWS[0] + 44
    first, second, third = COLUMNS
    yield from (square(first + 34, y, 30), text(first + 80, y + 5, "/cpu:0", theme["text"]))
    yield from (square(second + 34, y, 30), text(second + 34, y + 54, "/cpu:0", theme["text"], anchor="middle"))
    yield from (triangle(second + 154, y, 34), text(second + 154, y + 54, "/gpu:0", theme["text"], anchor="middle"))
    yield from (diamond(third + 30, y, 30), text(third + 30, y + 54, "ps", theme["text"], anchor="middle"))
    for index in range(3):
        x = third + 112 + 62 * index
        yield f'<circle cx="{x}" cy="{y}" r="25" fill="{worker_colour(index)}"/>'
        yield text(x, y + 7, str(index), "#ffffff", 20, "bold", "middle")
    yield text(third + 174, y + 54, "worker", theme["text"], anchor="middle")


def square(x, y, half):
    return f'<rect x="{x - half}" y="{y - half}" width="{2 * half}" height="{2 * half}" rx="6" fill="{CPU}"/>'


def triangle(x, y, half):
    return (
        f'<path d="M{x} {y - half} L{x + half} {y + half - 6} H{x - half} Z" fill="{GPU}" stroke="{GPU}" '
        'stroke-width="5" stroke-linejoin="round"/>'
    )


def diamond(x, y, half):
    return (
        f'<path d="M{x} {y - half} L{x + half} {y} L{x} {y + half} L{x - half} {y} Z" fill="{PS}" stroke="{PS}" '
        'stroke-width="4" stroke-linejoin="round"/>'
    )


def arrow(start, end, y, width, colour=BYTES):
    """A horizontal arrow from x = `start` to `end`, `width` units thick."""
    way = 1 if end > start else -1
    head = max(7, width)
    neck = end - way * head * 1.2
    return (
        f'<path d="M{start} {y - width / 2} H{neck} V{y - head} L{end} {y} L{neck} {y + head} V{y + width / 2} '
        f'H{start} Z" fill="{colour}"/>'
    )


def what_moves(theme):
    """Row two: arrows as thick as the bytes are many; the number beside each."""
    y = ROWS[1] + 30
    first, second, third = COLUMNS
    yield text(first, y + 6, "0 bytes", theme["text"], 20, "bold")
    yield text(first, y + 36, "it is all here", theme["quiet"], 14)
    yield arrow(second, second + 104, y, 20)
    yield text(second + 118, y + 6, f"{2 * MATRIX // 10**6} MB", theme["text"], 20, "bold")
    yield arrow(second + 104, second, y + 42, 10)
    yield text(second + 118, y + 49, f"{MATRIX // 10**6} MB", theme["text"], 20, "bold")
    yield text(second, y + 74, "two 3,000 × 3,000 matrices, one product", theme["quiet"], 14)
    yield arrow(third, third + 104, y - 6, 1.5)
    yield arrow(third + 104, third, y + 14, 1.5)
    yield text(third + 118, y + 11, f"{LINE} bytes", theme["text"], 20, "bold")
    yield text(third, y + 50, "a slope and an intercept, each way", theme["quiet"], 14)


def who_waits(theme):
    """Row three: time runs to the right; colour is work, grey a copy, dots waiting."""
    y = ROWS[2] + 12
    first, second, third = COLUMNS
    yield bar(first, y, 180, CPU)
    yield text(first, y + 98, "nobody", theme["text"], 18, "bold")
    yield from (bar(second, y, 56, BYTES), dots(second + 60, second + 142, y), bar(second + 144, y, 36, BYTES))
    yield from (
        dots(second, second + 56, y + 28),
        bar(second + 58, y + 28, 84, GPU),
        dots(second + 146, second + 182, y + 28),
    )
    yield text(second, y + 98, "each for the other", theme["text"], 18, "bold")
    for index, length in enumerate((96, 196, 140)):
        row = y + 28 * index - 4
        yield bar(third, row, length, worker_colour(index))
        yield dots(third + length + 6, third + 196, row)
    line = third + 202
    yield f'<line x1="{line}" y1="{y - 8}" x2="{line}" y2="{y + 74}" stroke="{theme["quiet"]}" stroke-width="2"/>'
    yield text(third, y + 98, "everyone, for the slowest", theme["text"], 18, "bold")


def bar(x, y, length, colour):
    return f'<rect x="{x}" y="{y}" width="{length}" height="18" rx="4" fill="{colour}"/>'


def dots(start, end, y):
    """Waiting, from x = `start` to `end`: a dotted line in the middle of a bar's height."""
    if end <= start:
        return ""
    return (
        f'<line x1="{start + 3}" y1="{y + 9}" x2="{end}" y2="{y + 9}" stroke="{WAITING}" stroke-width="5" '
        'stroke-dasharray="0 10" stroke-linecap="round"/>'
    )


if __name__ == "__main__":
    for name, theme in THEMES.items():
        (HERE / f"picture-{name}.svg").write_text(draw(theme), encoding="utf-8")

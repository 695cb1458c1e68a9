"""Draw the rooms of each package and who imports whom, from the code: `make architecture` writes the SVG files.

A room is a folder or a file right under its package. It stands one floor below the lowest room that imports it.
An arrow that follows from two others is left out: what `life` may import, who imports `life` may import too.
"""

import ast
from html import escape
from pathlib import Path
from textwrap import wrap

import grimp

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
#: package -> the picture's file, without its theme.
PICTURES = {
    "course": "course",
    "course.cluster": "cluster",
    "course.training": "training",
    "simgpu": "simgpu",
    "grader": "grader",
}
THEMES = {
    "light": {"page": "#ffffff", "room": "#f4f6f8", "edge": "#d6d9de", "text": "#1c1f24", "quiet": "#5b626d"},
    "dark": {"page": "#111111", "room": "#1b1e22", "edge": "#34383f", "text": "#eef0f3", "quiet": "#a5acb8"},
}
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
WIDTH, ROOM_WIDTH, ROOM_HEIGHT, FLOOR, MARGIN = 1000, 178, 94, 146, 26
#: Libraries that weigh something: a room says which of them it imports itself.
HEAVY = ("torch", "dask", "distributed", "matplotlib", "scipy", "ipywidgets", "anywidget", "nbgrader")


def read_rooms(package):
    """Return room -> the rooms of `package` that it imports, itself left out, both in alphabetical order."""
    graph = _graph()
    rooms = {}
    for module in sorted({package, *graph.find_descendants(package)}):
        room = _room(module, package)
        if room:
            found = {_room(other, package) for other in graph.find_modules_directly_imported_by(module)}
            rooms[room] = sorted({*rooms.get(room, []), *found} - {room, None})
    return rooms


def read_libraries(package, room):
    """Return the names of the heavy libraries that the files of `room` import themselves."""
    graph = _graph()
    inside = [module for module in graph.find_descendants(package) if _room(module, package) == room]
    used = {other for module in inside for other in graph.find_modules_directly_imported_by(module)}
    return [name for name in HEAVY if name in used]


def sentence(package, room):
    """Return what `room` says of itself: its docstring up to the first semicolon or full stop."""
    place = ROOT / Path(*package.split("."), room)
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    first = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n")[0]
    for sign in ("; ", ". "):
        first = first.split(sign)[0]
    return first.replace("`", "").rstrip(".:;")


def floors(rooms):
    """Return the floors of `rooms` from the top down, each a list of names; what nobody imports stands on top."""
    depths = {}

    def depth(room, below=()):
        if room not in depths:
            above = [other for other in rooms if room in rooms[other] and other not in (*below, room)]
            depths[room] = 1 + max((depth(other, (*below, room)) for other in above), default=-1)
        return depths[room]

    stacked = [[] for _ in rooms]
    for room in rooms:
        stacked[depth(room)].append(room)
    return [floor[at] for floor in _near_those_above(stacked, rooms) if floor for at in _parts(floor)]


def arrows(rooms):
    """Return the pairs (room, other) that `rooms` has, less those that follow from two or more others."""
    reach = {}

    def reached(room, above=()):
        if room not in reach:
            below = [other for other in rooms[room] if other not in above]
            reach[room] = set(below).union(*(reached(other, (*above, room)) for other in below))
        return reach[room]

    for room in rooms:
        reached(room)
    return [
        (room, other)
        for room, below in rooms.items()
        for other in below
        if not any(other in reach[between] for between in below if between != other)
    ]


def draw(package, theme):
    """Return the picture of `package` as SVG text in `theme`, a dictionary of five colours."""
    rooms = read_rooms(package)
    stacked = floors(rooms)
    places = {}
    for level, floor in enumerate(stacked):
        step = (WIDTH - 2 * MARGIN) / len(floor)
        for index, room in enumerate(floor):
            places[room] = (MARGIN + step * (index + 0.5), MARGIN + level * FLOOR)
    height = MARGIN * 2 + FLOOR * (len(stacked) - 1) + ROOM_HEIGHT
    drawn = arrows(rooms)
    alt = alt_text(package, rooms)
    parts = [
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="14" fill="{theme["page"]}" '
        f'stroke="{theme["edge"]}"/>',
        *(_arrow(places[room], places[other], theme) for room, other in drawn),
        *(part for room in rooms for part in _box(package, room, places[room], theme)),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="{FONT}" font-size="12"><title>{escape(alt)}</title>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def alt_text(package, rooms):
    """Return in words what the picture of `package` shows."""
    said = [f"{room} imports {', '.join(below)}" for room, below in rooms.items() if below]
    return f"The rooms of {package}, those above import those below. " + "; ".join(said) + "."


def _graph(made=[]):  # noqa: B006  # one graph for all pictures: it takes a second
    if not made:
        made.append(
            grimp.build_graph(
                "course",
                "grader",
                "modelserver",
                "simgpu",
                include_external_packages=True,
                exclude_type_checking_imports=True,
            )
        )
    return made[0]


def _room(module, package):
    inside = module.removeprefix(package + ".")
    return inside.split(".")[0] if inside != module and not inside.startswith("__") else None


def _parts(floor, most=5):
    """Return the slices in which a floor with many rooms is drawn: rows that differ by one room at most."""
    rows = -(-len(floor) // most)
    ends = [len(floor) * row // rows for row in range(rows + 1)]
    return [slice(*pair) for pair in zip(ends, ends[1:], strict=False)]


def _near_those_above(stacked, rooms):
    """Return the floors, the rooms of each in the order of those that import them, as far as that goes."""
    at = {}
    for floor in stacked:
        above = {room: [at[other] for other in rooms if room in rooms[other] and other in at] for room in floor}
        floor.sort(key=lambda room: (sum(above[room]) / len(above[room]) if above[room] else 0.5, room))
        at |= {room: (index + 0.5) / len(floor) for index, room in enumerate(floor)}
    return stacked


def _arrow(start, end, theme):
    """A curve from below one room to the top of another; it passes behind the rooms between."""
    (x, y), (to_x, to_y) = (start[0], start[1] + ROOM_HEIGHT), (end[0], end[1] - 7)
    bend = max(24.0, (to_y - y) * 0.45)
    return (
        f'<path d="M{x:.0f} {y:.0f} C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} {to_x:.0f} {to_y:.0f}" '
        f'fill="none" stroke="{theme["quiet"]}" stroke-width="1.3" stroke-opacity="0.8"/>'
        f'<path d="M{to_x - 4:.0f} {to_y:.0f} h8 l-4 7 z" fill="{theme["quiet"]}"/>'
    )


def _box(package, room, place, theme):
    """A room: its name, what it says of itself in three lines at most, and the heavy libraries that it imports."""
    x, y = place[0] - ROOM_WIDTH / 2, place[1]
    folder = (ROOT / Path(*package.split("."), room)).is_dir()
    yield (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{ROOM_WIDTH}" height="{ROOM_HEIGHT}" rx="9" fill="{theme["room"]}" '
        f'stroke="{theme["edge"]}" stroke-width="1.5"/>'
    )
    yield _text(x + 10, y + 20, room + ("/" if folder else ".py"), theme["text"], 14, "bold")
    lines = wrap(sentence(package, room), 27)
    if len(lines) > 3:
        lines = [*lines[:2], lines[2].rpartition(" ")[0].rstrip(" ,:") + " …"]
    for number, line in enumerate(lines):
        yield _text(x + 10, y + 36 + 13 * number, line, theme["quiet"], 11)
    if used := read_libraries(package, room):
        yield _text(x + ROOM_WIDTH - 10, y + 86, ", ".join(used[:3]), theme["text"], 10.5, anchor="end")


def _text(x, y, words, colour, size, weight="normal", anchor="start"):
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


if __name__ == "__main__":
    for package, name in PICTURES.items():
        for theme, colours in THEMES.items():
            (HERE / "architecture" / f"{name}-{theme}.svg").write_text(draw(package, colours), encoding="utf-8")

"""A submission as it came: bytes of a notebook, read into cells. The bytes are a student's and nothing of them is run.

Read by hand rather than by nbformat: a broken notebook must give a sentence, not a stack of validation errors, and most
of what a notebook holds (metadata, outputs, checks) is of no use here.
"""

import json
from dataclasses import dataclass

LIMIT = 32 * 1024 * 1024  # bytes; a notebook with fifty large pictures has 10 million
ITEMS = 3_000_000  # values in its JSON, roughly: as Python objects they take a hundred times their text
CELLS = 2000
PICTURES = 8 * 1024 * 1024  # characters of pictures kept, over the whole notebook


class Unreadable(ValueError):
    """The submission is no notebook that can be read: the text says what is wrong with it."""


class TooLarge(ValueError):
    """The submission is refused unread: it says how large it is and what would be read."""


@dataclass(frozen=True)
class Cell:
    """One cell as submitted; `names` may tell which it was, the surest first; `pictures`: PNG, in base64, unchecked."""

    type: str
    text: str
    names: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()


def read_submission(data: bytes) -> list[Cell]:
    """Return the `Cell`s of a notebook's bytes, nbformat 3 or 4, in order. Raises TooLarge and Unreadable."""
    if len(data) > LIMIT:
        raise TooLarge(
            f"it has {len(data) / 1e6:.0f} MB; {LIMIT / 1e6:.0f} MB is the most that is read. Clear the outputs "
            f"(Kernel, Restart and clear), save, and hand it in again."
        )
    if not data.strip():
        raise Unreadable("the file is empty.")
    notebook = _parsed(data)
    if not isinstance(notebook, dict):
        raise Unreadable("it is JSON but no notebook: a notebook is an object with cells.")
    cells, characters = [], 0
    for cell in _raw_cells(notebook):
        pictures = tuple(_pictures(cell)) if characters < PICTURES else ()
        characters += sum(map(len, pictures))
        kind = cell["cell_type"] if cell.get("cell_type") in ("code", "markdown") else "raw"
        cells.append(Cell(kind, _source(cell), tuple(_names(cell)), pictures if characters <= PICTURES else ()))
    if len(cells) > CELLS:
        raise TooLarge(f"it has {len(cells)} cells; {CELLS} is the most that is read.")
    return cells


def plain_lines(text: str) -> str:
    """Return `text` with plain line ends and without invisible spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in _one_line_end(text).split("\n")).strip("\n")


def _parsed(data):
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not text in UTF-8 (byte {error.start}).") from None
    if sum(map(text.count, ",[{")) > ITEMS:
        raise TooLarge(f"it holds more than {ITEMS} values. Clear the outputs, save, and hand it in again.")
    try:
        return json.loads(text)
    except RecursionError:
        raise Unreadable("its JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"it is not JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from None
    except ValueError as error:  # a number of thousands of digits
        raise Unreadable(f"it is not JSON that can be read: {error}.") from None


def _raw_cells(notebook):
    major = notebook.get("nbformat")
    if isinstance(notebook.get("cells"), list):
        cells = notebook["cells"]
    elif isinstance(notebook.get("worksheets"), list):  # nbformat 3 and before
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in _list(sheet.get("cells"))]
    else:
        raise Unreadable(f"it is JSON but no notebook: it has no list of cells (its nbformat is {str(major)[:20]!r}).")
    if isinstance(major, int) and major > 4:
        raise Unreadable(f"its nbformat is {major}; 3 and 4 can be read. Save it with a JupyterLab 3 or 4.")
    return [cell for cell in cells if isinstance(cell, dict)]


def _source(cell):
    # half of a pair of surrogates is legal in JSON and can't be written anywhere else
    source = (_text(cell.get("source", cell.get("input"))) or "").encode("utf-8", "replace").decode()
    return _one_line_end(source.removeprefix("\ufeff"))


def _one_line_end(text):
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _text(value):
    """Return a text of the notebook's, which it may hold as a list of lines; None for what is neither."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else None


def _names(cell):
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    nbgrader = metadata.get("nbgrader")
    # Colab keeps ids in the metadata
    for name in (nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None, cell.get("id"), metadata.get("id")):
        if isinstance(name, str) and name:
            yield name


def _pictures(cell):
    for output in _list(cell.get("outputs")):
        data = output.get("data", output) if isinstance(output, dict) else {}
        picture = _text(data.get("image/png", data.get("png"))) if isinstance(data, dict) else None
        if picture is not None:
            yield picture


def _list(value):
    return value if isinstance(value, list) else []

"""Make the notebooks from their sources: `python notebooks/build.py [NAME …] [--check | --keep-timings]`.

`source/NN_topic.py` (jupytext's percent format) is where a chapter is written; `NN_topic.ipynb` is made here, executed,
and committed with its outputs. Two runs of an unchanged chapter give the same bytes: cell ids come from the source, no
time is recorded, no widget state is kept, and cells tagged `timing` keep their stored outputs, those of one run, while
what they were made from is unchanged (`made_from.py`). A notebook with an output made from anything else is refused.
"""

import argparse
import hashlib
import os
import re
import sys
import time
from pathlib import Path

import jupytext
import nbformat
import zmq
from nbclient import NotebookClient
from traitlets.config import Config

from course.progress_line import STATIC_TWINS
from course.widgets.exhibits.page_files import files_needed, with_files_needed, with_one_copy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # this file is run as a script, too

from notebooks.made_from import COMPARED, stamps  # noqa: E402

SOURCES = HERE / "source"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
IGNORED = "nbval-ignore-output"  # plain `pytest --nbval notebooks` compares what has no such tag
MADE_FROM = "made_from"  # in a cell's metadata: the stamp of its output
SECONDS_A_CELL = 120  # a deadline, not a budget: a chapter runs in 30 s


class BuildError(Exception):
    """A chapter that can't be published: it names the chapter, the cell, and what to change."""


def chapters():
    """Return the names of all chapters, in reading order."""
    return sorted(path.stem for path in SOURCES.glob("[0-9][0-9]_*.py"))


def read_source(name, solutions=False, folder=SOURCES):
    """Return chapter `name` as an unexecuted notebook with stable ids.

    Cells tagged `solution` are left out; with `solutions=True` each replaces the `exercise` cell before it instead.
    """
    notebook = jupytext.read(Path(folder) / f"{name}.py", fmt="py:percent")
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.cells = _with_solutions(notebook.cells) if solutions else _without(notebook.cells, "solution")
    ids = set()
    for cell in notebook.cells:
        tags = [*_tags(cell), *([IGNORED] if cell.cell_type == "code" and COMPARED not in _tags(cell) else [])]
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        cell["id"] = _stable_id(cell, ids)
    return notebook


def execute(notebook, folder=HERE):
    """Run every cell of `notebook` in a fresh kernel in `folder`; outputs are written into it. Returns the notebook."""
    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=True,  # nbclient can't run `interact` without; `settle` takes it out
        resources={"metadata": {"path": str(folder)}},
        config=Config(KernelManager={"transport_encryption": "auto" if zmq.has("curve") else "disabled"}),
    )
    return client.execute(env={**os.environ, STATIC_TWINS: "1"})


def settle(notebook, stored=None, keep_timings=False):
    """Make the outputs the same from run to run, in place; timing cells keep `stored`'s if none of them has changed.

    All or none, as a card repeats what other cells say. With `keep_timings` each does whose own source is unchanged.
    Of the page's files that exhibits need, each is in the first output that needs it, and in no other.
    """
    before = {cell["id"]: cell for cell in stored.cells} if stored is not None else {}
    present = stamps(notebook.cells)
    timings = [cell["id"] for cell in notebook.cells if "timing" in _tags(cell)]
    of_one_run = keep_timings or all(_unchanged(before.get(one), present.get(one)) for one in timings)
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        cell.metadata.pop("execution", None)
        if "your-turn" in _tags(cell):
            cell.outputs = []  # a control lives in its kernel: a stored one would say "model not found"
            continue
        old = before.get(cell["id"])
        if "timing" in _tags(cell) and of_one_run and old is not None and old.outputs:
            cell.outputs = _of_the_same_files(old.outputs, cell.outputs)
        else:
            cell.outputs = _one_stream_each([_settled(output) for output in cell.outputs])
        if cell["id"] in present and cell.outputs:
            cell.metadata[MADE_FROM] = present[cell["id"]]
    _carry_files_once(notebook)
    notebook.metadata.pop("widgets", None)
    return notebook


def _of_the_same_files(stored, fresh):
    """Return the `stored` outputs, whose exhibits need the files that those of the `fresh` ones need."""
    lists = [needed for output in fresh for needed in files_needed(_html(output))]
    for output in stored:
        if count := len(files_needed(_html(output))):
            if len(lists) < count:
                return fresh
            output.data["text/html"] = with_files_needed(_html(output), lists[:count])
            del lists[:count]
    return fresh if lists else stored


def _carry_files_once(notebook):
    carried = set()
    for output in (one for cell in notebook.cells for one in cell.get("outputs", ())):
        if files_needed(_html(output)):
            output.data["text/html"] = with_one_copy(_html(output), carried)


def _html(output):
    return output.get("data", {}).get("text/html", "")


def refuse(name, notebook):
    """Raise BuildError when an output would tell one run from another, or one machine: addresses, paths, warnings."""
    for cell in (c for c in notebook.cells if c.cell_type == "code"):
        text = nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
        problems = {
            "an object's address (give it a repr)": re.search(r" at 0x[0-9a-f]{6,}", text),
            "a path of this machine": str(HERE.parent) in text or str(Path.home()) + "/" in text,
            "a warning or log line on stderr": any(o.get("name") == "stderr" for o in cell.outputs),
        }
        present = [problem for problem, is_there in problems.items() if is_there]
        if present:
            raise BuildError(
                f"{name}: the output of this cell holds {' and '.join(present)}:\n\n{cell.source}\n\n{text[-1500:]}"
            )


def text_of(notebook):
    """Return the notebook as the text that is committed."""
    return nbformat.writes(notebook, version=4, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def build(name, sources=SOURCES, target=HERE, keep_timings=False):
    """Make `target/NAME.ipynb` from its source (unchanged, it gives unchanged bytes); return the seconds it ran."""
    path = Path(target) / f"{name}.ipynb"
    stored = nbformat.read(path, as_version=4) if path.exists() else None
    started = time.perf_counter()
    notebook = settle(execute(read_source(name, folder=sources), folder=target), stored, keep_timings)
    seconds = time.perf_counter() - started
    refuse(name, notebook)
    nbformat.validate(notebook)
    unfinished = path.with_suffix(".ipynb.part")
    unfinished.write_text(text_of(notebook), encoding="utf-8")
    unfinished.replace(path)
    return seconds


def difference(name, sources=SOURCES, target=HERE):
    """Return None when the notebook was made from its source, and from the course, as they stand, else what to do."""
    path = Path(target) / f"{name}.ipynb"
    again = f"run `make notebooks` (or `python notebooks/build.py {name}`) and commit both"
    if not path.exists():
        return f"{path.name} is missing: {again}."
    committed, source = nbformat.read(path, as_version=4), read_source(name, folder=sources)

    def parts(notebook):
        return [(c["id"], c.cell_type, c.source, list(_tags(c))) for c in notebook.cells]

    if parts(committed) != parts(source):
        return f"{path.name} was not made from source/{name}.py as it stands: {again}."
    if not any(c.get("outputs") for c in committed.cells):
        return f"{path.name} has no outputs: {again}."
    present = stamps(source.cells)
    for cell in committed.cells:
        if cell.get("outputs") and cell["id"] in present and _stamp(cell) != present[cell["id"]]:
            last = cell.source.strip().splitlines()[-1]
            return f"{path.name}: the output of `… {last}` was made from other cells or another course: {again}."
    before = text_of(committed)
    _carry_files_once(committed)
    if text_of(committed) != before:
        return f"{path.name} carries scripts of the page that have changed since: {again}."
    return None


def _unchanged(old, stamp):
    return old is not None and (not old.outputs or _stamp(old) == stamp)


def _stamp(cell):
    return cell.metadata.get(MADE_FROM)


def _tags(cell):
    return cell.metadata.get("tags", [])


def _without(cells, tag):
    return [cell for cell in cells if tag not in _tags(cell)]


def _with_solutions(cells):
    solved = []
    for cell in cells:
        if "solution" in _tags(cell):
            if not solved or "exercise" not in _tags(solved[-1]):
                raise BuildError(f"a solution follows no exercise cell:\n\n{cell.source}")
            solved.pop()
        solved.append(cell)
    return solved


def _stable_id(cell, ids):
    # ids must be unique, and must not move when another cell changes: a repeated source gets a count
    count = 0
    while True:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}\n{count}".encode()).hexdigest()[:12]
        if digest not in ids:
            ids.add(digest)
            return digest
        count += 1


def _settled(output):
    data = output.get("data", {})
    if WIDGET_VIEW in data:  # a page without a kernel shows the widget's static twin instead
        del data[WIDGET_VIEW]
    if output.output_type == "error":
        output.traceback = [f"{output.ename}: {output.evalue}"]
    return output


def _one_stream_each(outputs):
    # the kernel flushes when it likes, so one print may arrive in one piece or in several
    merged = []
    for output in outputs:
        if merged and output.output_type == "stream" == merged[-1].output_type and output.name == merged[-1].name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def main(arguments):
    """Build, or with `--check` compare, the named chapters or all of them; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="chapters, such as 03_game_of_life (default: all)")
    parser.add_argument("--check", action="store_true", help="run nothing; fail where a notebook and its source differ")
    help_text = (
        "timing cells keep their stored output while their own source is unchanged: for a change of names or words"
    )
    parser.add_argument("--keep-timings", action="store_true", help=help_text)
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(chapters())
    if unknown:
        parser.error(f"no chapter called {', '.join(sorted(unknown))}; there are {', '.join(chapters())}")
    failed = False
    for name in options.names or chapters():
        try:
            problem = difference(name) if options.check else None
            if not options.check:
                print(f"{name}: {build(name, keep_timings=options.keep_timings):.0f} s", flush=True)
        except BuildError as error:
            problem = str(error)
        if problem:
            failed = True
            print(problem, file=sys.stderr, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

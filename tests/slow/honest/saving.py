"""Right answers as editors save them and as people arrange them: cells moved, joined, deleted, ids rewritten.

What decides which cell is which answer is tested in `tests/grader/submission/test_rebuild.py`.
"""

import json
import uuid

from tests.helpers.submissions import honest, source_of


@honest("given imports edited")
def edited_imports(notebook):
    first = next(cell for cell in notebook.cells if source_of(cell).startswith("import numpy"))
    first["source"] = "import math, sys\nimport numpy as np, numpy\nfrom course import check, draw, life"


@honest("given imports edited, a package among them that isn't installed here")
def missing_package(notebook):
    first = next(cell for cell in notebook.cells if source_of(cell).startswith("import numpy"))
    first["source"] = "import a_package_of_mine as mine\nimport numpy as np\nfrom course import check\nSIZE = 3"
    notebook.cell("film")["source"] = "# exercise: film\nfrom another import thing\n" + source_of(notebook.cell("film"))


@honest("check cells deleted")
def deleted_checks(notebook):
    notebook.drop(lambda cell: source_of(cell).startswith("check("))


@honest("all text deleted, and cells that only show")
def deleted_text(notebook):
    notebook.drop(lambda cell: cell["cell_type"] == "markdown" or "notebook-only" in cell["metadata"].get("tags", []))


@honest("checks repeated, edited and called with a name")
def edited_checks(notebook):
    notebook.at_end("check(next_generation)\ncheck(film)\ncheck('read_rle')\nprint(check(film))")
    notebook.cell("check_film")["source"] = "# it passes!\ncheck(film);"


@honest("exercises in the opposite order")
def opposite_order(notebook):
    code = [cell for cell in notebook.cells if cell["cell_type"] == "code"]
    notebook.json["cells"] = [code[0], *reversed(code[1:])]


@honest("answers before the imports they need")
def answers_first(notebook):
    code = [cell for cell in notebook.cells if cell["cell_type"] == "code"]
    notebook.json["cells"] = list(reversed(code))


@honest("all code in one cell")
def one_cell(notebook):
    whole = "\n\n".join(
        source_of(c) for c in notebook.cells if c["cell_type"] == "code" and not c["metadata"].get("tags")
    )
    notebook.json["cells"] = []
    notebook.add(whole)


@honest("# %% and magics' look-alikes inside of a cell")
def percent_inside(notebook):
    text = notebook.cell("film")["source"].split("\n", 1)
    notebook.cell("film")["source"] = (
        f"{text[0]}\n# %% [markdown]\n# # not a cell\n\n# %%\n{text[1]}\n# %%\n'''\n%%bash\n'''"
    )


@honest("tabs, blanks at the ends of lines, no last line end")
def blanks(notebook):
    def spaced(cell):
        if cell["cell_type"] == "code" and "nbgrader" in cell["metadata"]:
            cell["source"] = "\n\n" + "  \n".join(source_of(cell).replace("    ", "\t").split("\n")) + "\n\n\n"

    notebook.each(spaced)


@honest("saved from VS Code: ids rewritten, its own metadata")
def from_vscode(notebook):
    def rewritten(cell):
        cell["id"] = uuid.uuid5(uuid.NAMESPACE_OID, source_of(cell)).hex[:8]
        cell["metadata"] = {"vscode": {"languageId": "python"}}
        cell["source"] = source_of(cell).splitlines(keepends=True)

    notebook.each(rewritten)
    notebook.json["metadata"] = {"language_info": {"name": "python", "version": "3.12.1"}, "orig_nbformat": 4}


@honest("saved from Colab: no cell ids, its own in the metadata")
def from_colab(notebook):
    def rewritten(cell):
        cell.pop("id")
        cell["metadata"] = {"id": uuid.uuid5(uuid.NAMESPACE_OID, source_of(cell)).hex[:12], "colab": {"base_uri": "x"}}
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["passed\n"]}]

    notebook.each(rewritten)
    notebook.json.update(nbformat_minor=0)
    notebook.json["metadata"] = {"colab": {"provenance": [], "toc_visible": True}, "kernelspec": {"name": "python3"}}


@honest("cells joined with the checks below them")
def merged_cells(notebook):
    for name in ("film", "rule_step"):
        notebook.cell(name)["source"] += f"\n\n\ncheck({name})"
        notebook.drop(lambda cell, name=name: cell.get("id") == f"check_{name}")


@honest("an old try above the answer")
def an_old_try(notebook):
    notebook.add(
        "# my first try\ndef film(board, generations, step):\n    return [board]", before=notebook.place("film")
    )


@honest("an old try commented out in the answer")
def commented_out(notebook):
    notebook.cell("film")["source"] += "\n\n# def film(board, generations, step):\n#     return ...  # your code"


@honest("executed, with outputs, counts and times")
def executed(notebook):
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    def ran(cell):
        if cell["cell_type"] == "code":
            cell["execution_count"] = 7
            cell["metadata"]["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
            cell["outputs"] = [{"output_type": "display_data", "data": {"image/png": picture}, "metadata": {}}]

    notebook.each(ran)


@honest("UTF-8 with a mark in front, escapes, and indents")
def byte_order_mark(notebook):
    notebook.cell("film")["source"] = "\ufeff" + source_of(notebook.cell("film"))
    notebook.at_end("name = 'Zoë 🐢 \U0001f409'")
    return b"\xef\xbb\xbf" + json.dumps(notebook.json, indent=4, ensure_ascii=False).encode()


@honest("a notebook with fifty pictures")
def many_pictures(notebook):
    picture = "A" * 100_000
    for cell in notebook.cells:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "display_data", "data": {"image/png": picture}, "metadata": {}}] * 3

"""Right answers as editors save them and as people arrange them: cells moved, joined, deleted, ids rewritten.

What decides which cell is which answer is tested in `tests/grader/submission/test_rebuild.py`.
"""

import uuid

from tests.helpers.submissions import honest, source_of


@honest("given imports edited, a package among them that isn't installed here")
def missing_package(notebook):
    first = next(cell for cell in notebook.cells if source_of(cell).startswith("import numpy"))
    first["source"] = "import a_package_of_mine as mine\nimport numpy as np\nfrom course import check\nSIZE = 3"
    notebook.cell("film")["source"] = "# exercise: film\nfrom another import thing\n" + source_of(notebook.cell("film"))


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


@honest("an old try commented out in the answer")
def commented_out(notebook):
    notebook.cell("film")["source"] += "\n\n# def film(board, generations, step):\n#     return ...  # your code"

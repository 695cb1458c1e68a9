"""Changed notebooks: tags, metadata, outputs, ids, checks, copies. What counts is the code of the answers."""

from tests.helpers.submissions import attack

ALL = {
    "next_generation": 3.0,
    "film": 2.0,
    "read_rle": 4.0,
    "run_until_repeat": 4.0,
    "rule_step": 3.0,
    "fast_step": 4.0,
}


@attack("outputs that say all passed", states={"*": "missing"})
def forged_outputs(notebook, host):
    def passed(cell):
        if cell["cell_type"] == "code":
            told = {"text/plain": ["passed: 20 of 20"], "application/json": {"score": 20, "state": "graded"}}
            reply = {"output_type": "execute_result", "data": told, "metadata": {"score": 20}, "execution_count": 1}
            cell["outputs"], cell["execution_count"] = [reply], 1

    notebook.each(passed)


@attack("check cells that define the answers' names", states={"*": "missing"})
def answers_in_checks(notebook, host):
    """Defined they are, wherever they stand: but they are wrong."""

    def rewritten(cell):
        name = cell["id"].removeprefix("check_")
        if name != cell["id"]:
            cell["source"] = f"def {name}(*arguments, **settings):\n    return True"

    notebook.each(rewritten)


@attack("one answer under the ids of all others", gets={"film": 2.0})
def ids_of_the_others(notebook, host):
    notebook.solve("film")
    text = notebook.cell("film")["source"]
    for exercise in notebook.lab.exercises:
        notebook.cell(exercise.name)["source"] = text


@attack("grade ids that change places", gets={"film": 2.0})
def ids_change_places(notebook, host):
    """The solved cell calls itself `fast_step`: it still defines `film`, and is worth what `film` is."""
    notebook.solve("film")
    film, other = notebook.cell("film"), notebook.cell("fast_step")
    for key in ("id", "metadata"):
        film[key], other[key] = other[key], film[key]


@attack("an answer that undoes another's", gets={k: v for k, v in ALL.items() if k not in ("film", "rule_step")})
def undone_by_another(notebook, host):
    notebook.solve().answer("rule_step", "film = None\nrule_step = None")


@attack("magics that hide a cell", states={"*": "graded"})
def magics(notebook, host):
    notebook.answer_all("%%capture passed\ndef NAME(*arguments):\n    return passed")


@attack("names in letters that look alike", states={"*": "missing"})
def look_alikes(notebook, host):
    notebook.solve()
    for exercise in notebook.lab.exercises:
        text = notebook.cell(exercise.name)["source"].replace(f"def {exercise.name}", f"def {exercise.name}_")
        notebook.cell(exercise.name)["source"] = text.replace("e_", "\u0435_", 1)


@attack("path tricks in ids, names and metadata", states={"*": "missing"})
def path_tricks(notebook, host):
    tricks = ["../../../gradebook", "/etc/passwd", "..\\..\\marks.csv", "film\0.py", "$(touch /tmp/sandbox-was-here)"]
    for number, trick in enumerate(tricks):
        nbgrader = {"grade_id": trick, "solution": True, "grade": True, "points": 10, "path": trick}
        notebook.add("x = 1", id=trick, metadata={"nbgrader": nbgrader, "name": trick, "id": trick})
        notebook.json["metadata"][f"path{number}"] = trick
    notebook.json["metadata"]["kernelspec"] = {
        "name": tricks[0],
        "argv": ["/bin/sh", "-c", tricks[4]],
        "display_name": "x",
    }


@attack("a kernel and a language of its own", states={"*": "missing"})
def other_kernel(notebook, host):
    notebook.json["metadata"]["kernelspec"] = {"name": "bash", "display_name": "Bash", "language": "bash"}
    notebook.json["metadata"]["language_info"] = {"name": "bash"}
    notebook.add("touch /tmp/sandbox-was-here; echo 20 points")

"""The committed outputs of a notebook: which show figures that were not measured here, and do they say so?

Which cells those are is read off their code: a name is *unreal* when it was assigned from a trace, a data sheet or a
simulation, or from another unreal name. A cell that uses an unreal name, and shows seconds or a speed, must say in that
very output what kind of figures these are, and whose.
"""

import ast
import re

from tests.helpers.rendered import readable

#: What brings figures into a notebook that its machine did not measure.
SOURCES = {
    "load_trace",
    "recorded",
    "simulated_gpus",
    "model_for",
    "calibrate",
    "DataSheet",
    "Trace",
    "ModelledClock",
    "StopwatchComparison",
    "PlacementExplorer",
    "RooflineExplorer",
    "MatmulSlider",
}
NUMBER_WITH_UNIT = re.compile(
    r"\d[\d.,]*\s*(?:s|ms|µs|us|ns|seconds?|milliseconds?|[kMGT]?FLOP/s|[kMGT]?B/s|times as (?:fast|long))(?![\w/])"
)
WORDS = ("modelled", "simulated", "recorded", "not measured")
#: Words that name a source: a data sheet, or the hardware and day of a recording.
ORIGIN = re.compile(r"data sheet|\d{4}-\d\d-\d\d")


def unlabelled_outputs(notebook):
    """Return a line for each output of `notebook` (parsed JSON) that shows unreal figures and does not say so."""
    unreal, simulating, problems = set(SOURCES), False, []
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        simulating = simulating or "simulated_gpus(" in source
        uses = names_in(source) & unreal or (simulating and re.search(r"cuda|/gpu:|gpus\.", source))
        unreal |= assigned_from(source, unreal)
        if uses:
            texts = [readable_output(output) for output in cell.get("outputs", [])]
            problems += [f"cell {number}: {text[:200]!r}" for text in texts if text and not honest(text)]
    return problems


def honest(text):
    """Say whether `text` shows no seconds and no speeds, or names their kind and origin."""
    if not NUMBER_WITH_UNIT.search(text):
        return True
    if "estimated" in text:  # an outlook: what a chapter will take here, worked out from several sources
        return True
    return any(word in text for word in WORDS) and ORIGIN.search(text) is not None


def readable_output(output):
    """Return what a reader sees of one output: its text and its HTML."""
    data = output.get("data", {})
    parts = ["".join(output.get("text", "")), "".join(data.get("text/plain", ""))]
    return " ".join([*parts, readable("".join(data.get("text/html", "")))]).strip()


def names_in(source):
    """Return the names that `source` reads: plain ones, and the last part of dotted ones."""
    found = set()
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


def assigned_from(source, unreal):
    """Return the names that `source` gives a value made from `unreal` ones, a function's own name included."""
    found = set()
    for node in ast.walk(parsed(source)):
        value, targets = None, []
        if isinstance(node, ast.Assign):
            value, targets = node.value, node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            value, targets = node.value, [node.target]
        elif isinstance(node, (ast.For, ast.comprehension)):
            value, targets = node.iter, [node.target]
        elif isinstance(node, ast.withitem):
            value, targets = node.context_expr, [node.optional_vars]
        elif isinstance(node, ast.FunctionDef) and names_in(ast.unparse(node)) & (unreal | found):
            found.add(node.name)
        if value is not None and names_in(ast.unparse(value)) & (unreal | found):
            found |= {n.id for t in targets if t is not None for n in ast.walk(t) if isinstance(n, ast.Name)}
    return found


def parsed(source):
    return ast.parse("\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))))

"""Imports of cells that are not run when marks are made, for answers that use what they import.

A picture's cell says `import torch`, an answer further down says `torch.relu`: in the notebook that works. So such an
import is run, from the lab's own text, when the name stands anywhere in what the student wrote; else it costs nothing.
"""

import ast
import re


def lent_imports(lab, texts):
    """Return the import statements of `lab`'s notebook-only cells that bind a name which stands in one of `texts`."""
    written = set(re.findall(r"\w+", "\n".join(texts)))
    found = []
    for cell in lab.source.cells:
        if cell.role == "notebook-only":
            found += [text for name, text in _imports(cell.text) if name in written]
    return list(dict.fromkeys(found))


def _imports(text):
    """Yield (name, statement) for each name that the cell's top level imports."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a cell with magics lends nothing
        return
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for one in node.names:
                name = one.asname or one.name.partition(".")[0]
                kind = ast.Import([one]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [one], 0)
                yield name, ast.unparse(kind)

"""What axe-core finds of a page or of a notebook's outputs, and measures of our own beside it, in measures.js."""

from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT

#: Where our outputs lie in nbconvert's and in JupyterLab's pages. What stands around them is theirs: "Out[3]:", say,
#: is of a grey that stands out 2.16 : 1.
OUTPUTS = ".jp-OutputArea-output"
#: Rules that JupyterLab's or nbconvert's own elements break inside an output: rule -> (their selector, why it is so).
NOT_OURS: dict[str, tuple[str, str]] = {}
SERIOUS = ("serious", "critical")
_MEASURES = (Path(__file__).parent / "measures.js").read_text(encoding="utf-8")


def measured(page, name, *given):
    """Return what the function `name` of measures.js gives in `page` for what is `given`."""
    return page.evaluate(f"(given) => {{ {_MEASURES}\nreturn {name}(...given); }}", list(given))


def findings(page, inside=OUTPUTS):
    """Return a line for each thing of serious or critical impact that axe finds in `inside`, with every fold open."""
    page.evaluate(AXE_SCRIPT)
    found = measured(page, "axeFinds", inside, {rule: selector for rule, (selector, _) in NOT_OURS.items()})
    return [f"{rule}: {html[:200]}: {why}" for rule, impact, html, why in found if impact in SERIOUS]

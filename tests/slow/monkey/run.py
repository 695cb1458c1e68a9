"""A run of the monkey: most actions in a page of all exhibits, the rest in JupyterLab; what it found, in words."""

import gc
from dataclasses import dataclass, replace
from pathlib import Path

from tests.slow.monkey.actions import IN_A_PAGE, Action, draw
from tests.slow.monkey.in_lab import lab_notebook
from tests.slow.monkey.in_page import Notebook, noted

IN_A_LAB = {kind: often for kind, often in IN_A_PAGE.items() if kind not in ("run", "restart", "silence")}
#: After so many actions the page is looked at.
LOOK = 50
#: What may be kept from the first look to the last. Seen in 2,000 actions, which ran 1,460 cells: 9,950 to 10,070 nodes
#: at every look, and 84 kB of heap a cell, its script's code: Chromium keeps that of every module of a page.
NODES, HEAP, A_CELL = 1000, 6_000_000, 100_000
RSS = 150_000_000  # bytes that the kernel may grow by between two restarts; 20 MB were seen, 110 are MatmulSlider's


@dataclass(frozen=True)
class Memory:
    """What a page keeps after `cells` runs of a cell, each exhibit as when its cell has just been run."""

    number: int
    cells: int
    heap: int
    nodes: int


@dataclass
class Found:
    """What a run found: `wrong` in words, empty where all is well; `done` are lines about each action."""

    seed: int
    count: int
    wrong: list
    done: list
    memory: list
    rss: list

    def __str__(self) -> str:
        again = f"make monkey COUNT={self.count} SEED={self.seed}"
        last = "\n".join(self.done[-20:])
        return "\n\n".join([*self.wrong, f"The last actions:\n{last}", f"The same ones again: {again}"])


def monkey(browser, folder: Path, seed: int, count: int, say=print, sources=None) -> Found:
    """Do `count` actions drawn from `seed`, a tenth of them in JupyterLab; ends at the first that goes wrong.

    `folder` is empty. `sources`: other cells than every exhibit's, for a page alone.
    """
    found = Found(seed, count, [], [], [], [])
    alone = count if sources else count - count // 10
    in_page(browser, found, draw(seed, alone), say, sources)
    if not found.wrong and not sources:
        in_lab(browser, found, in_order(draw(-seed, count - alone, IN_A_LAB)), say, folder)
    return found


def in_order(actions: list[Action]) -> list[Action]:
    """Return the actions with a restart of the kernel at every twentieth, and a save and a reload between two."""
    kinds = {10: "reload", 0: "restart"}
    return [replace(one, kind=kinds.get(one.number % 20, one.kind)) for one in actions]


def in_page(browser, found, actions, say, sources=None):
    """Do the actions in a page of all exhibits, and note in `found` what is wrong, or grows."""
    context = browser.new_context(viewport={"width": 900, "height": 900}, has_touch=True)
    notebook = Notebook(context, sources)
    with noted(notebook.wrong):
        try:
            notebook.run_all()
            for action in actions:
                _done(found, notebook, action)
                if notebook.wrong:
                    break
                if action.number % LOOK == 0:
                    found.memory.append(Memory(action.number, notebook.runs, *notebook.memory()))
                    say(f"{action.number} actions: {found.memory[-1]}")
        finally:
            notebook.close()
            context.close()
    found.wrong += notebook.wrong
    found.wrong += growth(found.memory)


def in_lab(browser, found, actions, say, folder):
    """Do the actions in JupyterLab, and note in `found` what is wrong, or grows."""
    with lab_notebook(browser, folder) as notebook:
        notebook.run_all()
        least = notebook.rss()
        for action in actions:
            _done(found, notebook, action)
            if wrong := notebook.wrong:
                found.wrong += wrong
                break
            if action.kind == "restart":
                least = notebook.rss()
            found.rss.append(notebook.rss() - least)
            if action.number % LOOK == 0:
                say(f"{action.number} actions in JupyterLab: the kernel has {found.rss[-1] >> 20} MiB more")
        if max(found.rss, default=0) > RSS:
            found.wrong.append(f"the kernel grew by {max(found.rss) >> 20} MiB between two restarts")


def growth(looks: list[Memory]) -> list[str]:
    """Return what grew from the first of the `looks` to the last, in words; nothing where memory is flat."""
    if len(looks) < 2:
        return []
    first, last = looks[0], looks[-1]
    cells = last.cells - first.cells
    found = []
    if last.nodes - first.nodes > NODES:
        found.append(
            f"the page keeps {last.nodes - first.nodes} nodes more than {last.number - first.number} actions ago"
        )
    if last.heap - first.heap > HEAP + A_CELL * cells:
        grown = (last.heap - first.heap) / 1e6
        found.append(
            f"the page keeps {grown:.1f} MB more than {last.number - first.number} actions ago ({cells} cells)"
        )
    return found


def _done(found, notebook, action):
    found.done.append(str(action))
    notebook.do(action)
    found.done[-1] += f"; {notebook.hand.did}"
    gc.collect(0)

"""`python -m course life`: counts or pictures of a pattern's generations, and how fast they came."""

import time
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING

import click

from course.commands.cluster_flags import computing_tasks
from course.commands.command_run import on_cluster, say

if TYPE_CHECKING:
    import torch

    from course.cluster.cluster import Cluster


@click.command()
@click.option("--pattern", default="gosper_glider_gun", show_default=True, help="A pattern's name, or a file of one.")
@click.option("--generations", default=120, show_default=True, type=click.IntRange(min=0))
@click.option("--engine", default="auto", show_default=True, help="auto, scipy, conv, roll, packed-torch or packed.")
@click.option("--rule", default="B3/S23", show_default=True)
@click.option("--wrap/--no-wrap", default=True, show_default=True, help="Edges meet, or all outside is dead.")
@click.option("--height", default=48, show_default=True, type=click.IntRange(min=1))
@click.option("--width", default=72, show_default=True, type=click.IntRange(min=1))
@click.option("--every", default=30, show_default=True, help="Generations between two lines.")
@click.option("--show", is_flag=True, help="Print the board too, not only how many cells live.")
@on_cluster
def life(
    pattern: str,
    generations: int,
    engine: str,
    rule: str,
    wrap: bool,
    height: int,
    width: int,
    every: int,
    show: bool,
    cluster: "Cluster | None",
) -> None:
    """Run a pattern of the Game of Life; print how many cells live, and the cells computed a second."""
    from course.life.board import empty, put, to_text
    from course.life.files import pattern as named_pattern
    from course.life.files import read_pattern
    from course.life.run import run

    if every < 1:
        raise ValueError(f"life(every={every}): frames are 1 generation apart or more.")
    cells = read_pattern(pattern, rule) if any(sign in pattern for sign in "./\\") else named_pattern(pattern)
    board = put(empty(height, width), cells, (height - cells.shape[0]) // 2, (width - cells.shape[1]) // 2)
    done, seconds = 0, 0.0
    advance = run if cluster is None else partial(run_in_strips, cluster.executor, len(computing_tasks(cluster)))
    if cluster is not None:
        say(f"a strip each on {', '.join(cluster.tasks)}, at {cluster.session_target}")
    while True:
        say(f"generation {done}: {int(board.sum())} living cells")
        if show:
            say(to_text(board))
        if done >= generations:
            break
        some = min(every, generations - done)
        started = time.perf_counter()
        board = advance(board, some, engine, rule, wrap)
        seconds += time.perf_counter() - started
        done += some
    if seconds:
        say(f"{height * width * done / seconds / 1e6:,.1f} million cells a second, engine {engine}")


def run_in_strips(
    executor: Executor, parts: int, board: "torch.Tensor", generations: int, engine: str, rule: str, wrap: bool
) -> "torch.Tensor":
    """Return the board that `run` returns, in `parts` strips of rows, each computed by `executor`.

    A cell depends on rows at most as far away as there are generations. So each strip travels with as many rows above
    and below it; what goes wrong at its cut edges has not come as far as its own rows.
    """
    import torch

    from course.life.run import run
    from course.mapreduce.engine import PART_ENDS

    height, strips = len(board), []
    parts = min(parts, height)
    for part in range(parts):
        first, last = height * part // parts, height * (part + 1) // parts
        above, below = (first - generations, last + generations) if wrap else (max(0, first - generations), None)
        rows = torch.arange(above, min(height, last + generations) if below is None else below) % height
        strips.append((first - above, last - first, executor.submit(run, board[rows], generations, engine, rule, wrap)))
    return torch.cat([strip.result(PART_ENDS)[above:][:height] for above, height, strip in strips])

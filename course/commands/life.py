"""What `python -m course life` prints: counts or pictures of a pattern's generations, and how fast they came."""

import time
from collections.abc import Iterator

from course.life.board import empty, put, to_text
from course.life.files import pattern as named_pattern
from course.life.files import read_pattern
from course.life.run import run


def report(
    pattern: str, generations: int, engine: str, rule: str, wrap: bool, height: int, width: int, every: int, show: bool
) -> Iterator[str]:
    """Yield the lines to print; `pattern` is a name or the path of a pattern file, shown every `every` generations."""
    if every < 1:
        raise ValueError(f"life(every={every}): frames are 1 generation apart or more.")
    cells = read_pattern(pattern, rule) if any(sign in pattern for sign in "./\\") else named_pattern(pattern)
    at = (height - cells.shape[0]) // 2, (width - cells.shape[1]) // 2
    board = put(empty(height, width), cells, *at)
    done, seconds = 0, 0.0
    while True:
        yield f"generation {done}: {int(board.sum())} living cells"
        if show:
            yield to_text(board)
        if done >= generations:
            break
        some = min(every, generations - done)
        started = time.perf_counter()
        board = run(board, some, engine, rule, wrap)
        seconds += time.perf_counter() - started
        done += some
    if seconds:
        yield f"{height * width * done / seconds / 1e6:,.1f} million cells a second, engine {engine}"

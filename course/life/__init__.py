"""Conway's Game of Life: boards, rules, patterns, the registered op, and five engines that agree on every cell.

>>> from course import life
>>> blinker = life.put(life.empty(5, 5), life.pattern("blinker"), row=2, column=1)
>>> life.to_text(life.step(blinker)).splitlines()
['.....', '..O..', '..O..', '..O..', '.....']

Read in this order: `board`, `rule`, `edges` (where a board wraps), `op` (the registered op and the reference), `files`
(patterns), `run` (which engine), then the engines: `whole_board`, `packed_torch` with `sums`, `packed` with its kernels
(`kernels`, `row_kernels`, `lane_kernels`), and `packed_gpu`.
"""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.life.board import empty, from_text, put, random_board, to_text
    from course.life.files import pattern, pattern_file, pattern_names, read_pattern, write_pattern
    from course.life.op import reference_step, step
    from course.life.rule import Rule
    from course.life.run import ENGINES, Cycle, find_cycle, frames, run

__all__ = [
    "ENGINES",
    "Cycle",
    "Rule",
    "empty",
    "find_cycle",
    "frames",
    "from_text",
    "pattern",
    "pattern_file",
    "pattern_names",
    "put",
    "random_board",
    "read_pattern",
    "reference_step",
    "run",
    "step",
    "to_text",
    "write_pattern",
]

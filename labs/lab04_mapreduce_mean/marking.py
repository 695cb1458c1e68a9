"""How lab 04 is marked: lines, slices, blocks, specs and records drawn for each submission; slow oracles outside.

Nothing here starts a cluster: where work runs is asked as a function of a spec or of a record that the grader supplies.
"""

from course.checks.exercise import show
from grader.lab.spec import Case, Drive, Exercise, Lab, fixed_and_drawn
from grader.marking.result_types import Flag, Integer, Json, List_, Number, Optional_, Text, Tuple_

from . import checks as numbers
from . import places

#: What a student's answer is given; neither is an answer to anything.
BRACKETS = """
def drive(entry, parts):
    def by_initial(line):
        return [(word[0], word[1:]) for word in line.split()]

    def bracket(left, right):
        return f"({left}{right})"

    return entry(parts, by_initial, bracket)
"""

KEPT = """
def drive(entry, jobs, places, old, new):
    there, pinned = entry(jobs, places, old, new)
    return dict(there), list(pinned), jobs, places
"""

ONCE = """
def drive(entry, blocks):
    import numpy

    return entry(iter([numpy.array(block, numpy.float32) for block in blocks]))
"""

REFUSED = """
def drive(entry, jobs, place):
    try:
        return False, entry(jobs, place)
    except ValueError:
        return True, None
"""


# ---- 1. Map and reduce by hand ---------------------------------------------------------------------------------------


def lines(draw):
    drawn = [([_line(draw) for _ in range(count)],) for count in (2, 4, 7)]
    return fixed_and_drawn([(lines,) for lines in numbers.LINES], drawn)


def _line(draw):
    words = ["".join(draw.choice(list("abc"), draw.integers(1, 4))) for _ in range(draw.integers(0, 7))]
    return " ".join(map(str, words))


MAP_AND_REDUCE = Exercise(
    "map_and_reduce",
    cases=lines,
    evidence=Json(),
    expected=numbers.all_pairs_first,
    witness=Drive(BRACKETS, adds=("by_initial", "bracket")),
    oracle="all pairs written down; for each key, its values picked out and joined from the left",
)


# ---- 2. Rename the job -----------------------------------------------------------------------------------------------


def renamings(draw):
    return fixed_and_drawn(places.RENAMINGS, [_renaming(draw, count) for count in (1, 2, 4)])


def _renaming(draw, count):
    stem = f"{_word(draw, 2)}.{_word(draw, 1)}"  # a dot is legal in a name, and matches anything in a pattern
    alike = [stem.replace(".", "z"), f"{stem}{_word(draw, 1)}", f"{_word(draw, 1)}{stem}", f"{stem}-2"]
    names = [stem, *alike[:count]]
    draw.shuffle(names)
    jobs = {name: [f"{stem}{index}:{int(draw.integers(1000, 9999))}" for index in range(1, 3)] for name in names}
    pins = [f"/job:{name}/task:{draw.integers(0, 2)}" + str(draw.choice(["", "/gpu:1", "/cpu:0"])) for name in names]
    return jobs, [*pins, f"/job:{stem}", "/gpu:0", f"/job:{stem}/cpu:0"], stem, f"{stem}x{_word(draw, 3)}"


def _word(draw, length):
    return "".join(draw.choice(list("abcdefghijklmnopqrstuvwyz"), length))


def renamed_and_kept(case, got):
    jobs, pins, old, new = case.arguments
    wanted = places.renamed_piece_by_piece(jobs, pins, old, new)
    if got[:2] != wanted:
        return f"expected {show(wanted)}, and then its input as it was"
    return None if got[2:] == (jobs, pins) else "it changed its input, which stands behind its answer here"


RENAME_JOB = Exercise(
    "rename_job",
    cases=renamings,
    evidence=Tuple_(Json(), Json(), Json(), Json()),  # its answer; then its input, as it is now
    judge=renamed_and_kept,
    witness=Drive(KEPT),
    oracle="each place cut at its slashes, a piece renamed only when all of it is the job's; the input as it was",
)


# ---- 3. and 4. Means and spreads of slices ---------------------------------------------------------------------------


def sliced_means(draw):
    nothing = int(draw.integers(2, 6))
    drawn = [_means(draw, count) for count in (2, 3, 5, 8, 13)]
    return fixed_and_drawn(numbers.SLICED, [*drawn, ([numbers.NAN] * nothing, [0] * nothing)])


def _means(draw, count):
    sizes = [int(size) for size in draw.integers(1, 1000, count)]
    if count > 2:
        sizes[int(draw.integers(count))] = 0
    return [float(draw.normal(5, 20)) if size else numbers.NAN for size in sizes], sizes


MEAN_OF_SLICES = Exercise(
    "mean_of_slices",
    cases=sliced_means,
    evidence=Number(),
    expected=numbers.exact_mean,
    oracle="the weighted mean in exact fractions, empty slices left out",
)


def cuts(draw):
    fixed = [Case((list(numbers.sliced(cut)),), edge=True, truth=_whole(cut)) for cut in numbers.CUTS]
    return fixed + [_cut(draw, count) for count in (2, 3, 6, 10)]


def _cut(draw, count):
    slices = [draw.normal(draw.normal(0, 5), draw.uniform(0.5, 4), draw.integers(1, 60)) for _ in range(count)]
    return Case((list(numbers.sliced(slices)),), truth=_whole(slices))


def _whole(slices):
    return numbers.whole_spread([number for one in slices for number in one])


SPREAD_OF_SLICES = Exercise(
    "spread_of_slices",
    cases=cuts,
    evidence=Tuple_(Integer(), Number(), Number()),
    oracle="the numbers that the slices were cut from, all in one list, in exact fractions",
)


# ---- 5. A mean that survives -----------------------------------------------------------------------------------------


def streams(draw):
    several = (1e8, -1e8, 0.0)
    drawn = [
        numbers.noisy_blocks(draw, draw.integers(1, 40, 3)),
        numbers.noisy_blocks(draw, draw.integers(1, 40, 4), several),
        numbers.noisy_blocks(draw, [0, *draw.integers(500, 1500, 3)]),
        numbers.noisy_blocks(draw, draw.integers(300, 1500, 4), several),
    ]
    drawn[1].append(draw.normal(0, 9, 5).astype("float32"))
    # as lists, whose every digit a counterexample shows; the witness makes arrays of them
    asked = [([block.tolist() for block in blocks],) for blocks in [*numbers.FEW_BLOCKS, *drawn]]
    return fixed_and_drawn(asked[: len(numbers.FEW_BLOCKS)], asked[len(numbers.FEW_BLOCKS) :])


def near(case, got):
    verdict = numbers.near_the_mean(got, *case.arguments)
    return None if verdict is True else verdict


STEADY_MEAN = Exercise(
    "steady_mean",
    cases=streams,
    evidence=Number(),
    judge=near,
    witness=Drive(ONCE),
    oracle="`math.fsum`, which adds without rounding; 0.001 either way is right",
)


# ---- 6. and 7. Places ------------------------------------------------------------------------------------------------


def pins(draw):
    drawn = [pin for _ in range(4) for pin in _pins(draw)]
    asked = [(pin, True) for pin in places.PINS] + [(pin, False) for pin in drawn]
    cases = [Case(pin, edge, "found" if places.looked_up(*pin) else "refused") for pin, edge in asked]
    # who refuses everything has refused nothing well: places that are there, wherever it says they are
    return [*cases, Case(places.PINS[0], True, "refused"), *(Case(pin, group="refused") for pin in drawn[:2])]


def _pins(draw):
    names = [_word(draw, 4), f"gpu{_word(draw, 2)}"]
    jobs = {name: [f"{_word(draw, 3)}:{port}" for port in draw.integers(1000, 9999, 14)] for name in names}
    some, other = jobs
    there, beyond, device = (int(number) for number in draw.integers((0, 14, 0), (14, 40, 12)))
    yield jobs, f"/job:{some}/task:{there}/{draw.choice(['gpu', 'cpu'])}:{device}"
    yield jobs, f"/job:{other}/task:{there}"
    yield jobs, f"/job:{other}/task:{draw.integers(10, 14)}/gpu:{device}"
    yield jobs, f"/job:{other}/task:{beyond}/gpu:0"
    yield jobs, f"/job:{some[:-1]}/task:0"


def look_up(case, got):
    wanted = places.looked_up(*case.arguments)
    if got == (wanted is None, wanted) or (wanted and case.group == "refused" and not got[0]):
        return None
    refused = ", not a ValueError" if got[0] else ""
    return "expected a ValueError: there is no such task" if wanted is None else f"expected {wanted}{refused}"


LOCATE = Exercise(
    "locate",
    cases=pins,
    evidence=Tuple_(Flag(), Optional_(Tuple_(Text(200), Text(200)))),  # whether it refused, what it returned
    judge=look_up,
    witness=Drive(REFUSED),
    groups={"found": 2 / 3, "refused": 1 / 3},
    oracle="the names of all tasks written out, and the place looked for among them",
)


def records(draw):
    drawn = [_record(draw, count) for count in (4, 9, 20, 60)]
    alike = [(_record(draw, 30)[0], place) for place in ("/job:w/task:1/gpu:1", "/job:w/task:1")]
    return fixed_and_drawn(places.RECORDS, drawn + alike)


def _record(draw, count):
    # tasks 1 and 1x, GPUs 1 and 1x: names that begin like each other
    devices = [f"/job:w/task:{task}/{kind}" for task in (1, 10, 12) for kind in ("cpu:0", "gpu:1", "gpu:10")]
    record = [_op(draw, str(draw.choice(devices))) for _ in range(count)]
    return record, str(draw.choice([*devices, "/job:w/task:1", "/job:w/task:10"]))


def _op(draw, device):
    name = str(draw.choice(["mm", "add", "relu", "exp", "sum", "t", "copy_"]))
    kind = draw.choice(3, p=(0.6, 0.2, 0.2))
    return places.op(name, device, view=bool(kind == 1), bytes_moved=int(draw.integers(4, 4096)) if kind == 2 else 0)


STRAYS = Exercise(
    "strays",
    cases=records,
    evidence=List_(Text(100)),
    expected=places.away_from,
    oracle="each device's name compared with the place piece by piece, from the start",
)


LAB = Lab(
    "lab04_mapreduce_mean",
    title="Map, reduce and the mean",
    exercises=[MAP_AND_REDUCE, RENAME_JOB, MEAN_OF_SLICES, SPREAD_OF_SLICES, STEADY_MEAN, LOCATE, STRAYS],
    imports=("numpy",),
)

"""Lab 05's exercises: darts counted, shared out among servers and GPUs, their error, and streams that don't overlap."""

from functools import partial

from course.checks.exercise import Exercise, asking, by_name, strategy

from . import cases, oracles
from .driver import drive_servers

_drawn = partial(strategy, f"{__package__}.strategies")

EXERCISES = by_name(
    Exercise(
        "count_inside",
        asking(cases.ranges_of_darts),
        oracles.dart_by_dart,
        inputs=_drawn("ranges_of_darts"),
        oracle="the stream drawn from its beginning, dart after dart; streams and ranges are drawn for you alone",
        hint="darts first to last - 1 are the numbers 2 * first to 2 * last - 1; x is every second of them.",
    ),
    Exercise(
        "pi_on_servers",
        asking(cases.shares),
        accepts=lambda got, darts, servers: oracles.on_servers(*got, darts, servers),
        call=drive_servers,
        adds=("submit",),
        inputs=_drawn("shares"),
        oracle="every dart in exactly one range, no share larger than it must be, and the sum of the servers' counts",
        hint="one list of futures, made in a first loop; their results are added up in a second.",
    ),
    Exercise(
        "pi_on_gpus",
        asking(cases.clusters),
        accepts=oracles.on_gpus,
        inputs=_drawn("clusters"),
        oracle="every GPU of the list once, by its own task's name for it; every dart in exactly one fair share",
        hint="pick out the GPUs first; then their number says how large a share is.",
    ),
    Exercise(
        "pooled_pi",
        asking(cases.servers_counts),
        oracles.written_out,
        inputs=_drawn("counts"),
        oracle="every dart written out as 4 or 0, their mean, and their standard deviation over the root of how many",
        hint="add up all that fell inside and all that were thrown; then it is one server's formula.",
    ),
    Exercise(
        "error_of_runs",
        asking(cases.several_runs),
        oracles.pair_by_pair,
        inputs=_drawn("runs"),
        oracle="the squared differences of all pairs, in exact fractions",
        hint="np.std(values, ddof=1): the mean was worked out from the same values, which costs one.",
    ),
    Exercise(
        "stream_for",
        asking(cases.pairs),
        oracles.place_in_line,
        inputs=_drawn("pairs"),
        oracle="the line of all pairs written down, and the pair looked for",
        hint="how many pairs stand in the line before the first of this run?",
    ),
    Exercise(
        "thrown_twice",
        asking(cases.logs),
        oracles.one_by_one,
        inputs=_drawn("logs"),
        oracle="every dart by itself, in a set",
        hint="go through a stream's ranges by their beginnings; remember the furthest end so far.",
    ),
)

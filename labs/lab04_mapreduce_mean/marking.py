"""How lab 04 is marked: lines, slices, blocks, specs and records drawn for each submission; slow oracles outside.

Nothing here starts a cluster: where work runs is asked as a function of a spec or of a record that the grader supplies.
"""

from grader.lab.spec import Lab, Marking
from grader.marking.result_types import Flag, Integer, Json, List_, Number, Optional_, Text, Tuple_

from .checks import EXERCISES

LAB = Lab(
    "lab04_mapreduce_mean",
    title="Map, reduce and the mean",
    exercises=[
        Marking(EXERCISES["map_and_reduce"], Json()),
        Marking(
            EXERCISES["rename_job"], Tuple_(Json(), Json(), Json(), Json())
        ),  # its answer; then its input, as it is now
        Marking(EXERCISES["mean_of_slices"], Number()),
        Marking(EXERCISES["spread_of_slices"], Tuple_(Integer(), Number(), Number())),
        Marking(EXERCISES["steady_mean"], Number()),
        Marking(
            EXERCISES["locate"],
            Tuple_(Flag(), Optional_(Tuple_(Text(200), Text(200)))),  # whether it refused, what it returned
            groups={"found": 2 / 3, "refused": 1 / 3},
        ),
        Marking(EXERCISES["strays"], List_(Text(100))),
    ],
    imports=("numpy",),
)

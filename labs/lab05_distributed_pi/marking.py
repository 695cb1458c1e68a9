"""How lab 05 is marked: by counts of darts that are drawn for each submission, by plans and by made-up counts.

Pi itself is evidence of nothing, and is asked for nowhere. Servers and GPUs are functions and names that the grader
supplies; no cluster runs.
"""

from grader.lab.spec import Lab, Marking
from grader.marking.result_types import Integer, Json, Number, Optional_, Tuple_

from .checks import EXERCISES

#: What it returned, its calls of submit, and how many there were when it first asked for a result.
SHARED = Tuple_(Tuple_(Integer(), Number()), Json([(int, int, int)], limit=1 << 16), Optional_(Integer()))

LAB = Lab(
    "lab05_distributed_pi",
    title="Pi on many servers",
    exercises=[
        Marking(EXERCISES["count_inside"], Integer()),
        Marking(EXERCISES["pi_on_servers"], SHARED),
        Marking(EXERCISES["pi_on_gpus"], Json()),
        Marking(EXERCISES["pooled_pi"], Tuple_(Number(), Number())),
        Marking(EXERCISES["error_of_runs"], Number()),
        Marking(EXERCISES["stream_for"], Integer()),
        Marking(EXERCISES["thrown_twice"], Integer()),
    ],
    imports=("numpy",),
)

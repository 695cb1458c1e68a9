"""How lab 09 is marked: measured programs, ends of a job, tasks and their data are drawn for each submission.

Each life of the job is a sandbox of its own. The machine that does its steps is here, in the grader: what a step makes
of a state only it knows, it decides when a life ends, it is told from outside of what changes in the folder, and its
record says what was done again.
"""

from dataclasses import replace

from course.checks.exercise import Observed
from grader.lab.spec import Lab, Marking
from grader.marking.messages import Answer
from grader.marking.result_types import Integer, List_, Optional_, Text, Tuple_

from .checks import EXERCISES
from .machine import Machine


def lived(case, submission):
    """Return the `Answer` of a job to a plan of its lives: each gets the folder that the last one left."""
    machine, folder, begun, ended = Machine(case.plan), {}, [], []
    while (order := machine.ask("begin"))["more"]:
        folder = begun[order["back"] - 1] if order["back"] else folder
        begun.append(folder)
        with submission.another() as life:
            how, answer, folder = _one_life(life, machine, folder, case)
        if answer.kind not in ("value", "ended"):
            before = f"; life {len(ended)} {ended[-1][0]}" if ended else ""
            return replace(answer, text=f"{answer.text} (in life {len(ended) + 1}{before})")
        ended.append((how, answer.value))
    return Answer("value", Observed(ended, machine.record))


def _one_life(life, machine, folder, case):
    """Return how a life ended, its last `Answer`, and the folder that it leaves."""
    answer = life.lay(folder)
    if answer.kind == "laid":
        answer = life.call(*case.arguments, steps=True)
    while True:
        for moment in life.look()[:: -1 if case.plan["backwards"] else 1]:
            if machine.ask("change").get("then") == "tear":
                return "was killed as it wrote", Answer("ended"), moment
        if answer.kind != "step":
            return ("returned" if answer.kind == "value" else "ended"), answer, life.entries
        order = machine.ask("step", *answer.value)
        if order.get("then") == "kill":
            return "was killed", Answer("ended"), life.entries
        if order.get("then") == "term":
            life.warn()
        answer = life.step(order)


LAB = Lab(
    "lab09_beyond_one_machine",
    title="Beyond one machine",
    exercises=[
        Marking(
            EXERCISES["choose"],
            Tuple_(Text(40), Integer(), Integer()),
            groups={"walltime": 0.5, "budget": 0.25, "queues": 0.25},
        ),
        Marking(
            EXERCISES["job"],
            Optional_(Integer()),
            outside=lived,
            groups={"killed": 0.4, "torn": 0.3, "warned": 0.3},
            seconds=10.0,
        ),
        Marking(EXERCISES["near_data"], List_(Integer()), groups={"room": 0.25, "full": 0.75}),
        Marking(
            EXERCISES["schedule"],
            List_(Tuple_(Integer(), Integer())),
            groups={"legal": 0.2, "few": 0.4, "many": 0.4},
        ),
    ],
)

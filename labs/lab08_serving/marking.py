"""How lab 08 is marked: loads, events, histograms, a writer's work and a server's script are drawn for each submission.

The server of the last exercise is in a sandbox of the grader's own, and the clock with it: what was sent and slept is
its record. No second is measured.
"""

from pathlib import Path

from grader.lab.spec import Host, Lab, Marking
from grader.marking.result_types import Array, Flag, Integer, List_, Number, Optional_, Text, Tuple_

from .checks import EXERCISES

HERE = Path(__file__).parent
DRIVERS = (HERE / "driver.py").read_text(encoding="utf-8")

ASKING = f"""
{DRIVERS}

def drive(entry, port, request, deadline):
    import json
    import socket

    with socket.create_connection(("127.0.0.1", port), timeout=15) as link, link.makefile("rb") as answers:
        def ask(**question):
            link.sendall(json.dumps(question).encode() + b"\\n")
            return json.loads(answers.readline() or b'{{"error": "the server is gone"}}')

        return drive_call(entry, ask, request, deadline)
"""


LAB = Lab(
    "lab08_serving",
    title="Serving",
    exercises=[
        Marking(EXERCISES["latencies"], lambda case: Array("float64", case.arguments[0].shape)),
        Marking(
            EXERCISES["batcher"],
            List_(Tuple_(Text(20), List_(Integer()))),
            groups={"rows": 0.5, "signatures": 0.25, "given up": 0.25},
        ),
        Marking(EXERCISES["quantile"], Number(), groups={"one": 0.5, "several": 0.25, "restarted": 0.25}),
        Marking(
            EXERCISES["newest"],
            List_(Tuple_(Integer(), Flag())),
            groups={"come and go": 0.5, "half written": 0.25, "rolled back": 0.25},
        ),
        Marking(
            EXERCISES["call"],
            Tuple_(Optional_(Integer()), Text(40)),
            host=Host(
                call=ASKING,
                source=(HERE / "server_host.py").read_text(encoding="utf-8"),
                seen=List_(Tuple_(Text(10), Number(), Number(), Text(2000))),
            ),
            groups={"again": 0.4, "pauses": 0.2, "deadline": 0.4},
        ),
    ],
)

"""How lab 09 is marked: measured programs, ends of a job, tasks and their data are drawn for each submission.

The machine on which the job's steps are done is in a sandbox of the grader's own: what a step makes of a state only it
knows, it decides when a life ends, and its record says what was done again. The lives are processes beside the answer.
"""

from pathlib import Path

from grader.lab.spec import Host, Lab, Marking
from grader.marking.result_types import Integer, List_, Optional_, Text, Tuple_

from .checks import EXERCISES

HERE = Path(__file__).parent

ASKING = f"""
{(HERE / "driver.py").read_text(encoding="utf-8")}

def drive(entry, port, steps, every, first):
    @contextlib.contextmanager
    def connect():
        with socket.create_connection(("127.0.0.1", port), timeout=15) as link, link.makefile("rb") as answers:
            def ask(**question):
                link.sendall(json.dumps(question).encode() + b"\\n")
                return json.loads(answers.readline())

            yield ask

    return drive_job(entry, connect, steps, every, first)
"""

SERVING = f"""
{(HERE / "machine.py").read_text(encoding="utf-8")}

import json
import socketserver
import threading

from grader.inside.links import LinkServer


class Host:
    def __init__(self, plan):
        self.machine = machine = Machine(plan)
        self.lock, turn = threading.Lock(), threading.Lock()
        lock = self.lock

        class Link(socketserver.StreamRequestHandler):
            def handle(self):
                if not turn.acquire(timeout=5):  # one at a time: a life can't begin another beside itself
                    return
                try:
                    while line := self.rfile.readline(1000):
                        with lock:
                            told = answer(machine, line)
                        self.wfile.write(json.dumps(told).encode() + b"\\n")
                finally:
                    turn.release()

        self.server = LinkServer(("127.0.0.1", 0), Link)
        self.address = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def seen(self):
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            return self.machine.record


def answer(machine, line):
    try:
        return machine.ask(**json.loads(line))
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        return {{"error": f"{{type(problem).__name__}}: {{problem}}"[:200]}}
"""


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
            List_(Tuple_(Text(40), Optional_(Integer()))),
            host=Host(call=ASKING, source=SERVING, seen=List_(Tuple_(Text(10), Integer(), Integer(), Integer()))),
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

"""The tasks that lab 07's product is split over: threads of the grader's own sandbox that note what they were asked.

A request is a line of JSON, {"task": k, "left": [rows, columns], "right": [rows, columns]}, and the float64 of both;
the answer is the float64 of the product. numpy and the standard library only.
"""

import hashlib
import json
import socketserver
import threading

import numpy as np

from grader.inside.links import LinkServer

WAITS = 3.0  # seconds for all tasks to be asked
MOST = 1 << 16  # numbers in one array
REQUESTS = 100


class Host:
    """Serves the tasks of a plan: {"tasks": how many, "together": whether they wait for one another}."""

    def __init__(self, plan):
        self.tasks, self.asked, self.lock = plan["tasks"], [], threading.Lock()
        self.barrier = threading.Barrier(plan["tasks"]) if plan["together"] else None
        host = self

        class Link(socketserver.StreamRequestHandler):
            def handle(self):
                self.wfile.write(host.work(self.rfile))

        self.server = LinkServer(("127.0.0.1", 0), Link)
        self.address = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def work(self, stream):
        """Return the answer to the one request on a link, which a submission wrote."""
        asked = json.loads(stream.readline(1000))
        task, left, right = int(asked["task"]), _array(stream, asked["left"]), _array(stream, asked["right"])
        made = (left @ right).tobytes()
        entry = [task, left.shape[0], _digest(left), _digest(right), True]
        with self.lock:
            if len(self.asked) >= REQUESTS:
                raise RuntimeError("that is enough")
            self.asked.append(entry)
        if self.barrier is not None:
            try:
                self.barrier.wait(WAITS)
            except threading.BrokenBarrierError:
                entry[-1] = False
        return made

    def seen(self):
        """End it; return [task, rows, digest of left, digest of right, whether all were asked in time] for each."""
        self.server.shutdown()
        self.server.server_close()
        return self.asked


def _array(stream, shape):
    rows, columns = (int(number) for number in shape)
    if min(rows, columns) < 0 or rows * columns > MOST:
        raise ValueError(f"an array of {rows} x {columns}")
    return np.frombuffer(stream.read(8 * rows * columns), np.float64).reshape(rows, columns)


def _digest(array):
    return hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()

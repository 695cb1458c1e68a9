"""What plausible wrong answers to lab 08 look like, and the slow specifications: the lab's self-test marks them all.

`Edit` changes the solution in `lab.py`; source text stands for the whole answer.
"""

from grader.lab.spec import Edit, Wrong

SPECIFICATION = {
    "latencies": """
def latencies(due, seconds, workers):
    ends = []
    for k in range(len(due)):
        begin = due[k]
        for end in sorted(ends):
            if sum(other > begin for other in ends) < workers:
                break
            begin = max(begin, end)
        ends.append(begin + seconds[k])
    return np.array([end - when for end, when in zip(ends, due)])
""",
    "batcher": """
class Batcher:
    def __init__(self, limit, room):
        self.limit, self.room, self.requests, self.became, self.idle_workers = limit, room, [], {}, 0

    def waiting(self, now):
        for one in self.requests:
            if self.became[one.number] == "waits" and one.until <= now:
                self.became[one.number] = "gave up"
        return [one for one in self.requests if self.became[one.number] == "waits"]

    def take(self, request, now):
        many = len(self.waiting(now))
        self.requests.append(request)
        self.became[request.number] = "begun"
        if self.idle_workers > 0:
            self.idle_workers -= 1
            return "started"
        if many < self.room:
            self.became[request.number] = "waits"
            return "queued"
        return "refused"

    def idle(self, now):
        batch = []
        for one in self.waiting(now):
            if not batch or one.signature == batch[0].signature:
                if sum(other.rows for other in batch) + one.rows > self.limit:
                    break
                batch.append(one)
        for one in batch:
            self.became[one.number] = "begun"
        if not batch:
            self.idle_workers += 1
        return [one.number for one in batch]
""",
    "quantile": """
def quantile(share, bounds, readings):
    def requests(x):
        many, lower, less = 0.0, 0.0, 0
        for bound, count in zip(bounds[:-1], counts):
            many += (count - less) * min(max((x - lower) / (bound - lower), 0.0), 1.0)
            lower, less = bound, count
        return many

    counts = [0] * len(bounds)
    for before, after in readings:
        for k in range(len(bounds)):
            counts[k] += int(after[k]) if after[-1] < before[-1] else int(after[k]) - int(before[k])
    if counts[-1] == 0:
        return math.nan
    low, high = 0.0, float(bounds[-2])
    if requests(high) < share * counts[-1]:
        return high
    for _ in range(80):
        middle = (low + high) / 2
        if requests(middle) < share * counts[-1] - 1e-9:
            low = middle
        else:
            high = middle
    return high
""",
    "newest": """
def newest(directory, served):
    from pathlib import Path

    def is_complete(folder):
        try:
            sums = json.loads((folder / "checksums.json").read_text())
            return all(hashlib.sha256((folder / n).read_bytes()).hexdigest() == sums[n] for n in sums)
        except Exception:
            return False

    bad = Path(directory) / "rolled_back.json"
    bad = json.loads(bad.read_text()) if bad.exists() else []
    largest = 0
    for number in range(1, 1000):
        if (number == served or is_complete(Path(directory) / str(number))) and number not in bad:
            largest = number
    return largest
""",
    "call": """
def call(request, send, clock, sleep, deadline):
    happened = []

    def may_go_again(what):
        if isinstance(what, ConnectionResetError):
            return request["method"] == "GET" or request["path"].endswith("/infer") or request["id"] is not None
        return isinstance(what, ConnectionRefusedError) or getattr(what, "status", 0) in (429, 503)

    while True:
        left = deadline - clock()
        if not happened and left <= 0:
            raise TimeoutError
        try:
            happened.append(send(request, left))
        except (ConnectionError, TimeoutError) as error:
            happened.append(error)
        last = happened[-1]
        pause = (getattr(last, "retry_after", None) or 0) + 0.1 * 2 ** (len(happened) - 1)
        if not may_go_again(last) or clock() + pause >= deadline:
            if isinstance(last, Exception):
                raise last
            return last
        sleep(pause)
""",
}

_TAKES = "    def take(self, request, now):\n        self.waiting = [one for one in self.waiting if one.until > now]\n"
_IDLE = "    def idle(self, now):\n        self.waiting = [one for one in self.waiting if one.until > now]\n"
_STARTS = '        if self.free:\n            self.free -= 1\n            return "started"\n'
_REFUSES = '        if len(self.waiting) >= self.room:\n            return "refused"\n'
_SHRINKS = "        self.waiting = [one for one in self.waiting if one.number not in batch]\n"
_COUNTS = "after if after[-1] < before[-1] else after - before"
_COMPARES = "if hashlib.sha256(file.read()).hexdigest() != checksum:\n                        return False"
_NAMES = 'set(name) <= set("0123456789") and name[0] != "0"'
_LARGEST = "max([number for number in [*there, served] if number not in bad], default=0)"
_HARMLESS = 'request["method"] == "GET" or request["path"].endswith("/infer") or request["id"] is not None'
_LOOP = "    step = 0.1\n    while True:\n        answer, error = None, None\n"
_LATE = "        if clock() + pause >= deadline:\n"

WRONG = {
    "latencies": {
        "a closed loop: from when it was begun": Edit("took.append(free[first] - when)", "took.append(lasts)"),
        "only how long it waited": Edit("free[first] - when)", "free[first] - when - lasts)"),
        "when it was done": Edit("took.append(free[first] - when)", "took.append(free[first])"),
        "nobody queues": Edit("max(free[first], when) + lasts", "when + lasts"),
        "begun before it is due": Edit("max(free[first], when) + lasts", "free[first] + lasts"),
        "one worker, however many there are": Edit("[0.0] * workers", "[0.0]"),
        "the workers in turn": Edit("free.index(min(free))", "len(took) % workers"),
        "the worker who is free last": Edit("min(free)", "max(free)"),
        "one worker who is so many times as quick": Edit(
            "for when, lasts in zip(due, seconds, strict=True)",
            "workers, free = 1, [0.0]\n    for when, lasts in zip(due, seconds / workers, strict=True)",
        ),
    },
    "batcher": {
        "waits until the batch is full": Edit(
            _SHRINKS, f"        if rows < self.limit:\n            self.free += 1\n            return []\n{_SHRINKS}"
        ),
        "another signature ends the batch": Edit("continue", "break", gets=0.75),
        "who gave up is computed all the same": Edit(_IDLE, "    def idle(self, now):\n", gets=0.75),
        "requests are counted, not rows": Edit("rows + one.rows > self.limit", "len(batch) >= self.limit"),
        "signatures are mixed": Edit("one.signature != self.waiting[0].signature", "False", gets=0.75),
        "what does not fit is overtaken": Edit("                break\n", "                continue\n"),
        "the limit is not reached": Edit("one.rows > self.limit", "one.rows >= self.limit"),
        "the queue has no end": Edit("len(self.waiting) >= self.room", "False", gets=0.25),
        "room for one more": Edit("len(self.waiting) >= self.room", "len(self.waiting) > self.room", gets=0.25),
        "who gave up takes room": Edit(_TAKES, "    def take(self, request, now):\n", gets=0.75),
        "until is still in time": Edit(_IDLE, _IDLE.replace("until > now", "until >= now"), gets=0.75),
        "refused although a worker is idle": Edit(_STARTS + _REFUSES, _REFUSES + _STARTS, gets=0.5),
        "one idle worker is remembered": Edit("self.free += 1", "self.free = 1"),
        "no idle worker is remembered": Edit("            self.free += 1\n", ""),
        "the last come are first": Edit("for one in self.waiting:", "for one in self.waiting[::-1]:"),
        "a batch stays in the queue": Edit(_SHRINKS, ""),
        "the signature that most have": Edit(
            "one.signature != self.waiting[0].signature",
            "one.signature != max((s := [w.signature for w in self.waiting]), key=s.count)",
            gets=0.75,
        ),
        "the requests, not their numbers": Edit("return batch", "return [self.limit + number for number in batch]"),
    },
    "quantile": {
        "the mean of the workers' percentiles": Wrong(
            """
def quantile(share, bounds, readings):
    def alone(counts):
        found = int(np.argmax(counts >= share * counts[-1]))
        if found == len(bounds) - 1:
            return bounds[-2]
        lower, less = (bounds[found - 1], counts[found - 1]) if found else (0.0, 0)
        return lower + (bounds[found] - lower) * (share * counts[-1] - less) / (counts[found] - less)

    every = [after if after[-1] < before[-1] else after - before for before, after in readings]
    found = [alone(counts) for counts in every if counts[-1]]
    return sum(found) / len(found) if found else math.nan
""",
            gets=0.5,
        ),
        "the bucket's bound": Edit("return float(lower + ", "return float(bounds[found]) or float(lower + "),
        "what a worker lost when it died": Edit(_COUNTS, "after - before", gets=0.75),
        "the bound before the bucket": Edit("return float(lower + ", "return float(lower) if True else float("),
        "the middle of the bucket": Edit("(place - less) / (counts[found] - less)", "0.5"),
        "counts that are not cumulative": Edit("place = share * counts[-1]", "place = share * counts.sum()"),
        "an infinite latency": Edit("float(bounds[-2])", "float(bounds[-1])"),
        "nought where nobody came": Edit("return math.nan", "return 0.0", gets=0.25),
        "the last reading is all": Edit(_COUNTS, "after"),
        "a worker that died is left out": Edit(
            _COUNTS, "0 * after if after[-1] < before[-1] else after - before", gets=0.75
        ),
        "no count below nought": Edit(_COUNTS, "np.maximum(after - before, 0)", gets=0.75),
        "a death is looked for bucket by bucket": Edit(
            _COUNTS, "np.where(after < before, after, after - before)", gets=0.75
        ),
        "above the place, not at it": Edit("counts >= place", "counts > place"),
        "the first bucket is as its bound": Edit("if found else (0.0, 0.0)", "if found else (bounds[0], 0.0)"),
        "interpolated by numpy": Edit(
            "    if found == len(bounds) - 1:\n",
            "    return float(np.interp(place, [0, *counts[:-1]], [0, *bounds[:-1]]))\n"
            "    if found == len(bounds) - 1:\n",
        ),
        "a percentage": Edit("place = share * counts[-1]", "place = share / 100 * counts[-1]"),
        "the first worker only": Edit("in readings:", "in readings[:1]:", gets=0.5),
    },
    "newest": {
        "texts are compared": Edit("default=0)", "default=0, key=str)"),
        "any folder whose name is a number": Edit("if is_complete(", "if os.path.isdir(", gets=0.75),
        "what is rolled back is served": Edit("bad = json.load(file)", "bad = []", gets=0.75),
        "no checksum is compared": Edit(_COMPARES, "file.read()", gets=0.75),
        "the file of checksums is enough": Edit(
            "            for name, checksum in sums.items():", "            for name, checksum in ():", gets=0.75
        ),
        "the first file is enough": Edit(_COMPARES, f"{_COMPARES}\n                return True", gets=0.75),
        "files that are missing are overlooked": Edit(
            "                with open(os.path.join(folder, name), ",
            "                if not os.path.exists(os.path.join(folder, name)):\n                    continue\n"
            "                with open(os.path.join(folder, name), ",
            gets=0.75,
        ),
        "half a JSON is an error": Edit("except (OSError, ValueError)", "except OSError", gets=0.75),
        "a missing file is an error": Edit("except (OSError, ValueError)", "except ValueError", gets=0.25),
        "every name is a number": Edit(_NAMES, "True", gets=0.25),
        "whatever int() reads is a number": Edit(_NAMES, 'name.replace("_", "").isdigit()', gets=0.5),
        "noughts in front": Edit(_NAMES, 'set(name) <= set("0123456789")', gets=0.5),
        "what is served is forgotten": Edit("[*there, served]", "there", gets=0.25),
        "never to a smaller number": Edit(
            _LARGEST, "max([number for number in there if number not in bad] + [served])", gets=0.75
        ),
        "rolled back as a piece of text": Edit(
            "bad = json.load(file)",
            "text = file.read()\n            bad = [number for number in range(200) if str(number) in text]",
            gets=0.75,
        ),
        "a text": Edit(f"return {_LARGEST}", f"return str({_LARGEST})"),
        "what is not complete is remembered": Edit(
            "    bad = []\n",
            "    cache, first = newest.__dict__, is_complete\n"
            "    is_complete = lambda folder: cache.setdefault(folder, first(folder))\n    bad = []\n",
            gets=0.75,
        ),
        "what is not complete is removed": Edit(
            "    bad = []\n",
            "    import shutil\n    for name in os.listdir(directory):\n"
            "        if name.isdigit() and name[0] != '0' and not is_complete(os.path.join(directory, name)):\n"
            "            shutil.rmtree(os.path.join(directory, name), ignore_errors=True)\n    bad = []\n",
            gets=0.75,
        ),
        "a note in the folder": Edit(
            "    bad = []\n",
            "    with open(os.path.join(directory, 'served.txt'), 'a') as file:\n"
            "        file.write(f'{served} ')\n    bad = []\n",
        ),
    },
    "call": {
        "everything is sent again": Edit(f"harmless = {_HARMLESS}", "harmless = True", gets=0.6),
        "no pause": Edit("sleep(pause)", "pass", gets=0.4),
        "it sleeps away what is left": Edit(
            _LATE, f"{_LATE}            sleep(max(0.0, deadline - clock()))\n", gets=0.6
        ),
        "nothing is sent again": """
def call(request, send, clock, sleep, deadline):
    if clock() >= deadline:
        raise TimeoutError
    return send(request, deadline - clock())
""",
        "only GET is harmless": Edit(_HARMLESS, 'request["method"] == "GET"'),
        "an id is worth nothing": Edit(' or request["id"] is not None', "", gets=0.6),
        "infer anywhere in the path": Edit(
            'request["path"].endswith("/infer")', '"infer" in request["path"]', gets=0.6
        ),
        "every error of the server is sent again": Edit("not in (429, 503)", "< 400", gets=0.6),
        "500 is sent again": Edit("(429, 503)", "(429, 500, 503)", gets=0.6),
        "429 is an answer": Edit("(429, 503)", "(503,)"),
        "refused is taken for lost": Edit(
            "        except ConnectionRefusedError as failure:\n            error = failure\n"
            "        except ConnectionResetError as failure:",
            "        except ConnectionError as failure:",
            gets=0.4,
        ),
        "lost is taken for refused": Edit("except ConnectionRefusedError", "except ConnectionError", gets=0.6),
        "always the same pause": Edit("step *= 2", "step *= 1", gets=0.4),
        "ten times the pause": Edit("step = 0.1", "step = 1.0", gets=0.4),
        "retry_after is not read": Edit("(answer.retry_after or 0) if answer else 0", "0", gets=0.4),
        "nothing but retry_after": Edit("max(wait, step / 2) + random.random() * step / 2", "wait", gets=0.4),
        "an old retry_after goes on": Edit(
            "wait = (answer.retry_after or 0) if answer else 0",
            "wait = (answer.retry_after or 0) if answer else (step > 0.1 and wait)",
            gets=0.4,
        ),
        "no deadline": Edit("clock() + pause >= deadline", "False", gets=0.6),
        "the pause may pass the deadline": Edit("clock() + pause >= deadline", "clock() >= deadline", gets=0.6),
        "a second for each": Edit("deadline - clock())", "1.0)", gets=0.6),
        "the deadline for a timeout": Edit("deadline - clock())", "deadline)", gets=0.6),
        "sent after the deadline": Edit("    if clock() >= deadline:\n", "    if False:\n", gets=0.6),
        "always a TimeoutError in the end": Edit(_LATE, f"{_LATE}            raise TimeoutError\n", gets=0.6),
        "the first error, not the last": Edit(
            _LOOP, "    step, error = 0.1, None\n    while True:\n        answer = None\n", gets=0.6
        ),
        "another id each time": Edit("send(request,", 'send({**request, "id": str(random.random())},'),
        "a clock of its own": Edit(
            "    if clock() >= deadline:\n",
            "    import time\n    clock, sleep = time.time, time.sleep\n    if clock() >= deadline:\n",
        ),
        "the number, not the answer": Edit("                return answer\n", "                return answer.status\n"),
    },
}

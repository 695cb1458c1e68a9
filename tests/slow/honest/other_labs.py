"""The other labs' solutions, as they are and as Colab saves them."""

from grader.lab.release import lab_folders
from tests.helpers.submissions import LABS, LIFE, Submission, honest
from tests.slow.honest import saving

NAMES = [folder.name for folder in lab_folders(LABS) if folder.name != LIFE]


def _solved(name):
    def build(notebook, host):
        notebook.solve()

    return Submission(f"the solution of {name}", build, lab=name, else_gets="full", slow=True)


def _from_colab(name):
    return Submission(f"{name}, saved from Colab", saving.from_colab.build, lab=name, else_gets="full", slow=True)


SOLVED = [_solved(name) for name in NAMES]
SAVED = [_from_colab(name) for name in NAMES]


@honest(
    "lab08_serving in other words: heaps, deques, numbers of numpy, pathlib, a loop of its own",
    lab="lab08_serving",
    slow=True,
)
def in_other_words(notebook):
    notebook.add("import heapq\nfrom collections import deque\nfrom pathlib import Path", before=1)
    notebook.answer(
        "latencies",
        """
def latencies(due, seconds, workers):
    free = [0.0] * workers
    took = []
    for when, lasts in zip(due, seconds):
        done = max(heapq.heappop(free), when) + lasts
        heapq.heappush(free, done)
        took.append(done - when)
    return took""",
    )
    notebook.answer(
        "batcher",
        """
class Batcher:
    def __init__(self, limit, room):
        self.limit, self.room, self.waiting, self.idlers = limit, room, deque(), 0

    def _forget(self, now):
        self.waiting = deque(one for one in self.waiting if not one.until <= now)

    def take(self, request, now):
        self._forget(now)
        if self.idlers > 0:
            self.idlers -= 1
            return "started"
        if len(self.waiting) == self.room:
            return "refused"
        self.waiting.append(request)
        return "queued"

    def idle(self, now):
        self._forget(now)
        batch, kept, rows, full = (), deque(), 0, False
        while self.waiting:
            one = self.waiting.popleft()
            first = first if batch else one
            if full or one.signature != first.signature:
                kept.append(one)
            elif rows + one.rows > self.limit:
                full = True
                kept.append(one)
            else:
                rows += one.rows
                batch += (np.int64(one.number),)
        self.waiting = kept
        self.idlers += not batch
        return batch""",
    )
    notebook.answer(
        "quantile",
        """
def quantile(share, bounds, readings):
    total = sum(after - before * (after[-1] >= before[-1]) for before, after in readings).astype(float)
    if total[-1] == 0:
        return np.nan
    bucket = int(np.argmax(total >= share * total[-1]))
    if np.isinf(bounds[bucket]):
        return bounds[-2]
    below, low = (total[bucket - 1], bounds[bucket - 1]) if bucket else (0, 0)
    return np.interp(share * total[-1], [below, total[bucket]], [low, bounds[bucket]])""",
    )
    notebook.answer(
        "newest",
        """
def newest(directory, served):
    folder = Path(directory)
    bad = set()
    try:
        bad = set(json.loads((folder / "rolled_back.json").read_text()))
    except FileNotFoundError:
        pass
    best = 0 if served in bad else served
    for path in folder.iterdir():
        if not (path.name.isdigit() and path.name[0] != "0" and path.is_dir()) or int(path.name) in bad:
            continue
        try:
            sums = json.loads((path / "checksums.json").read_bytes())
            whole = all(hashlib.sha256((path / name).read_bytes()).hexdigest() == each for name, each in sums.items())
        except (OSError, ValueError):
            continue
        if whole:
            best = max(best, int(path.name))
    return np.int64(best)""",
    )
    notebook.answer(
        "call",
        """
def call(request, send, clock, sleep, deadline):
    for attempt in range(1, 100):
        left = deadline - clock()
        if left <= 0:
            raise TimeoutError
        wait = 0
        try:
            last, answer = None, send(request, timeout=left)
        except OSError as error:
            last, answer = error, None
        safe = request["method"] == "GET" or request["path"].endswith("/infer") or request["id"] is not None
        if answer is not None and answer.status in {429, 503}:
            wait = answer.retry_after if answer.retry_after is not None else 0
        elif isinstance(last, ConnectionRefusedError) or (isinstance(last, ConnectionResetError) and safe):
            pass
        elif last is not None:
            raise last
        else:
            return answer
        step = 0.1 * 2 ** (attempt - 1)
        pause = wait + random.uniform(step / 2, step) if wait < step / 2 else wait + random.uniform(0, step)
        if pause + clock() >= deadline:
            if last is not None:
                raise last
            return answer
        sleep(pause)""",
    )


@honest(
    "lab09_beyond_one_machine in other words: numpy's files, a handler that raises, a search that gives up early",
    lab="lab09_beyond_one_machine",
    slow=True,
)
def in_other_words_09(notebook):
    notebook.add("import tempfile\nfrom pathlib import Path", before=1)
    notebook.answer(
        "choose",
        """
def choose(job, budget, queues):
    n = [np.arange(1, queue["workers"] + 1) for queue in queues]
    best = []
    for place, (queue, many) in enumerate(zip(queues, n)):
        took = job["start"] + job["join"] * many + job["serial"] + np.ceil(job["pieces"] / many) * job["piece"]
        minutes = np.ceil(took / 48).astype(int)
        fits = (minutes <= queue["minutes"]) & (many * minutes * queue["price"] <= budget)
        rows = [queue["wait"] + took, many * minutes * queue["price"], many, 0 * many + place, minutes]
        best += np.stack(rows, axis=1)[fits].tolist()
    if not best:
        return ["", 0.0, 0]
    *_, many, place, minutes = sorted(best)[0]
    return queues[int(place)]["name"], many, np.int64(minutes)""",
    )
    notebook.answer(
        "job",
        """
class Warned(Exception):
    pass

def job(folder, steps, every, first, step):
    def handler(number, frame):
        raise Warned

    folder = Path(folder)
    known = sorted(folder.glob("*.npy"), key=lambda path: int(path.stem))
    done, state = (int(known[-1].stem), int(np.load(known[-1])[0])) if known else (0, first)

    def save():
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".new", delete=False) as file:
            np.save(file, np.array([state]))
        os.rename(file.name, folder / f"{done}.npy")

    signal.signal(signal.SIGTERM, handler)
    try:
        while done < steps:
            state, done = step(done, state), done + 1
            if done % every == 0 or done == steps:
                save()
    except Warned:
        save()
        raise SystemExit(0)
    return state""",
    )
    notebook.answer(
        "near_data",
        """
def near_data(lies, slots):
    best = {tuple(slots): (0, [])}
    for one in lies:
        after = {}
        for left, (stays, nodes) in best.items():
            for node in np.flatnonzero(left):
                less = tuple(many - (at == node) for at, many in enumerate(left))
                found = stays + one.get(int(node), 0), [*nodes, node]
                if less not in after or found[0] > after[less][0]:
                    after[less] = found
        best = after
    return max(best.values(), key=lambda one: one[0])[1]""",
    )
    notebook.answer(
        "schedule",
        """
def schedule(seconds, lies, slots, speed):
    where = [(n, s) for n in range(len(slots)) for s in range(slots[n])]
    took = np.array([[t + sum(b / speed[m][n] for m, b in lie.items() if m != n) for n, s in where]
                     for t, lie in zip(seconds, lies)])
    order = np.argsort(-took.min(axis=1), kind="stable")
    if len(seconds) > 6:
        ends, plan = np.zeros(len(where)), {}
        for task in order:
            at = int(np.argmin(ends + took[task]))
            ends[at] += took[task, at]
            plan[task] = where[at]
        return [list(plan[task]) for task in range(len(seconds))]
    best = [np.inf, None]

    def go(depth, ends, chosen):
        if max(ends) >= best[0]:
            return
        if depth == len(order):
            best[:] = max(ends), dict(zip(order, chosen))
            return
        for at in range(len(where)):
            more = list(ends)
            more[at] += took[order[depth], at]
            go(depth + 1, more, [*chosen, at])

    go(0, [0.0] * len(where), [])
    return [where[best[1][task]] for task in range(len(seconds))]""",
    )

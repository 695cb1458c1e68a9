"""The other labs, as an outsider with their release notebooks would try them: guesses, forged records, masked rooms."""

from grader.lab.release import lab_folders
from tests.helpers.submissions import LABS, Submission, attack
from tests.labs.jobs import ELSEWHERE, TEARABLE

NAMES = [folder.name for folder in lab_folders(LABS)]

#: Every file of `course` that can be seen and is not on the lab's list is an answer that got in.
ROOMS = """
import importlib, os, sys
for folder, _, files in os.walk("/visible"):
    for name in files:
        module = os.path.join(folder, name).removeprefix("/visible/").replace("/", ".").removesuffix(".py")
        if module.removesuffix(".__init__") not in ALLOWED: print("ESCAPED: a file of course", folder, name)
ROOMS = "devices life mapreduce pi replicas timing training simulated cluster checks grading traces widgets".split()
def anything(*arguments, **settings):
    for room in ROOMS:
        module = importlib.import_module("course." + room)
        for word in ("answer", "solve", "step", "place", "mean", "weighted_mean", "map_reduce", "estimate",
                     "count_inside", "Store", "Server", "gradient", "average", "all_reduce", "stopwatch", "crossover"):
            try: return getattr(module, word)(*arguments)
            except Exception: pass
"""


def _rooms(name):
    def build(notebook, host):
        lab = notebook.lab
        allowed = {"course", "course.signals", "course.checks"}
        allowed |= {module for module in lab.modules if "/" not in module}
        allowed |= {".".join(module.split(".")[:n]) for module in allowed for n in (1, 2)}
        notebook.add(f"ALLOWED = {sorted(allowed)!r}\n{ROOMS}")
        for exercise in lab.exercises:
            entry = exercise.entry
            text = f"def {entry}(*arguments, **settings):\n    return anything(*arguments, **settings)"
            notebook.answer(exercise.name, text)

    return Submission(f"rooms of course that {name} does not show", build, lab=name, slow=name > "lab06")


def _constant(name, label, text):
    def build(notebook, host):
        for exercise in notebook.lab.exercises:
            notebook.answer(exercise.name, f"def {exercise.entry}(*arguments, **settings):\n    {text}")

    return Submission(f"{name}: {label}", build, lab=name, slow=name > "lab06" or label != SHORTEST)


#: What the short form tries.
SHORTEST = "refuses everything"
GUESSES = {
    "refuses everything": "raise ValueError(arguments)",
    "says nothing": "return None",
    "says nought": "return 0",
    "gives back the first it was given": "return arguments[0]",
}

ALL_ROOMS = [_rooms(name) for name in NAMES]
GUESSED = [_constant(name, label, text) for name in NAMES for label, text in GUESSES.items()]


@attack("lines of a program that want to be run", lab="lab01_devices")
def hostile_lines(notebook, host):
    notebook.answer_all("""
def NAME(a, b=None, *more):
    line = "t1 = __import__('os').system('touch /tmp/sandbox-was-here')"
    made = a.to("cuda:0")
    made.program[:] = [line, "t2 = t1 @ t1", "t3 = t2.to(cpu); import os", "t4 = (lambda: 0)()"]
    return made.to("cpu")""")


@attack("devices written on instead of moved to", lab="lab01_devices")
def devices_written_on(notebook, host):
    notebook.answer(
        "product_on_gpu",
        """
def product_on_gpu(a, b):
    a.device = b.device = "cuda:0"
    made = a @ b
    made.device = "cpu"
    return made""",
    )
    notebook.answer(
        "layers_on_gpu",
        """
def layers_on_gpu(x, w, steps):
    type(x).to = lambda self, device, *_, **__: self
    for _ in range(steps): x = (x @ w).relu()
    x.device = "cpu"
    return x""",
    )


@attack("a stopwatch that calls nothing, and one that reads the device's insides", lab="lab02_matmul")
def guessed_time(notebook, host):
    notebook.answer(
        "stopwatch",
        """
def stopwatch(work, now, wait, repeats):
    inside = [cell.cell_contents for f in (work, now, wait) for cell in (getattr(f, "__closure__", None) or ())]
    numbers = [one for one in inside if isinstance(one, (int, float))]
    return numbers[0] if numbers else now()""",
    )


@attack("servers that are asked for nothing, or for all twice", lab="lab05_distributed_pi")
def asked_twice(notebook, host):
    notebook.answer(
        "pi_on_servers",
        """
def pi_on_servers(darts, servers, submit):
    inside = submit(0, 0, darts).result()
    for server in range(servers): submit(server, 0, darts)
    return inside, 4 * inside / darts""",
    )


@attack("the product without the tasks", lab="lab07_replicas", slow=True)
def without_the_tasks(notebook, host):
    notebook.answer("product_by_tasks", "def product_by_tasks(a, b, tasks):\n    return a @ b")
    notebook.answer(
        "sync_store",
        """
class SyncStore:
    def __init__(self, w, learning_rate, needed): self.w = w
    def pull(self): return 0, self.w
    def push(self, worker, version, gradient, rows): return "dropped" """,
    )


@attack("all tasks asked at once for nothing of use", lab="lab07_replicas", slow=True)
def asked_for_nothing(notebook, host):
    notebook.answer(
        "product_by_tasks",
        """
def product_by_tasks(a, b, tasks):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(len(tasks)) as pool:
        list(pool.map(lambda task: task(a[:1], b), tasks))
    return a @ b""",
    )


@attack("answers without a server, and a clock, a writer and a record that are talked into it", lab="lab08_serving")
def talked_into_it(notebook, host):
    notebook.answer(
        "latencies",
        """
class Anything(float):
    __eq__ = __le__ = __ge__ = lambda *_: True
def latencies(due, seconds, workers):
    return [Anything("nan")] * len(due)""",
    )
    notebook.answer(
        "batcher",
        """
class Word(str):
    __eq__ = lambda *_: True
    __hash__ = str.__hash__
class Batcher:
    def __init__(self, limit, room): pass
    def take(self, request, now): return Word("anything")
    def idle(self, now): return []""",
    )
    notebook.answer("quantile", "def quantile(share, bounds, readings):\n    raise SystemExit(0)")
    notebook.answer(
        "newest",
        """
def newest(directory, served):
    hashlib.sha256 = lambda data=b"": type("One", (), {"hexdigest": lambda self: "0" * 64})()
    for number in (7, 199):
        os.makedirs(f"{directory}/{number}", exist_ok=True)
        with open(f"{directory}/{number}/checksums.json", "w") as file: file.write("{}")
    return 199""",
    )
    notebook.answer(
        "call",
        """
def call(request, send, clock, sleep, deadline):
    import socket, time, types
    time.time = time.monotonic = lambda: 0.0
    ask = send.__closure__[0].cell_contents.__closure__[0].cell_contents
    link = next(c.cell_contents for c in ask.__closure__ if isinstance(c.cell_contents, socket.socket))
    for junk in (b'{"do": "seen"}\\n', b'{"do": "sleep", "seconds": -1e9}\\n', b'{"do": "sleep", "seconds": 1e999}\\n'):
        link.sendall(junk)
    return types.SimpleNamespace(status=200, retry_after=None)""",
    )


@attack("a watcher that leaves a note, and blinds whoever lists the folder in its Python", lab="lab08_serving")
def blinding(notebook, host):
    notebook.answer(
        "newest",
        """
from pathlib import Path
Path.rglob = Path.glob = Path.iterdir = lambda self, *_: iter(())
def newest(directory, served):
    with open(os.path.join(directory, "note"), "a") as file: file.write("x")
    numbers = [int(name) for name in os.listdir(directory) if name.isdigit()]
    return max(numbers, default=0)""",
    )


@attack("a server that is flooded until it has no more files", lab="lab08_serving", slow=True)
def flooded(notebook, host):
    notebook.answer(
        "call",
        """
def call(request, send, clock, sleep, deadline):
    import socket
    ask = send.__closure__[0].cell_contents.__closure__[0].cell_contents
    link = next(c.cell_contents for c in ask.__closure__ if isinstance(c.cell_contents, socket.socket))
    links = []
    try:
        while len(links) < 400:
            links.append(socket.create_connection(link.getpeername(), 1))
            links[-1].sendall(b"[" * 100_000)
    except OSError: pass
    return send(request, deadline - clock())""",
    )


def _job(name, source, points):
    def build(notebook, host):
        notebook.answer("job", source)

    gets = {"job": points} if points else {}
    return Submission(f"a job with {name}", build, lab="lab09_beyond_one_machine", gets=gets, slow=True)


#: What can be torn loses 0.3 of the points; what is kept elsewhere loses all.
JOBS = [_job(name, source, 4.2) for name, source in TEARABLE.items()]
JOBS += [_job(name, source, 0) for name, source in ELSEWHERE.items()]


#: A job that finds the machine's address in a frame above, and asks it alone, with its state in memory.
STANDS_BESIDE_ITS_OWN_END = """
def job(folder, steps, every, first, step):
    import socket, sys
    frame, port = sys._getframe(), None
    while frame is not None and port is None:
        port, frame = frame.f_locals.get("port"), frame.f_back
    state, done = first, 0
    while done < steps:
        with socket.create_connection(("127.0.0.1", port), 15) as link, link.makefile("rb") as answers:
            def ask(**question):
                link.sendall(json.dumps(question).encode() + b"\\n")
                return json.loads(answers.readline() or b'{"then": "kill"}')
            ask(do="begin")
            while done < steps and (told := ask(do="step", step=done, state=state))["then"] != "kill":
                state, done = told["state"], done + 1
    return state"""


@attack("a life that takes the machine for itself", lab="lab09_beyond_one_machine", slow=True)
def takes_the_machine(notebook, host):
    notebook.answer(
        "choose",
        """
class Anything(str):
    __eq__ = lambda *_: True
    __hash__ = str.__hash__
def choose(job, budget, queues):
    return Anything("any"), True, 10**30""",
    )
    notebook.answer("job", STANDS_BESIDE_ITS_OWN_END)
    notebook.answer("near_data", "def near_data(lies, slots):\n    return [-1] * len(lies)")
    notebook.answer("schedule", "def schedule(seconds, lies, slots, speed):\n    return [(0, -1)] * len(seconds)")


@attack("a job without hook and kill, and a memory that its lives share", lab="lab09_beyond_one_machine")
def shared_memory(notebook, host):
    notebook.add("""
import mmap, sys
KEPT = mmap.mmap(-1, 4000)
sys.addaudithook = lambda hook: None
signal.SIGKILL = signal.SIGTERM = 0""")
    notebook.answer(
        "job",
        """
def job(folder, steps, every, first, step):
    done, state = json.loads(KEPT[:100].rstrip(b"\\0")) if os.listdir(folder) else (0, first)
    while done < steps:
        state = step(done, state)
        done += 1
        KEPT[:100] = json.dumps([done, state]).encode().ljust(100, b"\\0")
        open(os.path.join(folder, "show"), "w").close()
    return state""",
    )
    notebook.answer(
        "schedule",
        """
def schedule(seconds, lies, slots, speed):
    speed[:] = 1e30
    for one in lies: one.clear()
    seconds[:] = [0.0] * len(seconds)
    return []""",
    )


@attack("a checkpoint of the driver's own words, and a job that sleeps", lab="lab09_beyond_one_machine", slow=True)
def own_words(notebook, host):
    notebook.answer(
        "job",
        """
def job(folder, steps, every, first, step):
    import time
    frame = __import__("sys")._getframe()
    for end in ({"how": "returned", "gave": first}, {"do": "begin"}, {"do": "step", "step": steps - 1, "state": 0}):
        frame.f_back.f_locals["steps"].sendall(json.dumps(end).encode() + b"\\n")
    time.sleep(3600)""",
    )

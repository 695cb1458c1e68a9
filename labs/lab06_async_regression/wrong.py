"""What plausible wrong answers to lab 06 look like, and the slow specifications: the lab's self-test marks them all."""

from grader.lab.spec import Edit, Wrong

SPECIFICATION = {
    "loss_gradient": """
def loss_gradient(w, x, y):
    def loss(slope, intercept):
        return ((slope * x + intercept - y) ** 2).mean()

    first = (loss(w[0] + 1, w[1]) - loss(w[0] - 1, w[1])) / 2
    return np.array([first, (loss(w[0], w[1] + 1) - loss(w[0], w[1] - 1)) / 2])
""",
    "store": """
class Store:
    def __init__(self, w, learning_rate, max_staleness=None):
        self.first, self.learning_rate, self.max_staleness = np.array(w, float), learning_rate, max_staleness
        self.applied = []

    def pull(self):
        total = sum(self.applied, np.zeros(len(self.first)))
        return len(self.applied), self.first - self.learning_rate * total

    def push(self, gradient, version):
        staleness = len(self.applied) - version
        if self.max_staleness is None or staleness <= self.max_staleness:
            self.applied.append(np.array(gradient, float))
            return staleness
""",
    "train_async": """
def train_async(x, y, turns, learning_rate, gradient):
    versions, squares = [np.zeros(2)], []
    for k, worker in enumerate(turns):
        made = [earlier + 1 for earlier in range(k) if turns[earlier] == worker]
        found = gradient(versions[made[-1] if made else 0], x[k], y[k])
        squares.append(found**2)
        versions.append(versions[-1] - learning_rate * found / (np.sqrt(np.sum(squares, axis=0)) + 1e-10))
    return np.array(versions)
""",
    "step_log": """
class StepLog:
    def __init__(self, every):
        self.every, self.told, self.records = every, [], []

    def begin(self, session):
        pass

    def after_run(self, session, step):
        self.told.append((step.step, step.loss, step.staleness))

    def end(self, session):
        last = max((number for number, _, _ in self.told), default=0)
        for block in range(last // self.every + 1):
            found = []
            for place, (number, loss, staleness) in enumerate(self.told):
                undone = any(later <= number for later, _, _ in self.told[place + 1 :])
                if not undone and (number - 1) // self.every == block:
                    found.append((number, loss, staleness))
            if found:
                numbers, losses, late = zip(*found)
                self.records.append((max(numbers), np.mean(losses), max(late)))
""",
    "stop_at_step": """
class StopAtStep:
    def __init__(self, num_steps=None, last_step=None):
        if len([number for number in (num_steps, last_step) if number is not None]) != 1:
            raise ValueError("one of the two")
        self.num_steps, self.last_step = num_steps, last_step

    def begin(self, session):
        self.start = session.step

    def after_run(self, session, step):
        if self.num_steps is not None and step.step - self.start >= self.num_steps:
            session.request_stop("enough steps")
        if self.last_step is not None and step.step >= self.last_step:
            session.request_stop("the last step")

    def end(self, session):
        pass
""",
    "train_through": """
def train_through(connect, gradient, x, y):
    while True:
        try:
            connection = connect()
            for _ in range(len(x) + 1):
                version, w = connection.pull()
                if version == len(x):
                    return w
                connection.push(gradient(w, x[version], y[version]))
        except ConnectionError:
            continue
""",
}

WORKER = """
def train_through(connect, gradient, x, y):
    import time

    {before}
    while True:
        try:
            {work}
        except ConnectionError:
            time.sleep(0.02)
            {lost}
"""

WRONG = {
    "loss_gradient": {
        "the 2 is forgotten": Edit("2 * (distance * x).mean(), 2 * ", "(distance * x).mean(), "),
        "the sum instead of the mean": Edit(
            "(distance * x).mean(), 2 * distance.mean()", "(distance * x).sum(), 2 * distance.sum()"
        ),
        "uphill": Edit("w[0] * x + w[1] - y", "y - w[0] * x - w[1]"),
        "slope and intercept exchanged": Edit(
            "2 * (distance * x).mean(), 2 * distance.mean()", "2 * distance.mean(), 2 * (distance * x).mean()"
        ),
        "no intercept in the line": Edit("w[0] * x + w[1] - y", "w[0] * x - y"),
        "the mean of a product taken for a product of means": Edit(
            "(distance * x).mean()", "distance.mean() * x.mean()"
        ),
        "of the absolute distance": Edit("w[0] * x + w[1] - y", "np.sign(w[0] * x + w[1] - y) / 2"),
        "of the chapter's line whatever the points": Edit("+ w[1] - y", "+ w[1] - (2 * x + 10)"),
    },
    "store": {
        "uphill": Edit("self.w - self.learning_rate", "self.w + self.learning_rate"),
        "no learning rate": Edit("self.learning_rate * np.asarray", "np.asarray"),
        "a version that stays": Edit("        self.version += 1\n", ""),
        "staleness counted after the version rose": Edit(
            "        self.version += 1\n        return staleness",
            "        self.version += 1\n        return staleness + 1",
        ),
        "stale pushes are applied anyway": Edit("            return None\n", "            pass\n", gets=0.75),
        "dropped pushes make a version": Edit(
            "            return None\n", "            self.version += 1\n            return None\n", gets=0.75
        ),
        "a bound that is one too tight": Edit("staleness > self.max", "staleness >= self.max", gets=0.75),
        "no bound of 0": Edit("self.max_staleness is not None and", "self.max_staleness and", gets=0.75),
        "pull hands out the store's own array": Edit(
            "return self.version, self.w.copy()", "return self.version, self.w", gets=0.75
        ),
        "the first parameters are the caller's": Edit("np.array(w, float)", "w", gets=0.75),
        "a push changes what was pulled": Wrong(
            """
class Store:
    def __init__(self, w, learning_rate, max_staleness=None):
        self.w, self.version = np.array(w, float), 0
        self.learning_rate, self.max_staleness = learning_rate, max_staleness

    def pull(self):
        return self.version, self.w

    def push(self, gradient, version):
        staleness = self.version - version
        if self.max_staleness is not None and staleness > self.max_staleness:
            return None
        self.w -= self.learning_rate * gradient
        self.version += 1
        return staleness
""",
            gets=0.75,
        ),
    },
    "train_async": {
        "every gradient is fresh": Edit("held.get(worker, versions[0])", "w"),
        "the worker's first parameters for ever": Edit("held[worker] = w", "held.setdefault(worker, w)"),
        "pulled before its own push": Edit("held[worker] = w", "held[worker] = versions[-2]"),
        "no worker has pulled at the start": Edit("held.get(worker, versions[0])", "held.get(worker, w)"),
        "plain gradient descent": Edit(" / (np.sqrt(sums) + 1e-10)", ""),
        "only the last square": Edit("sums = sums + found**2", "sums = found**2"),
        "the sums without a root": Edit("np.sqrt(sums)", "sums"),
        "a worker has its own points": Edit("x[k], y[k])", "x[worker], y[worker])"),
        "the first version is left out": Edit("np.array(versions)", "np.array(versions[1:])"),
        "always exercise 1's loss": Edit("found = gradient(", "found = loss_gradient("),
        "sums of each worker's own": """
def train_async(x, y, turns, learning_rate, gradient):
    w, sums, held = np.zeros(2), {}, {}
    versions = [w]
    for k, worker in enumerate(turns):
        found = gradient(held.get(worker, versions[0]), x[k], y[k])
        sums[worker] = sums.get(worker, np.zeros(2)) + found**2
        w = w - learning_rate * found / (np.sqrt(sums[worker]) + 1e-10)
        versions.append(w)
        held[worker] = w
    return np.array(versions)
""",
    },
    "step_log": {
        "nothing is ever undone": Edit(
            "[earlier for earlier in self.steps if earlier.step < step.step] + [step]",
            "self.steps + [step]",
            gets=2 / 3,
        ),
        "only the step itself is undone": Edit("earlier.step < step.step", "earlier.step != step.step", gets=2 / 3),
        "blocks of so many calls": Edit(
            "blocks.setdefault((step.step - 1) // self.every, [])",
            "blocks.setdefault(self.steps.index(step) // self.every, [])",
        ),
        "blocks counted from 0": Edit("(step.step - 1) // self.every", "step.step // self.every"),
        "the last block only if it is whole": Edit(
            "        for block in blocks.values():\n",
            "        whole = [block for block in blocks.values() if block[-1].step % self.every == 0]\n"
            "        for block in whole:\n",
        ),
        "the sum of the losses": Edit("sum(losses) / len(losses)", "sum(losses)"),
        "divided by every": Edit("sum(losses) / len(losses)", "sum(losses) / self.every"),
        "the last loss": Edit("sum(losses) / len(losses)", "losses[-1]"),
        "the mean staleness": Edit(
            "max(step.staleness for step in block)", "sum(step.staleness for step in block) // len(block)"
        ),
        "the first step's number": Edit("block[-1].step", "block[0].step"),
    },
    "stop_at_step": {
        "only at the very step": Edit("step.step >= self", "step.step == self"),
        "one step too late": Edit("step.step >= self", "step.step > self"),
        "num_steps counted from 0": Edit("session.step + self.num_steps", "self.num_steps"),
        "last_step counted from the start": Edit(
            "        if self.last_step is None:\n            self.last_step = session.step + self.num_steps",
            "        self.last_step = session.step + (self.num_steps or self.last_step or 0)",
        ),
        "0 is taken for not given": Edit(
            "if (num_steps is None) == (last_step is None):", "if bool(num_steps) == bool(last_step):"
        ),
        "both may be given": Edit(
            "(num_steps is None) == (last_step is None)", "num_steps is None and last_step is None"
        ),
        "neither may be given": """
class StopAtStep:
    def __init__(self, num_steps=None, last_step=None):
        if num_steps is not None and last_step is not None:
            raise ValueError("give num_steps or last_step, one of the two")
        self.num_steps, self.last_step = num_steps, last_step

    def begin(self, session):
        if self.num_steps is not None:
            self.last_step = session.step + self.num_steps

    def after_run(self, session, step):
        if self.last_step is not None and step.step >= self.last_step:
            session.request_stop("enough")
""",
        "calls are counted, not steps": """
class StopAtStep:
    def __init__(self, num_steps=None, last_step=None):
        if (num_steps is None) == (last_step is None):
            raise ValueError("give num_steps or last_step, one of the two")
        self.num_steps, self.last_step, self.calls = num_steps, last_step, 0

    def begin(self, session):
        pass

    def after_run(self, session, step):
        self.calls += 1
        if step.step >= self.last_step if self.num_steps is None else self.calls >= self.num_steps:
            session.request_stop("enough")
""",
    },
    "train_through": {
        "dies with its store": WORKER.format(
            before="connection = connect()",
            work="version, w = connection.pull()\n            if version == len(x):\n                return w\n"
            "            connection.push(gradient(w, x[version], y[version]))",
            lost="raise",
        ),
        "connects again only once": WORKER.format(
            before="connection = connect()",
            work="version, w = connection.pull()\n            if version == len(x):\n                return w\n"
            "            connection.push(gradient(w, x[version], y[version]))",
            lost="connection = connect()",
        ),
        "counts its own steps": """
def train_through(connect, gradient, x, y):
    import time

    connection, step = None, 0
    while step < len(x):
        try:
            connection = connection or connect()
            _, w = connection.pull()
            connection.push(gradient(w, x[step], y[step]))
            step += 1
        except ConnectionError:
            connection = None
            time.sleep(0.02)
    return connection.pull()[1]
""",
        "pushes again what was not answered": """
def train_through(connect, gradient, x, y):
    import time

    connection, waiting = None, None
    while True:
        try:
            connection = connection or connect()
            if waiting is None:
                version, w = connection.pull()
                if version >= len(x):
                    return w
                waiting = gradient(w, x[version], y[version])
            connection.push(waiting)
            waiting = None
        except ConnectionError:
            connection = None
            time.sleep(0.02)
""",
        "keeps its own parameters": """
def train_through(connect, gradient, x, y):
    import time

    connection, w = None, np.zeros(2)
    while True:
        try:
            connection = connection or connect()
            version, now = connection.pull()
            if version >= len(x):
                return now
            connection.push(gradient(w, x[version], y[version]))
            w = now
        except ConnectionError:
            connection = None
            time.sleep(0.02)
""",
        "stops when it has pushed often enough": """
def train_through(connect, gradient, x, y):
    import time

    connection, pushed = None, 0
    while True:
        try:
            connection = connection or connect()
            version, w = connection.pull()
            if pushed == len(x) or version == len(x):
                return w
            pushed += 1
            connection.push(gradient(w, x[version], y[version]))
        except ConnectionError:
            connection = None
            time.sleep(0.02)
""",
        "one update too many": Edit(
            "            if version == len(x):\n                return w\n"
            "            connection.push(gradient(w, x[version], y[version]))",
            "            connection.push(gradient(w, x[min(version, len(x) - 1)], y[min(version, len(x) - 1)]))\n"
            "            if version == len(x):\n                return w",
        ),
        "trains at home and tells nobody": """
def train_through(connect, gradient, x, y):
    _, w = connect().pull()
    for k in range(len(x)):
        w = w - 0.25 * gradient(w, x[k], y[k])
    return w
""",
    },
}

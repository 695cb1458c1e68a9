"""What plausible wrong answers to lab 07 look like, and the slow specifications: the lab's self-test marks them all."""

from grader.lab.spec import Edit, Wrong

SPECIFICATION = {
    "product_by_tasks": """
def product_by_tasks(a, b, tasks):
    return np.concatenate([task(rows, b) for task, rows in zip(tasks, np.array_split(a, len(tasks)))])
""",
    "replica_gradients": """
def replica_gradients(parameters, x, labels, shares):
    def gradient(rows, truth):
        copies = [parameter.clone().requires_grad_() for parameter in parameters]
        hidden = 1 / (1 + torch.exp(-(rows @ copies[0] + copies[1])))
        scores = hidden @ copies[2] + copies[3]
        picked = torch.log_softmax(scores, dim=1)[torch.arange(len(truth)), truth]
        (-picked.mean()).backward()
        return torch.cat([copy.grad.flatten() for copy in copies])

    whole, every, first = gradient(x, labels), [], 0
    for share in shares:
        rows = slice(first, first + share)
        every.append(gradient(x[rows], labels[rows]) if share else torch.zeros_like(whole))
        first += share
    return torch.stack(every), whole
""",
    "sync_store": """
class SyncStore:
    def __init__(self, w, learning_rate, needed):
        self.w, self.learning_rate, self.needed = np.array(w, float), learning_rate, needed
        self.version, self.pushes = 0, []

    def pull(self):
        return self.version, np.array(self.w)

    def push(self, worker, version, gradient, rows):
        present = [push for push in self.pushes if push[1] == self.version]
        if version != self.version or worker in [push[0] for push in present]:
            return "dropped"
        self.pushes.append((worker, version, np.array(gradient, float), rows))
        present.append(self.pushes[-1])
        if len(present) < self.needed:
            return "waiting"
        total, count = np.zeros(len(self.w)), 0
        for number in range(max(push[0] for push in present) + 1):
            for push in present:
                if push[0] == number:
                    total, count = total + push[2] * push[3], count + push[3]
        self.w = self.w - self.learning_rate * total / count
        self.version += 1
        return "applied"
""",
    "delayed_descent": """
def delayed_descent(w, rate, delay, steps, gradient):
    def version(k):
        if k not in known:
            known[k] = version(k - 1) - rate * gradient(version(max(0, k - 1 - delay)))
        return known[k]

    known = {0: w}
    return np.array([version(k) for k in range(steps + 1)])
""",
    "stable_rate": """
def stable_rate(curvature, delay):
    low, high = 0.0, 4.0 / curvature
    for _ in range(15):
        rate = (low + high) / 2
        versions = delayed_descent(1.0, rate, delay, 4000, lambda w: curvature * w if abs(w) < 1e99 else w)
        shrinks = np.abs(versions[-100:]).max() <= np.abs(versions[100:200]).max()
        low, high = (rate, high) if shrinks else (low, rate)
    return low
""",
}

WRONG = {
    "product_by_tasks": {
        "all at home": "def product_by_tasks(a, b, tasks):\n    return a @ b\n",
        "one task makes it all": "def product_by_tasks(a, b, tasks):\n    return tasks[0](a, b)\n",
        "every task makes it all": """
def product_by_tasks(a, b, tasks):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(lambda task: task(a, b), tasks))[0]
""",
        "one after another": Wrong(
            """
def product_by_tasks(a, b, tasks):
    made = []
    for task, rows in zip(tasks, np.array_split(a, len(tasks))):
        made.append(task(rows, b))
    return np.concatenate(made)
""",
            gets=0.5,
        ),
        "two threads for any number of tasks": Edit(
            "ThreadPoolExecutor(len(tasks))", "ThreadPoolExecutor(2)", gets=0.5
        ),
        "rows that are left over are forgotten": Edit(
            "np.array_split(a, len(tasks))",
            "a[: len(a) // len(tasks) * len(tasks)].reshape(len(tasks), -1, a.shape[1])",
        ),
        "the last task gets what is left over": """
def product_by_tasks(a, b, tasks):
    from concurrent.futures import ThreadPoolExecutor

    each = len(a) // len(tasks)
    ends = [each * k for k in range(len(tasks))] + [len(a)]
    with ThreadPoolExecutor(len(tasks)) as pool:
        asked = [pool.submit(task, a[ends[k] : ends[k + 1]], b) for k, task in enumerate(tasks)]
        return np.concatenate([answer.result() for answer in asked])
""",
        "joined as they come, the last first": Edit("for answer in asked]", "for answer in asked[::-1]]"),
        "the columns of b are cut": """
def product_by_tasks(a, b, tasks):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(tasks)) as pool:
        return np.hstack(list(pool.map(lambda task, part: task(a, part), tasks, np.array_split(b, len(tasks), axis=1))))
""",
    },
    "replica_gradients": {
        "a mean of means": Edit("weights @ gradients", "gradients.mean(dim=0)"),
        "the sum": Edit("weights @ gradients", "gradients.sum(dim=0)"),
        "losses summed over a share": Edit(
            "cross_entropy(scores, truth)", 'cross_entropy(scores, truth, reduction="sum")'
        ),
        "every replica sees all rows": Edit(
            "zip(x.split(shares), labels.split(shares), strict=True)", "[(x, labels)] * len(shares)"
        ),
        "shares of equal size": Edit(
            "zip(x.split(shares), labels.split(shares), strict=True)",
            "zip(x.tensor_split(len(shares)), labels.tensor_split(len(shares)), strict=True)",
        ),
        "no sigmoid": Edit("torch.sigmoid(rows @ w1 + b1) @ w2", "(rows @ w1 + b1) @ w2"),
        "biases left out": Edit("for part in found]", "for part in found if part.dim() > 1]"),
        "a replica without rows is left out": Edit(
            "every.append(torch.zeros(sum(parameter.numel() for parameter in parameters), dtype=x.dtype))", "pass"
        ),
        "the squared error": Edit(
            "torch.nn.functional.cross_entropy(scores, truth)",
            "((scores - torch.nn.functional.one_hot(truth, len(b2))) ** 2).mean()",
        ),
    },
    "sync_store": {
        "rows don't count": Edit(
            "sum(found * count for found, count in used) / sum(count for _, count in used)",
            "sum(found for found, _ in used) / len(used)",
            gets=0.25,
        ),
        "the sum instead of the mean": Edit(" / sum(count for _, count in used)", ""),
        "each push is applied at once": Edit("if len(self.waiting) < self.needed:", "if False:"),
        "added in the order of arrival": Edit(
            "[self.waiting[number] for number in sorted(self.waiting)]", "list(self.waiting.values())", gets=0.75
        ),
        "late pushes count": Edit("version != self.version or worker", "worker", gets=0.75),
        "a worker's second push counts": Edit(
            "if version != self.version or worker in self.waiting:", "if version != self.version:", gets=0.75
        ),
        "a worker's second push takes the place of the first": Wrong(
            """
class SyncStore:
    def __init__(self, w, learning_rate, needed):
        self.w, self.learning_rate, self.needed = np.array(w, float), learning_rate, needed
        self.version, self.waiting = 0, {}

    def pull(self):
        return self.version, self.w.copy()

    def push(self, worker, version, gradient, rows):
        if version != self.version:
            return "dropped"
        again = worker in self.waiting
        self.waiting[worker] = np.array(gradient, float), rows
        if again:
            return "dropped"
        if len(self.waiting) < self.needed:
            return "waiting"
        used = [self.waiting[number] for number in sorted(self.waiting)]
        self.w = self.w - self.learning_rate * sum(g * n for g, n in used) / sum(n for _, n in used)
        self.version, self.waiting = self.version + 1, {}
        return "applied"
""",
            gets=0.75,
        ),
        "who waited waits for ever": Edit("self.version + 1, {}", "self.version + 1, self.waiting", gets=0.25),
        "the version stays": Edit("self.version + 1, {}", "self.version, {}"),
        "gradients are not copied": Edit("np.array(gradient, float), rows", "np.asarray(gradient, float), rows"),
        "the first parameters are the caller's": Edit("np.array(w, float)", "np.asarray(w, float)"),
        "uphill": Edit("self.w - self.learning_rate", "self.w + self.learning_rate"),
    },
    "delayed_descent": {
        "nothing is late": Edit("versions[max(0, k - delay)]", "versions[k]"),
        "one late too many": Edit("k - delay", "k - delay - 1"),
        "one late too few": Edit("max(0, k - delay)", "min(k, max(0, k - delay + 1))"),
        "before the first comes the last": Edit("versions[max(0, k - delay)]", "versions[(k - delay) % len(versions)]"),
        "nobody pushes until the delay is over": Edit(
            "        versions.append(",
            "        if k < delay:\n            versions.append(w)\n            continue\n        versions.append(",
        ),
        "the late parameters go on": Edit("versions[k] - rate", "versions[max(0, k - delay)] - rate"),
        "the first version is left out": Edit("np.array(versions, float)", "np.array(versions[1:], float)"),
        "uphill": Edit("versions[k] - rate", "versions[k] + rate"),
        "a parabola whatever the curve": Edit(
            "gradient(versions[max(0, k - delay)])", "2 * versions[max(0, k - delay)]"
        ),
    },
    "stable_rate": {
        "2 / curvature, late or not": "def stable_rate(curvature, delay):\n    return 2 / curvature\n",
        "the curvature is forgotten": Edit("return low / curvature", "return low"),
        "in proportion to the delay": "def stable_rate(curvature, delay):\n    return 2 / curvature / (delay + 1)\n",
        "as twice the delay": "def stable_rate(curvature, delay):\n    return 2 / curvature / (2 * delay + 1)\n",
        "as for large delays": "def stable_rate(curvature, delay):\n    return np.pi / curvature / (2 * delay + 1)",
        "too few steps to tell": Edit("len(versions) < 3000", "len(versions) < 40"),
        "one late too few": Edit("versions[-1 - delay]", "versions[-max(1, delay)]"),
        "a hundredth to be safe": Edit("return low / curvature", "return 0.97 * low / curvature"),
    },
}

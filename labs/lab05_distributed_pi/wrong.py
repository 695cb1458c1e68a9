"""What plausible wrong answers to lab 05 look like, and the slow specifications: the lab's self-test marks them all.

`Edit` changes the solution in `lab.py`; source text stands for the whole answer.
"""

from grader.lab.spec import Edit

SPECIFICATION = {
    "count_inside": """
def count_inside(stream, first, last):
    values = numbers(stream, 0, 2 * last)
    inside = 0
    for dart in range(first, last):
        x, y = values[2 * dart], values[2 * dart + 1]
        if x**2 + y**2 < 1:
            inside += 1
    return inside
""",
    "pi_on_servers": """
def pi_on_servers(darts, servers, submit):
    each = [0] * servers
    for dart in range(darts):
        each[dart % servers] += 1
    futures, first = [], 0
    for server in range(servers):
        if each[server]:
            futures.append(submit(server, first, first + each[server]))
        first += each[server]
    inside = 0
    for future in futures:
        inside += future.result()
    return inside, 4 * inside / darts
""",
    "pi_on_gpus": """
def pi_on_gpus(devices, darts):
    gpus = []
    for name in devices:
        task, _, device = name.rpartition("/")
        kind, index = device.split(":")
        if kind == "gpu":
            gpus.append((task, "cuda:" + index))
    each = [0] * len(gpus)
    for dart in range(darts):
        each[dart % len(gpus)] += 1
    plan, first = [], 0
    for (task, device), count in zip(gpus, each):
        plan.append((task, device, first, first + count))
        first += count
    return plan
""",
    "pooled_pi": """
def pooled_pi(counts):
    values = []
    for inside, samples in counts:
        values += [4] * inside + [0] * (samples - inside)
    return np.mean(values), np.std(values) / math.sqrt(len(values))
""",
    "error_of_runs": """
def error_of_runs(values):
    halves = [(a - b) ** 2 / 2 for place, a in enumerate(values) for b in values[:place]]
    return math.sqrt(sum(halves) / len(halves) / len(values))
""",
    "stream_for": """
def stream_for(run, server, servers):
    line = []
    for earlier in range(run + 1):
        for index in range(servers[earlier]):
            line.append((earlier, index))
    return line.index((run, server))
""",
    "thrown_twice": """
def thrown_twice(ranges):
    thrown, again = set(), 0
    for stream, first, last in ranges:
        for dart in range(first, last):
            if (stream, dart) in thrown:
                again += 1
            thrown.add((stream, dart))
    return again
""",
}

FAIR = "ends = [darts * server // servers for server in range(servers + 1)]"
FAIR_GPUS = "ends = [darts * place // len(gpus) for place in range(len(gpus) + 1)]"
FUTURES = "futures = [submit(server, ends[server], ends[server + 1]) for server in range(servers)]"
ROOT = "math.sqrt(share * (1 - share) / samples)"

WRONG = {
    "count_inside": {
        "pi instead of the count": Edit("int(np.count_nonzero(x * x + y * y < 1))", "4 * np.mean(x * x + y * y < 1)"),
        "pi for everybody": "def count_inside(stream, first, last):\n    return round((last - first) * math.pi / 4)\n",
        "numbers first to last": Edit("2 * first, 2 * last", "first, last + (last - first)"),
        "x from one half, y from the other": Edit(".reshape(-1, 2).T", ".reshape(2, -1)"),
        "neighbouring darts share a number": """
def count_inside(stream, first, last):
    values = numbers(stream, first, last + 1)
    return int(np.sum(values[:-1] ** 2 + values[1:] ** 2 < 1))
""",
        "the corner is cut, x + y < 1": Edit("x * x + y * y < 1", "x + y < 1"),
        "one dart too many": Edit("2 * last)", "2 * (last + 1))"),
        "one dart too few": Edit("2 * last)", "2 * max(first, last - 1))"),
        "always from the beginning": Edit("2 * first, 2 * last", "0, 2 * (last - first)"),
        "always the same stream": Edit("numbers(stream,", "numbers(5,"),
        "a generator of its own": Edit(
            "numbers(stream, 2 * first, 2 * last)", "np.random.default_rng(stream).random(2 * (last - first))"
        ),
        "outside instead of inside": Edit("< 1", ">= 1"),
        "darts of the square around": Edit("    return", "    x, y = 2 * x - 1, 2 * y - 1\n    return"),
    },
    "pi_on_servers": {
        "one after another": """
def pi_on_servers(darts, servers, submit):
    inside = 0
    for server in range(servers):
        inside += submit(server, darts * server // servers, darts * (server + 1) // servers).result()
    return inside, 4 * inside / darts
""",
        "what is left over is lost": Edit(FAIR, "ends = [darts // servers * server for server in range(servers + 1)]"),
        "the last server takes what is left over": Edit(
            FAIR, "ends = [darts // servers * server for server in range(servers)] + [darts]"
        ),
        "rounded up, beyond the end": Edit(
            FAIR, "ends = [-(-darts // servers) * server for server in range(servers + 1)]"
        ),
        "rounded up, cut at the end": Edit(
            FAIR, "ends = [min(darts, -(-darts // servers) * server) for server in range(servers + 1)]"
        ),
        "all the same darts": Edit(
            "submit(server, ends[server], ends[server + 1])", "submit(server, 0, ends[server + 1] - ends[server])"
        ),
        "all on server 0": Edit("submit(server, ends", "submit(0, ends"),
        "a range includes its last": Edit("ends[server + 1])", "ends[server + 1] - 1)"),
        "servers count from one": Edit("submit(server, ends", "submit(server + 1, ends"),
        "one server throws all": Edit(FUTURES, "futures = [submit(0, 0, darts)]"),
        "the share of the last only": Edit("sum(future.result() for future in futures)", "futures[-1].result()"),
        "pi, whatever they say": Edit(
            "return inside, 4 * inside / darts", "return round(darts * math.pi / 4), math.pi"
        ),
        "the share inside instead of pi": Edit("4 * inside / darts", "inside / darts"),
        "the counts, not added": Edit("return inside, 4", "return [future.result() for future in futures], 4"),
        "more darts than asked for": Edit(
            FAIR, "ends = [(darts // servers + 1) * server for server in range(servers + 1)]"
        ),
    },
    "pi_on_gpus": {
        "CPUs too": """
def pi_on_gpus(devices, darts):
    places = [name.rpartition("/") for name in devices]
    ends = [darts * k // len(places) for k in range(len(places) + 1)]
    return [(task, d.replace("gpu", "cuda"), ends[k], ends[k + 1]) for k, (task, _, d) in enumerate(places)]
""",
        "numbered through all tasks": Edit('f"cuda:{index}"', 'f"cuda:{k}"'),
        "always the first of the task": Edit('f"cuda:{index}"', '"cuda:0"'),
        "the last digit of its number": Edit('f"cuda:{index}"', 'f"cuda:{index[-1]}"'),
        "the cluster's name for it": Edit('f"cuda:{index}"', 'f"/gpu:{index}"'),
        "the whole name as the task": Edit("[(task, f", '[(f"{task}/gpu:{index}", f'),
        "everywhere the same darts": Edit("ends[k], ends[k + 1])", "0, ends[k + 1] - ends[k])"),
        "what is left over is lost": Edit(FAIR_GPUS, "ends = [darts // len(gpus) * k for k in range(len(gpus) + 1)]"),
        "the last GPU takes what is left over": Edit(
            FAIR_GPUS, "ends = [darts // len(gpus) * k for k in range(len(gpus))] + [darts]"
        ),
        "four GPUs, always": """
def pi_on_gpus(devices, darts):
    ends = [darts * k // 4 for k in range(5)]
    return [(f"/job:worker/task:{k // 2}", f"cuda:{k % 2}", ends[k], ends[k + 1]) for k in range(4)]
""",
        "how many instead of up to where": Edit("ends[k], ends[k + 1])", "ends[k], ends[k + 1] - ends[k])"),
        "a GPU is what has gpu in its name": """
def pi_on_gpus(devices, darts):
    gpus = [name.rpartition("/") for name in devices if "gpu" in name]
    ends = [darts * k // len(gpus) for k in range(len(gpus) + 1)]
    return [(task, f"cuda:{d.split(':')[1]}", ends[k], ends[k + 1]) for k, (task, _, d) in enumerate(gpus)]
""",
        "one GPU a task": """
def pi_on_gpus(devices, darts):
    gpus = dict(name.split("/gpu:") for name in devices if "/gpu:" in name)
    ends = [darts * k // len(gpus) for k in range(len(gpus) + 1)]
    return [(task, f"cuda:{index}", ends[k], ends[k + 1]) for k, (task, index) in enumerate(gpus.items())]
""",
    },
    "pooled_pi": {
        "the servers' estimates, averaged": """
def pooled_pi(counts):
    shares = [inside / samples for inside, samples in counts if samples]
    share, samples = sum(shares) / len(shares), sum(samples for _, samples in counts)
    return 4 * share, 4 * math.sqrt(share * (1 - share) / samples)
""",
        "the servers' errors, averaged": """
def pooled_pi(counts):
    inside, samples = (sum(column) for column in zip(*counts, strict=True))
    errors = [4 * math.sqrt(i / n * (1 - i / n) / n) for i, n in counts if n]
    return 4 * inside / samples, sum(errors) / len(errors)
""",
        "not divided by the darts": Edit(ROOT, "math.sqrt(share * (1 - share))"),
        "no root": Edit(ROOT, "share * (1 - share) / samples"),
        "divided by the number of servers": Edit(ROOT, "math.sqrt(share * (1 - share) / len(counts))"),
        "the four forgotten in the error": Edit("4 * math.sqrt", "math.sqrt"),
        "the four forgotten in pi": Edit("return 4 * share", "return share"),
        "the formula at pi, whatever was seen": """
def pooled_pi(counts):
    inside, samples = (sum(column) for column in zip(*counts, strict=True))
    return 4 * inside / samples, 4 * math.sqrt(math.pi / 4 * (1 - math.pi / 4) / samples)
""",
        "pi itself": Edit("return 4 * share", "return math.pi"),
        "divides by a server's nought": """
def pooled_pi(counts):
    total = sum(samples for _, samples in counts)
    share = sum(samples / total * (inside / samples) for inside, samples in counts)
    return 4 * share, 4 * math.sqrt(share * (1 - share) / total)
""",
        "one less than the darts": Edit(ROOT, "math.sqrt(share * (1 - share) / max(1, samples - 1))"),
    },
    "error_of_runs": {
        "divided by k": Edit("np.std(values, ddof=1)", "np.std(values)"),
        "of one run, not of the mean": Edit(" / math.sqrt(len(values))", ""),
        "divided by how many, no root": Edit("math.sqrt(len(values))", "len(values)"),
        "k - 1 twice": Edit("math.sqrt(len(values))", "math.sqrt(len(values) - 1)"),
        "the variance": Edit("np.std(values, ddof=1)", "np.var(values, ddof=1)"),
        "the distance from pi": """
def error_of_runs(values):
    return abs(sum(values) / len(values) - math.pi)
""",
        "squared distances from pi": """
def error_of_runs(values):
    return math.sqrt(sum((value - math.pi) ** 2 for value in values) / (len(values) - 1) / len(values))
""",
        "the darts' formula": """
def error_of_runs(values):
    share = sum(values) / len(values) / 4
    return 4 * math.sqrt(abs(share * (1 - share)) / len(values))
""",
        "half the range": """
def error_of_runs(values):
    return (max(values) - min(values)) / 2
""",
    },
    "stream_for": {
        "run + server": Edit("sum(servers[:run]) + server", "run + server"),
        "the server alone": Edit("sum(servers[:run]) + server", "server"),
        "the run alone": Edit("sum(servers[:run]) + server", "run"),
        "run times server": Edit("sum(servers[:run]) + server", "run * server"),
        "as if every run had as many": Edit("sum(servers[:run]) + server", "run * servers[run] + server"),
        "this run's servers counted too": Edit("servers[:run]", "servers[: run + 1]"),
        "counted from one": Edit("+ server", "+ server + 1"),
        "one after the other as digits": Edit("sum(servers[:run]) + server", 'int(f"{run}{server}")'),
        "a thousand a run": Edit("sum(servers[:run]) + server", "1000 * run + server"),
        "drawn at random": Edit("sum(servers[:run]) + server", "int(np.random.default_rng().integers(2**62))"),
        "a hash of the two": Edit("sum(servers[:run]) + server", "hash((run, server)) % 2**64"),
    },
    "thrown_twice": {
        "streams are not told apart": Edit("if stream != current:", "if current is None:"),
        "in the order of the log": Edit("sorted(ranges)", "ranges"),
        "only neighbours": Edit("end = max(end, last)", "end = last"),
        "every pair counts": """
def thrown_twice(ranges):
    again = 0
    for place, (stream, first, last) in enumerate(ranges):
        for other, begin, end in ranges[:place]:
            if other == stream:
                again += max(0, min(last, end) - max(first, begin))
    return again
""",
        "the last is included": Edit("min(last, end) - first", "min(last, end) - first + 1"),
        "how many ranges overlap": Edit("again += max(0, min(last, end) - first)", "again += first < end"),
        "equal ranges only": """
def thrown_twice(ranges):
    seen, again = set(), 0
    for one in ranges:
        again += one[2] - one[1] if one in seen else 0
        seen.add(one)
    return again
""",
        "to the end so far, even past the range's own": Edit("min(last, end)", "end"),
        "each dart counted once, however often": """
def thrown_twice(ranges):
    from collections import Counter

    thrown = Counter((stream, dart) for stream, first, last in ranges for dart in range(first, last))
    return sum(times > 1 for times in thrown.values())
""",
        "all throws of such darts": """
def thrown_twice(ranges):
    from collections import Counter

    thrown = Counter((stream, dart) for stream, first, last in ranges for dart in range(first, last))
    return sum(times for times in thrown.values() if times > 1)
""",
    },
}

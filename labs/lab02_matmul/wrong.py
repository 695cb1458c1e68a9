"""What plausible wrong answers to lab 02 look like, and the slow specifications: the lab's self-test marks them all.

`Edit` changes the solution in `lab.py`; source text stands for the whole answer.
"""

from grader.lab.spec import Edit

SPECIFICATION = {
    "stopwatch": """
def stopwatch(work, now, wait, repeats):
    work(), wait()
    readings = []
    for _ in range(repeats):
        before, _, _, after = now(), work(), wait(), now()
        readings.append((before, after))
    times = sorted(after - before for before, after in readings)
    return (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
""",
    "take_apart": """
def take_apart(events):
    counts = {"products": 0, "to_device": 0, "from_device": 0, "hidden": 0, "idle": 0}
    if not events:
        return counts
    for moment in range(min(e["start"] for e in events), max(e["end"] for e in events)):
        now = {event["what"] for event in events if event["start"] <= moment < event["end"]}
        counts["products"] += "product" in now
        counts["to_device"] += "to device" in now
        counts["from_device"] += "from device" in now
        counts["hidden"] += "product" in now and len(now) > 1
        counts["idle"] += not now
    return counts
""",
    "product_times": """
def product_times(sheet, rows, inner, columns):
    operations = sum(2 * inner for _ in range(rows) for _ in range(columns))
    factors = sum(inner for _ in range(rows)) + sum(columns for _ in range(inner))
    result = sum(columns for _ in range(rows))
    read = 4 * (factors + result) / sheet["memory"]
    product = max(sheet["launch"], operations / sheet["operations"], read)
    return product, 3 * sheet["latency"] + 4 * factors / sheet["bus"] + 4 * result / sheet["bus"]
""",
    "predict_crossover": """
def predict_crossover(rows, with_copies):
    gpu = [row["gpu"] + (row["copies"] if with_copies else 0) for row in rows]
    if gpu[-1] >= rows[-1]["cpu"]:
        return -1
    for k in reversed(range(len(rows))):
        if gpu[k] >= rows[k]["cpu"]:
            break
    else:
        return rows[0]["n"]
    n1, n2 = math.log(rows[k]["n"]), math.log(rows[k + 1]["n"])
    low, high = n1, n2
    for _ in range(100):
        middle = (low + high) / 2
        share = (middle - n1) / (n2 - n1)
        cpu_log = (1 - share) * math.log(rows[k]["cpu"]) + share * math.log(rows[k + 1]["cpu"])
        gpu_log = (1 - share) * math.log(gpu[k]) + share * math.log(gpu[k + 1])
        low, high = (middle, high) if gpu_log >= cpu_log else (low, middle)
    return math.exp(low)
""",
    "pays_from": """
def pays_from(cpu, gpu, there, back):
    for products in range(1, 5001):
        if there + products * (gpu + back) < products * cpu:
            return products
    return -1
""",
}

WARM = "    work()\n    wait()\n    times = []\n"

WRONG = {
    "stopwatch": {
        "nobody waits": """
def stopwatch(work, now, wait, repeats):
    work()
    times = []
    for _ in range(repeats):
        start = now()
        work()
        times.append(now() - start)
    return median(times)
""",
        "the set-up counts": Edit(WARM, "    times = []\n"),
        "the warm-up is not waited for": Edit(WARM, "    work()\n    times = []\n"),
        "waits only once, at the end": """
def stopwatch(work, now, wait, repeats):
    work()
    wait()
    start = now()
    for _ in range(repeats):
        work()
    wait()
    return (now() - start) / repeats
""",
        "the mean": Edit("median(times)", "sum(times) / len(times)"),
        "the quickest": Edit("median(times)", "min(times)"),
        "no mean of the two in the middle": Edit("median(times)", "sorted(times)[len(times) // 2]"),
        "the clock is read before the wait": """
def stopwatch(work, now, wait, repeats):
    work()
    wait()
    times = []
    for _ in range(repeats):
        start = now()
        work()
        end = now()
        wait()
        times.append(end - start)
    return median(times)
""",
        "two calls at a time": Edit(
            "        start = now()\n        work()\n", "        start = now()\n        work()\n        work()\n"
        ),
        "one call too few": Edit("range(repeats)", "range(max(1, repeats - 1))"),
        "one start for all": """
def stopwatch(work, now, wait, repeats):
    work()
    wait()
    times = []
    start = now()
    for _ in range(repeats):
        work()
        wait()
        times.append(now() - start)
    return median(times)
""",
        "in seconds": Edit("median(times)", "median(times) / 1e6"),
        "read from the device, not waited for": """
def stopwatch(work, now, wait, repeats):
    for _ in range(repeats + 1):
        now()
        work()
        now()
    device = getattr(work, "device", None) or work.__self__
    return median([device.accept + device.calls[min(k, len(device.calls) - 1)] for k in range(1, repeats + 1)])
""",
        "read from the device, nothing timed": """
def stopwatch(work, now, wait, repeats):
    device = getattr(work, "device", None) or work.__self__
    return median([device.accept + device.calls[min(k, len(device.calls) - 1)] for k in range(1, repeats + 1)])
""",
    },
    "take_apart": {
        "lengths are added up": """
def take_apart(events):
    def total(what):
        return sum(event["end"] - event["start"] for event in events if event["what"] == what)

    times = sorted({event[key] for event in events for key in ("start", "end")})
    hidden = idle = 0
    for start, end in zip(times, times[1:]):
        now = {event["what"] for event in events if event["start"] <= start and end <= event["end"]}
        hidden += (end - start) * ("product" in now and len(now) > 1)
        idle += (end - start) * (not now)
    return {"products": total("product"), "to_device": total("to device"), "from_device": total("from device"),
            "hidden": hidden, "idle": idle}
""",
        "hidden behind any copy": Edit('("product" in now and len(now) > 1)', "(len(now) > 1)"),
        "only copies to the device are hidden": Edit(
            '("product" in now and len(now) > 1)', '("product" in now and "to device" in now)'
        ),
        "two directions hide twice": Edit('("product" in now and len(now) > 1)', '("product" in now) * (len(now) - 1)'),
        "the end counts as well": """
def take_apart(events):
    def moments(*kinds):
        return {m for e in events if e["what"] in kinds for m in range(e["start"], e["end"] + 1)}

    product, there, back = moments("product"), moments("to device"), moments("from device")
    every = product | there | back
    return {"products": len(product), "to_device": len(there), "from_device": len(back),
            "hidden": len(product & (there | back)), "idle": max(every) - min(every) + 1 - len(every) if every else 0}
""",
        "idle from 0 on": Edit("times = sorted({", "times = sorted({0} | {"),
        "idle of the device's arithmetic": Edit("(not now)", '("product" not in now)'),
        "directions exchanged": Edit(
            'counts["to_device"] += (end - start) * ("to device" in now)\n'
            '        counts["from_device"] += (end - start) * ("from device" in now)',
            'counts["to_device"] += (end - start) * ("from device" in now)\n'
            '        counts["from_device"] += (end - start) * ("to device" in now)',
        ),
        "fails without events": Edit(
            "    for start, end in zip(", "    first, last = times[0], times[-1]\n    for start, end in zip("
        ),
    },
    "product_times": {
        "additions are forgotten": Edit("2 * rows * inner * columns", "rows * inner * columns"),
        "the three are added up": Edit(
            'max(sheet["launch"], arithmetic, memory)', 'sheet["launch"] + arithmetic + memory'
        ),
        "square matrices only": Edit(
            "    numbers = rows * inner + inner * columns + rows * columns\n",
            "    inner = columns = rows\n    numbers = 3 * rows * rows\n",
        ),
        "memory is forgotten": Edit("arithmetic, memory)", "arithmetic)"),
        "the launch is forgotten": Edit('max(sheet["launch"], arithmetic, memory)', "max(arithmetic, memory)"),
        "one latency for all copies": Edit('3 * sheet["latency"]', 'sheet["latency"]'),
        "the result stays there": """
def product_times(sheet, rows, inner, columns):
    factors, result = rows * inner + inner * columns, rows * columns
    product = max(
        sheet["launch"], 2 * rows * inner * columns / sheet["operations"], 4 * (factors + result) / sheet["memory"]
    )
    return product, 2 * sheet["latency"] + 4 * factors / sheet["bus"]
""",
        "eight bytes a number": """
def product_times(sheet, rows, inner, columns):
    nbytes = 8 * (rows * inner + inner * columns + rows * columns)
    product = max(sheet["launch"], 2 * rows * inner * columns / sheet["operations"], nbytes / sheet["memory"])
    return product, 3 * sheet["latency"] + nbytes / sheet["bus"]
""",
        "numbers, not bytes, over the bus": Edit('4 * numbers / sheet["bus"]', 'numbers / sheet["bus"]'),
        "copies and product in one": Edit("memory), copies", "memory) + copies, copies"),
    },
    "predict_crossover": {
        "copies always count": Edit("with_copies * ", ""),
        "copies never count": Edit("with_copies * ", "0 * "),
        "the first timed size that wins": Edit(
            'rows[k]["n"] * (rows[k + 1]["n"] / rows[k]["n"]) ** share', 'rows[k + 1]["n"]'
        ),
        "the first crossing, not the last": """
def predict_crossover(rows, with_copies):
    lead = [math.log((row["gpu"] + with_copies * row["copies"]) / row["cpu"]) for row in rows]
    for k, d in enumerate(lead):
        if d < 0:
            if k == 0:
                return rows[0]["n"]
            share = lead[k - 1] / (lead[k - 1] - lead[k])
            return rows[k - 1]["n"] * (rows[k]["n"] / rows[k - 1]["n"]) ** share
    return -1
""",
        "a tie wins": Edit("if d >= 0", "if d > 0"),
        "straight on axes that are not logarithmic": """
def predict_crossover(rows, with_copies):
    lead = [row["gpu"] + with_copies * row["copies"] - row["cpu"] for row in rows]
    behind = [k for k, d in enumerate(lead) if d >= 0]
    if not behind:
        return rows[0]["n"]
    k = behind[-1]
    if k == len(rows) - 1:
        return -1
    share = lead[k] / (lead[k] - lead[k + 1])
    return rows[k]["n"] + share * (rows[k + 1]["n"] - rows[k]["n"])
""",
        "only n is logarithmic": Edit(
            'math.log((row["gpu"] + with_copies * row["copies"]) / row["cpu"])',
            'row["gpu"] + with_copies * row["copies"] - row["cpu"]',
        ),
        "halfway": Edit("lead[k] / (lead[k] - lead[k + 1])", "0.5"),
        "rounded": Edit(
            'rows[k]["n"] * (rows[k + 1]["n"] / rows[k]["n"]) ** share',
            'round(rows[k]["n"] * (rows[k + 1]["n"] / rows[k]["n"]) ** share)',
        ),
        "never is the last size": Edit("return -1", 'return rows[-1]["n"]'),
        "no answer where it always wins": Edit('return rows[0]["n"]', "return -1"),
    },
    "pays_from": {
        "a tie is a win": Edit("there // won + 1", "max(1, -(-there // won))"),
        "results stay there": Edit("cpu - gpu - back", "cpu - gpu"),
        "results come home once": Edit("there // won + 1", "(there + back) // (cpu - gpu) + 1"),
        "the factors travel every time": Edit(
            "return there // won + 1 if won > 0 else -1", "return 1 if won > there else -1"
        ),
        "rounded up": Edit("there // won + 1", "round(there / won + 0.5)"),
        "0 products": Edit("there // won + 1", "there // won"),
        "no end": Edit("if won > 0 else -1", "if won else -1"),
        "gives up at a hundred": """
def pays_from(cpu, gpu, there, back):
    for products in range(1, 101):
        if there + products * (gpu + back) < products * cpu:
            return products
    return -1
""",
    },
}

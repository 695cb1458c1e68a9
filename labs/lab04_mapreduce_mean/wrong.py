"""What plausible wrong answers to lab 04 look like, and the slow specifications: the lab's self-test marks them all.

`Edit` changes the solution in `lab.py`; source text stands for the whole answer.
"""

from grader.lab.spec import Edit

SPECIFICATION = {
    "map_and_reduce": """
def map_and_reduce(parts, mapper, join):
    pairs = [pair for part in parts for pair in mapper(part)]
    result = {}
    for wanted, _ in pairs:
        values = [value for key, value in pairs if key == wanted]
        result[wanted] = values[0]
        for value in values[1:]:
            result[wanted] = join(result[wanted], value)
    return result
""",
    "rename_job": """
def rename_job(jobs, places, old, new):
    def renamed(place):
        return "/".join("job:" + new if piece == "job:" + old else piece for piece in place.split("/"))

    there = {}
    for job in jobs:
        there[new if job == old else job] = list(jobs[job])
    return there, [renamed(place) for place in places]
""",
    "mean_of_slices": """
def mean_of_slices(means, sizes):
    every = []
    for mean, size in zip(means, sizes):
        every += [mean] * size
    return sum(every) / len(every) if every else math.nan
""",
    "spread_of_slices": """
def spread_of_slices(slices):
    # numbers with the same sizes, means and variances: half of a slice above its mean, half below, each twice
    every = []
    for size, mean, variance in slices:
        every += [mean + math.sqrt(variance), mean - math.sqrt(variance)] * size
    mean = sum(every) / len(every)
    return len(every) // 2, mean, sum((number - mean) ** 2 for number in every) / len(every)
""",
    "steady_mean": """
def steady_mean(blocks):
    every = [float(number) for block in blocks for number in block]
    return math.fsum(every) / len(every)
""",
    "locate": """
def locate(jobs, place):
    for job, addresses in jobs.items():
        for index, address in enumerate(addresses):
            name = f"/job:{job}/task:{index}"
            if place == name:
                return address, "/cpu:0"
            if place.startswith(name + "/"):
                return address, place[len(name):]
    raise ValueError(place)
""",
    "strays": """
def strays(record, place):
    away = []
    for op in record:
        device, home = op["device"].split("/"), place.split("/")
        if op["view"] or op["bytes_moved"] > 0 or device[:len(home)] == home:
            continue
        away.append(op["op"])
    return away
""",
}

WRONG = {
    "map_and_reduce": {
        "the last value wins": Edit("join(result[key], value) if key in result else value", "value"),
        "the first value wins": Edit("join(result[key], value) if", "result[key] if"),
        "joined from the right": Edit("join(result[key], value)", "join(value, result[key])"),
        "each part joined first": """
def map_and_reduce(parts, mapper, join):
    result = {}
    for part in parts:
        here = {}
        for key, value in mapper(part):
            here[key] = join(here[key], value) if key in here else value
        for key, value in here.items():
            result[key] = join(result[key], value) if key in result else value
    return result
""",
        "starts from an empty text": Edit(
            "join(result[key], value) if key in result else value", 'join(result.get(key, ""), value)'
        ),
        "starts from nought": Edit(
            "join(result[key], value) if key in result else value", "join(result.get(key, 0), value)"
        ),
        "nothing is taken for a key's absence": Edit("if key in result", "if result.get(key)"),
        "one pair a part": Edit("in mapper(part):", "in mapper(part)[:1]:"),
        "lists, not joined": Edit(
            "join(result[key], value) if key in result else value", "result.get(key, []) + [value]"
        ),
        "values sorted first": """
def map_and_reduce(parts, mapper, join):
    result = {}
    for key, value in sorted(pair for part in parts for pair in mapper(part)):
        result[key] = join(result[key], value) if key in result else value
    return result
""",
    },
    "rename_job": {
        "the text replaced everywhere": """
def rename_job(jobs, places, old, new):
    there = {job.replace(old, new): [host.replace(old, new) for host in hosts] for job, hosts in jobs.items()}
    return there, [place.replace(old, new) for place in places]
""",
        "the text replaced in every place": Edit(
            "[renamed(p) for p in places]", "[p.replace(old, new) for p in places]"
        ),
        "job: replaced by text": Edit(
            "[renamed(p) for p in places]", '[p.replace(f"/job:{old}", f"/job:{new}") for p in places]'
        ),
        "a place that is the job alone is missed": Edit(
            "[renamed(p) for p in places]", '[p.replace(f"/job:{old}/", f"/job:{new}/") for p in places]'
        ),
        "a dot matches anything": """
def rename_job(jobs, places, old, new):
    import re

    there = {new if job == old else job: list(hosts) for job, hosts in jobs.items()}
    return there, [re.sub(f"^/job:{old}(?=/|$)", f"/job:{new}", place) for place in places]
""",
        "only the dictionary": Edit("[renamed(p) for p in places]", "list(places)"),
        "only the places": Edit("{new if job == old else job: list(hosts)", "{job: list(hosts)"),
        "places of other jobs are dropped": Edit(
            "[renamed(p) for p in places]", "[renamed(p) for p in places if renamed(p) != p]"
        ),
        "the old one is kept as well": Edit("return {new if", "return {old: list(jobs[old])} | {new if"),
        "the old dictionary is changed": """
def rename_job(jobs, places, old, new):
    jobs[new] = jobs.pop(old)
    pieces = [place.split("/") for place in places]
    return jobs, ["/".join(f"job:{new}" if p == f"job:{old}" else p for p in piece) for piece in pieces]
""",
    },
    "mean_of_slices": {
        "the means, averaged": Edit(
            "sum(mean * size for mean, size in pairs) / sum(size for _, size in pairs)",
            "sum(mean for mean, size in pairs) / len(pairs)",
        ),
        "empty slices are not left out": Edit(" if size]", "]"),
        "an empty slice counts as a mean of nought, unweighted": """
def mean_of_slices(means, sizes):
    return sum(mean if size else 0 for mean, size in zip(means, sizes)) / len(means) if means else math.nan
""",
        "nothing has a mean of nought": Edit("return math.nan", "return 0.0"),
        "divided by the number of slices": Edit("/ sum(size for _, size in pairs)", "/ len(pairs)"),
        "the total": Edit(" / sum(size for _, size in pairs)", ""),
        "any nan makes nan": Edit("    if not pairs:", "    if not pairs or any(math.isnan(mean) for mean in means):"),
        "weighted by numpy": """
def mean_of_slices(means, sizes):
    return float(np.average(means, weights=sizes)) if sum(sizes) else math.nan
""",
        "divides by nought": """
def mean_of_slices(means, sizes):
    return sum(mean * size for mean, size in zip(means, sizes) if size) / sum(sizes)
""",
    },
    "spread_of_slices": {
        "the variances, weighted": Edit("(variances + (means - mean) ** 2)", "variances"),
        "the variances, averaged": Edit(
            "(sizes * (variances + (means - mean) ** 2)).sum() / total", "variances.mean()"
        ),
        "only the spread of the means": Edit("(variances + (means - mean) ** 2)", "(means - mean) ** 2"),
        "the spread of the means unweighted": Edit(
            "variance = (sizes * (variances + (means - mean) ** 2)).sum() / total",
            "variance = (sizes * variances).sum() / total + means.var()",
        ),
        "divided by one less": Edit("** 2)).sum() / total", "** 2)).sum() / max(1, total - 1)"),
        "the standard deviation": Edit("float(variance)", "math.sqrt(variance)"),
        "the mean unweighted": Edit("(sizes * means).sum() / total", "means.mean()"),
        "variances added up": Edit("(sizes * (variances + (means - mean) ** 2)).sum() / total", "variances.sum()"),
        "the number of slices": Edit("int(total), float(mean)", "len(slices), float(mean)"),
    },
    "steady_mean": {
        "each block in its own dtype": Edit("block.sum(dtype=np.float64)", "block.sum()"),
        "the float32 mean, weighted": Edit(
            "float(block.sum(dtype=np.float64))", "float(block.mean()) * block.size if block.size else 0.0"
        ),
        "the float32 mean of all": """
def steady_mean(blocks):
    return float(np.concatenate(list(blocks)).mean())
""",
        "float64, too late": """
def steady_mean(blocks):
    return np.float64(np.concatenate(list(blocks)).mean())
""",
        "one float32 total": """
def steady_mean(blocks):
    total, count = np.float32(0), 0
    for block in blocks:
        for number in block:
            total += number
            count += 1
    return float(total / count)
""",
        "blocks weigh the same": """
def steady_mean(blocks):
    means = [block.mean(dtype=np.float64) for block in blocks if block.size]
    return sum(means) / len(means)
""",
        "the first number is taken off, in float32": """
def steady_mean(blocks):
    every = np.concatenate(list(blocks))
    return float(every[0]) + float((every - every[0]).mean())
""",
        "whole numbers": Edit("block.sum(dtype=np.float64)", "block.astype(np.int64).sum()"),
        "the median": """
def steady_mean(blocks):
    return float(np.median(np.concatenate(list(blocks)).astype(np.float64)))
""",
        "goes through the blocks twice": """
def steady_mean(blocks):
    return sum(float(block.sum(dtype=np.float64)) for block in blocks) / sum(block.size for block in blocks)
""",
        "only the first block": Edit("        count += block.size\n", "        count += block.size\n        break\n"),
        "a plain sum": """
def steady_mean(blocks):
    every = [number for block in blocks for number in block]
    return float(sum(every) / len(every))
""",
    },
    "locate": {
        "refuses everything": "def locate(jobs, place):\n    raise ValueError(place)",
        "no device means gpu": Edit('else "/cpu:0"', 'else "/gpu:0"', gets=1 / 3),
        "the device is left out": Edit('f"/{device[0]}" if device else "/cpu:0"', '"/cpu:0"', gets=1 / 3),
        "always the first gpu": Edit('f"/{device[0]}" if device', '"/gpu:0" if device', gets=1 / 3),
        "one digit of the task": Edit('int(task.removeprefix("task:"))', 'int(task.removeprefix("task:")[0])', gets=0),
        "counts tasks from one": Edit("jobs[name][index]", "jobs[name][index - 1]", gets=1 / 3),
        "an unknown job is a KeyError": Edit("name not in jobs or ", "", gets=2 / 3),
        "a task too many is an IndexError": Edit(" or index >= len(jobs[name])", "", gets=2 / 3),
        "nothing instead of an error": Edit('raise ValueError(f"there is no {place}")', "return None", gets=2 / 3),
        "a job's name is looked through for gpu": Edit(
            'return jobs[name][index], f"/{device[0]}" if device else "/cpu:0"',
            'return jobs[name][index], "/" + place[place.index("gpu") :] if "gpu" in place else "/cpu:0"',
            gets=1 / 3,
        ),
        "the device without its slash": Edit('f"/{device[0]}"', "device[0]", gets=1 / 3),
        "the first job whatever it is called": Edit(
            "jobs[name][index]", "next(iter(jobs.values()))[index]", gets=1 / 3
        ),
    },
    "strays": {
        "the place anywhere in the name": Edit('f"{device}/".startswith(f"{place}/")', "place in device"),
        "the name begins with the place": Edit('f"{device}/".startswith(f"{place}/")', "device.startswith(place)"),
        "the same name only": Edit('f"{device}/".startswith(f"{place}/")', "device == place"),
        "only the last part is compared": Edit(
            'f"{device}/".startswith(f"{place}/")', 'device.split("/")[-1] == place.split("/")[-1]'
        ),
        "views count": Edit('not op["view"] and not op["bytes_moved"]', 'not op["bytes_moved"]'),
        "copies count": Edit('not op["view"] and not op["bytes_moved"]', 'not op["view"]'),
        "those at home": Edit("and not is_home", "and is_home"),
        "how many": Edit("return [op", "return [str(len(record))] or [op"),
        "each name once": Edit(
            'return [op["op"] for op in record if computed(op) and not is_home(op["device"])]',
            'return list(dict.fromkeys(op["op"] for op in record if computed(op) and not is_home(op["device"])))',
        ),
        "sorted by name": Edit(
            'return [op["op"] for op in record if computed(op) and not is_home(op["device"])]',
            'return sorted(op["op"] for op in record if computed(op) and not is_home(op["device"]))',
        ),
    },
}

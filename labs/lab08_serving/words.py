"""What lab 08's cases are in words: calls of a batcher, histograms, a writer's work, a request to a server."""


def of_batcher(limit, room, events):
    """Say how a batcher is made, and what it is called with."""
    told = [f"idle at {about[0]:g}" if what == "idle" else _taken(*about) for what, *about in events]
    return f"limit={limit}, room={room}; {'; '.join(told)}"


def _taken(now, number, rows, signature, until):
    ends = "" if until == float("inf") else f" until {until:g}"
    return f"take {number} ({rows} row{'s' * (rows > 1)} of {signature!r}{ends}) at {now:g}"


def of_histogram(share, bounds, readings):
    """Say the arguments of a quantile, arrays as lists."""
    return f"{share:g}, {bounds.tolist()}, {[(before.tolist(), after.tolist()) for before, after in readings]}"


def of_folder(served, steps):
    """Say what is served at first, and what the writer does between the looks."""
    return f"directory, {served}; {'; '.join(map(of_step, steps))}"


def of_step(step):
    """Say one step of a writer."""
    what, *about = step
    if what == "write":
        return f"write {about[0]} {about[1]!r}"
    if what == "sums":
        files = ", ".join(f"{name} {text!r}" for name, text in about[1].items())
        return f"write {about[0]}/checksums.json for {files}"
    return {"rename": "rename {} to {}", "remove": "remove {}"}.get(what, what).format(*about)


def of_call(request, deadline):
    """Say the arguments of a call."""
    return f"{request}, send, clock, sleep, {deadline:g}"


def of_plan(plan):
    """Say what a server does by its plan."""
    lines = [_line(*line) for line in plan["script"]]
    return f"the clock begins at {plan['start']:g}; the server: {', then '.join(lines)}, then always the same"


def _line(what, takes, retry_after):
    if what == "silent":
        return "no answer"
    after = "" if retry_after is None else f" with retry_after {retry_after:g}"
    return f"{what}{after} after {takes:g} s"

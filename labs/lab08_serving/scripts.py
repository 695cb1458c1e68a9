"""What lab 08's client is sent against: requests, deadlines, scripts by which a server answers. Fixed, and drawn."""

from course.checks.exercise import Case

READY = {"method": "GET", "path": "/v2/health/ready", "id": None}
INFER = {"method": "POST", "path": "/v2/models/digits/infer", "id": None}
LOAD = {"method": "POST", "path": "/v2/repository/models/digits/load", "id": None}
NAMED = {"method": "POST", "path": "/v2/repository/models/infer/unload", "id": None}
WITH_ID = {**LOAD, "id": "7f3a"}
REQUESTS = (READY, INFER, LOAD, NAMED, WITH_ID)
HARMLESS = (READY, INFER, WITH_ID)

FAR = 1000.0  # seconds to a deadline that is not meant to matter
REFUSED, LOST, SILENT = ["refused", 0.02, None], ["lost", 0.05, None], ["silent", 0.0, None]


def status(number, retry_after=None, takes=0.03):
    """Return the line of a script for an answer."""
    return [number, takes, retry_after]


OK = status(200)


def one(group, request, script, left=FAR, start=100.0, edge=True):
    """Return the `Case` of a request with so many seconds left, against a server with this script."""
    return Case((request, start + left), group=group, edge=edge, plan={"start": start, "script": script})


def calls(draw):
    """Return `Case`s of (request, deadline), a script in their plan, in the groups again, pauses and deadline."""
    drawn = [_drawn(draw, group) for group in ("again", "again", "pauses", "deadline", "deadline")]
    return [*_again(), *_pauses(), *_deadline(), *drawn]


def _again():
    scripts = [
        (READY, [OK]),
        (INFER, [REFUSED, OK]),
        (LOAD, [REFUSED, OK]),
        (LOAD, [LOST, OK]),
        (NAMED, [LOST, OK]),
        (INFER, [LOST, OK]),
        (READY, [LOST, OK]),
        (WITH_ID, [LOST, OK]),
        (INFER, [status(400), OK]),
        (READY, [status(404), OK]),
        (INFER, [status(500), OK]),
        (LOAD, [status(429, 2.0), OK]),
        (LOAD, [status(503), LOST, OK]),
        (INFER, [REFUSED, status(429, 1.0), LOST, status(503), status(400), OK]),
    ]
    return [one("again", *each) for each in scripts]


def _pauses():
    scripts = [
        (READY, [REFUSED, OK]),
        (INFER, [status(503), OK]),
        (INFER, [status(429, 2.0), OK]),
        (READY, [REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, OK]),
        (INFER, [status(429, 3.0), LOST, LOST, status(503, 0.01), OK]),
        (LOAD, [REFUSED, REFUSED, REFUSED, status(503, 0.5), status(429, 7.0), REFUSED, OK]),
    ]
    return [one("pauses", *each) for each in scripts]


def _deadline():
    scripts = [
        (READY, [OK], 0.0),
        (READY, [OK], -2.0),
        (INFER, [SILENT], 2.0),
        (LOAD, [status(200, None, 5.0)], 1.5),
        (READY, [REFUSED], 1.0),
        (INFER, [status(429, 5.0), OK], 2.0),
        (INFER, [status(503, None, 0.3), status(200, None, 5.0)], 2.0),
        (INFER, [REFUSED, status(503, 10.0), OK], 3.0),
        (INFER, [status(503), REFUSED], 0.5),
        (INFER, [LOST], 4.0),
        (INFER, [status(429), OK], 2.0),
        (INFER, [status(429, 0.5), REFUSED, OK], 3.0),
    ]
    return [one("deadline", *each) for each in scripts]


def _drawn(draw, group):
    lines = [REFUSED, LOST, status(503), status(429, round(float(draw.uniform(0.2, 3.0)), 2))]
    count = int(draw.integers(2, 6))
    script = [lines[which] for which in draw.integers(0, 4, count)]
    script = [[what, round(float(draw.uniform(0.01, 0.2)), 3), after] for what, _, after in script]
    last = status(int(draw.choice([200, 400, 404, 500]))) if group == "again" else OK
    request = REQUESTS[draw.integers(5)] if group == "again" else HARMLESS[draw.integers(2)]
    left = round(float(draw.uniform(0.5, 3.0)), 3) if group == "deadline" else FAR
    return one(group, request, [*script, last], left, round(float(draw.uniform(1000, 9000)), 2), edge=False)

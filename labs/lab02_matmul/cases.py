"""What lab 02 asks about, the smallest first: devices, timelines, data sheets, measured sizes. Some fixed, some drawn.

Each function takes a numpy Generator and returns two lists of argument tuples: what everybody is asked, and what was
drawn. Times are whole microseconds where they are counted, seconds where they are worked out.
"""


def stopwatches(draw):
    """Microseconds of each call, of handing over, of the set-up; and how many calls count."""
    fixed = [
        ([100], 10, 0, 1),
        ([100], 10, 5000, 1),
        ([100, 300, 200, 500], 10, 5000, 3),
        ([7, 90, 10, 80, 60], 20, 900, 4),
        ([5000, 40, 41, 47, 49, 1000], 2, 0, 5),
    ]
    return fixed, [_device(draw, int(repeats)) for repeats in draw.integers(2, 9, 5)]


def _device(draw, repeats):
    calls = [int(n) for n in draw.integers(20, 2000, repeats + 4)]
    return calls, int(draw.integers(1, 50)), int(draw.integers(1000, 90_000)), repeats


def timelines(draw):
    """Lists of events: copies to the device, products there, copies back; lanes that lie above one another."""
    turn = "to 0 4, product 4 9, from 9 11"
    fixed = [
        *["", "product 3 8", turn, "to 10 14, product 17 20, from 20 25"],
        *["to 0 6, product 2 9", "to 0 4, to 4 8, product 4 10, product 8 12, from 12 13", "product 5 9, to 0 20"],
        *["to 0 5, from 3 8, product 4 6", "product 0 4, product 2 6, product 9 10", "from 5 9, to 5 9"],
        "to 0 2, to 2 4, product 6 8, product 7 20, from 15 18, from 30 31",
    ]
    drawn = [[_event(draw) for _ in range(int(count))] for count in draw.integers(3, 14, 6)]
    return [([_told(event) for event in text.split(", ") if event],) for text in fixed], [(one,) for one in drawn]


def _told(text):
    what, start, end = text.split()
    name = {"to": "to device", "product": "product", "from": "from device"}[what]
    return {"what": name, "start": int(start), "end": int(end)}


def _event(draw):
    start = int(draw.integers(0, 120))
    what = str(draw.choice(["to device", "product", "product", "from device"]))
    return {"what": what, "start": start, "end": start + int(draw.integers(1, 40))}


def sheets_and_shapes(draw):
    """A data sheet, and the rows, inner length and columns of a product; each limit decides somewhere."""
    round_ = {"operations": 1e9, "memory": 1e8, "bus": 1e7, "launch": 1e-6, "latency": 1e-5}
    slow_start = {**round_, "launch": 0.5, "latency": 0.25}
    large = {"operations": 67e12, "memory": 4.8e12, "bus": 64e9, "launch": 1e-5, "latency": 1e-5}
    fixed = [
        *[(round_, 1, 1, 1), (round_, 2, 3, 5), (slow_start, 2, 3, 5), (round_, 40, 90, 50), (round_, 1, 100, 100)],
        *[(large, 64, 64, 64), (large, 1500, 1500, 1500), (large, 1, 3000, 3000), (large, 900, 10, 900)],
    ]
    return fixed, [(_sheet(draw), *(int(10**n) for n in draw.uniform(0, 3, 3))) for _ in range(8)]


def _sheet(draw):
    low = {"operations": 10, "memory": 9, "bus": 8, "launch": -6, "latency": -6}
    return {name: float(10 ** (start + draw.uniform(0, 2.5))) for name, start in low.items()}


def measured_rows(draw):
    """Rows of a trace at rising sizes, and whether copies count."""
    table = [(100, 1e-4, 8e-4, 1e-3), (200, 9e-4, 9e-4, 2e-3), (400, 8e-3, 1e-3, 6e-3), (800, 7e-2, 3e-3, 2e-2)]
    rows = [_row(*one) for one in table]
    again = [_row(64, 5e-5, 4e-5, 0.0), _row(128, 2e-4, 9e-4, 0.0), _row(512, 9e-3, 1e-3, 1e-4)]
    fixed = [
        *[
            (rows[2:3], False),
            (rows[1:2], False),
            (rows[:2], False),
            (rows[:2], True),
            (rows[1:3], True),
            (rows[2:], True),
        ],
        *[(rows, False), (rows, True), (again, False), (again, True), (again[:2], False)],
    ]
    return fixed, [(_trace(draw), bool(number % 2)) for number in range(8)]


def _trace(draw):
    size, rows = int(draw.integers(16, 64)), []
    start, much = 10 ** draw.uniform(-4, -2), 10 ** draw.uniform(-10.5, -9)
    for _ in range(int(draw.integers(3, 8))):
        noise = draw.uniform(0.7, 1.4, 3)
        times = (noise[0] * much * size**3, noise[1] * (start / 3 + much * size**3 / 50), noise[2] * start * size / 99)
        rows.append(_row(size, *(float(time) for time in times)))
        size = int(size * draw.uniform(1.3, 3))
    return rows


def _row(n, cpu, gpu, copies):
    return {"n": n, "cpu": cpu, "gpu": gpu, "copies": copies}


def pay_times(draw):
    """Whole microseconds: a product here and there, the copies there once, each result back."""
    fixed = [
        *[(2, 1, 0, 0), (2, 1, 3, 0), (3, 1, 3, 1), (3, 1, 4, 1), (3, 1, 5, 1), (5, 5, 0, 0), (5, 6, 1, 0)],
        *[(5, 4, 1, 1), (5, 4, 1, 2), (1000, 1, 998, 0), (1000, 1, 999, 0), (1000, 1, 1998, 0), (11, 10, 4000, 0)],
    ]
    return fixed, [_times(draw) for _ in range(8)]


def _times(draw):
    gpu, back = int(draw.integers(1, 50)), int(draw.integers(1, 50))
    return gpu + back + int(draw.integers(-3, 40)), gpu, int(draw.integers(0, 3000)), back

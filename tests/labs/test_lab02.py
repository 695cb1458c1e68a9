"""Lab 02 holds what it promises; a stopwatch is judged by what it did; other right answers are right."""

import pytest

from course.checks.discovery import load_part
from grader.lab.source import load_lab
from tests.labs.solved import points_lost

driver = load_part("labs/lab02_matmul", "driver")
Device, drive = driver.Device, driver.drive
stopwatch_complaint = load_part("labs/lab02_matmul", "oracles").stopwatch_complaint
DEVICE = ([100, 300, 200, 500], 10, 5000, 3)  # its three calls that count take 310, 210 and 510 µs
ORDER = ["work", "wait", *["now", "work", "wait", "now"] * 3]


def test_a_device_goes_on_after_the_host_has():
    device = Device([100], accept=10, set_up=0)
    device.work()
    assert device.now() == 10
    device.wait()
    assert device.now() == 110
    assert device.actions == ["work", "now", "wait", "now"]


def test_work_handed_over_twice_is_done_one_after_the_other():
    device = Device([100, 50], accept=10, set_up=1000)
    device.work()
    device.work()
    device.wait()
    assert device.now() == 1010 + 100 + 50


def test_the_order_and_the_number_must_both_be_right():
    assert stopwatch_complaint(310, ORDER, *DEVICE) is None
    assert "expected 310" in stopwatch_complaint(300, ORDER, *DEVICE)
    assert "called 0 times" in stopwatch_complaint(310, [], *DEVICE)
    assert "called 3 times" in stopwatch_complaint(210, ORDER[2:], DEVICE[0], 10, 0, 3)  # even where nothing is set up


def test_a_number_without_the_calls_that_give_it_is_nothing():
    first, *_, last = (place for place, action in enumerate(ORDER) if action == "now")
    for cut in (first, last, *(place for place, action in enumerate(ORDER) if action != "now")):
        assert stopwatch_complaint(310, ORDER[:cut] + ORDER[cut + 1 :], *DEVICE) is not None, cut


@pytest.mark.parametrize(
    "order",
    [
        ["work", "wait", "now", *["work", "wait", "now"] * 3],
        ["now", "work", "wait", "now", *ORDER[2:]],
        [*["work", "wait"] * 3, *ORDER[2:]],
        ["work", "wait", *["wait", "now", "now", "work", "wait", "wait", "now", "now"] * 3],
    ],
)
def test_more_readings_waits_and_warm_ups_do_no_harm(order):
    calls = [7, 8, 9, 20, 60, 10, 30]
    counted = sorted(4 + call for call in calls[order.count("work") - 3 : order.count("work")])
    assert stopwatch_complaint(counted[1], order, calls, 4, 900, 3) is None


def test_an_order_of_other_words_is_refused():
    assert "nothing that a stopwatch does" in stopwatch_complaint(310, ["__class__", *ORDER], *DEVICE)


def test_a_stopwatch_is_given_nothing_but_its_three_functions_and_a_count():
    given = []
    drive(lambda *arguments: given.extend(arguments), *DEVICE)
    assert [one.__name__ for one in given[:3]] == ["work", "now", "wait"]
    assert given[3:] == [3]


PLAIN = {
    "stopwatch": """
import numpy as np

def stopwatch(work, now, wait, repeats):
    def once():
        begin = now()
        work(); wait()
        return now() - begin
    return np.median([once() for _ in range(repeats + 1)][1:])
""",
    "take_apart": """
def take_apart(events):
    busy = {'product': set(), 'to device': set(), 'from device': set()}
    for event in events:
        busy[event['what']].update(range(event['start'], event['end']))
    copies = busy['to device'] | busy['from device']
    every = copies | busy['product']
    idle = max(every) + 1 - min(every) - len(every) if every else 0.0
    return dict(hidden=len(copies & busy['product']), idle=idle, products=np.int64(len(busy['product'])),
                to_device=len(busy['to device']), from_device=len(busy['from device']))
""",
    "product_times": """
def product_times(sheet, rows, inner, columns):
    a, b, c = rows * inner * 4, inner * columns * 4, rows * columns * 4
    copy = lambda size: sheet['latency'] + size / sheet['bus']
    compute = rows * columns * (inner + inner) / sheet['operations']
    return [np.max([compute, (a + b + c) / sheet['memory'], sheet['launch']]), copy(a) + copy(b) + copy(c)]
""",
    "predict_crossover": """
def predict_crossover(rows, with_copies):
    n = np.array([row['n'] for row in rows], float)
    cpu = np.array([row['cpu'] for row in rows])
    gpu = np.array([row['gpu'] + (row['copies'] if with_copies else 0) for row in rows])
    wins = gpu < cpu
    if wins.all():
        return n[0]
    if not wins[-1]:
        return -1
    k = np.flatnonzero(~wins)[-1]
    x, d = np.log(n[k : k + 2]), np.log(gpu[k : k + 2]) - np.log(cpu[k : k + 2])
    return np.exp(x[0] - d[0] * (x[1] - x[0]) / (d[1] - d[0]))
""",
    "pays_from": """
def pays_from(cpu, gpu, there, back):
    if cpu <= gpu + back:
        return -1
    k = 1
    while not there + k * (gpu + back) < k * cpu:
        k += 1
    return k
""",
}
LOOSER = {
    "stopwatch": """
def stopwatch(work, now, wait, repeats):
    work(); wait()
    readings = [now()]
    for _ in range(repeats):
        work()
        wait()
        readings += [now()]
    return median(after - before for before, after in zip(readings, readings[1:]))
""",
    "pays_from": "pays_from = lambda cpu, gpu, there, back: "
    "-1 if cpu - gpu - back <= 0 else math.floor(there / (cpu - gpu - back)) + 1.0",
}


@pytest.mark.parametrize("answers", [PLAIN, LOOSER], ids=["plain", "looser"])
def test_right_answers_in_another_style_get_full_marks(answers):
    assert points_lost(load_lab("labs/lab02_matmul"), answers) == {}

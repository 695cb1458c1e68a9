"""Chapter 08's exercises: how many are inside, a percentile of buckets, batches as they form, what is asked again."""

from course.checks.exercise import Exercise, by_name


def _stays():
    yield [0], [4]
    yield [1], [2]  # the time before the first one counts, too
    yield [0, 0], [4, 4]
    yield [0, 1], [3, 2]  # the last to begin need not be the last to end
    yield [0, 2], [2, 4]  # one after another: one at a time
    yield [0, 1, 2], [3, 4, 8]
    yield [0, 5], [1, 10]  # a pause counts as well
    yield [0, 0, 0, 9], [1, 2, 3, 20]


def _looked_at_every_millisecond(begins, ends):
    """Stand at the door in the middle of every millisecond and count who is inside."""
    looks = range(max(ends))
    inside = [sum(begin <= look < end for begin, end in zip(begins, ends, strict=True)) for look in looks]
    return sum(inside) / len(inside)


def _histograms():
    yield [1], [5], 50
    yield [1, 2], [1, 1], 50  # half of two is one
    yield [1, 2], [1, 1], 51
    yield [1, 2, 4], [0, 3, 1], 50
    yield [1, 2, 4], [97, 2, 1], 99
    yield [1, 2, 4], [97, 1, 2], 99
    yield [1, 2, 4, 8], [3, 0, 0, 1], 75


def _written_down(edges, counts, percent):
    """Write the edge down once a request; the first that has `percent` of the list up to its last copy."""
    seen = [edge for edge, count in zip(edges, counts, strict=True) for _ in range(count)]
    return next(edge for edge in edges if 100 * sum(one <= edge for one in seen) >= percent * len(seen))


def _arrivals():
    yield [], 3, 4
    yield [0], 3, 4
    yield [0, 1], 3, 4
    yield [0, 5], 3, 4  # the worker is idle: nobody waits for a fuller batch
    yield [0, 1, 2, 3], 3, 4  # who comes in the moment at which it gets idle is taken
    yield [0, 0, 0], 2, 2
    yield [0, 1, 1, 1, 1, 1, 9, 9], 4, 3
    yield [2, 3, 4, 5, 6, 7, 8], 2, 64


def _moment_by_moment(arrivals, seconds, largest):
    """Let the clock tick: let in who comes, and when the worker is idle, give it what is there."""
    taken, waiting, idle_at, coming = [], 0, 0, list(arrivals)
    for now in range(max(coming, default=0) + seconds * len(arrivals) + 1):
        while coming and coming[0] <= now:
            coming.pop(0)
            waiting += 1
        if waiting and now >= idle_at:
            taken.append(min(waiting, largest))
            waiting, idle_at = waiting - taken[-1], now + seconds
    return taken


def _plans():
    yield [200], 3
    yield [400, 200], 3
    yield [429, 200], 3
    yield [503, 503, 503, 200], 3
    yield [None, 200], 3  # the connection broke before the answer
    yield [500, 200], 3  # this batch killed two workers
    yield [404, 200], 5
    yield [429, 413, 200], 5
    yield [None, 503, 429, 200], 4


def _asked_by_the_book(statuses, most):
    """Look every status up in the list of those after which nothing was done, and go on as long as it is in there."""
    for attempt, status in enumerate(statuses, 1):
        if status not in (429, 503, None) or attempt == most:
            return attempt, status
    raise AssertionError("a plan ends with a status that ends it")


EXERCISES = by_name(
    Exercise(
        "mean_inside",
        _stays,
        _looked_at_every_millisecond,
        hint="each request is inside for end - begin milliseconds; how many milliseconds are there in all?",
    ),
    Exercise(
        "percentile_of",
        _histograms,
        _written_down,
        hint="add the counts up, bucket by bucket, until the sum is at least that share of all.",
    ),
    Exercise(
        "batches",
        _arrivals,
        _moment_by_moment,
        hint="the next batch begins when the worker is idle and somebody is there: the later of the two.",
    ),
    Exercise(
        "asked",
        _plans,
        _asked_by_the_book,
        hint="429 and 503 say that nothing was done; no status at all says that nobody answered. What does 500 say?",
    ),
)

"""The exercises of chapter 05: the standard error, how many darts a wish costs, each server's share of the darts."""

import math

from course.checks.exercise import Exercise, by_name


def _spread_of_one_dart(inside, samples):
    # the slow way: a dart is worth 4 or 0; their variance, shared by all darts
    share = inside / samples
    mean = 4 * share
    variance = share * (4 - mean) ** 2 + (1 - share) * (0 - mean) ** 2
    return math.sqrt(variance / samples)


def _enough(got, wish):
    if isinstance(got, bool) or not isinstance(got, (int, float)) or got != got // 1 or got < 1:
        return "give a whole number of darts"
    one = 4 * math.sqrt(math.pi / 4 * (1 - math.pi / 4))
    if one / math.sqrt(got) > wish * 1.001:
        return f"so few darts leave a standard error of {one / math.sqrt(got):.3g}"
    if got > 1.02 * (one / wish) ** 2 + 1:
        return f"so many are more than it takes: their standard error is {one / math.sqrt(got):.3g}"
    return True


def _share_cases():
    for darts, servers in ((1, 1), (4, 2), (5, 2), (10, 3), (7, 7), (2, 5)):
        for index in range(servers):
            yield (index, servers, darts)


def _fair(got, index, servers, darts):
    try:
        first, last = got
    except (TypeError, ValueError):
        return "give a pair (first, last)"
    if not 0 <= first <= last <= darts:
        return f"a share lies within 0 and {darts}, first before last"
    if index == 0 and first != 0:
        return "server 0 begins at dart 0"
    if index == servers - 1 and last != darts:
        return f"the last server ends at dart {darts}"
    if not darts // servers <= last - first <= -(-darts // servers):
        return f"{last - first} darts; fair is {darts} / {servers} = {darts / servers:.3g}, rounded up or down"
    # the shares that begin at dart index·darts/servers, or that give the first servers one more
    cuts = {
        tuple(darts * part // servers for part in (index, index + 1)),
        tuple(-(-darts * part // servers) for part in (index, index + 1)),
        tuple(part * (darts // servers) + min(part, darts % servers) for part in (index, index + 1)),
        tuple(part * (darts // servers) + max(0, part - servers + darts % servers) for part in (index, index + 1)),
        tuple(round(darts * part / servers) for part in (index, index + 1)),
    }
    return True if tuple(got) in cuts else "a dart would be thrown twice, or by nobody, where this share meets the next"


EXERCISES = by_name(
    Exercise(
        "standard_error",
        lambda: [(1, 2), (50, 100), (785, 1000), (785_398, 1_000_000)],
        expected=_spread_of_one_dart,
        hint="with p = inside / samples it is 4 · √(p · (1 − p) / samples).",
    ),
    Exercise(
        "darts_for",
        lambda: [(1.0,), (0.1,), (0.01,), (0.0016,), (1e-5,)],
        accepts=_enough,
        hint="solve 1.642 / √darts = wish for darts, and round up.",
    ),
    Exercise("share", _share_cases, accepts=_fair, hint="darts * index // servers is a good place to begin."),
)

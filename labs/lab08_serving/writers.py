"""What lab 08's watcher looks at: a writer's steps in a folder, with looks in between. Some fixed, some drawn."""

from course.checks.exercise import Case

MODEL, LABELS = "model.pt2", "labels.txt"
LOOK, RESTART = ("look",), ("restart",)


def whole(number, text="a"):
    """Return the steps that write a complete version."""
    return [("write", f"{number}/{MODEL}", text), ("sums", f"{number}", {MODEL: text})]


def back(*numbers):
    """Return the step that rolls versions back."""
    return ("write", "rolled_back.json", str(list(numbers)))


def aside(number, text="a"):
    """Return the steps that write a version beside its place and rename it, with a look before."""
    return [*whole(f"{number}.part", text), LOOK, ("rename", f"{number}.part", f"{number}")]


def cut(number, text="a"):
    """Return the steps that write the checksums in two goes, with a look after each but the last."""
    begun = ("write", f"{number}/checksums.json", '{"model.pt2": "ca97')
    return [("write", f"{number}/{MODEL}", text), LOOK, begun, LOOK, ("sums", f"{number}", {MODEL: text})]


def two_files(number, text="a"):
    """Return the steps that write a version of two files, the checksums first, with a look before each file."""
    sums = ("sums", f"{number}", {MODEL: text, LABELS: "0 1"})
    return [sums, LOOK, ("write", f"{number}/{MODEL}", text), LOOK, ("write", f"{number}/{LABELS}", "0 1")]


def replaced(number, text="a"):
    """Return the steps that write another file than the checksums are of, of the same size, and put it right."""
    return [("write", f"{number}/{MODEL}", "?"), ("sums", f"{number}", {MODEL: text}), LOOK, *whole(number, text)]


def removed(number):
    """Return the steps that remove a version file by file, with a look after each."""
    return [("remove", f"{number}/{MODEL}"), LOOK, RESTART, LOOK, ("remove", f"{number}"), LOOK]


def folders(draw):
    """Return `Case`s of (version served at first, steps) in the groups come and go, half written and rolled back."""
    cases = [Case(one, edge=True, group=group) for group, each in fixed_folders().items() for one in each]
    ways = {
        "come and go": (whole, aside),
        "half written": (cut, two_files, replaced),
        "rolled back": (whole, aside),
    }
    return cases + [Case((0, work(draw, group, ways[group])), group=group) for group in ways for _ in range(2)]


def work(draw, group, ways):
    """Return the steps of a writer that writes five versions, in these ways, and removes one or rolls one back."""
    numbers = draw.permutation([*range(1, 8), 9, 10, 11, 20, 99, 100])[:5].tolist()
    steps = []
    for count, number in enumerate(numbers):
        text = f"weights {draw.integers(1000)}"
        steps += [*ways[int(draw.integers(len(ways)))](number, text), LOOK]
        gone = max(numbers[: count + 1])
        if group == "rolled back" and count in (1, 3):
            steps += [back(gone), LOOK]
        elif group != "rolled back" and count == 2:
            steps += removed(gone) if group == "half written" else [("remove", f"{gone}"), LOOK, RESTART, LOOK]
            numbers = [one if one != gone else 0 for one in numbers]
    return steps


def fixed_folders():
    """Return group -> (served at first, steps): the cases that everybody gets, the smallest first."""
    no_versions = [step for name in ("007", "1_0", "latest") for step in whole(name)]
    return {
        "come and go": [
            (0, [*whole(1), LOOK]),
            (0, [LOOK]),
            (0, [*whole(1), LOOK, *whole(2), LOOK]),
            (0, [*whole(2), LOOK, *whole(1), LOOK]),
            (0, [*whole(9), *whole(10), LOOK]),
            (0, [*aside(3), LOOK]),
            (0, [*whole(2), LOOK, ("remove", "2"), LOOK, RESTART, LOOK]),
            (5, [LOOK, *whole(4), LOOK]),
            (0, [*whole(1), ("write", "2", "a"), LOOK]),
            (0, [*no_versions, LOOK]),
            (0, [*whole(1), ("write", "1/notes.txt", "b"), LOOK]),
        ],
        "half written": [
            (0, [("write", "1/model.pt2", "a"), LOOK]),
            (0, [("sums", "1", {MODEL: "a"}), LOOK, ("write", "1/model.pt2", "a"), LOOK]),
            (0, [*replaced(1), LOOK]),
            (0, [*cut(1), LOOK]),
            (0, [("write", "1/model.pt2", "a"), ("write", "1/checksums.json", ""), LOOK]),
            (0, [*two_files(1), LOOK]),
            (0, [*whole(9), *cut(10), LOOK]),
            (0, [*whole(1), *whole(2), LOOK, *removed(2)]),
        ],
        "rolled back": [
            (0, [*whole(9), *whole(10), LOOK, back(10), LOOK]),
            (0, [*whole(1), LOOK, back(1), LOOK]),
            (0, [*whole(1), back(10), LOOK]),
            (0, [*whole(1), *whole(2), back(2), LOOK, *whole(3), LOOK]),
            (0, [*whole(1), *whole(2), back(2), LOOK, back(), LOOK]),
            (0, [*whole(1), *whole(2), back(2, 1), LOOK]),
        ],
    }

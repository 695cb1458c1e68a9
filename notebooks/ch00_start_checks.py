"""The exercise of chapter 00: small, to see how an exercise and its check work."""

from course.checks.exercise import Exercise, by_name


def count_bytes(rows: int, columns: int) -> int:
    """Count the bytes of a float32 matrix, number by number: the definition, as loops."""
    count = 0
    for _ in range(rows):
        for _ in range(columns):
            count += 4
    return count


EXERCISES = by_name(
    Exercise(
        "matrix_bytes",
        lambda: [(1, 1), (1, 2), (2, 1), (3, 5), (0, 4), (100, 30)],
        count_bytes,
        hint="a float32 number has 4 bytes",
    )
)

"""How lab 04's answers are driven: by functions, and data, that are an answer to nothing.

The same text drives them in the notebook and in the sandbox of a submission, so it needs numpy only.
"""

import numpy


def by_initial(line):
    """A mapper: the rest of every word of a line, which may be nothing, under the word's first letter."""
    return [(word[0], word[1:]) for word in line.split()]


def bracket(left, right):
    """A join that shows what was joined to what: neither the order nor the grouping can be hidden from it."""
    return f"({left}{right})"


def drive_brackets(entry, parts):
    """Map by initials, and join in brackets."""
    return entry(parts, by_initial, bracket)


def drive_kept(entry, jobs, places, old, new):
    """Return the answer, jobs and places, and then its input as it is now."""
    there, pinned = entry(jobs, places, old, new)
    return dict(there), list(pinned), jobs, places


def drive_once(entry, blocks):
    """Give the blocks, as float32 arrays, in a form that can be read once, as data that arrive over a wire."""
    return entry(iter([numpy.array(block, numpy.float32) for block in blocks]))


def drive_refused(entry, jobs, place):
    """Return whether `entry` raised ValueError, which is right where there is no such place, and what it returned."""
    try:
        return False, entry(jobs, place)
    except ValueError:
        return True, None

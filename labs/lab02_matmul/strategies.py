"""Legal inputs of lab 02's exercises, as Hypothesis draws them and makes them smaller. Loaded when a check looks on."""

from hypothesis import strategies as st

LANES = ["product", "to device", "from device"]
SECONDS = st.sampled_from([0.001, 0.002, 0.004, 0.01, 0.02, 0.05, 0.1])


def devices():
    """Microseconds of each call, of handing over, of the set-up; and how many calls count."""
    return st.tuples(
        st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 5), st.integers(0, 50), st.integers(1, 5)
    )


def timelines():
    """Lists of up to four events."""
    event = st.builds(
        lambda what, start, length: {"what": what, "start": start, "end": start + length},
        *[st.sampled_from(LANES), st.integers(0, 12), st.integers(1, 9)],
    )
    return st.tuples(st.lists(event, max_size=4))


def sheets_and_shapes():
    """Round figures, so that each of the limits decides somewhere."""
    sheet = st.fixed_dictionaries(
        {
            "operations": st.sampled_from([1e6, 1e3, 1e9]),
            "memory": st.sampled_from([1e6, 1e3, 1e9]),
            "bus": st.sampled_from([1e6, 1e3]),
            "launch": st.sampled_from([1e-6, 1e-3, 1.0]),
            "latency": st.sampled_from([1e-3, 1e-6]),
        }
    )
    return st.tuples(sheet, *[st.integers(1, 9)] * 3)


def traces():
    """Rows at sizes that double; seconds from a short list, so that ties happen, and no crossing is nearly one."""
    row = st.tuples(SECONDS, SECONDS, st.sampled_from([0.0, 0.001, 0.01]))
    rows = st.lists(row, min_size=1, max_size=4).map(
        lambda found: [{"n": 64 * 2**k, "cpu": c, "gpu": g, "copies": m} for k, (c, g, m) in enumerate(found)]
    )
    return st.tuples(rows, st.booleans())


def pay_times():
    """Small whole microseconds."""
    return st.tuples(st.integers(1, 20), st.integers(1, 10), st.integers(0, 40), st.integers(0, 10))

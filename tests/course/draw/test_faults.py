"""The timeline of faults: its words, where they stand, and that it draws whatever a training left."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from course.draw import faults as draw_faults
from course.draw.faults import _extent, _places, words_of
from course.training.records import RECORD, Event

WORKER, PS = "/job:worker/task:1", "/job:ps/task:0"


def history(rows):
    return np.array(rows, dtype=RECORD)


TWO_WORKERS = history([(n + 1, n % 2, max(0, n - 1), 9.0 / (n + 1), 0.1 * n, 0.1 * n) for n in range(40)])


def test_the_alternative_text_tells_every_event_in_order_with_its_time():
    events = [Event(3.0, "ps lost", PS, 30), Event(1.0, "killed", WORKER, 10), Event(3.5, "restored", "", 20)]
    shown = draw_faults(TWO_WORKERS, events, "A title")
    assert shown.alt == ("A title. at 1.0 s: worker 1 killed; at 3.0 s: ps 0 lost; at 3.5 s: restored from step 20.")
    for words in ("worker 1 killed", "ps 0 lost", "restored from step 20", "A title"):
        assert words in shown.html


def test_the_same_history_is_the_same_bytes_and_every_id_that_is_used_is_there():
    events = [Event(1.0, "killed", WORKER, 10), Event(3.0, "ps lost", PS, 30), Event(3.5, "checkpoint saved", "", 20)]
    kept = [draw_faults(TWO_WORKERS, events, "A title") for _ in range(3)]  # other objects at other addresses
    assert len({shown.html for shown in kept}) == 1
    given_ids = set(re.findall(r' id="([^"]+)"', kept[0].html))
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', kept[0].html)) <= given_ids


def test_a_saved_checkpoint_is_a_tick_and_has_no_words():
    shown = draw_faults(TWO_WORKERS, [Event(1.0, "checkpoint saved", "", 10)], "A title")
    assert "Nothing was lost" in shown.alt and "checkpoint saved" not in shown.html and "| checkpoint" in shown.html


def test_words_say_the_short_name_once():
    assert words_of(Event(0.0, "worker joined", WORKER, 1)) == "worker 1 joined"
    assert words_of(Event(0.0, "frozen", WORKER, 1)) == "worker 1 frozen"
    assert words_of(Event(0.0, "chief took over", "", 1)) == "chief took over"


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(0, 60), st.sampled_from(["killed", "worker lost", "restored"])), max_size=12))
def test_words_in_one_row_never_overlap_and_never_leave_the_picture(drawn):
    events = sorted((Event(at, what, WORKER, 7) for at, what in drawn), key=lambda event: event.seconds)
    placed = _places(events, 60.0)
    by_row = {}
    for event in events:
        left, right = _extent(event, 60.0)
        assert left >= 0 and right <= 1.0001
        if id(event) in placed:
            by_row.setdefault(placed[id(event)], []).append((left, right))
    for spans in by_row.values():
        assert all(first[1] <= second[0] for first, second in zip(spans, spans[1:], strict=False))


def test_pictures_can_be_drawn_of_a_training_that_diverged_or_never_began():
    wild = TWO_WORKERS.copy()
    wild["loss"][3:] = np.inf
    for rows in (wild, TWO_WORKERS[:0]):
        assert "<svg" in draw_faults(rows, [], "A title").html
    assert "<svg" in draw_faults(TWO_WORKERS[:0], [Event(0.0, "killed", WORKER, 0)], "A title", until=2.0).html

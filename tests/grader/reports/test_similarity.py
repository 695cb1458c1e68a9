"""The similarity report: a copy is found under other names and another layout; the task's own likeness is not."""

from hypothesis import given
from hypothesis import strategies as st

from grader.reports.similarity import FEWEST, fingerprints, report, similar

OWN = """
def film(board, generations, step):
    frames = [board]
    while len(frames) <= generations:
        frames.append(step(frames[-1]))
    shown = np.stack(frames)
    if shown.shape[0] != generations + 1 or not shown.any():
        raise ValueError(f"{shown.shape} of {generations}")
    return shown.astype(np.uint8, copy=False)[: generations + 1]
"""
COPY = """
# all my own work
def film(b, n, f):
  out = [ b ]   # begin
  while len(out) <= n:
    out.append( f(out[-1]) )

  res = np.stack(out)
  if res.shape[0] != n + 1 or not res.any():
    raise ValueError('oops')
  return res.astype(np.uint8, copy=False)[: n + 1]
"""
OTHER = """
def film(board, generations, step):
    found = np.zeros((generations + 1, *board.shape), dtype=np.uint8)
    found[0] = board
    for number, frame in enumerate(found[:-1], start=1):
        found[number] = step(frame)
    return found
"""


def test_a_copy_with_other_names_and_layout_is_found():
    (pair,) = similar({"ada": OWN, "bob": COPY, "cyd": OTHER})
    assert (pair.first, pair.second) == ("ada", "bob")
    assert pair.share > 0.9
    assert "Alike is not copied" in report([pair], 3)[0]


def test_what_the_release_gives_and_what_much_of_the_class_shares_counts_for_nothing():
    assert similar({"ada": OWN, "bob": OWN}, given=OWN) == []
    assert similar({f"student{number}": OWN for number in range(5)}) == []


def test_little_text_says_nothing():
    assert similar({"ada": "x = 1 + 2", "bob": "y = 3 + 4"}) == []
    assert len(fingerprints("x = 1 + 2")) < FEWEST


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    assert fingerprints(text) == fingerprints(text)

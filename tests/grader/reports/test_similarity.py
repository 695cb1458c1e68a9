"""The similarity report: a copy is found under other names and another layout; the task's own likeness is not."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from grader.reports import similarity
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
    found = similar({"ada": OWN, "bob": COPY, "cyd": OTHER})
    (pair,) = found.pairs
    assert (pair.first, pair.second) == ("ada", "bob")
    assert pair.share > 0.9
    assert "Alike is not copied" in report(found, 3)[0]


def test_parentheses_that_change_nothing_hide_no_copy():
    hidden = OWN.replace("board]", "(board)]").replace("step(frames[-1])", "(step((frames[(-1)])))")
    hidden = hidden.replace("len(frames) <= generations", "(len((frames))) <= (generations)").replace(
        "shown =", "(shown) ="
    )
    hidden = hidden.replace("generations + 1", "((generations) + (1))").replace(
        "not shown.any()", "(not (shown.any()))"
    )
    (pair,) = similar({"ada": OWN, "bob": hidden}).pairs
    assert pair.share > 0.9


def test_twenty_lines_are_printed_and_a_file_has_them_all(tmp_path, monkeypatch):
    monkeypatch.setattr(similarity, "lines", lambda *_: [f"line {number}" for number in range(50)])
    assignment = SimpleNamespace(course=SimpleNamespace(records=tmp_path), lab=SimpleNamespace(name="lab03"))
    said = similarity.tell(assignment)
    assert said[:20] == [f"line {number}" for number in range(20)] and len(said) == 21
    path = tmp_path / "similarity" / "lab03.txt"
    assert str(path) in said[-1] and "30 more" in said[-1]
    assert path.read_text().splitlines()[-1] == "line 49"


def test_what_the_release_gives_and_what_much_of_the_class_shares_counts_for_nothing():
    assert similar({"ada": OWN, "bob": OWN}, released=OWN).pairs == ()
    found = similar({f"student{number}": OWN for number in range(5)})
    assert found.pairs == found.together == ()
    assert found.dropped == len(fingerprints(OWN))
    assert f"{found.dropped} passages were left out as common: more than 3 of 5 students" in report(found, 5)[1]


def test_a_group_too_large_for_pairs_is_told_by_what_was_left_out_as_common():
    own = {f"student{number}": OTHER for number in range(12)}
    found = similar({**own, **dict.fromkeys(["ada", "bob", "cyd", "dan", "eve"], COPY)})
    assert found.pairs == ()
    (most, group), *_ = found.together
    assert group == ("ada", "bob", "cyd", "dan", "eve") and most > 0.9 * len(fingerprints(COPY))
    assert "are the same 5 students': ada, bob, cyd, dan, eve" in "\n".join(report(found, 17))


def test_pairs_that_share_a_student_are_shown_as_one_group():
    half = (
        "\n".join(OWN.splitlines()[:6])
        + "\n    return [shown.copy() for shown in frames if shown.any() or len(frames) > 3]"
    )
    answers = {"ada": OWN, "bob": COPY, "cyd": half, "dan": OTHER, **{f"student{n}": f"x{n} = {n}" for n in range(9)}}
    found = similar(answers, least=0.3)
    assert found.clusters == (("ada", "bob", "cyd"),)
    assert "a group of 3: ada, bob, cyd" in report(found, 13)


def test_little_text_says_nothing():
    assert similar({"ada": "x = 1 + 2", "bob": "y = 3 + 4"}).pairs == ()
    assert len(fingerprints("x = 1 + 2")) < FEWEST


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    assert fingerprints(text) == fingerprints(text)

"""Boards, rules, the op and the engines: every fast version equals counting by hand."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course import life
from course.life.op import life_step_in_torch

BLOCK, BLINKER, GLIDER = (life.pattern(name) for name in ("block", "blinker", "glider"))
RULES = st.builds(
    lambda born, kept: f"B{''.join(map(str, sorted(born)))}/S{''.join(map(str, sorted(kept)))}",
    st.sets(st.integers(0, 8)),
    st.sets(st.integers(0, 8)),
)


@st.composite
def boards(draw, largest=18):
    height = draw(st.integers(1, largest) | st.sampled_from([32, 48, 64, 65, 72, 128, 130]))
    width = draw(st.integers(1, largest))
    cells = draw(st.binary(min_size=height * width, max_size=height * width))
    return torch.tensor(list(cells), dtype=torch.uint8).view(height, width) & 1


def reference(board, generations, rule="B3/S23", wrap=True):
    for _ in range(generations):
        board = life.reference_step(board, rule, wrap)
    return board


@pytest.mark.parametrize("engine", life.ENGINES)
@settings(max_examples=60)
@given(board=boards(), generations=st.integers(0, 6), rule=st.just("B3/S23") | RULES, wrap=st.booleans())
def test_every_engine_equals_counting_one_by_one(engine, board, generations, rule, wrap):
    if engine == "packed" and rule not in ("B3/S23", "B36/S23"):
        # a rule is compiled once: three are enough, not hundreds
        rule = "B0347/S148" if len(str(rule)) % 2 else "B36/S23"
    before = board.clone()
    got = life.run(board, generations, engine, rule, wrap)
    assert got.dtype == torch.uint8 and torch.equal(got, reference(board, generations, rule, wrap))
    assert torch.equal(board, before)  # the given board is left alone


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 5), (5, 1), (1, 2), (2, 1), (2, 2), (2, 7), (8, 1), (8, 2), (64, 1), (1, 64)]
)
def test_the_smallest_boards_count_wrapped_neighbours_as_often_as_they_are_met(shape, wrap):
    board = torch.ones(shape, dtype=torch.uint8)
    board.view(-1)[1::3] = 0
    for rule in ("B3/S23", "B36/S23", "B0347/S148"):
        wanted = reference(board, 3, rule, wrap)
        for engine in life.ENGINES:
            assert torch.equal(life.run(board, 3, engine, rule, wrap), wanted), (engine, rule)


@pytest.fixture
def taken(monkeypatch):
    """The names of the engines that ran, in order; none of them computes."""
    names = []
    for name in life.ENGINES:
        monkeypatch.setitem(life.ENGINES, name, lambda board, *_, name=name: names.append(name) or board)
    return names


@pytest.mark.parametrize(
    ("shape", "generations", "loaded", "engine"),
    [
        ((8, 8), 10, False, "roll"),  # reading the kernels would take half a second
        ((8, 8), 10, True, "packed"),
        ((8, 8), 10_000, False, "packed"),
        ((256, 256), 8, False, "packed-torch"),
        ((257, 257), 9, False, "roll"),  # neither side divides
        ((1024, 1024), 10_000, False, "packed"),
    ],
)
def test_auto_counts_the_start_of_an_engine_too(shape, generations, loaded, engine, taken, monkeypatch):
    monkeypatch.setattr("course.life.packed.loaded", lambda: loaded)
    life.run(life.empty(*shape), generations)
    assert taken == [engine]


@pytest.mark.parametrize(("shape", "engine"), [((2048, 257), "packed-torch"), ((1024, 257), "roll")])
def test_auto_asks_for_frames_what_pays_for_one_generation(shape, engine, taken, monkeypatch):
    monkeypatch.setattr("course.life.packed.loaded", lambda: False)
    assert len(list(life.frames(life.empty(*shape), 2))) == 3
    assert taken == [engine] * 2


def test_frames_that_go_on_and_on_are_worth_the_start_of_a_fast_engine(taken, monkeypatch):
    monkeypatch.setattr("course.life.packed.loaded", lambda: False)
    board = life.empty(257, 255)  # 160 µs a generation by roll: 0.5 s are over after some 3,000
    assert len(list(life.frames(board, 5000))) == 5001
    assert taken == ["roll"] * 5000  # at 2,048 as many again would take 0.3 s, at 4,096 only 904 are left
    taken.clear()
    assert len(list(life.frames(board, 8000))) == 8001
    assert taken == ["roll"] * 4095 + ["packed"] * 3905


@pytest.mark.parametrize(
    "following",
    [life.step, life.reference_step, lambda b, **o: life.run(b, 1, **o), lambda b, **o: [*life.frames(b, 1, **o)][1]],
)
def test_edges_meet_unless_they_are_told_not_to(following):
    board = life.put(life.empty(6, 7), BLINKER, row=5, column=2)
    meeting = life.put(life.empty(6, 7), BLINKER.T.contiguous(), row=4, column=3)  # its last cell is in row 0
    assert torch.equal(following(board), meeting) and torch.equal(following(board, wrap=True), meeting)
    assert following(board, wrap=False).tolist() == [[0] * 7] * 4 + [[0, 0, 0, 1, 0, 0, 0]] * 2


def test_without_wrapping_a_glider_ends_as_a_block_in_the_corner():
    end = life.run(life.put(life.empty(12, 12), GLIDER), 60, wrap=False)
    assert torch.equal(end[10:, 10:], BLOCK) and end.sum() == 4


def test_the_op_compiles_into_one_graph():
    board = life.put(life.empty(6, 7), BLINKER, 2, 2)
    compiled = torch.compile(life.step, fullgraph=True, backend="eager")
    assert torch.equal(compiled(board), life.step(board))


@settings(max_examples=30)
@given(board=boards(), rule=st.just("B3/S23") | RULES, wrap=st.booleans())
def test_the_gpus_kernel_gives_the_cells_of_the_cpus(board, rule, wrap):
    before = board.clone()
    got = life_step_in_torch(board, rule, wrap)
    assert got.dtype == torch.uint8 and torch.equal(got, life.step(board, rule, wrap))
    assert torch.equal(board, before) and got.data_ptr() != board.data_ptr()


def test_the_op_has_a_kernel_for_cpu_cuda_and_mps_and_no_other_that_would_hide_a_missing_one():
    keys = ("CPU", "CUDA", "MPS", "XPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
    has = [key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key("course::life_step", key)]
    assert has == ["CPU", "CUDA", "MPS"]


def test_the_op_passes_torchs_own_checks_on_each_device_that_is_here():
    for device in ["cpu", *(name for name in ("cuda", "mps") if getattr(torch, name).is_available())]:
        board = life.put(life.empty(6, 7), BLINKER, 2, 2).to(device)
        torch.library.opcheck(torch.ops.course.life_step, (board, "B36/S23", False))
        assert torch.equal(life.step(board).cpu(), life.step(board.cpu()))


def test_a_gradient_through_a_generation_is_refused_at_either_door():
    board = life.put(life.empty(5, 5), BLINKER, 2, 1)
    with pytest.raises(RuntimeError, match="floating point"):
        board.requires_grad_()
    with pytest.raises(TypeError, match="float32"):
        life.step(board.float().requires_grad_())
    assert not life.step(board).requires_grad


def test_the_op_accepts_boards_that_are_views():
    wide = life.random_board(12, 9, 0.5, torch.Generator().manual_seed(2))
    for view in (wide.T, wide[::2, 1:], wide.flip(0)):
        for engine in life.ENGINES:
            assert torch.equal(life.run(view, 2, engine), reference(view.contiguous(), 2))


def test_frames_begin_with_the_board_itself():
    board = life.put(life.empty(5, 5), BLINKER, 2, 1)
    first, second, third = life.frames(board, 2)
    assert torch.equal(first, board) and torch.equal(third, board) and torch.equal(second, life.step(board))


@given(st.sets(st.integers(0, 8)), st.sets(st.integers(0, 8)))
def test_a_rule_reads_back_from_its_own_text(born, kept):
    rule = life.Rule(tuple(sorted(born)), tuple(sorted(kept)))
    assert life.Rule.parse(str(rule)) == rule


@pytest.mark.parametrize("value", [life.Rule.parse("B3/S23"), life.Cycle(0, 2)])
def test_rules_and_cycles_are_values_that_nobody_changes(value):
    (name, *_) = vars(value)
    with pytest.raises(AttributeError):
        setattr(value, name, 1)
    assert {value: 1}[type(value)(**vars(value))] == 1  # alike, so the same key


@pytest.mark.parametrize("text", ["b3s23", "S23/B3", "23/3", " B3 / S23 ", "B33/S32"])
def test_other_spellings_of_conways_rule_are_read(text):
    assert life.Rule.parse(text) == life.Rule((3,), (2, 3))


@pytest.mark.parametrize("text", ["", "B9/S23", "conway", "B3/S2x", None, 3])
def test_a_malformed_rule_is_refused_with_the_legal_form(text):
    with pytest.raises(ValueError, match="B3/S23"):
        life.run(BLINKER, 1, rule=text)


@pytest.mark.parametrize(
    ("board", "words"),
    [
        (torch.full((3, 3), 2, dtype=torch.uint8), r"cell \(0, 0\) is 2"),
        (torch.zeros(3, 3), "float32"),
        (torch.zeros(9, dtype=torch.uint8), r"shape \(9,\)"),
        (torch.zeros(0, 3, dtype=torch.uint8), r"shape \(0, 3\)"),
        ([[0, 1]], "list"),
    ],
)
@pytest.mark.parametrize("call", [lambda b: life.run(b, 1), life.reference_step, life.to_text, life.find_cycle])
def test_a_board_that_is_none_is_refused_with_what_was_given(board, words, call):
    with pytest.raises((TypeError, ValueError), match=words) as error:
        call(board)
    assert "torch.uint8 tensor of shape (height, width) that holds 0 and 1" in str(error.value)


def test_other_bad_arguments_are_named():
    for wrong, words in [
        (lambda: life.run(BLINKER, 1, engine="pakced"), "Nearest: 'packed'"),
        (lambda: life.run(BLINKER, -1), r"generations=-1"),
        (lambda: life.run(BLINKER, 1.5), r"generations=1.5"),
        (lambda: life.random_board(3, 3, 2), "density=2"),
        (lambda: life.empty(0, 3), "height=0"),
        (lambda: life.put(life.empty(2, 2), BLINKER), r"1 × 3 cells, the board 2 × 2"),
        (lambda: life.from_text("..x"), "line 1 holds 'x'"),
        (lambda: life.from_text("..\n.\n.zx"), "line 3 holds 'x'"),
        (lambda: life.empty(3, 0), "width=0"),
        (lambda: life.random_board(0, 3), "height=0"),
        (lambda: life.random_board(3, 3, -0.1), "density=-0.1"),
        (lambda: life.put(life.empty(2, 3), life.empty(3, 2)), r"3 × 2 cells, the board 2 × 3.\n.*empty\(3, 3\)"),
        (lambda: life.from_text(""), "empty"),
        (lambda: life.step(torch.tensor([[0, 1], [0, 7]], dtype=torch.uint8)), r"step\(board=…\): cell \(1, 1\) is 7"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()


def test_the_smallest_boards_and_both_ends_of_density_are_legal():
    assert life.empty(1, 1).tolist() == [[0]]
    assert life.random_board(4, 5, 0).sum() == 0 and life.random_board(4, 5, 1).sum() == 20
    assert life.put(life.empty(1, 3), BLINKER, row=5, column=-1).tolist() == [[1, 1, 1]]
    assert life.from_text("*.\n O\n").tolist() == [[1, 0], [1, 0]]


def test_a_pattern_is_put_where_it_is_asked_for_and_over_whatever_lies_there():
    board = torch.ones(4, 5, dtype=torch.uint8)
    filled = life.put(board, torch.tensor([[0, 1], [0, 0]], dtype=torch.uint8), row=3, column=4)
    assert filled.tolist() == [[0, 1, 1, 1, 0], [1] * 5, [1] * 5, [1, 1, 1, 1, 0]] and board.min() == 1
    assert life.put(board, life.empty(1, 1)).tolist()[0] == [0, 1, 1, 1, 1]


def test_the_neighbours_of_a_corner_are_three_or_eight_and_never_itself():
    from course.life.edges import neighbours

    assert sorted(neighbours((0, 0), 3, 4, wrap=False)) == [(0, 1), (1, 0), (1, 1)]
    assert sorted(neighbours((2, 3), 3, 4, wrap=False)) == [(1, 2), (1, 3), (2, 2)]
    assert sorted(neighbours((0, 0), 3, 4)) == [(0, 1), (0, 3), (1, 0), (1, 1), (1, 3), (2, 0), (2, 1), (2, 3)]


def test_random_boards_have_their_density_and_come_from_their_generator_or_torchs_own():
    first, second = (life.random_board(200, 200, 0.3, torch.Generator().manual_seed(4)) for _ in range(2))
    with torch.random.fork_rng():
        halves = [life.random_board(100, 100) for seed in (3, 3, 4) if torch.manual_seed(seed)]
    assert torch.equal(first, second) and torch.equal(*halves[:2]) and not torch.equal(*halves[1:])
    assert abs(halves[0].float().mean() - 0.5) < 4 * 0.5 / 100  # a standard error is 0.5 / 100
    standard_error = (0.3 * 0.7 / 40_000) ** 0.5
    assert abs(first.float().mean() - 0.3) < 4 * standard_error

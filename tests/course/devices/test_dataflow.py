"""Who made what another op reads: edges of a program, equal to those that the program was written with."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from course.devices import log_placement
from course.devices.dataflow import Edge, edges, without_views

#: (op, places of its inputs among all values so far, counted from the last); value 0 and 1 are inputs of the program.
PROGRAMS = st.lists(
    st.tuples(st.sampled_from(["add", "mul", "neg", "t"]), st.integers(0, 5), st.integers(0, 5)), max_size=9
)


@given(PROGRAMS)
def test_edges_are_those_of_the_program_that_ran(program):
    values, makers, expected = [torch.ones(2, 3), torch.ones(2, 3)], [None, None], set()
    with log_placement() as log:
        for op, *picks in program:
            picks = [pick % len(values) for pick in picks][: 2 if op in ("add", "mul") else 1]
            same = [pick for pick in picks if values[pick].shape == values[picks[0]].shape]
            picks = same if len(same) == len(picks) else [picks[0]] * len(picks)
            if op == "t":
                values.append(
                    values[picks[0]].clone().t()
                )  # of a fresh tensor, so that shapes tell view and base apart
                makers += [len(log) - 1]
                expected |= {(makers[picks[0]], len(log) - 2), (len(log) - 2, len(log) - 1)}
                continue
            values.append(getattr(torch, op)(*(values[pick] for pick in picks)))
            expected |= {(makers[pick], len(log) - 1) for pick in picks}
            makers.append(len(log) - 1)
    assert {(edge.source, edge.target) for edge in log.edges()} == {pair for pair in expected if pair[0] is not None}


def test_an_op_in_place_is_the_maker_of_what_is_read_afterwards_also_through_a_view():
    with log_placement() as log:
        x = torch.zeros(3)
        x[0].add_(1)
        x.sum()
    names = [r.op for r in log]
    found = {(names[edge.source], names[edge.target]) for edge in log.edges()}
    assert found == {("zeros", "select"), ("select", "add_"), ("add_", "sum")}


def test_memory_that_is_used_again_belongs_to_who_filled_it_last():
    ops = [
        ([], [(7, (2,))], False),
        ([(7, (2,))], [(8, (2,))], False),
        ([], [(7, (2,))], False),
        ([(7, (2,))], [(9, ())], False),
    ]
    assert edges(ops) == [Edge(0, 1), Edge(2, 3)]


def test_what_nobody_logged_has_no_maker():
    assert edges([([(5, (2,))], [(6, (2,))], False), ([(0, (2,))], [(0, (2,))], False), ([(0, (2,))], [], False)]) == []


def test_without_views_a_reader_is_joined_to_what_the_view_is_of():
    chain = [Edge(0, 1), Edge(1, 2), Edge(2, 3)]
    assert without_views(chain, {1, 2}) == [Edge(0, 3)]
    assert without_views([Edge(1, 2)], {1}) == [], "a view of an input"


def test_backward_reads_what_forward_made():
    x, w = torch.ones(2, 3), torch.ones(3, 4, requires_grad=True)
    with log_placement() as log:
        (x @ w).exp().sum().backward()
    names = [("backward " if r.backward else "") + r.op for r in log]
    found = {
        (names[edge.source], names[edge.target])
        for edge in without_views(log.edges(), {n for n, r in enumerate(log) if r.view})
    }
    assert {("mm", "exp"), ("exp", "sum"), ("exp", "backward mul"), ("backward mul", "backward mm")} <= found


def test_the_graph_shows_its_edges_as_lines():
    with log_placement() as log:
        ((torch.ones(3) + 1).sum() * 2).item()
    picture = log.graph("A sum")
    assert picture.html.count('class="edge"') == len(log.edges()) == 4
    assert "A sum" in picture.html

"""The line's route: ipykernel of three kinds, each with the comm that it has."""

import pytest
from comm.base_comm import BaseComm

from course.widgets.exhibits.wire import Wire


class Comm(BaseComm):
    """One that sends nothing, as ipykernel before 7.4 has."""

    def publish_msg(self, *arguments, **settings):
        """Send nothing."""


class Routed(Comm):
    """As ipykernel 7.4 has: answers go to the thread that spoke last."""

    def _reply_subshell_for(self, data, default):
        return "the cell's"


class Otherwise(Comm):
    """As a later one may have."""

    def _reply_subshell_for(self, message):
        return "the cell's"


@pytest.mark.parametrize(
    ("comm", "is_heard", "question", "route"),
    [(Routed, True, ({}, "its own"), "its own"), (Comm, True, None, None), (Otherwise, False, ({},), "the cell's")],
)
def test_the_page_is_heard_where_it_asked_to_be_and_a_route_of_another_kind_is_left_as_it_is(
    comm, is_heard, question, route
):
    wire = Wire(key="a")
    wire.comm = comm()
    assert wire.listen_while_a_cell_runs() is is_heard
    assert hasattr(wire.comm, "_reply_subshell_for") == (question is not None)
    assert question is None or wire.comm._reply_subshell_for(*question) == route
    wire.close()

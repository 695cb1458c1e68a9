"""The line's route: ipykernel of three kinds, each with the comm that it has."""

import pytest
from comm.base_comm import BaseComm

from course.widgets.exhibits.wire import Wire


class Comm(BaseComm):
    """One that sends nothing, as ipykernel before 7.4 has."""

    def publish_msg(self, *given, **named):
        """Send nothing."""


class Routed(Comm):
    """As ipykernel 7.4 has: answers go to the thread that spoke last."""

    def _reply_subshell_for(self, data, default):
        return "the cell's"


class Otherwise(Comm):
    """As a later one may have."""

    def _reply_subshell_for(self, message):
        return "the cell's"


@pytest.fixture
def wire():
    made = Wire(key="a")
    yield made
    made.close()


def test_the_page_is_heard_where_it_asked_to_be(wire):
    wire.comm = Routed()
    assert wire.listen_while_a_cell_runs() is True
    assert wire.comm._reply_subshell_for({}, "its own") == "its own"


def test_a_comm_without_a_route_is_left_as_it_is(wire):
    wire.comm = Comm()
    assert wire.listen_while_a_cell_runs() is True and not hasattr(wire.comm, "_reply_subshell_for")


def test_a_route_of_another_kind_is_left_as_it_is_and_nothing_fails(wire):
    wire.comm = Otherwise()
    assert wire.listen_while_a_cell_runs() is False
    assert wire.comm._reply_subshell_for("a message") == "the cell's"

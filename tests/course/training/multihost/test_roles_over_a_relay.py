"""Roles that find each other by `--route` alone: over slow lines, over one that is cut and mended, by a dead relay."""

import signal
from contextlib import ExitStack
from functools import partial

import pytest
import torch

from course.distance import Link
from course.training import linear_regression, train_in_turns
from course.training.checkpoint.checkpoints import Checkpoints
from tests.helpers.shells import Roles

STEPS = 12
pytestmark = pytest.mark.long


@pytest.fixture
def ports(free_ports):
    """A few, so low that the port of a scheduler above each is one too."""
    return [port for port in free_ports(30) if port < 60000][:6]


class Lines(ExitStack):
    """One process's lines to others: for each port of theirs a `Link` of its own, and the flag that leads by it."""

    def __init__(self, *ports, delay=0.0):
        super().__init__()
        self.links = {port: self.enter_context(Link(delay)) for port in ports}
        self.flags = []
        for port, link in self.links.items():
            self.flags += ["--route", "127.0.0.1:{}={}:{}".format(port, *link.to(("127.0.0.1", port)))]

    def cut(self):
        for link in self.links.values():
            link.cut()

    def mend(self):
        for link in self.links.values():
            link.join()


def test_roles_that_find_each_other_by_slow_lines_alone_train_to_the_same_bits(ports, tmp_path):
    first_ps, second_ps, worker, shard, second_shard = ports[:5]
    scheduler, delay = first_ps + 1000, 0.025
    flags = ["--problem", "linear", "--steps", STEPS, "--checkpoint-dir", "saved", "--patience", 120]
    with (
        Lines(second_ps, second_shard, delay=delay) as first_calls,  # with the scheduler in it, and shard 0
        Lines(scheduler, delay=delay) as second_calls,
        Lines(scheduler, first_ps, second_ps, shard, second_shard, delay=delay) as worker_calls,
        Roles([first_ps, second_ps, worker], tmp_path, *flags, ps=2) as roles,
    ):
        started = [
            roles.start("ps", 0, "--ports", shard, *first_calls.flags),
            roles.start("ps", 1, "--ports", second_shard, *second_calls.flags),
            roles.start("worker", 0, *worker_calls.flags),
        ]
        assert [role.ends(200) for role in started] == [0, 0, 0], [role.text for role in started]
        moved = [link.moved for calls in (first_calls, second_calls, worker_calls) for link in calls.links.values()]
        assert len(moved) == 8 and min(min(both) for both in moved) > 0, moved
    far = Checkpoints(tmp_path / "saved").latest()
    near = train_in_turns(linear_regression(), optimizer=partial(torch.optim.SGD, lr=0.02), total_steps=STEPS)
    assert far.version == STEPS
    assert all(torch.equal(far.parameters[name], near.parameters[name]) for name in near.parameters)


@pytest.mark.faults
def test_a_cut_line_costs_one_role_until_it_is_mended_and_a_dead_relay_ends_it_in_time(ports, tmp_path):
    ps, first, second, shard = ports[:4]
    flags = ["--steps", 10**7, "--patience", 120, "--ports", shard]
    with Lines(ps + 1000, ps, shard) as lines, Roles([ps, first, second], tmp_path, *flags) as roles:
        server, near = roles.start("ps", 0), roles.start("worker", 0)
        near.says("waits for /job:worker/task:1")  # so that the other one need not be patient
        far = roles.start("worker", 1, *lines.flags, "--patience", 5)
        near.says("/job:worker/task:1 has joined: its first gradient is in step")
        lines.cut()
        near.says("/job:worker/task:1: worker counted out (nothing heard for 3 s)")
        server.says("/job:worker/task:1 has been silent for ")  # its scheduler, too: whoever is the later of the two
        lines.mend()
        near.says("/job:worker/task:1: worker joined")
        far.says("listens at", times=2)
        lines.close()
        assert far.ends(60) == 1, far.text  # 8 s of silence, 5 of its patience, and a busy machine
        assert "Traceback" not in far.text and "tries for 5 s to join again" in far.text
        near.says("/job:worker/task:1: worker lost")
        steps = len([line for line in near.lines if " updates · loss " in line])
        near.says(" updates · loss ", times=steps + 1)  # the other goes on
        for role in (near, server):
            role.signal(signal.SIGTERM)
            assert role.ends() == 128 + signal.SIGTERM

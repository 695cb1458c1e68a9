"""The short form of `make storm`: a few blows on a Slurm of another configuration, with two nodes."""

from tests.course.deploy.slurm_here import OTHER, need_slurm, slurm_here
from tests.slow.deploy.storm import storm


def test_a_training_outlives_jobs_nodes_and_a_controller_that_fail_and_nothing_is_left(tmp_path):
    need_slurm()
    with slurm_here(nodes=2, changes=OTHER) as slurm:
        found = storm(slurm, tmp_path, 1, ["slurmctld", "kill", "drain"], {"ps": 1, "worker": 2}, pauses=(0, 0.5))
    assert found.blows == ["slurmctld", "kill", "drain"] and found.wrong == [] and found.steps > 0

"""Copies of the work on several devices or processes: a product split, a module replicated, gradients averaged.

Read in this order: `shares` (how much each one gets), `split` (one product on several devices), `replicas` (one module
on several devices), `ring` (how processes add up gradients with no server), `ranks` (the same by `torch.distributed`,
on the tasks of a cluster).
"""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.replicas.ranks import RankError, run_ranks
    from course.replicas.replicas import Replicas, replicate
    from course.replicas.ring import ring_all_reduce
    from course.replicas.shares import shares
    from course.replicas.split import split_matmul

__all__ = ["RankError", "Replicas", "replicate", "ring_all_reduce", "run_ranks", "shares", "split_matmul"]

"""A cluster of named tasks: which there are, how they start, how work finds one, and what happens when one dies."""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.cluster.cluster import Cluster
    from course.cluster.local import local_cluster
    from course.cluster.multihost.connect import connect
    from course.cluster.spec import ClusterSpec
    from course.cluster.tape.tape import Tape

__all__ = ["Cluster", "ClusterSpec", "Tape", "connect", "local_cluster"]

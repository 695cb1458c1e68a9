"""A cluster of named tasks: which there are, how they start, how work finds one, and what happens when one dies.

In this order of reading: `spec` (which tasks, at which addresses), `local` and `local_runtime` (on this machine),
`multihost` (started by hand; `which_task` a process is), `task` (what runs inside one), `cluster`, `task_name` (where
work goes), `executor` and `outcomes` (how results come back), `chief_lease` (who becomes chief), `certificates`,
`routes`, `tape` (what happened), `dask_log` (which lines of Dask's log are dropped).
"""

import logging

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.cluster.cluster import Cluster
    from course.cluster.local import local_cluster
    from course.cluster.multihost.connect import connect
    from course.cluster.spec import ClusterSpec
    from course.cluster.tape.tape import Tape

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent where the program configures no log

__all__ = ["Cluster", "ClusterSpec", "Tape", "connect", "local_cluster"]

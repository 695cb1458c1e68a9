"""Clusters on other machines: the tasks' jobs go to Slurm, or their processes start over SSH, and lost ones come back.

The scheduler runs in the process that calls `deploy`; whatever runs elsewhere ends when that process does.
"""

import logging

from course.signals import held_back

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent where the program configures no log

with held_back():  # an interrupt finds every import done, or none
    from course.deploy.deploy import deploy

__all__ = ["deploy"]

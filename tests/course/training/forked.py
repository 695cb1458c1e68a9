"""A process of a test's own that has imported torch already: a fork server does it once for the whole test process."""

import multiprocessing


def forked(function, *arguments):
    """Start `function` in a process of its own, and return it; on Windows, which has no fork server, a fresh one."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(["course.training", "pytest"])  # once, not in each process
    process = context.Process(target=function, args=arguments)
    process.start()
    return process

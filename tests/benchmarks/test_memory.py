"""Memory of processes: what two share counts once, what has ended counts nothing."""

import subprocess
import sys

import psutil
import pytest

from benchmarks.scaling.memory import proportional, tree

SIZE = 64 * 2**20
#: Fills so many bytes and says so; its child shares them all, until the input ends.
PARENT = f"""
import os, sys
held = bytearray(os.urandom(4096)) * {SIZE // 4096}
child = os.fork()
if child:
    print("there", flush=True)
sys.stdin.read()
if child:
    os.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how many processes share a page")
def test_pages_that_two_processes_share_count_once():
    command = [sys.executable, "-I", "-S", "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "there\n"
        both = tree(process.pid)
        assert len(both) == 2 and both[0].pid == process.pid
        assert SIZE < proportional(both) < 1.5 * SIZE < 2 * SIZE < sum(one.memory_info().rss for one in both)
        process.stdin.close()
        process.wait(60)
        assert proportional(both) == 0 and tree(process.pid) == []


def test_without_a_number_the_tree_is_this_process_and_all_below_it():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found = tree()
        assert found[0] == psutil.Process() and child.pid in {one.pid for one in found}
        assert proportional(found[:1]) > 0

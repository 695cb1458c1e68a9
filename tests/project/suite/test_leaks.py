"""The leak check can fail: a planted process, port and thread are each found and named, and nothing else is."""

import socket
import subprocess
import sys
import threading

import pytest

from tests.helpers.leaks import check_leaks, leftovers

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


def complaint(before):
    with pytest.raises(pytest.fail.Exception) as caught:
        check_leaks(before, patience=0.2)
    return str(caught.value)


def test_a_process_left_behind_is_named():
    before = leftovers()
    process = subprocess.Popen(SLEEPER)
    try:
        said = complaint(before)
    finally:
        process.kill()
        process.wait(10)
    assert said.startswith("left behind: processes") and str(process.pid) in said and "time.sleep(60)" in said
    assert "ports" not in said and "threads" not in said
    check_leaks(before)


def test_a_grandchild_left_behind_is_named():
    before = leftovers()
    script = f"import subprocess, sys, time; p = subprocess.Popen({SLEEPER}); print(p.pid, flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    grandchild = process.stdout.readline().decode().strip()
    try:
        said = complaint(before)
    finally:
        subprocess.run(["kill", "-9", grandchild], check=True)
        process.kill()
        process.communicate(timeout=10)
    assert grandchild in said


def test_a_listening_port_left_behind_is_named():
    before = leftovers()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert complaint(before) == f"left behind: listening ports [{port}]"
    check_leaks(before)


def test_a_thread_left_behind_is_named_even_beside_one_of_its_name():
    end = threading.Event()
    threads = [threading.Thread(target=end.wait, args=(60,), name="twin") for _ in range(2)]
    threads[0].start()
    before = leftovers()
    threads[1].start()
    try:
        said = complaint(before)
    finally:
        end.set()
        for thread in threads:
            thread.join(10)
    assert said.startswith("left behind: threads") and said.count("twin") == 1


def test_a_cluster_left_open_is_named():
    from course.cluster import local_cluster

    local_cluster(worker=1).close()  # the fork server may stay
    before = leftovers()
    made = local_cluster(worker=1)
    try:
        said = complaint(before)
    finally:
        made.close()
    assert "listening ports" in said and "event loop" in said
    check_leaks(before)


def test_what_ends_in_time_is_no_leak():
    before = leftovers()
    thread = threading.Timer(0.3, lambda: None)
    thread.start()
    check_leaks(before)

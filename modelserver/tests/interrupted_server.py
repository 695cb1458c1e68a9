"""A program: start and close a local server again and again, with Ctrl-C at another line each time; print how many.

A process of its own, with one thread: in Python 3.11 a function that is entered under `sys.settrace` can hang for ever
while other threads ask for the interpreter, as those of a test process do.
"""

import linecache
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from modelserver import local, local_server
from modelserver.deadlines import LOCAL_SERVER_ENDS


def interrupted(when, errors):
    """Start and close a server, with Ctrl-C at the line for which `when(frame, count)`; return whether there was one.

    A line counts the first two times: a loop that waits may pass it as often as the machine is slow. The error is
    held, and its frames with it, as IPython does.
    """
    count, came, passed = 0, False, Counter()

    def trace(frame, event, argument):
        nonlocal count, came
        if frame.f_code.co_filename != local.__file__:
            return None
        if event == "line" and frame.f_code.co_name != "__exit__":  # before its first line nothing can be held back
            passed[frame.f_lineno] += 1
            count += passed[frame.f_lineno] <= 2
            if not came and passed[frame.f_lineno] <= 2 and when(frame, count):
                came = True
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        with local_server("."):
            pass
    except KeyboardInterrupt as error:
        errors.append(error)
    finally:
        sys.settrace(None)
    return came


def at_any_line(leftovers):
    """Interrupt at each line in turn; return at how many."""
    errors, at = [], 1
    while interrupted(lambda _, count, at=at: count == at, errors):
        assert len(errors) == at and leftovers() == [], (at, leftovers())
        at += 1
    assert leftovers() == []
    return at - 1


def at_the_end_of_one_that_hangs(leftovers):
    """Interrupt while a server that does not end is closed; return after how many seconds it was gone."""
    errors, began = [], time.monotonic()
    assert interrupted(lambda frame, _: "wait(" in linecache.getline(local.__file__, frame.f_lineno), errors)
    assert errors and leftovers() == []
    return time.monotonic() - began


def main(folder):
    """Work in `folder`; a script of the shell stands for the server."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    script = folder / "server"
    lines = "#!/bin/sh\necho serving at http://127.0.0.1:1\n"
    script.write_text(f"{lines}read line\n")
    script.chmod(0o755)
    sys.executable, tempfile.tempdir = str(script), str(folder)

    def leftovers():
        processes = psutil.Process().children(recursive=True)
        return processes + [path for path in folder.iterdir() if path != script]

    print(at_any_line(leftovers))
    script.write_text(f"{lines}exec sleep 600\n")
    print(at_the_end_of_one_that_hangs(leftovers) < LOCAL_SERVER_ENDS / 2)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

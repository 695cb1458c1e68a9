"""The door to numba: work in pieces, a collector that rests and works again, kernels that no stale cache can spoil."""

import ast
import gc
import re
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import course
from course import compiled

FILES = [path for path in sorted(Path(course.__file__).parent.rglob("*.py")) if "@kernel" in path.read_text()]
OF_NO_KERNEL = {"kernel", "kernel_address"}  # what decorates is not compiled


def taken_from_elsewhere(text):
    """Return what a file of kernels imports from the course's other files, decorators apart."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom | ast.Import)]
    names = [(getattr(node, "module", None) or alias.name, alias.name) for node in found for alias in node.names]
    ours = [f"{module}.{name}" for module, name in names if re.match(r"(course|simgpu|grader)\b|\.", module)]
    here = [f".{alias.name}" for node in found if getattr(node, "level", 0) for alias in node.names]
    return {*ours, *here} - {f"course.compiled.{name}" for name in OF_NO_KERNEL}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_a_kernel_is_compiled_from_stands_in_its_own_file(path):
    assert taken_from_elsewhere(path.read_text()) == set()


def test_a_function_or_a_constant_of_another_file_would_be_seen():
    assert len(FILES) >= 5 and compiled.__file__ not in map(str, FILES[1:])
    for line, seen in [
        ("from course.life.kernels import TAKEN", "course.life.kernels.TAKEN"),
        ("from course.compiled import threads, kernel", "course.compiled.threads"),
        ("import course.pi.pseudo", "course.pi.pseudo.course.pi.pseudo"),
        ("def f():\n    from .kernels import add", ".add"),
    ]:
        assert taken_from_elsewhere(f"import numpy as np\n{line}") == {seen}


@given(st.integers(1, 5), st.integers(0, 60), st.none() | st.integers(1, 20))
def test_each_number_is_in_one_piece_and_no_piece_is_too_long(count, size, most):
    pieces = []
    compiled.in_pieces(count, size, lambda first, last: pieces.append(range(first, last)), most)
    assert sorted(number for piece in pieces for number in piece) == list(range(size))
    assert all(0 < len(piece) <= (most or size) for piece in pieces)
    assert len(pieces) >= min(size, 4 * count if count > 1 else 1)


def test_a_piece_for_which_a_thread_has_no_memory_is_done_by_another():
    done = []

    def starved(first, last):
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError
        done.append(first)

    compiled.in_pieces(3, 12, starved)
    assert sorted(done) == list(range(12))


def test_an_interrupt_leaves_the_pieces_that_are_left_undone():
    done, interrupted = [], threading.Event()

    def one(first, last):
        if threading.current_thread() is not threading.main_thread():
            assert interrupted.wait(60)  # so that the main thread has its turn
            return
        done.append(first)
        interrupted.set()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled.in_pieces(2, 1000, one, most=1)
    assert len(done) == 1


def test_the_collector_works_again_after_a_first_call_in_two_threads_and_one_that_was_off_stays_off():
    with compiled.collector_rests():
        assert not gc.isenabled()
        with compiled.collector_rests():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    first, second = compiled.collector_rests(), compiled.collector_rests()
    first.__enter__(), second.__enter__()  # two threads, of which the first ends first
    first.__exit__(None, None, None), second.__exit__(None, None, None)
    assert gc.isenabled()
    gc.disable()
    try:
        with compiled.collector_rests():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("asked", ["1", "0", "many", ""])
def test_any_number_of_threads_that_is_asked_for_is_one_that_can_be_had(asked, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", asked)
    assert 1 <= compiled.threads() <= compiled.cores()
    assert compiled.threads() == 1 or not asked.isdecimal()

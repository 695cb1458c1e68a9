"""`python -m course.grading` still answers: it is `python -m grader`."""

import runpy
import sys

if __name__ == "__main__":
    print("course.grading is now grader: python -m grader", file=sys.stderr)
    runpy.run_module("grader", run_name="__main__", alter_sys=True)

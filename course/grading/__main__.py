"""`python -m course.grading`."""

from course.grading.command import main

if __name__ == "__main__":
    main(prog_name="python -m course.grading")

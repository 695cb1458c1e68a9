"""The page on a class of 200: its arithmetic is right, and a chapter's memory and seconds are those of the course."""

import re
from pathlib import Path

import pytest

from course.chapter_times import CHAPTERS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operators" / "class_of_200.md").read_text(encoding="utf-8")


def wrong_lines(page):
    """Return the lines of a page's blocks of arithmetic whose two sides differ by more than one in fifty."""
    lines = [line for block in re.findall(r"```text\n(.*?)```", page, re.S) for line in block.splitlines() if line]
    assert lines
    return [line for line in lines if not _holds(line)]


def _holds(line):
    left, _, right = line.rpartition(": ")[2].partition(" = ")
    value = eval(_figures(left).replace("×", "*"))
    stated = float(re.match(r"[\d.]+", _figures(right).strip())[0])
    return abs(value - stated) <= 0.02 * stated


def _figures(text):
    """Return `text` without its words and units, and without the commas of thousands."""
    return re.sub(r"[A-Za-z]+", "", text.replace(",", ""))


def test_each_line_of_arithmetic_is_right():
    assert wrong_lines(PAGE) == []


def test_a_wrong_product_is_seen():
    block = re.search(r"```text\n(.*?)```", PAGE, re.S)[1].splitlines()[0]
    figure = re.search(r"= ([\d,.]+)", block)[1]
    assert wrong_lines(PAGE.replace(f"= {figure}", "= 123456", 1)) != []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_chapters_row_is_what_the_course_says(chapter):
    number = chapter.name[:2]
    row = re.search(rf"^\| {number} \| (\d+) \| ([\d.]+) \|", PAGE, re.M)
    assert (int(row[1]), float(row[2])) == (chapter.seconds, chapter.memory)

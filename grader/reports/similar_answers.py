"""The similarity report of a lab: the answers that count, compared exercise by exercise."""

from grader.reports.similarity import report, similar
from grader.runs.grade import standing
from grader.runs.results import read_result


def lines(course, lab, rules, people=(), least=0.5):
    """Return the report on `lab` (as `load_lab` gives it) as lines."""
    graded, _ = standing(course, lab, rules, people)
    answers = {}
    for one in graded:
        result = read_result(course, lab.name, one.student, one.sha) if one.sha else None
        if result is not None:
            answers[one.student] = "\n".join(
                cell["text"] for cell in result.marks.cells if cell["type"] == "code" and not cell["given"]
            )
    given = "\n".join(cell.text for cell in lab.source.cells if cell.type == "code")
    return report(similar(answers, given, least), len(answers))

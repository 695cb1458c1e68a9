"""Reports on the marks: gradebook, feedback, exports, similarity, progress.

`gradebook` writes nbgrader's database (opened by `nbgrader_db`), `autograded` the notebook for its formgrader
(`formgrader`, `no_autograder`: its settings). `lab_totals` adds up a student's lab, for `export` (Canvas, Moodle, with
`comments`) and `totals` (all labs). `feedback` is a student's page, `hand_back` the zips of them. `similarity` compares
answers, `progress` is the bar while marks are made.
"""

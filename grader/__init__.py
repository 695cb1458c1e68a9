"""Marks that can't be forged: a submission is rebuilt, run in a sandbox, asked for values, and judged outside.

A submission passes through these rooms: `cli` and `grade_command` (the command), `runs` (the whole class), `intake`
(the notebook's owner and time of arrival), `submission` (its cells, in the lab's own notebook), `marking` (questions,
answers, the mark and its reason), `sandbox` with `inside` (where it runs), `classroom` (marks.csv and history),
`reports` (gradebook, feedback, exports). `lab` reads a lab, and `selftest` marks it against itself. Each room's
`__init__` says in which order to read it.
"""

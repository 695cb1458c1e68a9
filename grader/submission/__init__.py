"""A submission read as plain data and rebuilt as the lab's own notebook with the student's answers.

Read `read` (bytes to cells), `rebuild` (which cell is which answer, and what runs), `visible_course` (what of `course`
the sandbox shows), `pictures` (PNG made anew).
"""

"""One submission's marks: questions to a sandbox, answers that come out, and the mark made of them.

Read `mark` (from bytes to marks), `rounds` (all exercises asked; what hangs costs itself only), `questions` (one
submission in its sandbox) by `messages`, `result_types` and `bounds` (what may come back), `companion` (a host beside
it), `outside` (an answer called by the grader, with a folder that it watches: `watched_folder`), `judge` (right or
wrong), `speed_test` (the race), and `why_this_mark` (the state, the points and the reason). `plain_text` shows a
student's text safely.
"""

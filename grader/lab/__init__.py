"""A lab as its teacher states it: read from its source, checked, and released to students.

Read `spec` (what `marking.py` states), `source` (`lab.py`, its exercises and solutions), `release` (the notebook that
students get), `secret_draw` (each submission's own questions), `new_lab` (a lab to begin with).
"""

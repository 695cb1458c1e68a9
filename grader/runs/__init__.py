"""Grading many: workers, their results, and going on after an end in the middle.

Read `assignment` (a class and a lab, opened together), `grade` (each student's attempts, which are marked already, and
which count), `workers` (several processes that mark), `results` (their marks, kept by the notebook's bytes).
"""

"""Grading many: workers, their results, and going on after an end in the middle.

Read `assignment` (a class and a lab, opened together), `grade` (what each student has, what is marked already, and what
counts), `workers` (several processes that mark), `results` (what they made, kept by the notebook's bytes).
"""

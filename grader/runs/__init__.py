"""Grading many: workers, their results, and going on after an end in the middle."""

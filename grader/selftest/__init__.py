"""A lab put to the test: its solution must win, and its wrong answers must lose."""

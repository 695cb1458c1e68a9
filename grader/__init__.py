"""Marks that can't be forged: a submission is rebuilt, run in a sandbox, asked for values, and judged outside."""

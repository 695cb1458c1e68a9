"""Ops as torch dispatches them: each runs on the CPU, and its cost goes to the clock and its results to the memory."""

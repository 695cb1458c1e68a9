"""Modelled memory: what each simulated GPU holds, and what the host has left for it."""

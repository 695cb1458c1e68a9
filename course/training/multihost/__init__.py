"""Roles started by hand: who is chief, by what lease, and what each knows of the others."""

"""Roles started by hand: each process has one, the chief holds a lease, and a status board says what it has done."""

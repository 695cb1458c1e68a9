"""Roles started by hand: each process plays one, the chief holds a lease, and a status board says what it has done."""

"""What is trained: a `Problem`, the course's own ones, and those that the command line knows by name."""

"""What is trained: a `Problem`, the course's own ones, and where named ones are found."""

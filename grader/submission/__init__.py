"""A submission read as plain data and rebuilt as the lab's own notebook with the student's answers."""

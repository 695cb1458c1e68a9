"""What is told of the marks: gradebook, feedback, export, similarity, progress."""

"""What was handed in: whose it is, when it came, and how it is laid into the class's folder."""

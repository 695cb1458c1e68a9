"""The kernel's end of an exhibit's line, for tests that stand in for its page."""


class Line:
    """Keeps in `said` what the exhibit sends."""

    def __init__(self):
        self.said = []
        self.send = self.said.append

    def close(self):
        """Nothing is open."""

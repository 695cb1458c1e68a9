"""What is kept of a text that may be endless: its beginning, its end, and how long it was."""


class Kept:
    """The beginning and the end of a text that may be endless."""

    def __init__(self, limit):
        self.total = 0
        self._half = limit // 2
        self._head, self._tail = bytearray(), bytearray()

    def add(self, more):
        self.total += len(more)
        room = self._half - len(self._head)
        self._head += more[:room]
        self._tail += more[room:]
        del self._tail[: -self._half]

    def text(self):
        """Return what was kept, as text, with a line for what was left out."""
        left_out = self.total - len(self._head) - len(self._tail)
        middle = f"\n… {left_out} bytes left out …\n".encode() if left_out else b""
        return bytes(self._head + middle + self._tail).decode(errors="replace")

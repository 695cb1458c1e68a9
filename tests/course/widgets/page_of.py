"""An exhibit's page, for tests that stand in for it: what an output holds, and the kernel's end of the line to it."""

import json
import re


def html_of(shown):
    """Return the HTML that `shown` puts into a cell's output."""
    return shown._repr_mimebundle_()["text/html"]


def data_of(shown):
    """Return the data that the page draws, of an exhibit or of its HTML."""
    html = shown if isinstance(shown, str) else html_of(shown)
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1])


class Line:
    """Keeps what the exhibit sends: messages in `sent`, and in `buffers` what came with each."""

    def __init__(self):
        self.sent, self.buffers = [], []

    def send(self, message, buffers=()):
        """Keep a message."""
        self.sent.append(message)
        self.buffers.append(buffers)

    def close(self):
        """Nothing is open."""

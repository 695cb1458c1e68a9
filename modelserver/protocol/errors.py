"""The refusal of a request: a status of HTTP, and the protocol's `{"error": …}` with the way out."""

from collections.abc import Mapping


class Refused(Exception):
    """A request that is not answered. `status`: HTTP's; the text names the argument, what is legal, the next step."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None):
        super().__init__(text)
        self.status, self.text, self.headers = status, text, dict(headers or {})


def wrong(text: str) -> Refused:
    """Return the refusal of a request whose own content is at fault: status 400."""
    return Refused(400, text)

"""Who may ask: callers that have the token; without a token, programs on this machine whose requests name it."""

import hmac

from modelserver.protocol.errors import Refused

#: Open to all: an orchestrator asks these, and they say nothing of the models.
_OPEN = ("/v2/health/live", "/v2/health/ready")
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


class Access:
    """Checks a request's headers. `token`: what `Authorization: Bearer …` must say; None: no token is asked for.

    Without a token the header `Host` must name this machine: a page in a browser that was sent here by a name server
    (DNS rebinding) names another.
    """

    def __init__(self, token: str | None):
        self._wanted = None if token is None else f"bearer {token}".encode()

    def check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Return, or raise Refused: 401, 403."""
        if path in _OPEN:
            return
        if self._wanted is None:
            host = headers.get(b"host", b"localhost").decode("latin-1").lower()
            name = (
                host if host.endswith("]") else host.rsplit(":", 1)[0] if host.count(":") == 1 or "]" in host else host
            )
            if name not in _LOOPBACK:
                raise Refused(
                    403, f"header Host: {host!r:.80} is not this machine; ask localhost, or serve with a token."
                )
            return
        scheme, _, word = headers.get(b"authorization", b"").partition(b" ")
        if not hmac.compare_digest(scheme.lower() + b" " + word.strip(), self._wanted):
            raise Refused(
                401,
                "header Authorization: give 'Bearer TOKEN' with this server's token; it was said when it started.",
                {"WWW-Authenticate": "Bearer"},
            )

"""`python health.py ADDRESS`: is the process of this container well? Exit 0, or 1 with a sentence; within 4 seconds.

`tls://worker-0:2222` shakes hands by TLS: the task listens there, and holds the cluster's certificate. It listens while
it is a member of its cluster. `http://…` and `https://…` want an answer with status 200. Standard library only: a check
every few seconds must cost little.
"""

import socket
import ssl
import sys
import urllib.request
from urllib.parse import urlsplit

CERTIFICATE = "/keys/cluster.pem"
SECONDS = 4.0  # less than the timeout of the check, so that the sentence is still said


def main(address: str) -> int:
    """Print one line about `address`; return the exit code."""
    try:
        parts = urlsplit(address)
        if parts.scheme == "tls":
            _shake_hands(parts.hostname, parts.port)
        else:
            tls = urllib.request.HTTPSHandler(context=_trusts_the_cluster()) if parts.scheme == "https" else None
            direct = urllib.request.ProxyHandler({})
            with urllib.request.build_opener(*filter(None, (direct, tls))).open(address, timeout=SECONDS):
                pass  # any other status than 200 is an error
    except (OSError, ValueError) as error:
        print(f"{address}: {error}")
        return 1
    print(f"{address}: well")
    return 0


def _shake_hands(host, port):
    context = _trusts_the_cluster()
    context.load_cert_chain(CERTIFICATE)
    with socket.create_connection((host, port), timeout=SECONDS) as plain:
        context.wrap_socket(plain).close()


def _trusts_the_cluster():
    context = ssl.create_default_context(cafile=CERTIFICATE)
    context.check_hostname = False  # the certificate names the cluster, not a host
    return context


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

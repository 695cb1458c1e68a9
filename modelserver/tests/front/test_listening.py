"""The listening socket: what it does, and logs, when there is no file for a connection."""

import asyncio
import errno
import os
import socket

import pytest

from modelserver.front.listening import Listening


@pytest.mark.skipif(os.name != "posix", reason="Windows' loop accepts in another way")
def test_a_connection_that_cannot_be_accepted_is_one_line_in_the_log():
    """asyncio asks 2,048 times in a row, and logs each."""
    errors, looks = [], []

    def no_file():
        looks.append(1)
        raise OSError(errno.EMFILE, "Too many open files")

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: errors.append(context["message"]))
        with Listening(socket.create_server(("127.0.0.1", 0)), 1 << 20, tls=False) as listening:
            listening._accept = no_file
            server = await loop.create_server(asyncio.Protocol, sock=listening, backlog=2048)
            with socket.create_connection(listening.getsockname()):
                while not errors:
                    await asyncio.sleep(0.001)
                server.close()

    asyncio.run(main())
    assert errors == ["socket.accept() out of system resource"] and len(looks) == 2

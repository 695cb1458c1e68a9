"""One connection: how its packets travel."""

import asyncio
import socket

from modelserver.front.connection import Unread
from modelserver.front.server import Settings, _config


def test_the_packets_of_an_answer_do_not_wait_for_each_other():
    """Without TCP_NODELAY the second packet waits for the first one's receipt: 40 ms."""
    connections, no_delay = [], []

    async def main():
        loop = asyncio.get_running_loop()
        config = _config(None, Settings(), Unread(1))
        config.load()
        state = type("State", (), {"connections": set(), "tasks": set(), "default_headers": [], "total_requests": 0})()

        def make_connection():
            connections.append(config.http_protocol_class(config=config, server_state=state, app_state={}))
            return connections[-1]

        with socket.create_server(("127.0.0.1", 0)) as listening:
            server = await loop.create_server(make_connection, sock=listening)
            _, writer = await asyncio.open_connection(*listening.getsockname())
            while not (connections and connections[0].transport):
                await asyncio.sleep(0.001)
            accepted = connections[0].transport.get_extra_info("socket")
            no_delay.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()
            await writer.wait_closed()
            server.close()
            await server.wait_closed()

    asyncio.run(main())
    assert no_delay[0]

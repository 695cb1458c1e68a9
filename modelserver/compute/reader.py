"""The reader: a process that takes large requests of JSON apart, so that the front process goes on meanwhile.

`python -m modelserver.compute.reader SETTINGS`, started by the front process with the first such request. orjson and
numpy hold the interpreter while they read, so a thread would not do.
"""

import json
import sys
from typing import Any

from modelserver.compute.orphan import end_with
from modelserver.compute.pipe import Kind, Message, packed, read
from modelserver.protocol.errors import Refused
from modelserver.protocol.request import read_request
from modelserver.versions.signature import Signature


def main(settings: dict[str, Any]) -> None:
    """Read requests until the input ends. `settings`: `owner` (process id)."""
    end_with(settings["owner"])
    while (message := read(sys.stdin.buffer)) is not None:
        for part in answer(message):
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()


def answer(message: Message) -> list[Any]:
    """Return the parts of the answer to a message of kind READ: what was asked for, or why it is refused."""
    order, body = json.loads(message.data[: message.rows]), memoryview(message.data)[message.rows :]
    signatures = {name: Signature.from_json(sides) for name, sides in order["signatures"].items()}
    try:
        request = read_request(body, order["header_size"], signatures, order["largest"])
    except Refused as refusal:
        return [packed(Message(Kind.REFUSED, message.job), json.dumps([refusal.status, refusal.text]).encode())]
    about = {"id": request.id, "rows": request.rows, "outputs": request.outputs, "signature": request.signature}
    head = json.dumps({**about, "sizes": list(map(len, request.inputs))}).encode()
    return [packed(Message(Kind.REQUEST, message.job, rows=len(head)), head, *request.inputs)]


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

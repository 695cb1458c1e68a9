"""A worker's connection to a shard: it joins, its pushes are decided and answered, and it is counted out at the end."""

import json
from functools import partial
from typing import Any

from course.training.server.coordinator import Coordinator
from course.training.server.follower import Follower
from course.training.server.push_reader import PushReader
from course.training.server.reply_slots import ReplySlot
from course.training.transport.layout import Layout
from course.training.transport.listener import start_thread
from course.training.transport.shared_memory import open_offer
from course.training.transport.wire import HANDSHAKE_LIMIT, WIRE_SILENCE, Channel, Frame


class WorkerService:
    """Serves the workers' connections to `shard`, each in a thread of its own; `layout`: how its parameters lie."""

    def __init__(self, shard: Coordinator | Follower, layout: Layout):
        self._shard, self._layout = shard, layout
        self._layout_json = json.loads(json.dumps(layout.as_json()))
        self._reader = PushReader(shard.slots, self._push)

    def start(self) -> None:
        """Start the thread that reads the synchronous pushes in short frames; `close` ends it."""
        start_thread(self._reader.run)

    def refusal(self, fields: dict[str, Any]) -> str | None:
        """Return why a handshake with these fields is refused, or None."""
        if fields.get("layout", self._layout_json) != self._layout_json:
            return f"the worker's parameters are {fields['layout']}; the store's are {self._layout_json}."
        if not isinstance(fields.get("session"), str) or not isinstance(fields.get("attempt"), int):
            return "a worker's session is a text, its attempt a number."
        worker: Any = fields.get("worker")  # whatever was sent: the slots check it
        try:
            self._shard.admit(worker, fields["session"])
        except ValueError as error:
            return str(error)
        return None

    def serve(self, channel: Channel, fields: dict[str, Any]) -> None:
        """Have the worker join and serve it until its connection ends; `fields`: of its handshake."""
        channel.send("OKAY")
        joining = channel.receive(HANDSHAKE_LIMIT)
        if joining.kind == "FAIL":
            self._shard.refuse(fields["worker"], joining.payload.decode(errors="replace"))
        if joining.kind != "JOIN":
            return
        shared = open_offer(joining.text(), self._layout.nbytes) if joining.payload else None
        channel.agree(self._layout, shared)
        session = fields["worker"], fields["session"], fields["attempt"]
        slot = self._shard.join(ReplySlot(*session, channel.sending, channel))
        reason, silent = "stopped", False
        try:
            # a worker joins shard 0 when all others have a slot for the answer
            channel.go_over_to(shared.pipes, "SLOT", 1) if shared is not None else channel.send("SLOT")
            reason = self._serve_steps(channel, slot)
        except TimeoutError:
            reason, silent = f"nothing heard for {WIRE_SILENCE:.0f} s", True
        except (OSError, ValueError) as error:
            reason = f"connection lost: {str(error).rstrip('.')}"
        finally:
            self._shard.leave(slot, reason, silent)

    def close(self) -> None:
        """End the reader's thread, once every connection is gone. Idempotent."""
        self._reader.close()

    def _serve_steps(self, channel, slot):
        """Answer the worker's pushes until the end; return why its connection ended."""
        while self._shard.slots.wait(slot, partial(channel.send, "BEAT")) is not None:
            slot.send_answer()
            # who waits for the others gains by one thread for all; who doesn't, by threads that work side by side
            together = channel.is_short and self._shard.settings.mode == "sync"
            frame = self._reader.read(channel, slot) if together else channel.receive(HANDSHAKE_LIMIT)
            if frame is None:
                continue  # `wait` says why
            if frame.kind == "BYE!":  # another shard told it that training is over; this one hears why in a moment
                return "sent home by another shard"
            if frame.kind != "PUSH":
                reason = frame.payload.decode(errors="replace")
                self._shard.end("error", f"worker {slot.worker}: {reason}")
                return reason
            self._push(slot, frame, channel)
        if self._shard.slots.ended["why"] in ("closed", "shard"):
            raise ConnectionError("the driver or another shard has gone: this is not the end of training")
        channel.send("STOP", sequence=slot.taken)
        last = channel.receive(HANDSHAKE_LIMIT)  # BYE!, with its last counts
        self._shard.note_counts(slot, last.sequence, last.number)
        return "stopped"

    def _push(self, slot: ReplySlot, frame: Frame, channel: Channel) -> None:
        self._shard.push(slot, frame.sequence, frame.value, channel.received, frame.number)

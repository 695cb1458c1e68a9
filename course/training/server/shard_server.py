"""One shard's process: it serves a driver, workers and the other shards, and ends when its driver ends."""

import atexit
import json
import ssl
import threading
import time
import weakref
from contextlib import suppress
from functools import partial

import numpy
import torch

from course.training.checkpoint.snapshot import Snapshot
from course.training.problems.problem import MakeOptimizer
from course.training.records import RECORD, Route, TrainingSettings
from course.training.server.coordinator import Coordinator
from course.training.server.follower import Follower, FollowerLink
from course.training.server.push_reader import PushReader
from course.training.server.store import ParameterServer
from course.training.server.update_log import Entry
from course.training.transport.layout import Layout
from course.training.transport.listener import Listener, start_thread, wait_for_threads
from course.training.transport.shared_memory import open_offer
from course.training.transport.wire import HANDSHAKE_LIMIT, WIRE_HEARTBEAT_EVERY, WIRE_SILENCE, Channel, Pieces

#: For the driver to come to a shard that has just opened.
DRIVER_COMES = 30.0
#: Without a heartbeat of a driver for so long, a shard ends: a debugger may stop all of its threads, a job control the
#: whole process; one that ends closes its connections, which is noticed at once.
DRIVER_SILENCE = 600.0
#: For the log to bring a follower to the place of a snapshot: updates of a large model may come before it.
CUT_COMES = 60.0
#: For a process that ends to finish the optimiser's steps it is in.
STEPS_END_AT_EXIT = 3.0
#: … that has no hook to tell of steps; shard 0 keeps its answer for so long, or until training has ended.
END_AWAITED = 0.1

#: `ssl.SSLContext`s to listen and to call with, or Nones for plain TCP.
Contexts = tuple[ssl.SSLContext | None, ssl.SSLContext | None]
_ROLES = ("driver", "worker", "log", "reports")
_OPEN: weakref.WeakSet["ShardServer"] = weakref.WeakSet()


class ShardServer:
    """Serves shard number `shard` of `shards`, with these parameters, in this process.

    It closes when the driver that asked for it closes or falls silent. `token`: a secret that every handshake must
    name, so that no worker reaches another training's store. `start`: a `Snapshot` of the parameters to go on from.
    `route`: its way to the other shards. Raises ValueError for an optimiser that a parameter server can't keep, or a
    snapshot of other parameters.
    """

    def __init__(
        self,
        parameters: dict[str, torch.Tensor],
        optimizer: MakeOptimizer,
        settings: TrainingSettings,
        *,
        token: str,
        shard: int,
        shards: int,
        incarnation: int,
        start: Snapshot | None = None,
        contexts: Contexts = (None, None),
        host: str = "127.0.0.1",
        ports: tuple[int, ...] = (0,),
        route: Route | None = None,
    ):
        store = ParameterServer(parameters, optimizer, state=start)
        if shard == 0:
            self.shard: Coordinator | Follower = Coordinator(store, settings, incarnation, start, others=shards - 1)
        else:
            self.shard = Follower(store, settings, incarnation)
        self._layout, self.token, (listen, self._call) = Layout.of(parameters), token, contexts
        self._layout_json = json.loads(json.dumps(self._layout.as_json()))
        self._channels: set[Channel] = set()
        self._links: list[FollowerLink] = []
        self._term, self._driver, self._leaving, self._route = 0, None, False, route or tuple
        self._alone_since, self._allowed = time.monotonic(), DRIVER_COMES
        _OPEN.add(self)
        self._lock, self._reader = threading.Lock(), PushReader(self.shard.slots, self._push)
        self._listener = Listener(self._serve, self._refusal, self._tick, token, listen, host, ports)
        self.address = self._listener.address
        start_thread(self._reader.run)
        start_thread(self._beat)

    def close(self) -> None:
        """End the training and hang up every connection; worker loops then end by themselves. Idempotent."""
        self._listener.closed.set()  # it accepts no more
        with self._lock:
            open_now: list[Channel | FollowerLink] = [*self._channels, *self._links]
        for one in open_now:
            one.hang_up()  # their threads close them
        self._reader.close()
        self.shard.end("closed")  # last: no driver is to read this as the training's end, but to miss the server

    def leave(self, seconds: float) -> None:
        """Tell the driver that this task is to end; return when it has let go, or after `seconds`. For any thread."""
        self._leaving = True
        self._listener.closed.wait(seconds if self._driver else 0)

    def _beat(self):
        """Say on every connection that this process is there while it works: an update or a snapshot may take long."""
        while not self._listener.closed.wait(WIRE_HEARTBEAT_EVERY):
            with self._lock:
                channels = list(self._channels)
            for channel in channels:
                with suppress(OSError, ValueError):  # its own thread finds out
                    channel.beat()

    def _tick(self):
        """Close when no driver has come, or come back, for too long."""
        with self._lock:
            forsaken = self._driver is None and time.monotonic() - self._alone_since > self._allowed
        if forsaken:
            self.close()

    def _refusal(self, fields):
        """Return why this handshake is refused, or None."""
        role, incarnation, term = fields.get("role"), fields.get("incarnation"), fields.get("term")
        if role not in _ROLES:
            return "a handshake says its role: driver or worker."
        if incarnation != self.shard.incarnation:
            here = f"this parameter server is incarnation {self.shard.incarnation} of the training"
            return f"{here}; the {role} belongs to incarnation {incarnation}."
        if role == "driver" and (not isinstance(term, int) or term < self._term):
            return f"a driver of term {self._term} leads this training now; term {term} is over."
        if role == "worker":
            return self._refusal_of_worker(fields)
        return None

    def _refusal_of_worker(self, fields):
        if fields.get("layout", self._layout_json) != self._layout_json:
            return f"the worker's parameters are {fields['layout']}; the store's are {self._layout_json}."
        if not isinstance(fields.get("session"), str) or not isinstance(fields.get("attempt"), int):
            return "a worker's session is a text, its attempt a number."
        try:
            self.shard.admit(fields.get("worker"), fields["session"])
        except ValueError as error:
            return str(error)
        return None

    def _serve(self, channel, fields):
        with self._lock:
            self._channels.add(channel)
        try:
            if not self._listener.closed.is_set():
                getattr(self, f"_serve_{fields['role']}")(channel, fields)
        finally:
            channel.close()
            with self._lock:
                self._channels.discard(channel)

    # --- a worker ----------------------------------------------------------------------------------------------------

    def _serve_worker(self, channel, fields):
        channel.send("OKAY")
        joining = channel.receive(HANDSHAKE_LIMIT)
        if joining.kind != "JOIN":
            return
        shared = open_offer(joining.text(), self._layout.nbytes) if joining.payload else None
        channel.agree(self._layout, shared)
        slot = self.shard.join(fields["worker"], fields["session"], channel.sending, fields["attempt"])
        reason, silent = "stopped", False
        try:
            # a worker joins shard 0 when all others have a slot for the answer
            channel.go_over_to(shared.pipes, "SLOT", 1) if shared is not None else channel.send("SLOT")
            reason = self._serve_steps(channel, slot)
        except TimeoutError:
            reason, silent = f"nothing heard for {WIRE_SILENCE:.0f} s", True
        except (OSError, ValueError) as error:
            reason = f"connection lost: {error}"
        finally:
            self.shard.leave(slot, reason, silent)

    def _serve_steps(self, channel, slot):
        """Answer the worker's pushes until the end; return why its connection ended."""
        while (version := self.shard.slots.wait(slot, partial(channel.send, "BEAT"))) is not None:
            channel.send_tensors("PARM", version, sequence=slot.taken)
            # who waits for the others gains by one thread for all; who doesn't, by threads that work side by side
            together = channel.is_short and self.shard.settings.mode == "sync"
            frame = self._reader.read(channel, slot) if together else channel.receive(HANDSHAKE_LIMIT)
            if frame is None:
                continue  # `wait` says why
            if frame.kind == "BYE!":  # another shard told it that training is over; this one hears why in a moment
                return "sent home by another shard"
            if frame.kind != "PUSH":
                reason = frame.payload.decode(errors="replace")
                self.shard.end("error", f"worker {slot.worker}: {reason}")
                return reason
            self._push(slot, frame, channel)
        if self.shard.slots.ended["why"] in ("closed", "shard"):
            raise ConnectionError("the driver or another shard has gone: this is not the end of training")
        channel.send("STOP", sequence=slot.taken)
        last = channel.receive(HANDSHAKE_LIMIT)  # BYE!, with its last counts
        self.shard.note_counts(slot, last.sequence, last.number)
        return "stopped"

    def _push(self, slot, frame, channel):
        self.shard.push(slot, frame.sequence, frame.value, channel.received, frame.number)

    # --- the driver --------------------------------------------------------------------------------------------------

    def _serve_driver(self, channel, fields):
        term = fields["term"]
        with self._lock:
            before, self._driver, self._term = self._driver, channel, term
        if before is not None:
            before.hang_up()  # an older chief: it is refused when it comes again
        channel.connection.settimeout(DRIVER_SILENCE)
        bye = False
        try:
            channel.send("OKAY", payload={"term": term})
            while not bye:
                bye = self._answer_driver(channel, channel.receive())
        finally:
            self._driver_left(channel, bye)

    def _driver_left(self, channel, bye):
        with self._lock:
            if self._driver is not channel:
                return
            self._driver, self._alone_since, self._allowed = None, time.monotonic(), self.shard.settings.grace
        if bye or not self.shard.settings.grace:
            self.close()

    def _answer_driver(self, channel, frame):
        """Answer one request of the driver; return whether it was its last."""
        if frame.kind == "POLL":
            self.shard.slots.over.wait(min(frame.value, END_AWAITED))
            status, records = self.shard.poll(frame.number, frame.sequence)
            channel.send("STAT", payload=status | {"leaving": self._leaving})
            channel.send("ROWS", payload=numpy.array(records, dtype=RECORD).tobytes())
        elif frame.kind == "SNAP":
            number, state = self.shard.cut(full=bool(frame.number))
            channel.send("CUTS", number, payload=Pieces(state.as_pieces()))
        elif frame.kind == "TAKE":
            state = self.shard.wait_for_cut(frame.number, CUT_COMES)
            channel.send("CUTS", frame.number, payload=Pieces(state.as_pieces()))
        elif frame.kind == "LINK":
            self._link(frame.text())
            channel.send("OKAY")
        elif frame.kind == "STOP":
            self.shard.end("stopped")
        return frame.kind == "BYE!"

    # --- the other shards --------------------------------------------------------------------------------------------

    def _link(self, endpoints):
        """Connect to the other shards; from now on they follow this one."""
        handshake = {"token": self.token, "incarnation": self.shard.incarnation}
        for number, endpoint in enumerate(endpoints):
            link = FollowerLink(self._route(endpoint), handshake, self._call)
            with self._lock:
                self._links.append(link)
            start_thread(self._listen, number, link)
        self.shard.attach_followers(list(self._links))
        if endpoints:
            start_thread(self._send_heartbeats)

    def _listen(self, number, link):
        def ended(**end):
            self.shard.end(**({"shard": number + 1} if end["why"] == "shard" else {}), **end)

        link.listen(lambda push: self.shard.staged(number, push), self.shard.slots.disconnect, ended)

    def _send_heartbeats(self):
        while not self._listener.closed.wait(WIRE_HEARTBEAT_EVERY):
            for link in self._links:
                link.send_heartbeat()

    def _serve_log(self, channel, fields):
        channel.send("OKAY")
        try:
            while True:
                self.shard.follow(Entry.from_json(channel.receive().text()))
        except (OSError, ValueError) as error:
            if isinstance(error, ValueError) and self.shard.report is not None:
                with suppress(OSError):  # shard 0 has gone too: it needs no reason
                    self.shard.report({"why": "shard", "text": f"it can't follow the order: {error}"})
            self.shard.end("shard", f"it and shard 0 have lost each other: {error}", shard=0)

    def _serve_reports(self, channel, fields):
        sending = threading.Lock()

        def send(kind, payload=b""):
            with sending:
                channel.send(kind, payload=payload)

        self.shard.report = partial(send, "RPRT")  # before the answer: pushes may come right after it
        channel.send("OKAY")
        while not self._listener.closed.wait(WIRE_HEARTBEAT_EVERY):
            send("BEAT")


@atexit.register
def _close_all():
    """Close what is open when the process ends: a thread in the middle of PyTorch's own code would abort it."""
    for server in list(_OPEN):
        server.close()
    wait_for_threads(STEPS_END_AT_EXIT)

"""The messages between the processes of one training, kept by the scheduler: where its shards are, how it ended."""

import dataclasses
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course.training.records import ShardAddresses, TrainingError

#: Between two questions of a role for the chief's lines to all readers: a line of progress comes every 2 s.
NEWS_ASKED_EVERY = 1.0
#: For the scheduler to answer one question about the status board.
BOARD_ANSWER = 2.0
#: Without an answer about the status board for so long, a role says that its scheduler is lost, and ends.
BOARD_SILENCE = 7.0

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster

_KEY, _NEWS = "course-training", "course-training-news"
_MOST_NEWS = 40  # lines: more than come between two questions


@dataclass(frozen=True)
class Notice:
    """What a chief says last. `term`: of its lease; `phase`: "running", "done" or "failed".

    `addresses`: how workers and the next chief find the shards. `text`: lines for the readers at every role's
    terminal. `folder`: tells the chief's checkpoint folder from all others, None without one.
    """

    term: int
    phase: str
    addresses: ShardAddresses | None = None
    text: str = ""
    folder: str | None = None


class SchedulerLost(TrainingError):
    """The scheduler is gone, or silent for too long, as this process sees it."""


class StatusBoard:
    """The notice of the training that runs on `cluster`, kept by its scheduler.

    `last`: a notice that was read before; it counts until a scheduler, which may be a new one, has another.
    """

    def __init__(self, cluster: "Cluster", last: Notice | None = None):
        self._cluster, self._answered = cluster, time.monotonic()
        self.last = last
        self._last_news, self._news_due = 0, 0.0

    def read(self) -> Notice | None:
        """Return the `Notice`, None before the first; SchedulerLost when there is no answer for long."""
        try:
            client = self._client()
            data = client.sync(client.scheduler.get_metadata, keys=[_KEY], default=None, callback_timeout=BOARD_ANSWER)
        except OSError as error:
            self._judge(error)
        else:
            self._answered = time.monotonic()
            if data:
                addresses = data["addresses"] and ShardAddresses(**data["addresses"])
                self.last = Notice(**{**data, "addresses": addresses})
        return self.last

    def post(self, notice: Notice) -> bool:
        """Put the notice up, or return False when a chief of a later term has another up; raises as `read`."""
        while True:
            try:
                client = self._client()
                data = dataclasses.asdict(notice)
                posted = client.sync(client._run_on_scheduler, _post, data, callback_timeout=BOARD_ANSWER)
                self.last = notice if posted else self.last
                return posted
            except OSError as error:
                self._judge(error)  # posting twice does no harm
                time.sleep(0.1)

    def tell(self, line: str, by: str) -> None:
        """Send `line` to the terminals of all roles but `by`. Returns at once; a line may get lost."""
        with suppress(SchedulerLost):
            client = self._client()
            client.loop.add_callback(_sent, client, line, by)

    def news(self, reader: str) -> list[str]:
        """Return the lines that others than `reader` have sent since it last asked; none while nobody answers."""
        if time.monotonic() < self._news_due:
            return []
        self._news_due = time.monotonic() + NEWS_ASKED_EVERY
        try:
            client = self._client()
            news = client.sync(client.scheduler.get_metadata, keys=[_NEWS], default=[], callback_timeout=BOARD_ANSWER)
        except OSError:
            return []  # whether the scheduler is lost, `read` judges
        unread = [line for number, by, line in news if number > self._last_news and by != reader]
        self._last_news = max([self._last_news, *(number for number, *_ in news)])
        return unread

    def _client(self):
        try:
            return self._cluster.client
        except RuntimeError as error:
            raise SchedulerLost(f"the cluster is lost: {error}") from error

    def _judge(self, error):
        if time.monotonic() - self._answered > BOARD_SILENCE:
            raise SchedulerLost(
                f"the scheduler at {self._cluster.session_target} has not answered for {BOARD_SILENCE:.0f} s "
                f"({type(error).__name__}: {error})."
            ) from error


async def _sent(client, line, by):
    with suppress(OSError, RuntimeError):
        await client._run_on_scheduler(_add_news, line, by)


# This runs in the scheduler's process, in its one thread: nothing comes between looking and writing.


def _post(notice, dask_scheduler):
    posted = dask_scheduler.task_metadata.get(_KEY)
    if posted is not None and posted["term"] > notice["term"]:
        return False
    dask_scheduler.task_metadata[_KEY] = notice
    return True


def _add_news(line, by, dask_scheduler):
    news = dask_scheduler.task_metadata.get(_NEWS, [])
    number = news[-1][0] + 1 if news else 1
    dask_scheduler.task_metadata[_NEWS] = [*news, (number, by, line)][-_MOST_NEWS:]

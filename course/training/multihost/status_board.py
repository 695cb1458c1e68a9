"""What the processes of one training tell each other, at the scheduler: where its shards are, and how it ended."""

import dataclasses
import time
from dataclasses import dataclass

from course.training.records.addresses import ShardAddresses
from course.training.records.errors import TrainingError

_KEY = "course-training"
_ANSWER = 2.0  # seconds for the scheduler to answer once
_SILENCE = 7.0  # seconds without an answer after which it counts as lost


@dataclass(frozen=True)
class Notice:
    """The last word of a chief. `term`: of its lease; `phase`: "running", "done" or "failed".

    `addresses`: how workers and the next chief find the shards. `text`: lines for the readers at every role's terminal.
    `folder`: tells the chief's checkpoint folder from all others, None without one.
    """

    term: int
    phase: str
    addresses: ShardAddresses | None = None
    text: str = ""
    folder: str | None = None


class StatusBoard:
    """The notice of the training that runs on `cluster`, kept by its scheduler."""

    def __init__(self, cluster):
        self._cluster, self._known, self._counts_heard = cluster, None, time.monotonic()

    def read(self):
        """Return the `Notice`, None before the first; the one known last while the scheduler is silent for a moment.

        Raises TrainingError when it is silent for longer, or is lost.
        """
        try:
            client = self._client()
            told = client.sync(client.scheduler.get_metadata, keys=[_KEY], default=None, callback_timeout=_ANSWER)
        except OSError as error:
            self._judge(error)
        else:
            self._counts_heard = time.monotonic()
            self._known = told and Notice(**{**told, "where": told["where"] and ShardAddresses(**told["where"])})
        return self._known

    def post(self, notice):
        """Put the notice up; return False, and change nothing, when a chief with a later term has put up another.

        Raises TrainingError when the scheduler does not answer.
        """
        while True:
            try:
                client = self._client()
                data = dataclasses.asdict(notice)
                return client.sync(client._run_on_scheduler, _post, data, callback_timeout=_ANSWER)
            except OSError as error:
                self._judge(error)  # posting twice does no harm
                time.sleep(0.1)

    def _client(self):
        try:
            return self._cluster.client
        except RuntimeError as error:
            raise TrainingError(f"the cluster is lost: {error}") from error

    def _judge(self, error):
        if time.monotonic() - self._counts_heard > _SILENCE:
            raise TrainingError(
                f"the scheduler at {self._cluster.session_target} has not answered for {_SILENCE:.0f} s "
                f"({type(error).__name__}: {error}). Start its process again, then every other role."
            ) from error


# This runs in the scheduler's process, in its one thread: nothing comes between looking and writing.


def _post(notice, dask_scheduler):
    named_problem = dask_scheduler.task_metadata.get(_KEY)
    if named_problem is not None and named_problem["term"] > notice["term"]:
        return False
    dask_scheduler.task_metadata[_KEY] = notice
    return True

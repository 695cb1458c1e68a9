"""Which models there are, which version of each is served, and how one takes the place of another."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from modelserver.deadlines import SERVING_STARTS
from modelserver.front.body import CallerGone
from modelserver.front.metrics import Metrics
from modelserver.front.pool import Pool
from modelserver.protocol.errors import Refused
from modelserver.protocol.request import InferRequest
from modelserver.versions.publish import in_use
from modelserver.versions.signature import split_rows
from modelserver.versions.version import DEFAULT_SIGNATURE, Version, read_version

_log = logging.getLogger(__name__)
#: Versions of a model that stay loaded: the one that is served, and the one before it, to go back to at once.
KEPT = 2
#: Why a version that is loaded is not ready.
NO_WORKER = "no worker that can answer has it; if that lasts, the server's log says why"


class NotTaken(Exception):
    """A version that is not served; the text says why."""


class NoWorker(NotTaken):
    """No worker was there to load a version: it is no worse for it, and is tried again."""


@dataclass(eq=False)
class Loaded:
    """A version that every worker has; `programs`: by signature. `waiting`: requests for it that have no answer yet."""

    version: Version
    programs: dict[str, int]
    accuracy: float | None
    held: ExitStack
    waiting: int = 0
    retired: bool = False


@dataclass
class Model:
    """A model of the folder: which version is `current`, which are `loaded`, by number, the latest served last.

    `awaited`: numbers of versions that are there, and are yet to be looked at.
    """

    name: str
    folder: Path
    current: Loaded | None = None
    loaded: dict[int, Loaded] = field(default_factory=dict)
    problem: str = "no version of it has been loaded yet"
    awaited: set[int] = field(default_factory=set)


class Models:
    """All models of one server. A version is judged by one worker, then loaded by all, and only then served.

    `listed`: whether the folder of models has been looked at, so that a model which is not in `all` is not there.
    """

    def __init__(self, pool: Pool, metrics: Metrics, margin: float):
        self._pool, self._metrics, self._margin = pool, metrics, margin
        self.all: dict[str, Model] = {}
        self.listed = False

    def find(self, name: str, number: str | None = None) -> Loaded:
        """Return what answers for a model, in its version `number` if that is named; raises Refused: 404, 503."""
        model = self.all.get(name)
        if model is None and not self.listed:
            raise _not_yet(f"model {name!r:.80}: the folder of models has not been looked at yet.")
        if model is None:
            names = ", ".join(sorted(self.all)) or "none"
            raise Refused(404, f"model {name!r:.80}: there is no such model; there are: {names}.")
        if number is None:
            if model.current is None:
                raise _not_yet(f"model {name}: no version can be served: {model.problem}")
            return model.current
        whole = int(number) if number.isascii() and number.isdigit() and len(number) < 12 else 0
        loaded = model.loaded.get(whole)
        if loaded is None and whole in model.awaited:
            raise _not_yet(f"model {name}, version {number}: it has not been looked at yet.")
        if loaded is None:
            numbers = ", ".join(map(str, sorted(model.loaded))) or "none"
            raise Refused(404, f"model {name}, version {number!r:.40}: it is not loaded; these are: {numbers}.")
        return loaded

    async def infer(
        self,
        loaded: Loaded,
        request: InferRequest,
        cancel_with_caller: Callable[[Any], None] = lambda answer: None,
        since: float | None = None,
    ) -> list[numpy.ndarray]:
        """Return the outputs for a request of `loaded`, in the order of its signature, `(rows, *shape)` each.

        `since`: when its deadline began to run, monotonic seconds; None: now. `cancel_with_caller` gets a future to
        cancel when the caller goes away, and None once there is nothing more to cancel; a task that is
        cancelled will do as well. Raises Refused, or CallerGone: the request is not computed.
        """
        answer = self._pool.submit(loaded.programs[request.signature], request, since)
        cancel_with_caller(answer)
        loaded.waiting += 1
        try:
            data, rows, offset = await answer
        except asyncio.CancelledError:
            self._pool.forget_gone()
            raise CallerGone from None
        finally:
            cancel_with_caller(None)
            self._answered(loaded)
        arrays = split_rows(loaded.version.signatures[request.signature].outputs, rows, data)
        return [array[offset : offset + request.rows] for array in arrays]

    def is_ready(self, loaded: Loaded) -> bool:
        """Whether a worker that can answer has this version."""
        return self._pool.serves(loaded.programs.values())

    def check_ready(self, loaded: Loaded) -> None:
        """Return, or raise Refused, 503, where no worker that can answer has this version."""
        if not self.is_ready(loaded):
            raise _not_yet(f"model {loaded.version.model}, version {loaded.version.number}: {NO_WORKER}.")

    def why_not_ready(self) -> str:
        """Return what is missing before every model can answer, in words; "" when nothing is."""
        if not self.listed:
            return "the folder of models has not been looked at yet"
        missing = {model.name: model.problem for model in self.all.values() if model.current is None}
        current = [model.current for model in self.all.values() if model.current is not None]
        missing |= {one.version.model: NO_WORKER for one in current if not self.is_ready(one)}
        if missing:
            return "; ".join(f"{name}: {problem}" for name, problem in sorted(missing.items()))
        return "" if self.all and self._pool.pids else "no model, or no worker, is there"

    async def take_up(self, model: Model, number: int, by_command: bool = False) -> None:
        """Judge the version `number` of `model`, load it everywhere and serve it; raises NotTaken, and nothing changed.

        It must answer its own examples as at its export. Unless `by_command`, its accuracy on the served version's
        labelled examples may be worse than that one's by the margin at most.
        """
        if (loaded := model.loaded.get(number)) is not None:
            return self._switch(model, loaded)
        held = ExitStack()
        try:
            folder = model.folder / str(number)
            version = await asyncio.to_thread(read_version, folder)
            held.enter_context(in_use(folder))
            judge = model.current if model.current and model.current.version.labelled else None
            if judge and not judge.version.folder.is_dir():
                _log.warning(
                    "%s: %s's folder is gone, and its labelled examples: it is not compared", version, judge.version
                )
                by_command = True
                judge = None
            judged_by = judge.version.folder if judge else (version.folder if version.labelled else None)
            programs, accuracy = await self._programs(model, version, judged_by, by_command)
        except TimeoutError:
            held.close()
            raise NoWorker(f"no worker has been there for {SERVING_STARTS:g} s") from None
        except Exception as error:  # numpy, zipfile and torch.export.load raise any error at files that are damaged
            held.close()
            raise NotTaken(str(error) or repr(error)) from None
        except BaseException:
            held.close()
            raise
        # its own labelled examples judge the next one, so what it scores on them is what counts
        self._switch(model, Loaded(version, programs, accuracy, held))

    async def _programs(self, model, version, judged_by, by_command):
        """Load each signature of a version in every worker; return {signature: program}, and its own accuracy."""
        programs: dict[str, int] = {}
        accuracy = None
        try:
            for name in version.signatures:
                judge = judged_by if name == DEFAULT_SIGNATURE else None
                programs[name], comparison = await self._pool.judge(version.folder, name, judge)
                self._accept(model, version, comparison, by_command)
                accuracy = comparison["own"] if name == DEFAULT_SIGNATURE else accuracy
            for name, program in programs.items():
                await self._pool.share(program, version.folder, name)
        except BaseException:
            for program in programs.values():
                self._pool.unload(program)
            raise
        return programs, accuracy

    def close(self) -> None:
        """Let go of all folders."""
        for model in self.all.values():
            for loaded in model.loaded.values():
                loaded.held.close()

    def _accept(self, model, version, comparison, by_command):
        if comparison["difference"]:
            raise NotTaken(f"it answers other than when it was exported: {comparison['difference']}")
        current = model.current
        if by_command or current is None or comparison["accuracy"] is None or not current.version.labelled:
            return
        if current.version.signatures != version.signatures:
            _log.info("%s: its signature is another than version %d's", version, current.version.number)
        if current.accuracy is not None and comparison["accuracy"] < current.accuracy - self._margin:
            raise NotTaken(
                f"its accuracy on the labelled examples of version {current.version.number} is "
                f"{comparison['accuracy']:.4f}, that one's {current.accuracy:.4f}; the margin is {self._margin:g}. "
                f"To serve it all the same: python -m modelserver versions {model.folder.parent} {model.name} "
                f"--serve {version.number}"
            )

    def _switch(self, model, loaded):
        before, model.current, model.problem = model.current, loaded, ""
        number = loaded.version.number
        model.loaded.pop(number, None)
        model.loaded[number] = loaded
        for old in list(model.loaded)[:-KEPT]:
            gone = model.loaded.pop(old)
            gone.retired = True
            if not gone.waiting:
                self._drop(gone)
        was = f", in place of {before.version.number}" if before else ""
        score = "" if loaded.accuracy is None else f"; accuracy {loaded.accuracy:.4f}"
        _log.info("%s is served%s%s", loaded.version, was, score)

    def _answered(self, loaded):
        """Count one request of `loaded` less; a retired version is unloaded when it has none left."""
        loaded.waiting -= 1
        if loaded.retired and not loaded.waiting:
            self._drop(loaded)

    def _drop(self, loaded):
        for program in loaded.programs.values():
            self._pool.unload(program)
        loaded.held.close()


def _not_yet(text):
    return Refused(503, f"{text} Send it again.", {"Retry-After": "1"})

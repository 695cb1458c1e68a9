"""Device names: `/job:worker/task:1/gpu:0` in full, `/gpu:0` in short, and the spellings of TensorFlow and torch."""

import difflib
import re
from dataclasses import dataclass
from functools import cache, total_ordering
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


#: kind in a name -> type of torch's device. `meta` keeps shapes and no numbers; it exists on every machine.
KINDS = {"cpu": "cpu", "gpu": "cuda", "mps": "mps", "meta": "meta"}

GRAMMAR = (
    "The grammar is /job:JOB/task:T/KIND:I, where any part may be left out\n"
    "and KIND is cpu, gpu, mps or meta; '/device:GPU:1' and 'cuda:1' are read as '/gpu:1'."
)

# What a job may be called, as in a cluster's spec, which doesn't import this room: it loads torch.
_JOB = r"[A-Za-z_][A-Za-z0-9_.-]*"
_JOB_WORDS = "letters, digits, '_', '-' and '.', the first no digit"
_NUMBER = r"[0-9]{1,9}"  # so that any text is read in no time; Python refuses to read numbers of 4,300 digits
# TensorFlow writes /replica:0 between job and task; always 0 since graphs are no longer replicated by hand.
_NAME = re.compile(
    rf"(?:/job:(?P<job>{_JOB}))?(?:/replica:0)?(?:/task:(?P<task>{_NUMBER}))?"
    rf"(?:/(?:device:)?(?P<kind>[a-z]+)(?::(?P<index>{_NUMBER}))?)?",
    re.IGNORECASE | re.ASCII,  # without ASCII the long s of 'taſk' is an s
)
_SPELLINGS = {"cuda": "gpu", **{kind: kind for kind in KINDS}}


@total_ordering
@dataclass(frozen=True)
class DeviceName:
    """Which device of which task: `job`, `task`, `kind` (`cpu`, `gpu`, `mps`, `meta`) and `index`; None where left out.

    Immutable, hashable and ordered (job, task, kind, index; what is left out comes first). A name says nothing about
    whether the device exists.
    """

    job: str | None = None
    task: int | None = None
    kind: str | None = None
    index: int | None = None

    def __post_init__(self):
        if self.job is not None and not re.fullmatch(_JOB, self.job):
            raise ValueError(f"DeviceName(job={self.job!r}): a job is called by {_JOB_WORDS}; say job='worker'.")
        for field, value in (("task", self.task), ("index", self.index)):
            if value is not None and (type(value) is not int or not 0 <= value < 10**9):
                raise ValueError(f"DeviceName({field}={value!r}): count from 0 to 999999999; say {field}=0.")
        if self.kind is not None and self.kind not in KINDS:
            raise ValueError(f"DeviceName(kind={self.kind!r}): the kinds are {', '.join(KINDS)}.")
        if (self.kind is None) != (self.index is None):
            raise ValueError(f"DeviceName(kind={self.kind!r}, index={self.index!r}): give both, or neither for a task.")
        if (self.job, self.task, self.kind) == (None, None, None):
            raise ValueError(f"DeviceName(): a name needs at least one part.\n{GRAMMAR}")

    @classmethod
    def parse(cls, text: object) -> "DeviceName":
        """Return the `DeviceName` that `text` spells; a `DeviceName` or a `torch.device` is taken too.

        A kind without an index is the first of its kind, and a torch name may do without the slash. Raises ValueError
        with the grammar and the nearest legal name.

        >>> DeviceName.parse("/job:worker/task:1/device:GPU:0")
        DeviceName('/job:worker/task:1/gpu:0')
        >>> str(DeviceName.parse("cuda:1"))
        '/gpu:1'
        >>> DeviceName.parse("cuda:1").torch
        device(type='cuda', index=1)
        >>> sorted(map(DeviceName.parse, ["/task:10", "/gpu:1", "/task:2/gpu:0", "cpu", "/task:2"]))[-2:]
        [DeviceName('/task:2/gpu:0'), DeviceName('/task:10')]
        """
        if isinstance(text, cls):
            return text
        written = str(text)
        slashed = written if written.startswith("/") else f"/{written}"
        match = _NAME.fullmatch(slashed)
        kind = match and match["kind"] and _SPELLINGS.get(match["kind"].lower())
        if match is None or (match["kind"] and kind is None) or not any(match.groupdict().values()):
            nearest = f"Nearest legal name: {_nearest(slashed)!r}.\n{GRAMMAR}"
            raise ValueError(f"DeviceName.parse({written!r}): not a device name.\n{nearest}")
        task = None if match["task"] is None else int(match["task"])
        return cls(match["job"], task, kind, int(match["index"] or 0) if kind else None)

    @property
    def torch(self) -> "torch.device":
        """The `torch.device` of the device part. Raises ValueError for a task's name and past torch's last index,
        127."""
        import torch

        if self.kind is None or self.index is None:  # both, or neither
            raise ValueError(f"DeviceName({str(self)!r}).torch: a task, not a device; add one, as in '{self}/cpu:0'.")
        if self.index > 127:  # torch keeps the index in 8 bits and wraps: torch.device("cuda", 300) is cuda:44
            raise ValueError(f"DeviceName({str(self)!r}).torch: torch counts the devices of a kind from 0 to 127.")
        # torch names the one CPU and meta without an index: torch.device("cpu") != torch.device("cpu", 0).
        single = self.kind in ("cpu", "meta") and self.index == 0
        return torch.device(KINDS[self.kind]) if single else torch.device(KINDS[self.kind], self.index)

    @property
    def local(self) -> "DeviceName | None":
        """The device part alone (`/gpu:0`), as a task calls its own device; None when the name is only a task's."""
        return None if self.kind is None else DeviceName(kind=self.kind, index=self.index)

    @property
    def tensorflow(self) -> str:
        """The name as TensorFlow writes it: `/job:worker/replica:0/task:1/device:GPU:0`; `parse` reads it back.

        TensorFlow leaves no part out: this process is its `/job:localhost/replica:0/task:0`.
        """
        device = "" if self.kind is None else f"/device:{self.kind.upper()}:{self.index}"
        return f"/job:{self.job or 'localhost'}/replica:0/task:{self.task or 0}{device}"

    def __str__(self):
        job = "" if self.job is None else f"/job:{self.job}"
        task = "" if self.task is None else f"/task:{self.task}"
        device = "" if self.kind is None else f"/{self.kind}:{self.index}"
        return job + task + device

    def __repr__(self):
        return f"DeviceName({str(self)!r})"

    def __lt__(self, other):
        if not isinstance(other, DeviceName):
            return NotImplemented
        return self._key() < other._key()

    def _key(self):
        return tuple((part is not None, part) for part in (self.job, self.task, self.kind, self.index))


def _nearest(text):
    """Return the legal name most like `text`: each piece between slashes or spaces is read as the part it resembles."""
    parts = {}
    for piece in re.split(r"[/\s]+", re.sub(r"device:", "", text, flags=re.IGNORECASE)):
        word = re.match(r"[A-Za-z]*", piece).group().lower()
        value = piece[len(word) :].lstrip(":=")
        close = difflib.get_close_matches(word, ["job", "task", "replica", *_SPELLINGS], n=1, cutoff=0.5)
        number = re.search(_NUMBER, value)
        match close:
            case ["job"] if re.fullmatch(_JOB, value):
                parts["job"] = value
            case ["task"]:
                parts["task"] = int(number.group()) if number else 0
            case [kind] if kind in _SPELLINGS:
                parts["kind"], parts["index"] = _SPELLINGS[kind], int(number.group()) if number else 0
    return str(DeviceName(**(parts or {"kind": "cpu", "index": 0})))


@cache
def name_of(device: "torch.device | str") -> str:
    """Return the name of a `torch.device` as text: `/cpu:0`, `/gpu:1`; a device outside the grammar keeps torch's name.

    >>> name_of("cuda:1")
    '/gpu:1'
    """
    kind, _, index = str(device).partition(":")
    kinds = {of_torch: kind for kind, of_torch in KINDS.items()}
    return f"/{kinds.get(kind, kind)}:{index or 0}"

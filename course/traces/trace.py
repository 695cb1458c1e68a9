"""A trace: what a real machine took on a stated day, as loaded from a file."""

from dataclasses import asdict, dataclass

from course.traces.timings import CopyTiming, LifeTiming, MatmulTiming, OpTiming

SCHEMA = 2  # raise it when fields change; a reader refuses what is newer than it. 1 had products only.

#: field of a trace -> what one of its rows is.
ROWS = {"matmul": MatmulTiming, "copies": CopyTiming, "ops": OpTiming, "life": LifeTiming}
_ORDER = {
    "matmul": lambda row: (row["dtype"], row["size"]),
    "copies": lambda row: (row["direction"], row["memory"], row["nbytes"]),
    "ops": lambda row: (row["op"], row["dtype"], row["numbers"]),
    "life": lambda row: (row["engine"], row["height"] * row["width"]),
}


@dataclass(frozen=True)
class Trace:
    """Recorded figures of one device: `hardware`, `driver` ("" on a CPU), `software` versions, ISO `date`, and rows.

    `matmul` is a tuple of `MatmulTiming` by dtype and rising size, `copies` of `CopyTiming`, `ops` of `OpTiming`,
    `life` of `LifeTiming`; the last three may be empty. Each row is labelled "recorded" with hardware and date.
    """

    name: str
    hardware: str
    driver: str
    software: dict
    date: str
    notes: str
    matmul: tuple
    copies: tuple = ()
    ops: tuple = ()
    life: tuple = ()

    @property
    def origin(self) -> str:
        """Hardware and date, as shown beside every figure of the trace."""
        return f"{self.hardware}, {self.date}"

    def sizes(self, dtype: str = "float32") -> list[int]:
        """Return the sizes recorded for `dtype`, rising."""
        return [t.size for t in self.matmul if t.dtype == dtype]

    def at(self, size: int, dtype: str = "float32") -> MatmulTiming:
        """Return the `MatmulTiming` of `size`; raises ValueError that names the sizes there are."""
        for timing in self.matmul:
            if (timing.size, timing.dtype) == (size, dtype):
                return timing
        raise ValueError(
            f"Trace.at(size={size}, dtype={dtype!r}): {self.name!r} holds {dtype} sizes {self.sizes(dtype)}. "
            "Use one of these, or record your own with course.timing.record_trace(...)."
        )

    def document(self) -> dict:
        """Return the trace as plain JSON data, the inverse of `from_document`."""
        fields = asdict(self)
        for name in ROWS:  # kind and origin are the same for every figure of a trace, so said once
            fields[name] = [{k: v for k, v in row.items() if k not in ("kind", "origin")} for row in fields[name]]
        return {"schema": SCHEMA, "kind": "recorded", **fields}

    @classmethod
    def from_document(cls, document: dict) -> "Trace":
        """Build a trace from JSON data that `validate` has passed; a file of schema 1 has products only."""
        fields = {k: document[k] for k in ("name", "hardware", "driver", "software", "date", "notes")}
        origin = f"{fields['hardware']}, {fields['date']}"
        for name, row_of in ROWS.items():
            rows = sorted(document.get(name, []), key=_ORDER[name])
            fields[name] = tuple(row_of(**row, kind="recorded", origin=origin) for row in rows)
        return cls(**fields)

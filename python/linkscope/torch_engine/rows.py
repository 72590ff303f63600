"""Records: what an engine prints, one JSON object a line (schema/result.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

from linkscope import __version__
from linkscope.order_statistics import interval_rank, percentile
from linkscope.torch_engine.faults import EngineError, Fault
from linkscope.torch_engine.plan import SCHEMA, Case

Json = dict[str, Any]
Write = Callable[[Json], None]
"""Takes one record to whoever reads them."""


def line_of(record: Json) -> bytes:
    """A record as the bytes of a line."""
    return json.dumps(record, separators=(",", ":"), default=str).encode() + b"\n"


def rounded(value: float) -> float:
    """To nine digits: below any clock's resolution."""
    return float(f"{value:.9g}")


def stats(samples: Sequence[float]) -> Json:
    """Summary of at least one sample; ``low`` and ``high`` bound the median."""
    ordered = sorted(samples)
    n = len(ordered)
    rank = interval_rank(n)
    values = {
        "median": percentile(ordered, 0.5),
        "low": ordered[rank - 1],
        "high": ordered[n - rank],
        "mean": sum(ordered) / n,
        "min": ordered[0],
        "p5": percentile(ordered, 0.05),
        "p95": percentile(ordered, 0.95),
        "p99": percentile(ordered, 0.99),
        "max": ordered[-1],
    }
    return {"n": n, **{name: rounded(value) for name, value in values.items()}}


def hello(backend: str) -> Json:
    return {"record": "hello", "schema": SCHEMA, "version": __version__, "backend": backend}


def start(case: Case) -> Json:
    return {"record": "start", "id": case.id}


def end(case: Case) -> Json:
    """What a process other than rank 0 says where that one gives the row."""
    return {"record": "end", "id": case.id}


def done(rows: int) -> Json:
    return {"record": "done", "rows": rows}


def failure(reason: str) -> Json:
    """What a process of several says that could not do its part of a step, before it waits for the others there."""
    return {"record": "failure", "reason": reason}


def error(fault: EngineError) -> Json:
    """What a process of several says that leaves before it is done."""
    word = "bad-input" if fault.fault is Fault.BAD_INPUT else "lost"
    return {"record": "error", "fault": word, "reason": str(fault)}


def row(case: Case, backend: str, status: str, started: datetime, elapsed_s: float) -> Json:
    """What every row says, whatever became of its case."""
    when = started.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "record": "row",
        "id": case.id,
        "status": status,
        "modelled": False,
        "backend": backend,
        "case": case.json,
        "started": when,
        "elapsed_s": rounded(elapsed_s),
    }

"""What visits took here before: learnt from every run, so that a budget can be kept by the next."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from linkscope.plan.budget import Costs, row_of, setup_s
from linkscope.results.row import Row

SCHEMA = 1
MOST_BYTES = 8 << 20
MOST_VISITS = 20_000


def kept_at(node: str, backend: str, environment: Mapping[str, str] = os.environ) -> Path:
    """A file in the user's cache, $XDG_CACHE_HOME or ~/.cache; it may be deleted at any time."""
    cache = Path(environment.get("XDG_CACHE_HOME", ""))
    home = cache if cache.is_absolute() else Path(environment.get("HOME", "/")) / ".cache"
    name = re.sub(r"[^\w.+-]+", "-", f"{node}-{backend}").strip(".-")[:200]
    return home / "linkscope" / "costs" / f"{name}.json"


def known(path: Path) -> Costs:
    """What is kept at ``path``; nothing where that is not there or no use."""
    try:
        with path.open("rb") as stream:
            data = json.loads(stream.read(MOST_BYTES))
        if data["schema"] != SCHEMA:
            return Costs()
        starts = {int(processes): seconds for processes, seconds in _seconds(data["starts"]).items()}
        return Costs(_seconds(data["visits"]), _seconds(data["ratios"]), starts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Costs()


def learn(path: Path, before: Costs, rows: Sequence[Row], starts: Mapping[int, Sequence[float]]) -> None:
    """Keeps what ``rows`` and ``starts`` (seconds, by number of processes) add to ``before``, if it can."""
    visits: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    for row in rows:
        for one in row.measured:
            beyond = max(float(one.raw.get("elapsed_s", 0.0)) - _sampled_s(one), 0.001)
            visits.setdefault(one.id, []).append(beyond)
            ratios.setdefault(row_of(one.case), []).append(beyond / setup_s(one.case))
    if not visits:
        return
    ratios[""] = [ratio for found in ratios.values() for ratio in found]
    merged = {**before.visits, **{case_id: median(found) for case_id, found in visits.items()}}
    data = {
        "schema": SCHEMA,
        "visits": dict(list(merged.items())[-MOST_VISITS:]),
        "ratios": {**before.ratios, **{name: median(found) for name, found in ratios.items()}},
        "starts": {**before.starts, **{processes: median(found) for processes, found in starts.items() if found}},
    }
    with contextlib.suppress(OSError):
        _write(path, data)


def _sampled_s(row: Row) -> float:
    return max((sum(flow.samples_s) * flow.repeats * flow.operations for flow in row.flows), default=0.0)


def _seconds(data: Any) -> dict[str, float]:
    """Raises ValueError or AttributeError for what is no table of positive numbers."""
    found = {str(name): float(value) for name, value in data.items()}
    if not all(0 < value < 1e6 for value in found.values()):
        raise ValueError("not positive")
    return found


def _write(path: Path, data: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as stream:
        json.dump(data, stream, separators=(",", ":"))
    Path(stream.name).replace(path)

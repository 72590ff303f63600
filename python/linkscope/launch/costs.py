"""Costs of earlier visits: every run adds to them, so that the next can keep a budget."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from linkscope.plan.budget import Costs, row_of, setup_s
from linkscope.results.kept_file import KeptFolder
from linkscope.results.row import Row

SCHEMA = 1
MOST_VISITS = 20_000
_Key = TypeVar("_Key")
_FOLDER = KeptFolder("XDG_CACHE_HOME", ".cache", "costs", most_bytes=8 << 20)


def kept_at(node: str, backend: str, environment: Mapping[str, str] = os.environ) -> Path:
    """A file in the user's cache, $XDG_CACHE_HOME or ~/.cache; it may be deleted at any time."""
    return _FOLDER.path(f"{node}-{backend}", environment)


def known(path: Path) -> Costs:
    """Return what is kept at ``path``; nothing where that is not there or no use."""
    try:
        data = _FOLDER.read(path)
        if data["schema"] != SCHEMA:
            return Costs()
        starts = {int(processes): seconds for processes, seconds in _seconds(data["starts"]).items()}
        return Costs(_seconds(data["visits"]), _seconds(data["ratios"]), starts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Costs()


def learn(
    path: Path, before: Costs, rows: Sequence[Row], starts: Mapping[int, Sequence[float]], crowd: float = 1.0
) -> None:
    """Keeps what ``rows`` and ``starts`` (seconds, by number of processes) add to ``before``, if it can.

    ``crowd``: how many wanted each CPU when the run began. Seconds are kept divided by it, so that those of a busy
    machine can stand beside those of a quiet one.
    """
    visits: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    for row in rows:
        for one in row.measured:
            beyond = max(one.elapsed_s - _sampled_s(one), 0.001)
            visits.setdefault(one.id, []).append(beyond)
            ratios.setdefault(row_of(one.case), []).append(beyond / setup_s(one.case))
    if not visits:
        return
    new = Costs(_medians(visits), _medians(ratios), _medians(starts)).times(1 / crowd)
    of_rows = {row: ratio for row, ratio in {**before.ratios, **new.ratios}.items() if row}
    data = {
        "schema": SCHEMA,
        "visits": dict(list({**before.visits, **new.visits}.items())[-MOST_VISITS:]),
        "ratios": {**of_rows, "": median(of_rows.values())},
        "starts": {**before.starts, **new.starts},
    }
    with contextlib.suppress(OSError):
        _FOLDER.write(path, data)


def _medians(found: Mapping[_Key, Sequence[float]]) -> dict[_Key, float]:
    return {key: median(values) for key, values in found.items() if values}


def _sampled_s(row: Row) -> float:
    return max((sum(flow.samples_s) * flow.repeats * flow.operations for flow in row.flows), default=0.0)


def _seconds(data: Any) -> dict[str, float]:
    """Raises ValueError or AttributeError for what is no table of positive numbers."""
    found = {str(name): float(value) for name, value in data.items()}
    if not all(0 < value < 1e6 for value in found.values()):
        raise ValueError("not positive")
    return found

"""ModelGaps: which suite rows of what was asked the model of a described node has nothing for, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from linkscope.results.row import Row


@dataclass(frozen=True)
class ModelGaps:
    """``modelled``: suite rows with a case that has figures. ``lacking``: the others, in the order in which they were
    asked for, by the reason of their first case.
    """

    modelled: tuple[str, ...]
    lacking: Mapping[str, tuple[str, ...]]

    @property
    def asked(self) -> int:
        """How many suite rows there are."""
        return len(self.modelled) + sum(map(len, self.lacking.values()))


def model_gaps(cases: Iterable[tuple[str, str, str | None]]) -> ModelGaps:
    """Of cases, each by its suite, the name of its suite row, and why it has no figure (None: it has one). Suites are
    named where there are several."""
    asked = list(cases)
    several = len({suite for suite, _, _ in asked}) > 1
    reasons: dict[str, list[str | None]] = {}
    for suite, name, reason in asked:
        reasons.setdefault(f"{suite}/{name}" if several else name, []).append(reason)
    lacking: dict[str, list[str]] = {}
    for row, told in reasons.items():
        if None not in told:
            lacking.setdefault(str(told[0]), []).append(row)
    return ModelGaps(
        tuple(row for row, told in reasons.items() if None in told),
        {reason: tuple(rows) for reason, rows in lacking.items()},
    )


def gaps_of(rows: Iterable[Row]) -> ModelGaps:
    """Those of a run on a described node, by its rows."""
    asked = (row for row in rows if row.status != "skipped" or row.not_modelled)
    return model_gaps((row.suite, row.name, str(row.reason) if row.not_modelled else None) for row in asked)

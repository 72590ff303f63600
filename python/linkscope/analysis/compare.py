"""Compare: what differs between runs of a node beyond its noise, and what the differences have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from linkscope.analysis.cell import title
from linkscope.analysis.common_cause import CommonCause, findings
from linkscope.analysis.difference import Difference, Figure, Key, differences, figures_of
from linkscope.analysis.setting_changes import setting_changes
from linkscope.errors import LinkscopeError
from linkscope.machine.paths import Paths
from linkscope.order_statistics import t975
from linkscope.results.run_file import RunFile
from linkscope.students_t import two_sided

Json = dict[str, Any]

ALPHA = 0.001
"""Share of false ones among all differences that are told: at most one in a thousand."""
THRESHOLD = 0.01
"""Differences of less are nobody's concern."""
WORSE, BETTER, SAME, UNCLEAR = "worse", "better", "same", "unclear"


@dataclass(frozen=True, eq=False)
class Change:
    """One figure on both sides, in ``unit`` (GB/s or ns). ``ratio`` is new over base, ``low`` to ``high`` its 95 %
    interval, both None where nothing says how much the figure varies from run to run; ``p``: of no difference.

    ``verdict``: worse or better (real, and larger than the threshold), same (the interval lies within the threshold),
    or unclear.
    """

    key: Key
    figure: Figure
    table: str
    base: float
    new: float
    ratio: float
    low: float | None
    high: float | None
    p: float
    verdict: str

    @property
    def unit(self) -> str:
        return self.figure.unit

    @property
    def name(self) -> str:
        """Its id, and its place where the case has several figures."""
        id_, row, column, figure = self.key
        return f"{id_} ({' > '.join(word for word in (row, column, figure) if word)})" if self.figure.several else id_

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        id_, row, column, figure = self.key
        place = {"id": id_, "row": row, "column": column, "figure": figure, "table": self.table}
        names = ("unit", "base", "new", "ratio", "low", "high", "p", "verdict")
        return {**place, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class Comparison:
    """``changes``: every figure of both sides. ``findings``: what is worse or better, by what it has in common, the
    gravest first. ``lost``: (id, status, reason) of cases that were ok in the base and are not now; ``gone`` and
    ``added``: ids of one side only. ``differences``: (what, base, new) of software, machine and the way of measuring.
    ``unknown``: figures of which nothing says how much they vary from run to run.
    """

    base: tuple[str, ...]
    new: tuple[str, ...]
    alpha: float
    threshold: float
    modelled: bool
    changes: tuple[Change, ...]
    findings: tuple[CommonCause, ...]
    lost: tuple[tuple[str, str, str], ...]
    gone: tuple[str, ...]
    added: tuple[str, ...]
    differences: tuple[tuple[str, str, str], ...]

    def count(self, verdict: str) -> int:
        """How many figures are worse, better, same or unclear."""
        return sum(change.verdict == verdict for change in self.changes)

    @property
    def unknown(self) -> int:
        return sum(change.low is None for change in self.changes)

    @property
    def seen_from(self) -> float | None:
        """The change that would have shown in half of the figures, 0.02 for 2 %; None where none can be judged."""
        known = [max(math.log(c.high / c.ratio), math.log(c.ratio / c.low)) for c in self.changes if c.low and c.high]
        return math.expm1(max(2 * median(known), math.log1p(self.threshold))) if known else None

    @property
    def worse(self) -> bool:
        """Whether something got worse: a figure, or a case that no longer works."""
        return any(found.worse for found in self.findings) or bool(self.lost)

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        names = (
            "base",
            "new",
            "alpha",
            "threshold",
            "modelled",
            "lost",
            "gone",
            "added",
            "differences",
            "worse",
            "unknown",
        )
        return {
            **{name: getattr(self, name) for name in names},
            "findings": [found.to_json() for found in self.findings],
            "changes": [change.to_json() for change in self.changes],
        }


def compare(
    base: Sequence[RunFile], new: Sequence[RunFile], alpha: float = ALPHA, threshold: float = THRESHOLD
) -> Comparison:
    """Figures of the same id are held against each other, on logarithms, by Welch's t test.

    Variance comes from between the runs of a side where there are several; else from the replicates of each run and the
    node's noise between runs: as calibrated, or ``difference.ASSUMED``, or unknown. Of all figures at most ``alpha`` of
    those told are false (Benjamini and Hochberg 1995). Raises LinkscopeError where a side is empty or the two have no
    figure in common.
    """
    if not base or not new:
        raise LinkscopeError("there is nothing to compare: name a run, or a folder with runs, for either side")
    before, after = figures_of(base), figures_of(new)
    found = differences(before, after)
    if not found:
        raise LinkscopeError(
            f"{base[0].path} and {new[0].path} have no figure in common: compare runs of the same suites"
        )
    p_values = {key: _p(one) for key, one in found.items() if one.variances is not None}
    real = _discoveries(p_values, alpha)
    changes = [
        _change(
            key, before[key], after[key], one, p_values.get(key, 1.0), _verdict(one, after[key], key in real, threshold)
        )
        for key, one in found.items()
    ]
    ids = {row.id for run in base for row in run.rows}, {row.id for run in new for row in run.rows}
    return Comparison(
        base=tuple(str(run.path) for run in base),
        new=tuple(str(run.path) for run in new),
        alpha=alpha,
        threshold=threshold,
        modelled=any(run.modelled or run.node.modelled for run in (*base, *new)),
        changes=tuple(changes),
        findings=findings(changes, Paths(new[-1].node)),
        lost=_lost(base, new),
        gone=tuple(sorted(ids[0] - ids[1])),
        added=tuple(sorted(ids[1] - ids[0])),
        differences=setting_changes(base[-1], new[-1]),
    )


def _p(one: Difference) -> float:
    """Of no difference."""
    sigma = _sigma(one)
    return two_sided(one.log / sigma, one.freedom) if sigma else float(one.log == 0)


def _sigma(one: Difference) -> float:
    return math.sqrt(sum(part for part, _ in one.variances or ()))


def _margin(one: Difference) -> float | None:
    """Half width of its 95 % interval; None where nothing is known of it."""
    return None if one.variances is None else t975(max(int(one.freedom), 1)) * _sigma(one)


def _discoveries(p_values: Mapping[Key, float], alpha: float) -> set[Key]:
    """Those of the hypotheses that Benjamini and Hochberg's procedure rejects."""
    ordered = sorted(p_values, key=lambda key: p_values[key])
    last = max((i for i, key in enumerate(ordered, 1) if p_values[key] <= alpha * i / len(ordered)), default=0)
    return set(ordered[:last])


def _verdict(one: Difference, figure: Figure, real: bool, threshold: float) -> str:
    bound, margin = math.log1p(threshold), _margin(one)
    if real and abs(one.log) > bound:
        return BETTER if (one.log > 0) == figure.higher_is_better else WORSE
    return SAME if margin is not None and (real or abs(one.log) + margin <= bound) else UNCLEAR


def _change(key: Key, base: Figure, new: Figure, one: Difference, p: float, verdict: str) -> Change:
    margin = _margin(one)
    return Change(
        key=key,
        figure=new,
        table=title(new.part),
        base=base.value,
        new=new.value,
        ratio=math.exp(one.log),
        low=None if margin is None else math.exp(one.log - margin),
        high=None if margin is None else math.exp(one.log + margin),
        p=p,
        verdict=verdict,
    )


def _lost(base: Sequence[RunFile], new: Sequence[RunFile]) -> tuple[tuple[str, str, str], ...]:
    """Cases that were ok in any run of the base, and in none of the new ones that tried them."""
    good = {row.id for run in base for row in run.with_status("ok")}
    still = {row.id for run in new for row in run.with_status("ok")}
    tried = {row.id: row for run in new for row in run.rows if row.status != "ok"}
    return tuple(
        (name, row.status, row.reason or "no reason recorded")
        for name, row in tried.items()
        if name in good and name not in still
    )

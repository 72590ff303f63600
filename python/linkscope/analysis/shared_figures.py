"""Shared figures: those of one case in two tables, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from linkscope.analysis.cell import Cell
from linkscope.analysis.headline import Headline


@dataclass(frozen=True)
class SharedFigures:
    """Ratios of new over base of ``count`` figures: their geometric mean, the least and the largest of them."""

    count: int
    mean: float
    least: float
    most: float


def shared_figures(base: Iterable[Cell], new: Iterable[Cell]) -> SharedFigures | None:
    """Of figures with the same ``Cell.key`` and above 0, both rates or both times; None where there are none."""
    before = {entry.key: entry.headline for entry in base if entry.headline is not None}
    pairs = [(before.get(entry.key), entry.headline) for entry in new if entry.headline is not None]
    ratios = [_value(now) / _value(old) for old, now in pairs if old is not None and _comparable(old, now)]
    if not ratios:
        return None
    return SharedFigures(len(ratios), math.exp(fmean(map(math.log, ratios))), min(ratios), max(ratios))


def _comparable(old: Headline, now: Headline) -> bool:
    return old.higher_is_better == now.higher_is_better and old.value.median > 0 < now.value.median


def _value(figure: Headline) -> float:
    """GB/s or seconds."""
    return figure.value.median if figure.higher_is_better else figure.seconds

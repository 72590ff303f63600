"""Rivals: the figures of a table of which one may be told as its best, since they are known and timed alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkscope.analysis.cell import Cell

BOTH_WAYS = "both ways"
IN_KERNEL = "in-kernel"
APART = (IN_KERNEL, "window", BOTH_WAYS)
"""Words of a regime whose figures are better than those of one call one way: less is timed, or more bytes count."""


def comparable(cells: Iterable[Cell]) -> list[Cell]:
    """The figures that a reader may set against one another: known within a factor of 3, or unknown and yet better than
    any known one of their regime, and of a regime that nothing sets apart. Where a table has none of these, all of
    those of one direction, else all; empty where no cell has a figure."""
    figures = [entry for entry in cells if entry.headline is not None]
    known = [entry for entry in figures if not _unknown(entry)]
    told = [entry for entry in figures if not _unknown(entry) or _surely_better(entry, known)] if known else figures
    plain = [entry for entry in told if not set_apart(entry.regime)]
    return plain or [entry for entry in told if set_apart(entry.regime) != BOTH_WAYS] or told


def _unknown(entry: Cell) -> bool:
    return entry.headline is not None and entry.headline.unknown


def rivals(cells: Iterable[Cell]) -> list[Cell]:
    """Of the comparable figures those of one regime: that in which most series can be set against one another at one
    place, then that of the best figure. Empty where no cell has a figure."""
    groups: dict[str, list[Cell]] = {}
    for entry in comparable(cells):
        groups.setdefault(entry.regime, []).append(entry)
    return max(groups.values(), key=_weight, default=[])


def fastest(cells: Iterable[Cell]) -> Cell | None:
    """The highest rate, or the shortest time, of those with a figure; the first of equals."""
    return max((entry for entry in cells if entry.headline is not None), key=_rank, default=None)


def slowest(cells: Iterable[Cell]) -> Cell | None:
    """The lowest rate, or the longest time; the last of equals."""
    found = [entry for entry in cells if entry.headline is not None]
    return min(reversed(found), key=_rank, default=None)


def best_apart(cells: Iterable[Cell], best: Cell) -> tuple[Cell, ...]:
    """Of each word of ``APART`` that does not set ``best`` apart the best known figure, where that is better."""
    groups: dict[str, list[Cell]] = {word: [] for word in APART if word != set_apart(best.regime)}
    for entry in cells:
        if entry.headline is not None and not entry.headline.unknown and set_apart(entry.regime) in groups:
            groups[set_apart(entry.regime)].append(entry)
    found = (fastest(entries) for entries in groups.values())
    return tuple(one for one in found if one is not None and _rank(one) > _rank(best))


def set_apart(regime: str) -> str:
    """The first word of ``APART`` in a regime; empty where nothing sets it apart."""
    words = regime.split(", ")
    return next((word for word in APART if word in words), "")


def _surely_better(entry: Cell, known: Iterable[Cell]) -> bool:
    """Whether no interval of the known figures of its regime reaches its own."""
    best = fastest(one for one in known if one.regime == entry.regime)
    if best is None or best.headline is None or entry.headline is None:
        return False
    own, other = entry.headline.value, best.headline.value
    return own.low > other.high if entry.headline.higher_is_better else own.high < other.low


def _weight(cells: Sequence[Cell]) -> tuple[bool, int, float]:
    series: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for entry in cells:
        series.setdefault((entry.series.partition(", ")[0], entry.hosts), set()).add(entry.series)
    return not set_apart(cells[0].regime), max(map(len, series.values())), max(map(_rank, cells))


def _rank(entry: Cell) -> float:
    figure = entry.headline
    assert figure is not None
    return figure.value.median if figure.higher_is_better else -figure.value.median

"""Movements: what a run reached for each movement, by method, in few rows.

Results with one movement, unit and manner of timing make a row. Where there is room, rows are taken apart by what they
differ in, by kinds of links, memories and sizes; elsewhere a row is of what most results are of. A cell is a method's
best way, on its slowest and its fastest path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import polars

from linkscope.figures.columns import ASKED, LIKENESS, RATE, TIME
from linkscope.messages.names import named

Line = dict[str, Any]

ALIKE = 0.01
"""Values that differ by a smaller share are one number."""
SMALL_BYTES = 64 << 10
"""The time of a smaller transfer says more than its rate."""
FEW_ROWS = 6
"""Movements of a table that leave room for more than one row of each."""
PARTED_BY = ("kind", "memory", "size")
"""What may have rows of its own besides kinds of link."""
KINDS = tuple(name for name in LIKENESS if name not in ("movement", "tier"))
_KEYS = ("movement", "unit", "kind", "tier", "memories", "bytes", "method", "way")
_UNNAMED = frozenset(("calls_included", "isolated", "figure", "hosts", "both_ways", "modelled"))
"""Conditions that other words of a row say already."""
_PLAIN = frozenset(("0", "once", "model", "device"))
"""Values of conditions that need no word beside other values."""


@dataclass
class MoveRow:
    """Condensed results that share a row. ``words``: codes of what sets it apart from other rows of its movement."""

    movement: str
    unit: str
    lines: list[Line]
    words: tuple[str, ...] = ()
    size: int = 0
    rates: bool = False
    """True where small transfers are rates as well."""

    def __post_init__(self) -> None:
        self.size = self.size or self._usual_size()

    @property
    def of_rates(self) -> bool:
        """Return whether cells are GB/s; else they are seconds, as of transfers too small for a rate."""
        timed = all(line["seconds"] is not None for line in self.lines if line["bytes"] == self.size)
        return self.unit == RATE and (self.rates or not timed or self.size >= SMALL_BYTES)

    def part(self, lines: list[Line], words: Iterable[str]) -> MoveRow:
        """Return the row of some of its lines, with further words."""
        return MoveRow(self.movement, self.unit, lines, (*self.words, *words))

    def at(self, size: int, rates: bool = False) -> MoveRow:
        """Return the row of another size."""
        return replace(self, size=size, rates=rates)

    def cell(self, column: str = "", name: str = "") -> BestOf | None:
        """Return what a method or a way (``name``), or the best of all, reached; None without results of that size."""
        known = [line for line in self.lines if line["bytes"] == self.size and (not name or line[name] == column)]
        return BestOf.of(known, self) if known else None

    def _usual_size(self) -> int:
        """Return the size that most methods and then most paths have: of rates and loads the largest of these, else
        the smallest."""
        sign = 1 if self.unit == RATE or "-reads-" in self.movement else -1
        sizes = grouped(self.lines, lambda line: line["bytes"])
        most = {size: (len({line["method"] for line in some}), _paths(some)) for size, some in sizes.items()}
        return int(max(sizes, key=lambda size: (*most[size], sign * size)))


@dataclass(frozen=True)
class BestOf:
    """Hold what a method reached: ``values`` and ``shares`` of peak of its slowest and its fastest path, or one of
    both.

    ``assumed``: of a model, mostly a latency that no source gives.
    """

    values: tuple[float, ...]
    shares: tuple[float, ...]
    way: str
    ids: tuple[str, ...]
    assumed: bool

    @staticmethod
    def of(lines: Sequence[Line], row: MoveRow) -> BestOf:
        """Return the best of the ways that most paths have."""
        ways = grouped(lines, lambda line: (line["way"], line["memories"]))
        name, sign = ("median", 1) if row.of_rates else ("seconds", -1)
        best = max(ways.values(), key=lambda some: (_paths(some), sign * (some[0][name] or 0.0)))
        values = ("low", "median", "high") if row.of_rates or row.unit == TIME else ("seconds",)
        shared = [line for line in best if row.of_rates and line["share"] is not None]
        return BestOf(
            _range([[line[end] for end in values] for line in best]),
            _range([[line[end] for end in ("share_low", "share", "share_high")] for line in shared]),
            best[0]["way"],
            tuple(name for line in best for name in line["ids"]),
            any(line["assumed"] for line in best),
        )


def blocks(frame: polars.DataFrame) -> list[list[MoveRow]]:
    """Return rows for the results of a frame, those that share methods together, the block of most results first."""
    lines = condensed(frame)
    together: list[set[str]] = []
    for some in grouped(lines, lambda line: (line["movement"], line["unit"], line["kind"])).values():
        joined = {line["method"] for line in some}
        joined |= {name for methods in together if methods & joined for name in methods}
        together = [methods for methods in together if not methods & joined] + [joined]
    found = [[line for line in lines if line["method"] in methods] for methods in together]

    def place(line: Line) -> tuple[str, str]:
        return line["movement"], line["unit"]

    return [
        [
            MoveRow(movement, unit, some)
            for (movement, unit), some in grouped(block, lambda line: (line["movement"], line["unit"])).items()
        ]
        for block in sorted(found, key=lambda some: -_count(some))
    ]


def condensed(frame: polars.DataFrame) -> list[Line]:
    """Return a line for each (movement, unit, kind, tier, memories, size, way), over all paths."""
    known = frame.filter(polars.col("status") == "ok", polars.col("value").is_not_null())
    asked = {text: _asked(text) for text in known["parameters"].unique() if text}
    kind = [polars.col(name).cast(polars.String).fill_null("") for name in KINDS]
    known = known.with_columns(
        polars.col("parameters").replace_strict(asked, default="").alias("asked"), polars.col("tier").fill_null("")
    ).with_columns(polars.concat_list(*kind, "asked").alias("kind"))
    value, share = polars.col("value"), polars.col("of_peak")
    found = known.group_by(*_KEYS, maintain_order=True).agg(
        low=value.min(),
        high=value.max(),
        median=value.median(),
        seconds=polars.col("seconds").median(),
        share_low=share.min(),
        share=share.median(),
        share_high=share.max(),
        assumed=polars.col("assumed").any(),
        paths=polars.col("path").n_unique(),
        count=polars.len(),
        ids=polars.col("id"),
    )
    return [{**line, "kind": tuple(line["kind"])} for line in found.iter_rows(named=True)]


def _asked(parameters: str) -> str:
    """Return the parameters that say what is to be done; the movement says which collective."""
    words = (word for word in parameters.split() if word.partition("=")[0] in ASKED)
    return " ".join(word for word in words if not word.startswith("collective="))


def taken_apart(rows: Sequence[MoveRow], most: int, by: Collection[str] = PARTED_BY) -> list[MoveRow]:
    """Return the rows, taken apart as far as ``most`` rows allow: by kind of link, and by what ``by`` names.

    Where there are many movements only links that differ and another rate by the host's clock have rows of their own.
    """
    few = len(rows) <= FEW_ROWS
    found = _where_they_fit(rows, most, by_tier)
    found = _where_they_fit(found, most if "kind" in by else 0, partial(_by_kind, of_memory=few))
    found = _where_they_fit(found, most, _by_memories) if few and "memory" in by else found
    return _by_size(found, most) if few and "size" in by else found


def columns_of(rows: Sequence[MoveRow], name: str) -> list[str]:
    """Return the methods or ways (``name``) of rows, those first that most rows have."""
    held = Counter(
        value for row in rows for value in dict.fromkeys(ln[name] for ln in row.lines if ln["bytes"] == row.size)
    )
    return [value for value, _ in held.most_common()]


def grouped(lines: Iterable[Line], key: Callable[[Line], Any]) -> dict[Any, list[Line]]:
    """Return the lines by a key, in order."""
    found: dict[Any, list[Line]] = {}
    for line in lines:
        found.setdefault(key(line), []).append(line)
    return found


def spread(items: Sequence[int], most: int) -> list[int]:
    """Return the last item, the first one, and as many in between, evenly, as make ``most``."""
    if len(items) <= most:
        return list(items)
    if most == 1:
        return [items[-1]]
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]


def _where_they_fit(rows: Sequence[MoveRow], most: int, parts_of: Callable[[MoveRow], list[MoveRow]]) -> list[MoveRow]:
    """Return each row's parts where they fit, else what ``parts_of`` has for a row that must stay one: the last."""
    found: list[MoveRow] = []
    count = len(rows)
    for row in rows:
        *parts, whole = parts_of(row)
        parts = parts[:most] if len(rows) == 1 else parts
        if len(parts) > 1 and count + len(parts) - 1 <= most:
            count += len(parts) - 1
            found += parts
        else:
            found.append(whole)
    return found


def by_tier(row: MoveRow) -> list[MoveRow]:
    """Return a part for each kind of link that differs in speed; kinds that differ in hops alone are one if alike."""
    speeds: dict[tuple[str, str], list[Line]] = {}
    for tier, lines in grouped(row.lines, lambda line: line["tier"]).items():
        name = tier.partition(",")[0]
        near = (key for key, some in speeds.items() if key[0] == name and _alike(some, lines))
        speeds.setdefault(next(near, (name, tier)), []).extend(lines)
    if all(_alike(row.lines, lines) for lines in speeds.values()):
        return [row]
    several = len({name for name, _ in speeds}) < len(speeds)
    return [*(row.part(lines, filter(None, [key[several]])) for key, lines in speeds.items()), row]


def _by_kind(row: MoveRow, of_memory: bool) -> list[MoveRow]:
    """Return a part for each manner of timing that words tell apart, then the one that most results have.

    The host's clock has a part only where it finds another rate than the device's. ``of_memory``: so has each
    kind of memory.
    """
    kinds = sorted(grouped(row.lines, lambda line: line["kind"]).items(), key=lambda one: -_count(one[1]))
    told: dict[tuple[str, ...], list[Line]] = {}
    for kind, lines in kinds:
        told.setdefault((*_conditions(kind), *(_memory(lines) if of_memory else ())), lines)
    for words in [words for words in told if "clock=host" in words]:
        by_device = told.get(tuple(word for word in words if word != "clock=host"))
        if by_device and row.unit == RATE and _alike(by_device, told[words]):
            del told[words]
    shared = set.intersection(*map(set, told))
    parts = [row.part(lines, (word for word in words if word not in shared)) for words, lines in told.items()]
    return [*parts, row.part(kinds[0][1], ())]


def _by_memories(row: MoveRow) -> list[MoveRow]:
    """Return a part for each kind of memory where a method can use several, the usual one first."""
    methods = grouped(row.lines, lambda line: line["method"]).values()
    if all(len({line["memories"] for line in lines}) == 1 for lines in methods):
        return [row]
    found = grouped(row.lines, lambda line: tuple(word for word in _memory([line]) if word not in row.words))
    ordered = sorted(found, key=lambda words: (bool(words), -_count(found[words])))
    return [*(row.part(found[words], words) for words in ordered), row]


def _by_size(rows: Sequence[MoveRow], most: int) -> list[MoveRow]:
    """Return the rows, each of its usual size or, where there is room, at as many sizes as fit, evenly chosen."""
    sizes = [sorted({line["bytes"] for line in row.lines}) for row in rows]
    several = sum(len(known) > 1 for known in sizes)
    each = 1 + (most - len(rows)) // several if several and len(rows) < most else 1
    if each == 1:
        return list(rows)
    return [row.at(size) for row, known in zip(rows, sizes, strict=True) for size in spread(known, each)]


def _conditions(kind: tuple[str, ...]) -> list[str]:
    """Return what a kind asks for as words, "cache=warm", "ordering=release"."""
    named = [(name, value) for name, value in zip(KINDS, kind, strict=False) if name not in _UNNAMED]
    named += [(name, value) for name, _, value in (word.partition("=") for word in kind[-1].split())]
    words = [f"{name}={value}" for name, value in named if value and value not in _PLAIN]
    return [word for word in words if word not in ("flows=1", "processes=1")]


def _memory(lines: Sequence[Line]) -> list[str]:
    """Return the memory that all lines have, once where both ends are alike; nothing of usual ones."""
    name, *others = {line["memories"] for line in lines}
    usual = others or not named("usual-memories", name)
    return [] if usual else [" to ".join(dict.fromkeys(name.split(">")))]


def _alike(lines: Sequence[Line], others: Sequence[Line]) -> bool:
    """Return whether each method and memory that both have is as fast in others at the largest shared size."""
    size = max({line["bytes"] for line in lines} & {line["bytes"] for line in others}, default=None)
    known, also = (
        {(line["way"], line["memories"]): line["median"] for line in some if line["bytes"] == size}
        for some in (lines, others)
    )
    pairs = [(known[way], also[way]) for way in known.keys() & also.keys()]
    return all(abs(one - other) <= ALIKE * max(one, other) for one, other in pairs)


def _range(ends: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return the lowest and the highest of several (low, median, high), or their median where these are alike."""
    if not ends:
        return ()
    low, high = min(end[0] for end in ends), max(end[-1] for end in ends)
    middle = median(end[len(end) // 2] for end in ends)
    return (middle,) if high - low <= ALIKE * abs(high) else (low, high)


def _paths(lines: Iterable[Line]) -> int:
    return sum(line["paths"] for line in lines)


def _count(lines: Iterable[Line]) -> int:
    return sum(line["count"] for line in lines)

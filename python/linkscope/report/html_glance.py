"""Every table of the run in one line: by path, a line for each table, with a figure for each method side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from linkscope.analysis.cell import Cell
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.lists import Listing
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.rivals import fastest, rivals, set_apart
from linkscope.analysis.summary import Table, TableSummary, table_summary
from linkscope.report import case_path, wording
from linkscope.report.html_sections import EVEN, Section, family, span
from linkscope.report.sweep import Sweep, is_sweep, sweep

MOST_METHODS = 3
"""Columns; figures of other methods stand in the last one, with their names."""
OTHER = "other methods"
SAME = 0.005
"""Shares of peak that differ by less are told as one."""


@dataclass(frozen=True)
class Entry:
    """One method's figure in a table: ``text`` such as "396.1 – 396.4", ``low`` to ``high`` its shares of peak, if
    known; ``note``: what is said below it, such as "half of it from 1 MiB"."""

    anchor: str
    text: str
    unit: str
    low: float | None
    high: float | None
    note: str


@dataclass(frozen=True)
class GlanceLine:
    """``entries`` by the columns of the table (None where there is none); ``odd``: what to know besides."""

    title: str
    entries: tuple[Entry | None, ...]
    odd: str


@dataclass(frozen=True)
class GlanceGroup:
    """Lines of one path, or of one collective."""

    path: str
    lines: tuple[GlanceLine, ...]


@dataclass(frozen=True)
class Glance:
    """``methods``: names of the columns; the last one, "other methods", only where a table needs it."""

    methods: tuple[str, ...]
    groups: tuple[GlanceGroup, ...]

    @property
    def lines(self) -> tuple[GlanceLine, ...]:
        return tuple(line for group in self.groups for line in group.lines)

    @property
    def has_shares(self) -> bool:
        """Whether the share of a peak is known of any figure."""
        return any(entry is not None and entry.high is not None for line in self.lines for entry in line.entries)


@dataclass(frozen=True)
class _MethodPart:
    """What a table says of one method; ``table`` holds its cells alone, of a sweep those timed as most of the section's
    are, if there are any. ``kind``: how its best figure is timed, where that is another way than one call one way."""

    section: Section
    method: str
    table: Table
    line: TableSummary
    sweep: Sweep | None
    kind: str


def glance(sections: Sequence[Section]) -> Glance:
    """Of all tables with a figure, by path in the order of ``case_path.ORDER``, else in that of the run."""
    parts = [part for one in sections for part in _parts(one)]
    columns = _columns(parts)
    used = [*columns, *([OTHER] if any(part.method not in columns for part in parts) else [])]
    groups: dict[tuple[int, str], list[GlanceLine]] = {}
    for together in _lines(parts, columns):
        section = together[0].section
        groups.setdefault((case_path.ORDER.index(section.path), _about(section)), []).append(_line(together, used))
    ordered = sorted(groups.items(), key=lambda item: item[0][0])
    return Glance(tuple(used), tuple(GlanceGroup(about, tuple(lines)) for (_, about), lines in ordered))


def _about(section: Section) -> str:
    """Its path or, of collectives, which one."""
    return section.collective.capitalize() or section.path


def _columns(parts: Sequence[_MethodPart]) -> list[str]:
    """The methods that have most rivals in the lines of their tables; where none has any, those of most tables. Those
    alike in both stand in the order of the run."""
    lines: dict[str, set[str]] = {}
    for part in parts:
        lines.setdefault(family(part.section.table), set()).add(part.method)
    rivals = Counter(method for methods in lines.values() if len(methods) > 1 for method in methods)
    counts = Counter(part.method for part in parts)
    found = [method for method in counts if not rivals or method in rivals]
    return sorted(found, key=lambda method: (-rivals[method], -counts[method]))[:MOST_METHODS]


def _lines(parts: Sequence[_MethodPart], columns: Sequence[str]) -> list[list[_MethodPart]]:
    """Parts that share a line: those of one table, and of tables whose titles differ in their methods alone."""
    found: list[list[_MethodPart]] = []
    places: dict[tuple[str, str], int] = {}
    for part in parts:
        key = (part.section.path, family(part.section.table))
        there = found[places[key]] if key in places else []
        if there and not any(_column(one, columns) == _column(part, columns) for one in there):
            there.append(part)
        else:
            places[key] = len(found)
            found.append([part])
    return found


def _column(part: _MethodPart, columns: Sequence[str]) -> str:
    return part.method if part.method in columns else OTHER


def _line(parts: Sequence[_MethodPart], used: Sequence[str]) -> GlanceLine:
    at = {_column(part, used): part for part in parts}
    entries = tuple(_entry(at[column], column) if column in at else None for column in used)
    titles = {part.section.table.heading.title for part in parts}
    title = titles.pop() if len(titles) == 1 and used[-1] == OTHER and OTHER in at else family(parts[0].section.table)
    odd = dict.fromkeys(text for part in parts for text in [_crossing(part.section), _odd(part, len(parts))] if text)
    return GlanceLine(title, entries, "; ".join(odd))


def _parts(one: Section) -> list[_MethodPart]:
    """One for each method of the table that has a figure."""
    found = []
    regime = next((entry.regime for entry in rivals(one.whole.flat)), "")
    for method in dict.fromkeys(one.methods[entry.id] for entry in one.whole.flat):
        table = _of_method(one, method, regime)
        line = table_summary(table)
        if line is not None:
            how = line.best.regime
            kind = set_apart(how) if how == regime or not is_sweep(table) else how
            found.append(_MethodPart(one, method, table, line, sweep(table), kind))
    return found


def _of_method(one: Section, method: str, regime: str) -> Table:
    """The table with the cells of one method alone, of a sweep those of ``regime`` where it has figures of that."""
    table = _only(one.whole, lambda entry: one.methods[entry.id] == method)
    alike = _only(table, lambda entry: entry.regime == regime)
    return alike if is_sweep(table) and any(entry.headline is not None for entry in alike.flat) else table


def _only(table: Table, wanted: Callable[[Cell], bool]) -> Table:
    """The table with those cells alone."""
    if all(map(wanted, table.flat)):
        return table
    if isinstance(table, CurveSet):
        kept = [replace(curve, points=tuple(filter(wanted, curve.points))) for curve in table.curves]
        return replace(table, curves=tuple(curve for curve in kept if curve.points))
    if isinstance(table, Matrix):
        lines = (tuple(c if c and wanted(c) else None for c in line) for line in table.cells)
        return replace(table, cells=tuple(lines))
    return replace(table, cells=tuple(filter(wanted, table.cells)))


def _entry(part: _MethodPart, column: str) -> Entry:
    line, found = part.line, part.sweep
    low, high = line.lowest_share, line.highest_share
    if found is None:
        text, notes = span(line), []
    else:
        best = found.best.headline
        assert best is not None
        text = f"{'up to' if best.higher_is_better else 'from'} {wording.value(best.value.median)}"
        low = high = found.best.share
        notes = [_apart(part.table, found.best), found.half_words, *_beyond(part)]
    shown = (line if found is None else found).best
    assumed = wording.of_no_source([shown.stand_in]) if shown.assumed else ""
    notes = [part.method if column == OTHER else "", part.kind, *notes, assumed]
    kept: list[str] = []
    for note in filter(None, notes):
        kept += [] if note in ", ".join(kept).split(", ") else [note]
    return Entry(part.section.anchor, text, line.heading.unit, low, high, ", ".join(kept))


def _beyond(part: _MethodPart) -> list[str]:
    """What other kinds of the method's calls reach, no rivals of those that the figure is of: "window 23.7"."""
    own, found = set_apart(part.line.best.regime), part.section
    others = [entry for entry in found.whole.flat if found.methods[entry.id] == part.method]
    kinds = dict.fromkeys(kind for entry in others if (kind := set_apart(entry.regime)) and kind != own)
    bests = ((kind, fastest(entry for entry in others if set_apart(entry.regime) == kind)) for kind in kinds)
    return [f"{kind} {wording.value(best.headline.value.median)}" for kind, best in bests if best and best.headline]


def _apart(table: Table, best: Cell) -> str:
    """What tells the series of the best figure from the table's others: "threads 1"; empty where it is the only one."""
    others = [set(curve.series.split(", ")) for curve in table.curves] if isinstance(table, CurveSet) else []
    common = set.intersection(*others) if others else set()
    return ", ".join(word for word in best.series.split(", ") if others and word not in common)


def _odd(part: _MethodPart, together: int) -> str:
    """The places that are behind the others, by their share of peak where that is known; ``together``: how many methods
    share the line."""
    if part.sweep is not None or part.line.ok < 2:
        return ""
    by = f" by {part.method}" if together > 1 else ""
    shares = [(entry.share, entry) for entry in part.table.flat if entry.share is not None]
    if len(shares) == part.line.ok:
        low, high = (pick(share for share, _ in shares) for pick in (min, max))
        if high - low <= EVEN:
            return ""
        places = [_place(part, entry) for share, entry in shares if share <= low + SAME]
        return f"{wording.percent(low)} of peak{by}: {wording.few(places)}"
    if part.line.spread <= EVEN:
        return ""
    figure = part.line.worst.headline
    word = "lowest" if figure is not None and figure.higher_is_better else "longest"
    return f"{word}{by}: {_place(part, part.line.worst)}"


def _place(part: _MethodPart, entry: Cell) -> str:
    if not isinstance(part.table, Listing):
        return wording.place(entry, part.line.heading)
    words = [word for (axis, _), word in zip(entry.variant, entry.variant_words, strict=True) if axis != "method"]
    return ", ".join(filter(None, [Listing.place(entry), *words])) or entry.id


def _crossing(one: Section) -> str:
    """Who is best at which sizes, of the first place that has rivals."""
    leads = wording.leads(one.whole) if isinstance(one.whole, CurveSet) else []
    return (
        leads[0] + (f"; and at {wording.count(len(leads) - 1, 'more place')}" if len(leads) > 1 else "")
        if leads
        else ""
    )

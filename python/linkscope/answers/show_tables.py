"""Show's tables: movements by method, results by size, results that fit a line, and a matrix of paths that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from textwrap import wrap
from typing import Any

import polars

from linkscope.answers.answer import Column, Kind, Table
from linkscope.answers.movements import ALIKE, BestOf, MoveRow, columns_of, grouped, spread
from linkscope.figures.columns import RATE, TIME
from linkscope.messages.methods import memory_name, method_name, setting_name
from linkscope.messages.names import named
from linkscope.messages.numbers import in_unit, shared_time_unit
from linkscope.messages.numbers import size as written_size
from linkscope.messages.template import written

Json = dict[str, Any]

WIDTH = 80
_GAP = 2
_RANGE = polars.List(polars.Float64)
_TEXT = polars.String
_ROW: Json = {"movement": _TEXT, "words": polars.List(_TEXT), "label": _TEXT, "unit": _TEXT, "bytes": polars.Int64}
_SHARE = len("of peak") + _GAP
_SIZE_WIDTH = 10
"""Characters of a result in a column of a size, with the gap."""
_BLANK = " "
"""Heading of a column that needs none."""
_MOST_WAYS, _MOST_HEAD = 4, 20
"""Ways that get a column each, and the characters of a line of their headings."""
_MOST_GPUS = 8
_MARKS = {"slow": "!", "assumed": "~"}
_PROCESSES = "/processes"
_LOAD = re.compile("(gpu|cpu)-(reads|writes)")


@dataclass(frozen=True)
class Naming:
    """``xccl``: the library that ran, NCCL or RCCL. ``slow``: ids of results below what is expected."""

    xccl: str
    slow: frozenset[str] = frozenset()

    def mark(self, cell: BestOf | None) -> str:
        """Return what stands behind a cell: "!" where it is slow, "~" where a model mostly assumes it."""
        if cell is None:
            return ""
        return _MARKS["slow"] if not self.slow.isdisjoint(cell.ids) else _MARKS["assumed"] if cell.assumed else ""

    def words(self, row: MoveRow) -> str:
        """Return what sets a row apart from others of its movement: "host clock", "256 MiB"."""
        return ", ".join(named("condition", memory_name(word, self.xccl)) for word in row.words)


def by_method(rows: Sequence[MoveRow], naming: Naming) -> Table:
    """Return rows of movements with a column for each method, or for each way where there are few.

    There are as many columns as the width of a screen allows, and no rows without a cell in them.
    """
    name, heads = _heads(rows, naming)
    rows, usual = _with_sizes(rows)
    sized = [Column("bytes", Kind.SIZE)] if usual == 0 else []
    cells = {column: [row.cell(column, name) for row in rows] for column in heads}
    widths = {column: _width(head, rows, cells[column]) for column, head in heads.items()}
    frame = polars.DataFrame(_labelled(rows, naming), schema=_ROW)
    label = _label_width(frame) + (len(sized) and _SIZE_WIDTH - 1)
    kept = _fitting(widths, WIDTH - label)
    shares = label + sum(widths.values()) + len(widths) * _SHARE <= WIDTH
    shares = shares and any(cell and cell.shares for column in kept for cell in cells[column])
    columns = [*_label_column(frame), *sized]
    for column in kept:
        marks = [naming.mark(cell) for cell in cells[column]]
        values = _ends(cell.values if cell else () for cell in cells[column])
        frame = frame.with_columns(values.alias(column), polars.Series(f"{column} mark", marks))
        columns.append(Column(column, Kind.VALUE, heads[column], mark=f"{column} mark"))
        if shares:
            of_peak = _ends(cell.shares if cell else () for cell in cells[column])
            frame = frame.with_columns(of_peak.alias(f"{column} of_peak"))
            columns.append(Column(f"{column} of_peak", Kind.PERCENT, named("head", "of_peak")))
    frame = frame.filter(polars.any_horizontal(polars.col(column).list.len() > 0 for column in kept))
    # Small transfers are times, also where larger ones are rates: a movement measured as both has them twice.
    frame = frame.unique(["label", "bytes", *kept], keep="first", maintain_order=True)
    facts = {**_facts(rows), "size": usual, "left_out": len(heads) - len(kept)}
    methods = list({way.partition(" ")[0] for way in heads})
    method = method_name(methods[0], naming.xccl)
    if len(methods) == 1 and not any(head.startswith(method) for head in heads.values()):
        facts["method"] = f", {method}" if facts["movement"] else method
    marks = [mark for column in kept for mark in frame[f"{column} mark"].to_list()]
    facts["notes"] += [code for code, mark in _MARKS.items() if mark in marks]
    facts["notes"] += ["left-out"] if facts["left_out"] else []
    return Table("show.movements" if sized else "show.movements-at", frame, tuple(columns), facts=facts)


def by_size(rows: Sequence[MoveRow], naming: Naming) -> Table:
    """Return rows with a column for each size, of what each has as its best way, in a unit of the row's own."""
    lines = _labelled(rows, naming)
    label = _label_width(polars.DataFrame(lines, schema=_ROW)) + len(RATE) + _GAP
    sizes = spread(_shared_sizes(rows), (WIDTH - label) // _SIZE_WIDTH)
    for row, line in zip(rows, lines, strict=True):
        cells = {str(size): row.at(size, rates=True).cell() for size in sizes}
        known = [end for cell in cells.values() if cell for end in cell.values]
        line["unit"] = unit = RATE if row.unit == RATE else shared_time_unit(known)
        for size, cell in cells.items():
            line[size] = [end if unit == RATE else in_unit(end, unit) for end in cell.values] if cell else None
    frame = polars.DataFrame(lines, schema={**_ROW, **{str(size): _RANGE for size in sizes}})
    columns = [*_label_column(frame), *(Column(str(size), Kind.NUMBER, written_size(size)) for size in sizes)]
    return Table("show.sizes", frame, (*columns, Column("unit", head=_BLANK)), facts=_facts(rows))


def in_lines(rows: Sequence[MoveRow], naming: Naming) -> Table:
    """Return what rows hold as a line for each method: "GPU load  own 142.5 ns, other GPU 825-832 ns".

    Settings of a method stand behind its results where all of them fit a line.
    """
    lines: list[Json] = []
    for row in rows:
        cell = row.cell()
        if cell is None:
            continue
        loads = _LOAD.match(row.movement)
        what = loads[0] if loads else cell.way.partition(" ")[0]
        head = named("line", what) if named("line", what) != what else method_name(what, naming.xccl)
        head += f", {RATE}" if row.of_rates else ""
        again = bool(lines) and (lines[-1]["head"], lines[-1]["movement"]) == (head, row.movement)
        said = again or named("said", what) == row.movement
        place = "" if said else named("access" if loads else "movement", row.movement)
        several = not loads and len({line["way"] for line in row.lines}) > 1
        setting = setting_name(cell.way, naming.xccl) if several else ""
        value = written(cell.values, "number" if row.of_rates else "time")
        lines.append(
            {
                **{"what": what, "head": head, "movement": row.movement, "words": list(row.words)},
                **{"values": list(cell.values), "unit": RATE if row.of_rates else TIME, "setting": setting},
                "text": " ".join(filter(None, (place, naming.words(row), value, setting and f"({setting})"))),
            }
        )
    room = WIDTH - _GAP - max((len(line["head"]) for line in lines), default=0)
    for of_head in grouped(lines, lambda line: line["head"]).values():
        if len(", ".join(line["text"] for line in of_head)) > room:
            for line in of_head:
                line["text"] = line["text"].removesuffix(f" ({line['setting']})")
    schema: Json = {**dict.fromkeys(("what", "head", "movement", "unit", "setting", "text"), _TEXT), "values": _RANGE}
    frame = polars.DataFrame(lines, schema={**schema, "words": polars.List(_TEXT)})
    return Table("show.lines", frame, (Column("head", head=_BLANK), Column("text", head=_BLANK)), layout="line")


def height(table: Table) -> int:
    """Return how many lines of a first screen a table takes, with the blank one above."""
    if table.layout == "line":
        texts = table.frame.group_by("head").agg(polars.col("text").str.join(", "))
        room = WIDTH - _GAP - max(map(len, texts["head"]), default=0)
        return 1 + sum(len(wrap(text, room)) for text in texts["text"])
    rows = table.frame.height if table.first is None else min(table.frame.height, table.first + 1)
    if table.layout == "matrix":
        rows = table.frame[table.columns[0].name].n_unique()
    heads = max(column.head.count("\n") for column in table.columns)
    facts = table.facts
    return 2 + heads + rows + bool(facts.get("movement") or facts.get("method")) + bool(facts.get("notes"))


def matrix(results: polars.DataFrame, naming: Naming) -> Table | None:
    """Return the first matrix of paths between GPUs whose results differ, with marks at slow ones; None without."""
    for test in results.filter(layout="matrix", unit=RATE, movement="gpu>gpu").partition_by(
        "suite", "row", "title", maintain_order=True
    ):
        values, gpus = test["value"].drop_nulls().to_list(), test["source"].n_unique()
        known = bool(values) and test["tier"].n_unique() == 1 and 2 < gpus <= _MOST_GPUS
        if known and max(values) - min(values) > ALIKE * max(values):
            ends = (polars.col("source").alias("from"), polars.col("destination").alias("to"))
            slow = polars.col("id").is_in(list(naming.slow)).alias("slow")
            frame = test.select("id", "path", *ends, "value", "unit", slow)
            facts = {"method": method_name(str(test["way"][0]), naming.xccl), "size": int(test["bytes"][0])}
            columns = (Column("from"), Column("to"), Column("value", Kind.VALUE, mark="slow"))
            return Table("show.matrix", frame, columns, "matrix", facts=facts)
    return None


def _with_sizes(rows: Sequence[MoveRow]) -> tuple[list[MoveRow], int]:
    """Return the rows and the size that most have, as words of others; 0 where sizes want a column."""
    sizes = [row.size for row in rows if row.of_rates]
    usual = max(sizes, key=sizes.count, default=0)
    if 2 * sizes.count(usual) <= len(rows):
        return list(rows), 0
    words = [() if row.size == usual else (written_size(row.size),) for row in rows]
    return [replace(row, words=(*row.words, *word)) for row, word in zip(rows, words, strict=True)], usual


def _facts(rows: Sequence[MoveRow]) -> Json:
    """Return the movement where all rows have one, and what must be known of their numbers."""
    movements = {row.movement for row in rows}
    notes = ["gbps"] if any(row.of_rates for row in rows) else []
    notes += ["bus"] if any("bus" in line["kind"] for row in rows for line in row.lines) else []
    notes += ["both"] if any("<>" in movement for movement in movements) else []
    notes += ["between-processes"] if _between_processes(rows) else []
    return {"movement": movements.pop() if len(movements) == 1 else "", "method": "", "notes": notes}


def _shared_sizes(rows: Sequence[MoveRow]) -> list[int]:
    """Return the sizes that half of the rows have which have the most common size."""
    counts = Counter(size for row in rows for size in {line["bytes"] for line in row.lines})
    return sorted(size for size, count in counts.items() if 2 * count >= max(counts.values()))


def _heads(rows: Sequence[MoveRow], naming: Naming) -> tuple[str, dict[str, str]]:
    """Return whether columns are methods or ways, and their values with their headings."""
    ways = columns_of(rows, "way")
    alone = len({way.partition(" ")[0] for way in ways}) == 1
    heads = {way: _head(way, alone, naming) for way in ways}
    if len(ways) <= _MOST_WAYS and max(len(part) for head in heads.values() for part in head.split("\n")) <= _MOST_HEAD:
        return "way", heads
    return "method", {method: _head(method, False, naming) for method in columns_of(rows, "method")}


def _head(column: str, alone: bool, naming: Naming) -> str:
    """Return the name of a method or a way; where the method is alone, what the way is set to."""
    text = setting_name(column, naming.xccl) if alone else ""
    return (text or method_name(column, naming.xccl)).replace(", ", ",\n").replace(" (", "\n(")


def _labelled(rows: Sequence[MoveRow], naming: Naming) -> list[Json]:
    """Return what names each row: its movement, unless all are one, and what sets it apart."""
    several = len({row.movement for row in rows}) > 1
    shared = _PROCESSES if _between_processes(rows) else ""  # said once below the table: labels leave room for methods
    moved = [named("movement", row.movement.removesuffix(shared)) if several else "" for row in rows]
    return [
        {
            **{"movement": row.movement, "words": list(row.words), "bytes": row.size},
            "label": ", ".join(filter(None, (what, naming.words(row)))),
            "unit": RATE if row.of_rates else TIME,
        }
        for what, row in zip(moved, rows, strict=True)
    ]


def _between_processes(rows: Sequence[MoveRow]) -> bool:
    """Return whether there are several movements, all between processes."""
    movements = {row.movement for row in rows}
    return len(movements) > 1 and all(movement.endswith(_PROCESSES) for movement in movements)


def _label_column(frame: polars.DataFrame) -> list[Column]:
    several = frame["movement"].n_unique() > 1
    return [Column("label", head=_BLANK, once=several)] if any(frame["label"]) else []


def _label_width(frame: polars.DataFrame) -> int:
    widest = max(map(len, frame["label"]))
    return widest and widest + _GAP


def _width(head: str, rows: Sequence[MoveRow], cells: Sequence[BestOf | None]) -> int:
    texts = [
        written(cell.values, "number" if row.of_rates else "time")
        for row, cell in zip(rows, cells, strict=True)
        if cell is not None
    ]
    return max(map(len, (*head.split("\n"), *texts))) + _GAP


def _fitting(widths: dict[str, int], room: int) -> list[str]:
    """Return the first columns that fit into the room, at least one."""
    ends = list(accumulate(widths.values()))
    return [name for name, end in zip(widths, ends, strict=True) if end <= max(room, ends[0])]


def _ends(values: Iterable[Sequence[float]]) -> polars.Series:
    """Return a column of ranges, each one or two numbers or none."""
    return polars.Series([list(ends) for ends in values], dtype=_RANGE)

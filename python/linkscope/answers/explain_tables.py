"""Explain's tables: the slowest result of each kind, the results of a problem, and every checked result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import polars

from linkscope.answers.answer import Column, Kind, Table
from linkscope.answers.causes import Line
from linkscope.answers.checked_results import PEERS_SOURCE
from linkscope.answers.expectation import missing
from linkscope.answers.problems import Slowdown
from linkscope.figures.columns import RATE
from linkscope.messages.methods import method_name
from linkscope.messages.names import named

_MOVEMENT, _METHOD = Column("movement", Kind.NAME, once=True), Column("name", head="method")
_SIZE, _EXPECTED = Column("bytes", Kind.SIZE), Column("expected", Kind.VALUE)
_MEASURED = Column("value", Kind.VALUE, head="measured")
_KEPT = (
    *("id", "place", "figure", "row", "movement", "kind", "path", "way", "method", "parameters", "bytes", "unit"),
    *("value", "value_low", "value_high", "expected", "limit", "ratio", "outcome", "expected_source"),
    *("line_gbps", "engine_gbps", "known", "value_modes", "value_modes_in"),
)
_RANGES = ("value", "ratio")
_SHORT = re.compile(r"[,;(]")
"""The end of a citation's first part."""


def slowest(lines: Sequence[Line], library: str, shown: bool) -> Table:
    """Return the result furthest below what is expected of each movement and method; of rates alone where there are
    any. ``shown``: on the first screen, too."""
    worst: dict[tuple[str, str], Line] = {}
    rates = [line for line in lines if line["unit"] == RATE]
    for line in rates or lines:
        key = (line["movement"], line["method"])
        if key not in worst or missing(line) > missing(worst[key]):
            worst[key] = line
    frame = _grouped(_frame(list(worst.values()), library))
    frame = frame.with_columns((polars.col("limit") / polars.col("expected")).alias("limit_ratio"))
    columns = (
        *(_MOVEMENT, _METHOD, _SIZE, _EXPECTED, _MEASURED),
        *(Column("ratio", Kind.PERCENT, mark="mark"), Column("limit_ratio", Kind.PERCENT)),
    )
    sources = [source for source in frame["expected_source"] if source != PEERS_SOURCE]
    source = _SHORT.split(max(sources, key=sources.count))[0].strip() if sources else ""
    code = "explain.slowest" if rates and source else "explain.slowest-of-peers" if rates else "explain.longest"
    return Table(code, frame, columns, facts={"source": source}, first=len(worst), detail=not shown)


def of_problem(problem: Slowdown, library: str) -> Table:
    """Return the slow results of a problem: the range over paths for each movement and method, at the size that most
    of them have."""
    frame = _frame(problem.lines, library)
    sizes = frame.group_by("movement", "name", "bytes", maintain_order=True).len("alike")
    usual = sizes.sort("alike", descending=True, maintain_order=True).unique(["movement", "name"], keep="first")
    found = frame.join(usual, on=["movement", "name", "bytes"], how="semi").group_by(
        "movement", "name", "method", "bytes", "unit", maintain_order=True
    )
    ends = [polars.concat_list(polars.col(name).min(), polars.col(name).max()).alias(name) for name in _RANGES]
    lines = found.agg(polars.col("expected").median(), *ends, polars.col("path").unique(maintain_order=True))
    lines = _grouped(lines)
    columns = (_MOVEMENT, _METHOD, _SIZE, _EXPECTED, _MEASURED, Column("ratio", Kind.PERCENT))
    times = (frame["unit"] != RATE).any()
    return Table("explain.problem-times" if times else "explain.problem", lines, columns, first=lines.height)


def of_results(checked: Sequence[Line], library: str) -> Table:
    """Return every checked result with the number of its source."""
    frame = _frame(checked, library, full=True)
    numbers = {source: number for number, source in enumerate(frame["expected_source"].unique(maintain_order=True), 1)}
    names = [f"{named('movement', line['movement'])}, {line['name']}" for line in frame.iter_rows(named=True)]
    frame = frame.with_columns(
        polars.Series("group", names), polars.col("expected_source").replace_strict(numbers).alias("reference")
    )
    frame = _grouped(frame, "group")
    columns = (
        *(Column("path", Kind.PATH), _SIZE, _EXPECTED, replace(_MEASURED, interval=True)),
        *(Column("ratio", Kind.PERCENT, mark="mark"), Column("reference", Kind.COUNT, head="ref")),
    )
    return Table("explain.checked", frame, columns, group="group", detail=True)


def steps(checked: Sequence[Line], library: str) -> Table:
    """Return what is left of the links' rate by packets, engines and size, for each movement, method and size."""
    frame = _frame([line for line in checked if line["engine_gbps"] is not None], library)
    shown = _grouped(frame.unique(["movement", "name", "bytes", "line_gbps"], keep="first", maintain_order=True))
    columns = (
        *(_MOVEMENT, _METHOD, _SIZE, Column("line_gbps", Kind.NUMBER), Column("engine_gbps", Kind.NUMBER)),
        Column("known", Kind.NUMBER, head="expected"),
    )
    return Table("explain.steps", shown, columns, detail=True)


def _grouped(frame: polars.DataFrame, name: str = "movement") -> polars.DataFrame:
    """Return the rows with equal values of a column together, the first to appear first."""
    order = {value: number for number, value in enumerate(frame[name].unique(maintain_order=True))}
    return frame.sort(polars.col(name).replace_strict(order), maintain_order=True)


def _frame(lines: Sequence[Line], library: str, full: bool = False) -> polars.DataFrame:
    """Return results with ``name``, the method and whatever else tells them apart, and ``mark``: slow or unclear.

    ``full``: a collective has all settings of its method; else only where they differ.
    """
    asked: dict[tuple[str, str], set[str]] = {}
    ways: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        asked.setdefault((line["movement"], line["way"]), set()).add(line["parameters"])
        ways.setdefault((line["movement"], line["method"]), set()).add(line["way"])
    shared = {key: set.intersection(*(set(words.split()) for words in some)) for key, some in asked.items()}
    names = []
    for line in lines:
        own = [word for word in line["parameters"].split() if word not in shared[line["movement"], line["way"]]]
        alike = line["kind"] == "collective" and not full and len(ways[line["movement"], line["method"]]) == 1
        way = line["method"] if alike else line["way"]
        name = method_name(way, library) if line["unit"] == RATE else line["method"]
        said = [word.partition("=")[2] if (known := named("setting", word)) == word else known for word in own]
        names.append(" ".join([name, *said]))
    marks = [{"fails": "!", "unclear": "?"}.get(line["outcome"], "") for line in lines]
    frame = polars.DataFrame([{name: line[name] for name in _KEPT} for line in lines], infer_schema_length=None)
    return frame.with_columns(polars.Series("name", names), polars.Series("mark", marks))

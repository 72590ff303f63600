"""Side by side: the results of several runs in tables with a column a run, and in curves with a line a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import polars

from linkscope.answers.answer import Column, Kind, Table
from linkscope.answers.tables import tables
from linkscope.figures.run import Run

_RESULT = ("id", "place", "figure")
_TEST = ("title", "unit")
_LEAST_SIZES = 2
"""Sizes that two runs must share for their curves to be drawn together."""


def names(runs: Sequence[Run]) -> list[str]:
    """Return the name of each run's file, with its folder where names are not unique."""
    stems = [run.path.stem for run in runs]
    return [stem if stems.count(stem) == 1 else str(run.path) for stem, run in zip(stems, runs, strict=True)]


def side_by_side(runs: Sequence[Run]) -> list[Table]:
    """Return the median of each test, and in detail every result; changes are from the first run.

    A change is the geometric mean over the results that both runs have.
    """
    heads = names(runs)
    columns = [f"run{number}" for number in range(len(runs))]
    frames = [
        run.results.filter(polars.col("value").is_not_null())
        .select(*_RESULT, *_TEST, polars.col("value").alias(column))
        .unique(_RESULT, maintain_order=True)
        for run, column in zip(runs, columns, strict=True)
    ]
    every = reduce(_joined, frames)
    base = polars.col(columns[0])
    changes = {f"change{n}": (polars.col(column) / base) for n, column in enumerate(columns) if n}
    every = every.with_columns(**changes)
    geometric = [polars.col(name).log().mean().exp() - 1 for name in changes]
    tests = every.group_by(_TEST, maintain_order=True).agg(*(polars.col(name).median() for name in columns), *geometric)
    every = every.with_columns(polars.col(name) - 1 for name in changes)
    shown = [Column(name, Kind.VALUE, head) for name, head in zip(columns, heads, strict=True)]
    titles = ["change"] if len(runs) == 2 else [f"change, {head}" for head in heads[1:]]
    shown += [Column(name, Kind.CHANGE, title) for name, title in zip(changes, titles, strict=True)]
    where = (Column("id"), Column("figure")) if every["id"].is_duplicated().any() else (Column("id"),)
    return [
        Table("side-by-side.tests", tests, (Column("title", head="test"), *shown)),
        Table("side-by-side.results", every, (*where, *shown), detail=True),
    ]


def _joined(a: polars.DataFrame, b: polars.DataFrame) -> polars.DataFrame:
    both = a.join(b, on=_RESULT, how="full", coalesce=True, suffix="_b", maintain_order="left_right")
    others = [f"{name}_b" for name in _TEST]
    return both.with_columns(map(polars.coalesce, _TEST, others)).drop(others)


def curves(runs: Sequence[Run]) -> Iterator[Table]:
    """Yield the curves of each test that several runs have, with the column ``run``."""
    found: dict[tuple[str, str], list[tuple[str, Table]]] = {}
    for name, run in zip(names(runs), runs, strict=True):
        for table in tables(run.results):
            if table.layout == "curve":
                found.setdefault((table.facts["title"], table.facts["unit"]), []).append((name, table))
    for some in found.values():
        known = [set(table.frame.drop_nulls("value")["x"]) for _, table in some]
        if sum(len(xs & set().union(*known[:n], *known[n + 1 :])) >= _LEAST_SIZES for n, xs in enumerate(known)) > 1:
            frames = [table.frame.with_columns(polars.lit(name).alias("run")) for name, table in some]
            first = some[0][1]
            frame = polars.concat(frames, how="diagonal_relaxed")
            yield Table(first.key, frame, first.columns, "curve", facts=first.facts)

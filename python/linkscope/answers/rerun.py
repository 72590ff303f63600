"""Rerun: how often some results of a run have which speed, by many processes."""

from __future__ import annotations

import polars

from linkscope.answers.answer import Answer, Column, Kind, Table
from linkscope.answers.common_cause import result_path
from linkscope.answers.run_head import run_head
from linkscope.figures.run import Run
from linkscope.messages.finding import note
from linkscope.messages.methods import method_name


def answer(run: Run) -> Answer:
    """Return every result of a run with its speed, or with both speeds and how many processes had each; those with
    two stand first."""
    head = run_head(run)
    results = run.results.filter(polars.col("value").is_not_null())
    lines = list(results.iter_rows(named=True))
    frame = results.with_columns(
        polars.Series("between", [result_path(line) for line in lines], polars.String),
        polars.Series("called", [method_name(line["way"], run.library) for line in lines], polars.String),
    ).sort(polars.col("value_modes").is_null(), maintain_order=True)
    two = frame["value_modes"].drop_nulls().len()
    facts = {"two": two, "count": frame.height, "processes": frame["replicates"].max() or 0}
    shown = ("between", "called", "clock", "bytes", "unit")
    values = ("value", "value_low", "value_high", "value_modes", "value_modes_in")
    columns = (
        *(Column("between", Kind.PATH), Column("called"), Column("clock")),
        *(Column("bytes", Kind.SIZE), Column("value", Kind.VALUE, interval=True)),
    )
    table = Table("rerun.results", frame.select("id", "place", "figure", *shown, *values, "replicates"), columns)
    code = "rerun.two-speeds" if two else "rerun.one-speed"
    return Answer("rerun", (head,), note(code, **facts), findings=head.findings, tables=(table,))

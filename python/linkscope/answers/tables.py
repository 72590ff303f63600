"""Tables: all results of each test as one table: a matrix, curves over a size, or a list."""

from __future__ import annotations

from collections.abc import Iterator

import polars

from linkscope.answers.answer import Column, Kind, Table

TEST = ("suite", "title", "layout", "figure")
"""Columns that results of one table share."""
_KEPT = (
    *("id", "suite", "row", "title", "figure", "movement", "path", "tier", "method", "way", "memories", "bytes"),
    *("value", "value_low", "value_high", "value_modes", "value_modes_in", "unit"),
    *("gbps", "gbps_low", "gbps_high", "seconds", "seconds_low"),
    *("seconds_high", "peak_gbps", "of_peak", "bound_by", "n", "replicates", "clock", "cache", "load", "together"),
    *("variant", "modelled", "status", "reason", "ratio", "slow"),
)


def tables(results: polars.DataFrame) -> Iterator[Table]:
    """Yield a table for each test of a frame of figures/columns.py, in its order.

    Keys are "tables.matrix", "tables.curve" and "tables.list"; the facts are ``title`` and ``unit``. Frames have the
    columns that are shown, and those that tell what was measured. ``results`` may have the columns ``ratio``, measured
    over expected, and ``slow``, which marks values.
    """
    value = Column("value", Kind.VALUE, mark="slow" if "slow" in results.columns else "", interval=True)
    place = polars.col("place").str.split_exact("|", 1)
    frame = results.with_columns(place.struct.field("field_0").alias("from"), place.struct.field("field_1").alias("to"))
    for (title, layout), test in _together(frame):
        units = test["unit"].drop_nulls().unique().to_list()
        facts = {"title": str(title), "unit": units[0] if units else ""}
        if layout == "matrix" and test["place"].is_duplicated().any():
            layout = "list"
        if layout == "matrix":
            columns = (Column("from"), Column("to"), value)
            yield Table("tables.matrix", _of(test, columns), columns, "matrix", facts=facts)
        elif layout == "curve":
            named = str(test["x_name"][0])
            x = Column("x", Kind.SIZE if named == "bytes" else Kind.NUMBER, head="size" if named == "bytes" else named)
            columns = (Column("series"), x, value)
            yield Table("tables.curve", _of(test, columns), columns, "curve", facts=facts)
        else:
            yield Table("tables.list", _of(test, ()), tuple(_listed(test, value)), facts=facts)


def _together(frame: polars.DataFrame) -> Iterator[tuple[tuple[str, str], polars.DataFrame]]:
    """Yield title, layout and results of each table. Tests whose results would stand in one place stand apart."""
    for (_, title, layout, _), shared in frame.group_by(TEST, maintain_order=True):
        place = ["series", "x"] if layout == "curve" else ["place"] if layout == "matrix" else ["id"]
        apart = shared.select(place).is_duplicated().any()
        tests = shared.group_by("row", maintain_order=True) if apart else [((), shared)]
        yield from (((str(title), str(layout)), test) for _, test in tests)


def _of(test: polars.DataFrame, columns: tuple[Column, ...]) -> polars.DataFrame:
    shown = [column.name for column in columns]
    return test.select(*shown, *(name for name in _KEPT if name not in shown and name in test.columns))


def _listed(test: polars.DataFrame, value: Column) -> Iterator[Column]:
    """Yield what tells the lines of a list apart, then value and share."""
    kinds = {"path": Kind.WORD, "way": Kind.WORD, "memories": Kind.WORD, "variant": Kind.WORD, "bytes": Kind.SIZE}
    varied = [name for name in kinds if test[name].n_unique() > 1] or ["path"]
    yield from (Column(name, kinds[name]) for name in varied)
    yield value
    yield Column("unit")
    if test["of_peak"].is_not_null().any():
        yield Column("of_peak", Kind.PERCENT)
    if test["reason"].is_not_null().any():
        yield from (Column("status"), Column("reason"))

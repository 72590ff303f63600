"""Answers about sizes: what small transfers take, and which are large enough."""

from __future__ import annotations

import polars
from polars import DataFrame

from linkscope.report import wording
from linkscope.report.answers.answer import Answer, Line, how, where, words

NO_LINE = 0.2
"""Times that are further from their line are not described by it."""
_KIND = (
    *("movement", "tier", "role", "method", "source_memory", "destination_memory", "members_memory", "parameters"),
    *("regime", "together", "load", "environment"),
)


def _one_path_each(table: DataFrame) -> DataFrame:
    """Of each kind of path and method the first path."""
    on = [*_KIND, "path"]
    return table.join(
        table.unique(_KIND, keep="first", maintain_order=True).select(on), on=on, how="semi", nulls_equal=True
    )


def _path(line: Line) -> str:
    place = line["path"] if len(line["path"]) < 20 else line["movement"]
    return words(place, how(line), line["together"])


def _fits(table: DataFrame) -> str:
    series = table.filter(polars.col("segment") == 1)
    good = series.filter(polars.col("misfit") <= NO_LINE, polars.col("alpha_seconds_low") > 0)
    straight = len(series.filter(polars.col("segments") == 1, polars.col("misfit") <= NO_LINE))
    lines = f"one line describes {straight} of {len(series)} series"
    if good.is_empty():
        return f"No latency above zero can be told; {lines}."
    ordered = good.sort("alpha_seconds", maintain_order=True)
    least, most = ordered.row(0, named=True), ordered.row(-1, named=True)
    return (
        f"Small transfers take {wording.time(least['alpha_seconds'])} ({words(where(least), how(least))}) to "
        f"{wording.time(most['alpha_seconds'])} ({words(where(most), how(most))}); {lines}."
    )


def _segment(line: Line) -> str:
    sizes = f"{wording.size(line['first_bytes'])} to {wording.size(line['last_bytes'])}"
    return words(_path(line), sizes if line["segments"] > 1 else "")


def _alpha(line: Line) -> str:
    if line["misfit"] > NO_LINE:
        return "no line"
    if line["alpha_seconds_low"] <= 0 <= line["alpha_seconds_high"]:
        return "about 0"
    return ("-" if line["alpha_seconds"] < 0 else "") + wording.time(abs(line["alpha_seconds"]))


def _either_side(line: Line, name: str) -> str:
    """The larger side of an interval, in percent."""
    middle = line[name]
    if middle is None or line["misfit"] > NO_LINE or line[f"{name}_low"] <= 0:
        return ""
    return f"±{wording.percent(max(line[f'{name}_high'] - middle, middle - line[f'{name}_low']) / middle)}"


def _beta(line: Line) -> str:
    if line["misfit"] > NO_LINE:
        return ""
    return wording.value(line["beta_gbps"]) if line["beta_gbps"] is not None else "flat"


FITS = Answer(
    conclude=_fits,
    label=_segment,
    columns={
        "alpha": _alpha,
        "± alpha": lambda line: _either_side(line, "alpha_seconds"),
        "beta GB/s": _beta,
        "± beta": lambda line: _either_side(line, "beta_gbps"),
        "n_1/2": lambda line: wording.size(line["half_bytes"]) if line["half_bytes"] else "",
    },
    shown=_one_path_each,
)


def _saturation(table: DataFrame) -> str:
    known = table.filter(polars.col("share90_bytes").is_not_null(), ~polars.col("rising"))
    at_once = len(table.filter(polars.col("share90_bytes").is_null()))
    rising = len(table.filter("rising"))
    more = words(
        f"{at_once} are as fast with the smallest size" if at_once else "",
        f"{rising} were still rising at the largest" if rising else "",
    )
    if known.is_empty():
        return f"Of {len(table)} series none shows where it saturates: {more}."
    ordered = known.sort("share90_bytes", maintain_order=True)
    least, most = ordered.row(0, named=True), ordered.row(-1, named=True)
    return (
        f"90 % of the rate takes {wording.size(least['share90_bytes'])} ({words(where(least), how(least))}) to "
        f"{wording.size(most['share90_bytes'])} ({words(where(most), how(most))})"
        + (f"; of {len(table)} series {more}." if more else ".")
    )


def _reached(line: Line, name: str) -> str:
    size = line[f"{name}_bytes"]
    if size is None:
        return "at once"
    return ("> " if line["rising"] else "") + wording.size(size)


SATURATION = Answer(
    conclude=_saturation,
    label=_path,
    columns={
        "GB/s": lambda line: wording.value(line["gbps"]),
        "50 %": lambda line: _reached(line, "half"),
        "80 %": lambda line: _reached(line, "share80"),
        "90 %": lambda line: _reached(line, "share90"),
        "90 % from": lambda line: wording.size(line["share90_bytes_low"]) if line["share90_bytes"] else "",
        "to": lambda line: wording.size(line["share90_bytes_high"]) if line["share90_bytes"] else "",
    },
    shown=_one_path_each,
)

"""Folded figures: line figures of several parts of a run as the frame of ``analysis/figures.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import polars

from linkscope.analysis.figures import BETWEEN_NOTES, OF_ONE_FLOW, RATE, SCHEMA, TIME, lines
from linkscope.analysis.headline import OF_ALL
from linkscope.analysis.line_figures import BOUNDS, STATUSES, LineFigures, summed_rates
from linkscope.machine.paths import Paths
from linkscope.results.replicates import MOST_FAILURES, OF_SAMPLES, bounds, widened
from linkscope.results.run_file import MOST_LINE, noise_of
from linkscope.results.run_line import SAMPLES, plain
from linkscope.results.run_stream import RunStream
from linkscope.results.spread import LEAST_GAP, two_modes

_OK, _FAILED = STATUSES["ok"], STATUSES["failed"]


def folded_figures(stream: RunStream, found: Sequence[LineFigures]) -> polars.DataFrame:
    """What ``figures`` gives of the whole file, and a column ``at``: where the lines of its case begin."""
    rows, cells, values, flows, parts = _joined(stream, found)
    rows = rows.sort("order", "replicate", "line").unique(["order", "replicate"], keep="last", maintain_order=True)
    cases = _cases(rows)
    told = cases.join(cells, on="case").join(parts, on="part").sort("order", "figure_number")
    told = told.with_columns(_noise(stream, told))
    good = cases.filter("good").select("order")
    measured = rows.filter(polars.col("status") == _OK).join(good, on="order", maintain_order="left")
    of_flows = measured.select("order", "line", "at").join(flows, on="line", maintain_order="left")
    of_cells = measured.select("order", "line").join(values, on="line", maintain_order="left")
    numbers = cells.select("cell", "figure_number")
    figures = _bounded(told, _of_replicates(of_cells.join(numbers, on="cell", maintain_order="left")))
    modes, odd = _modes(stream, of_flows, told)
    odd += told.filter(polars.col("good") & polars.col("workload").is_not_null())["at"].to_list()
    whole = _finished(_reaching(figures, modes))
    return _with_rows(stream, whole, odd) if odd else whole


def _joined(stream: RunStream, found: Sequence[LineFigures]) -> tuple[polars.DataFrame, ...]:
    """Lines, cells, values, flows and parts of all, numbered through; lines have ``id`` and ``order``, that of the plan
    and then that of the file."""
    counts = {"case": 0, "line": 0, "cell": 0, "part": 0}
    frames: list[tuple[polars.DataFrame, ...]] = []
    for one in found:
        of_one = (one.ids, one.lines, one.cells, one.values, one.flows, one.parts)
        numbers = [polars.col(name) + count for name, count in counts.items()]
        frames.append(
            tuple(
                frame.with_columns(
                    number for name, number in zip(counts, numbers, strict=True) if name in frame.columns
                )
                for frame in of_one
            )
        )
        for name, frame in zip(counts, (one.ids, one.lines, one.cells, one.parts), strict=True):
            counts[name] += len(frame)
    ids, rows, *others = (polars.concat(of_all) for of_all in zip(*frames, strict=True))
    planned = polars.DataFrame({"id": stream.plan_ids}, schema={"id": polars.String})
    order = polars.concat([planned, ids.select("id")]).unique("id", maintain_order=True).with_row_index("order")
    return rows.join(ids.join(order, on="id"), on="case"), *others


def _cases(rows: polars.DataFrame) -> polars.DataFrame:
    """By case: ``good`` if its figures count, ``line`` the row that tells its status, ``at`` where its rows begin."""
    status, line = polars.col("status"), polars.col("line")
    good = (status == _OK).any() & ((status == _FAILED).sum() <= MOST_FAILURES)
    failed = polars.coalesce(line.filter(status == _FAILED).last(), line.last())
    return (
        rows.group_by("order", maintain_order=True)
        .agg(
            good.alias("good"),
            polars.when(good).then(line.filter(status == _OK).last()).otherwise(failed).alias("line"),
            (status == _OK).sum().cast(polars.Int32).alias("replicates"),
            polars.col("notes").filter(status == _OK).explode().drop_nulls().unique(maintain_order=True),
            "at",
        )
        .join(rows.select("line", "case", "id", "status", "reason", "left_out"), on="line")
    )


def _noise(stream: RunStream, told: polars.DataFrame) -> polars.Series:
    if not stream.header.get("noise"):
        return polars.Series("noise", [0.0] * len(told), polars.Float64)
    asked = told.select("id", "replicates", "class", "good").iter_rows()
    found = [noise_of(stream.header, case, count, of_class) if good else 0.0 for case, count, of_class, good in asked]
    return polars.Series("noise", found, polars.Float64)


def _of_replicates(values: polars.DataFrame) -> polars.DataFrame:
    """Of each figure what its interval is made of, for rate and time: see ``bounds`` of results/replicates.py."""
    own = polars.when("rate").then
    middle, low, high = (own(rate).otherwise(time) for rate, time in zip(BOUNDS[:3], BOUNDS[3:], strict=True))
    return (
        values.filter(polars.col("rate").is_not_null())
        .with_columns(middle.alias("value"), ((high - low) / 2 / middle).alias("share"))
        .group_by("order", "figure_number", maintain_order=True)
        .agg(
            polars.col("rate").last(),
            polars.col("n").sum(),
            polars.len().alias("count"),
            polars.col("value").alias("replicate_values"),
            polars.col("share").filter(polars.col("value") > 0).median().alias("of_samples"),
            *(part for name in ("gbps", "seconds") for part in _parts_of(name)),
        )
    )


def _reciprocal_median(values: polars.Expr) -> polars.Expr:
    """That of ``order_statistics``."""
    low, high = values.quantile(0.5, "lower"), values.quantile(0.5, "higher")
    return polars.when((low > 0) & (low != high)).then(low.sqrt() * high.sqrt()).otherwise((low + high) / 2)


def _parts_of(name: str) -> list[polars.Expr]:
    middle, low, high = (polars.col(one) for one in (name, f"{name}_low", f"{name}_high"))
    return [
        _reciprocal_median(middle).alias(name),
        middle.min().alias(f"{name}_least"),
        middle.log().mean().alias(f"{name}_centre"),
        middle.log().var().alias(f"{name}_variance"),
        ((high - low) / 2 / middle).median().alias(f"{name}_within"),
        low.min().alias(f"{name}_low"),
        high.max().alias(f"{name}_high"),
    ]


def _bounded(told: polars.DataFrame, found: polars.DataFrame) -> polars.DataFrame:
    """The figures with the intervals of rate and time."""
    both = told.join(found, on=["order", "figure_number"], how="left", maintain_order="left")
    return both.with_columns(column for name in ("gbps", "seconds") for column in _interval(both, name))


def _interval(figures: polars.DataFrame, name: str) -> list[polars.Series]:
    asked = [name, *(f"{name}_{part}" for part in ("low", "high", "least", "centre", "variance", "within"))]
    pairs = [_bounds_of(*line) for line in figures.select("count", "noise", *asked).iter_rows()]
    return [
        polars.Series(f"{name}_{end}", [pair[k] for pair in pairs], polars.Float64)
        for k, end in enumerate(("low", "high"))
    ]


def _bounds_of(
    count: int | None,
    noise: float,
    middle: float | None,
    low: float,
    high: float,
    least: float,
    centre: float,
    variance: float,
    within: float,
) -> tuple[float | None, float | None]:
    """As ``across``."""
    if middle is None or count is None:
        return None, None
    if count == 1:
        return widened(middle, low, high, noise)
    if least > 0:
        low, high = bounds(count, centre, variance, within, noise)
    return min(low, middle), max(high, middle)


def _modes(
    stream: RunStream, flows: polars.DataFrame, told: polars.DataFrame
) -> tuple[polars.DataFrame, list[list[int]]]:
    """The two speeds of flows that have them; and the places of the lines of cases that have a figure of several flows
    with two speeds, alone or together."""
    wide = flows.group_by("order", "flow", maintain_order=True).agg(
        polars.col("below").min(), polars.col("above").max(), "at"
    )
    far = (polars.col("below") <= 0) | ((polars.col("above") / polars.col("below")).log() >= LEAST_GAP)
    of_all = told.filter(polars.col("figure").cast(polars.String).is_in(OF_ALL))["order"].unique()
    cases = (
        wide.with_columns(far.alias("far"), polars.col("order").is_in(of_all.implode()).alias("several"))
        .group_by("order", maintain_order=True)
        .agg("flow", "far", polars.col("at").first(), polars.col("several").first())
        .filter(polars.col("far").list.any())
    )
    found, odd = [], []
    with stream.path.open("rb") as file:
        for order, measured, fars, places, several in cases.iter_rows():
            lines_ = [SAMPLES.decode(plain(_line_at(file, place))) for place in places]
            samples = {
                flow: [line.flows[flow].samples_s for line in lines_]
                for flow, f in zip(measured, fars, strict=True)
                if f
            }
            modes = {flow: two for flow, of_flow in samples.items() if (two := two_modes(of_flow)) is not None}
            if several and (modes or two_modes([summed_rates(line, measured) for line in lines_])):
                odd.append(places)
            found += [(order, flow, *two) for flow, two in modes.items()]
    schema = {"order": polars.UInt32, "first": polars.UInt16, "fast": polars.Float64, "slow": polars.Float64}
    return polars.DataFrame(found, schema=schema, orient="row"), odd


def _line_at(file: BinaryIO, place: int) -> bytes:
    file.seek(place)
    return file.readline(MOST_LINE)


def _reaching(figures: polars.DataFrame, modes: polars.DataFrame) -> polars.DataFrame:
    """As ``reaching``, for time and rate of the flows that have two speeds."""
    time, product = polars.col("seconds"), polars.col("gbps") * polars.col("seconds")
    has = polars.col("fast").is_not_null() & (time > 0)
    return figures.join(modes, on=["order", "first"], how="left", maintain_order="left").with_columns(
        polars.when(has)
        .then(polars.min_horizontal("seconds_low", "fast"))
        .otherwise("seconds_low")
        .alias("seconds_low"),
        polars.when(has)
        .then(polars.max_horizontal("seconds_high", "slow"))
        .otherwise("seconds_high")
        .alias("seconds_high"),
        polars.when(has)
        .then(polars.min_horizontal("gbps_low", product / polars.col("slow")))
        .otherwise("gbps_low")
        .alias("gbps_low"),
        polars.when(has)
        .then(polars.max_horizontal("gbps_high", product / polars.col("fast")))
        .otherwise("gbps_high")
        .alias("gbps_high"),
    )


def _finished(figures: polars.DataFrame) -> polars.DataFrame:
    """With the columns of ``SCHEMA``, and ``at``."""
    rate, known = polars.col("rate"), polars.col("peak_gbps").is_not_null() & polars.col("rate")
    of_one = polars.col("figure").cast(polars.String).is_in(OF_ONE_FLOW) | ~rate
    names = dict(enumerate(STATUSES))
    of_samples = polars.element().str.contains(OF_SAMPLES, literal=True)
    alone = (polars.col("replicates") == 1) & (polars.col("noise") == 0)
    notes = (
        polars.when(alone).then("notes").otherwise(polars.col("notes").list.eval(polars.element().filter(~of_samples)))
    )
    return figures.with_columns(
        polars.col("status").replace_strict(names, return_dtype=polars.String),
        polars.when(rate).then(polars.lit(RATE)).when(~rate).then(polars.lit(TIME)).alias("unit"),
        polars.when(rate.is_not_null()).then("replicates").alias("replicates"),
        *(polars.when(of_one).then(name).alias(name) for name in BOUNDS[3:]),
        *(polars.when(known).then(name).alias(name) for name in ("peak_gbps", "bound_by")),
        polars.when(known).then(polars.col("gbps") / polars.col("peak_gbps")).alias("of_peak"),
        polars.when("good").then(notes.list.join(BETWEEN_NOTES)).alias("notes"),
    ).select(*(polars.col(name).cast(kind) for name, kind in SCHEMA.items()), "at")


def _with_rows(stream: RunStream, figures: polars.DataFrame, odd: Sequence[Sequence[int]]) -> polars.DataFrame:
    """The figures with those of the cases at ``odd`` found from their rows."""
    paths = Paths(stream.node)
    found = [(*line, list(places)) for places in odd for line in lines(stream.rows_at([places]), paths)]
    own = polars.DataFrame(found, schema={**SCHEMA, "at": polars.List(polars.Int64)}, orient="row")
    order = figures.select("id").unique(maintain_order=True).with_row_index("order")
    both = polars.concat([figures.join(own.select("id").unique(), on="id", how="anti"), own])
    return both.join(order, on="id", maintain_order="left").sort("order", maintain_order=True).drop("order")

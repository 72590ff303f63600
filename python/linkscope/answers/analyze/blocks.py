"""Blocks: what lists of pieces cost by method, the best method by piece size, and how many SMs a copy takes."""

from __future__ import annotations

import math
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.fits import NO_LINE
from linkscope.answers.analyze.inquiry import columns
from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.run_head import run_head
from linkscope.documents.sizes import format_bytes
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note
from linkscope.statistics.piece_cost import piece_cost

Json = dict[str, Any]

ENOUGH = 0.9
"""Share of the best rate that is enough."""
SHARED_AT = tuple((1000, size << 10) for size in (4, 16, 64))
"""Lists whose share of one copy of all their bytes the first table has: pieces, and bytes of each."""
_COUNT, _BLOCKS = r"\bcount=(\d+) ?", r"\bblocks=(\d+) ?"
_SERIES = (*by.alike("parameters"), "path", "others")
_ONE = ("path", "clock", "bytes", "source_memory", "destination_memory", "cache", "processes")
_LOADED = ("executor", "source", "source_memory")
_SHOWN = ("first_s", "piece_s", "gbps", *(f"share_{size}" for _, size in SHARED_AT))


def lists(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each list of pieces, alone on its path.

    ``pieces`` of ``piece_bytes``, ``called`` what the method is called here, ``each_s``: seconds for one piece.
    ``of_one``: the rate over that of the fastest single copy of as many bytes in these conditions (``_ONE``); null
    without one.
    """
    known = _series(results, _COUNT, "pieces").filter(polars.col("bytes") % polars.col("pieces") == 0)
    copies = by.alone(results).filter(
        ~polars.col("parameters").fill_null("").str.contains(_COUNT), polars.col("seconds") > 0
    )
    return known.join(
        copies.group_by(_ONE).agg(polars.col("seconds").min().alias("one_s")),
        on=_ONE,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    ).with_columns(
        (polars.col("bytes") // polars.col("pieces")).alias("piece_bytes"),
        (polars.col("seconds") / polars.col("pieces")).alias("each_s"),
        (polars.col("one_s") / polars.col("seconds")).alias("of_one"),
    )


def costs(found: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each method and path of ``lists``: t = a + b n + bytes / rate.

    ``first_s``: a, ``piece_s``: b, ``gbps``: the rate, null where the lists show none, and
    where ``misfit``, as PieceCost has it, is beyond NO_LINE;
    ``share_BYTES`` for ``SHARED_AT``.
    """
    lines = (_cost(lines) for _, lines in found.group_by(_SERIES, maintain_order=True))
    return by.frame_of(line for line in lines if any(line[name] is not None for name in _SHOWN))


def _cost(lines: polars.DataFrame) -> Json:
    cost = piece_cost(list(lines.select("pieces", "bytes", "seconds").iter_rows()))
    fit = cost if cost and cost.misfit <= NO_LINE else None
    shares = {tuple(line[:2]): line[2] for line in lines.select("pieces", "piece_bytes", "of_one").iter_rows()}
    return {
        **lines.select(*by.DESCRIBED, "path", "called").row(0, named=True),
        **{"lists": lines.height, "first_s": fit and (fit.first or None), "piece_s": fit and (fit.piece or None)},
        **{"gbps": fit.rate * 1e-9 if fit and fit.rate < math.inf else None, "misfit": cost and cost.misfit},
        **{f"share_{at[1]}": shares.get(at) for at in SHARED_AT},
    }


def best(found: polars.DataFrame) -> polars.DataFrame:
    """Return the fastest line of ``lists`` for each path, clock, processes, order, number and size of pieces."""
    kinds = ("path", "clock", "processes", "shuffled", "pieces", "piece_bytes")
    found = found.with_columns(polars.col("others").str.contains("scatter=yes").alias("shuffled"))
    fastest = found.sort("seconds", maintain_order=True).unique(kinds, keep="first", maintain_order=True)
    place = polars.col("path").replace_strict(
        {path: at for at, path in enumerate(found["path"].unique(maintain_order=True))}
    )
    return fastest.sort(place, "processes", "piece_bytes", "pieces").with_columns(
        polars.struct("pieces", "piece_bytes")
        .map_elements(lambda one: f"{one['pieces']} x {format_bytes(one['piece_bytes'])}", polars.String)
        .alias("list")
    )


def sms(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each kernel and path that was measured by numbers of blocks of its grid.

    ``enough_blocks``: the fewest that reach 90% of the best rate ``gbps``; ``block_gbps``: the rate of one block at the
    fewest. ``round_trip_s``: the shortest that a load of the executor from this memory of the source takes, where the
    run has it; ``in_flight``: bytes that one block has under way, ``block_gbps`` times the round trip.
    """
    loads = by.alone(results).filter(polars.col("movement").str.contains("^gpu-reads-(host|peer)"))
    trips = {tuple(ends): seconds for *ends, seconds in loads.group_by(_LOADED).agg(polars.col("seconds").min()).rows()}
    series = _series(results, _BLOCKS, "blocks").filter(polars.col("gbps") > 0)
    several = series.filter(polars.col("blocks").n_unique().over(*_SERIES, "bytes") >= by.FEWEST)
    kinds = several.group_by((*_SERIES, "bytes"), maintain_order=True)
    return by.frame_of(_sms(lines.sort("blocks"), trips) for _, lines in kinds)


def _sms(lines: polars.DataFrame, trips: dict[tuple[Any, ...], float]) -> Json:
    first, most = lines.row(0, named=True), max(lines["gbps"].to_list())
    enough = lines.filter(polars.col("gbps") >= ENOUGH * most).row(0, named=True)
    block = first["gbps"] / first["blocks"]
    trip = trips.get(tuple(first[name] for name in _LOADED))
    return {
        **lines.select(*by.DESCRIBED, "path", "bytes", "called").row(0, named=True),
        **{"gbps": most, "enough_blocks": enough["blocks"], "block_gbps": block, "round_trip_s": trip},
        "in_flight": None if trip is None else round(block * 1e9 * trip),
    }


def _series(results: polars.DataFrame, number: str, name: str) -> polars.DataFrame:
    """Return results with a number among their parameters, as the column ``name``, and ``others`` without it."""
    parameters = polars.col("parameters")
    found = by.alone(results).filter(parameters.str.contains(number), polars.col("seconds") > 0)
    found = found.with_columns(
        parameters.str.extract(number).cast(polars.Int64).alias(name),
        parameters.str.replace(number, "").str.strip_chars().alias("others"),
    )
    called = [_called(line) for line in found.select("method", "others", "role").iter_rows()]
    found = found.with_columns(polars.Series("called", called, polars.String))
    return found.unique((*_SERIES, name, "bytes"), keep="first", maintain_order=True)


def _called(line: tuple[str, str, str]) -> str:
    """Return "loop, graph 1" for a method whose parameter api is loop; buffers that are not shuffled lie in order."""
    words = dict(word.split("=", 1) for word in line[1].split())
    shuffled = words.pop("scatter", "no" if "api" in words else "")
    told = [words.pop("api", " ".join(filter(None, (line[0], line[2]))))]
    told += [f"{name.replace('_', ' ')} {value}" for name, value in words.items()]
    return ", ".join([*told, *(["in order"] if shuffled == "no" else [])])


def _conclude(of_lists: polars.DataFrame, of_sms: polars.DataFrame) -> Finding:
    shared = of_lists.filter(polars.col("of_one").is_not_null()) if of_lists.height else of_lists
    if shared.height:
        low = best(shared).sort("of_one", "piece_bytes").row(0, named=True)
        facts = {"share": low["of_one"], "list": low["list"], "path": low["path"], "way": low["called"]}
        return note("analyze.blocks-shared", **facts)
    if of_lists.height:
        cheap = of_lists.sort("each_s").row(0, named=True)
        return note("analyze.blocks-priced", way=cheap["called"], each_s=cheap["each_s"])
    ends = {"fewest": of_sms["enough_blocks"].min(), "most": of_sms["enough_blocks"].max()}
    return note("analyze.blocks-sms", **ends)


def answer(run: Run) -> Answer:
    """Say what lists of pieces cost and how many SMs a copy takes; without either the run has nothing to say."""
    head, results = run_head(run), by.usable(run)
    found, of_sms = lists(results), sms(results)
    if found.is_empty() and of_sms.is_empty():
        lacking = note("analyze.lacking", question="blocks")
        nothing = Table("analyze.blocks", found, ())
        return Answer("analyze/blocks", (head,), lacking, Outcome.UNTESTED, head.findings, (nothing,))
    fits = costs(found)
    shares = tuple(Column(f"share_{size}", Kind.PERCENT, f"of {format_bytes(size)}") for _, size in SHARED_AT)
    at, each, trip = (
        Column("path", Kind.PATH, once=True),
        Column("each_s", Kind.TIME),
        Column("round_trip_s", Kind.TIME),
    )
    rates = columns(Kind.NUMBER, "gbps", "block_gbps")
    tables = (
        Table(
            "analyze.blocks",
            fits,
            (at, Column("called"), *columns(Kind.TIME, "first_s", "piece_s"), Column("gbps", Kind.NUMBER), *shares),
            first=3,
        ),
        Table(
            "analyze.blocks-best",
            best(found) if found.height else found,
            (at, Column("list"), Column("called"), each, Column("gbps", Kind.NUMBER), Column("of_one", Kind.PERCENT)),
            first=2,
        ),
        Table(
            "analyze.blocks-sms",
            of_sms,
            (at, Column("called"), Column("enough_blocks", Kind.COUNT), *rates, trip, Column("in_flight", Kind.SIZE)),
            first=1,
        ),
    )
    kept = tuple(table for table in tables if table.frame.height)
    return Answer("analyze/blocks", (head,), _conclude(found, of_sms), findings=head.findings, tables=kept)

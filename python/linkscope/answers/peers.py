"""Peers: how each pair of GPUs reaches the other, with what a run measured of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.run_head import run_head
from linkscope.figures.columns import ABOVE_PEAK, OF_ONE_FLOW
from linkscope.figures.run import Run
from linkscope.machine.node import Node
from linkscope.machine.peer_routes import DETOURS, PeerRoute
from linkscope.messages.finding import Finding, Level, error, note, warning
from linkscope.results.note_codes import WRONG_DATA, says

_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("pair", "peer_route"), polars.String),
    "via": polars.List(polars.String),
    "iommu": polars.String,
    "numa": polars.List(polars.Int64),
    "bar1_bytes": polars.Int64,
    **dict.fromkeys(("there", "back", "of_peak"), polars.Float64),
}
_COLUMNS = (
    Column("pair", Kind.PATH),
    Column("peer_route", Kind.NAME),
    Column("via"),
    Column("iommu", detail=True),
    Column("numa", detail=True),
    Column("bar1_bytes", Kind.SIZE),
    Column("there", Kind.NUMBER),
    Column("back", Kind.NUMBER),
    Column("of_peak", Kind.PERCENT, detail=True),
)


def peers(node: Node, routes: Sequence[PeerRoute], settings: Sequence[Finding], run: Run | None) -> Answer:
    """Return the route of each pair of GPUs. ``settings``: what doctor finds of the GPUs' set-up; ``run``: a run of
    this machine, None where there is none. Rates are the highest of one transfer at a time in each direction.
    """
    if not routes:
        headline = note("peers.one-gpu", name=node.name, gpus=len(node.of_kind("gpu")))
        return Answer("peers", (), headline, Outcome.UNTESTED)
    wrong = list(_wrong_data(routes, run)) if run else []
    findings = (*wrong, *_detours(routes), *(one for one in settings if one.level is not Level.NOTE))
    lines = [_line(route, run.results if run else None) for route in routes]
    return Answer(
        "peers",
        (run_head(run),) if run else (),
        _headline(routes, wrong),
        Outcome.FAILS if wrong else Outcome.HOLDS,
        findings,
        (_table(lines),),
        next=() if run else (note("peers.run"),),
    )


def _headline(routes: Sequence[PeerRoute], wrong: Sequence[Finding]) -> Finding:
    pairs, detours = len(routes), sum(route.route in DETOURS for route in routes)
    if wrong:
        return error("peers.wrong", wrong=sum(len(one.where) for one in wrong), pairs=pairs)
    if detours:
        return warning("peers.detours", detours=detours, pairs=pairs)
    return note("peers.direct", pairs=pairs)


def _detours(routes: Sequence[PeerRoute]) -> Iterator[Finding]:
    """Yield which settings lengthen or endanger routes, with the pairs."""
    redirected = [route for route in routes if route.route == "redirected"]
    if redirected:
        bridges = sorted({bridge for route in redirected for bridge in route.via})
        yield replace(warning("peers.acs", bridges=bridges), where=tuple(map(_pair, redirected)))
    staged = tuple(_pair(route) for route in routes if route.route == "host")
    if staged:
        yield replace(warning("peers.host"), where=staged)
    translated = [route for route in routes if route.iommu and route.over_pcie]
    if translated:
        kind = str(translated[0].iommu)
        yield replace(warning("peers.iommu", kind=kind), where=tuple(map(_pair, translated)))
    if any(route.route == "pcie-switch" and not route.acs_known for route in routes):
        yield note("peers.acs-unread")


def _wrong_data(routes: Sequence[PeerRoute], run: Run) -> Iterator[Finding]:
    """Yield the pairs between which data arrived wrong, beside the bridges that redirect them: fast and wrong."""
    failed = run.results.filter(polars.col("status") == "failed")
    failed = failed.filter(
        polars.Series([says(WRONG_DATA, [reason or ""]) for reason in failed["reason"]], dtype=polars.Boolean)
    )
    for route in routes:
        ends = [">".join(route.gpus), ">".join(route.gpus[::-1])]
        of_pair = failed.filter(polars.col("paths").str.split(" ").list.set_intersection(ends).list.len() > 0)
        if of_pair.height:
            ids = tuple(of_pair["id"].unique(maintain_order=True))
            redirected = route.route == "redirected"
            found = error("peers.wrong-acs", bridges=route.via) if redirected else error("peers.wrong-data")
            yield replace(found, where=(_pair(route),), results=ids)


def _line(route: PeerRoute, results: polars.DataFrame | None) -> dict[str, Any]:
    rates: dict[str, Any] = {}
    if results is not None:
        ways = [_best(results, ">".join(gpus)) for gpus in (route.gpus, route.gpus[::-1])]
        shares = [share for _, share in ways if share is not None]
        rates = {"there": ways[0][0], "back": ways[1][0], "of_peak": min(shares, default=None)}
    numa = sorted({place for place in route.numa if place is not None})
    facts = {"iommu": route.iommu, "bar1_bytes": route.bar1_bytes}
    return {"pair": _pair(route), "peer_route": route.route, "via": list(route.via), "numa": numa, **facts, **rates}


def _best(results: polars.DataFrame, path: str) -> tuple[float | None, float | None]:
    """Return the highest rate of one transfer along a path, and its share of the peak."""
    alone = results.filter(
        polars.col("movement") == "gpu>gpu",
        polars.col("path") == path,
        polars.col("status") == "ok",
        polars.col("figure").is_in(OF_ONE_FLOW),
        polars.col("gbps").is_not_null(),
        polars.col("background") == 0,
        ~(polars.col("of_peak") > ABOVE_PEAK).fill_null(value=False),
    )
    if not alone.height:
        return None, None
    best = alone.row(int(alone["gbps"].arg_max() or 0), named=True)
    return best["gbps"], best["of_peak"]


def _pair(route: PeerRoute) -> str:
    return "<>".join(route.gpus)


def _table(lines: Sequence[dict[str, Any]]) -> Table:
    frame = polars.DataFrame([{name: line.get(name) for name in _SCHEMA} for line in lines], schema=_SCHEMA)
    filled = {name for name in frame.columns if any(value not in (None, []) for value in frame[name].to_list())}
    key = "peers.measured" if "there" in filled or "back" in filled else "peers.routes"
    return Table(key, frame, tuple(column for column in _COLUMNS if column.name in filled))

"""Figures: all that a run measured as one Polars frame, a line per figure, for analyses and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from statistics import median
from typing import Any

import polars

from linkscope.analysis.by_flow import apart
from linkscope.analysis.cell import memory, payload, place_of, regime, title
from linkscope.analysis.collective import Collective
from linkscope.analysis.headline import Headline, headline
from linkscope.analysis.peak import Peak, peak
from linkscope.machine.paths import Paths, Traffic
from linkscope.results.figure_class import figure_class
from linkscope.results.member_time import slowest
from linkscope.results.replicates import noted
from linkscope.results.row import Row, Stats
from linkscope.results.run_file import RunFile

Json = dict[str, Any]

_CHUNK = 20_000
"""Lines that become columns at once."""
OF_ONE_FLOW = ("first", "latency", "touched", "half", "bus", "algorithm")
"""Figures that are of the first flow, so that its time belongs beside them."""
RATE, TIME = "GB/s", "s"
BETWEEN_NOTES = "; "
_WORDS = polars.Categorical
SCHEMA: dict[str, Any] = {
    **{"id": polars.String, "suite": _WORDS, "row": _WORDS, "title": _WORDS, "status": _WORDS, "reason": _WORDS},
    **{
        "left_out": polars.Boolean,
        "modelled": polars.Boolean,
        "assumed": polars.Boolean,
        "origin": _WORDS,
        "clock": _WORDS,
        "regime": _WORDS,
        "cache": _WORDS,
        "load": _WORDS,
    },
    **{"environment": _WORDS, "processes": polars.Int32, "hosts": _WORDS, "tier": _WORDS, "class": _WORDS},
    **{"method": _WORDS, "executor": _WORDS, "source": _WORDS, "source_memory": _WORDS, "destination": _WORDS},
    **{
        "destination_memory": _WORDS,
        "paths": _WORDS,
        "members": _WORDS,
        "members_memory": _WORDS,
        "collective": _WORDS,
    },
    **dict.fromkeys(("workload", "deck", "interface", "state_memory", "rank_order"), _WORDS),
    **{"messages": polars.Int64, "isolated": polars.Boolean},
    **{"parameters": _WORDS, "bytes": polars.Int64, "flows": polars.Int32, "background": polars.Int32},
    "together": _WORDS,
    **{"place": _WORDS, "variant": _WORDS, "figure": _WORDS},
    **dict.fromkeys(("gbps", "gbps_low", "gbps_high", "seconds", "seconds_low", "seconds_high"), polars.Float64),
    **{"unit": _WORDS, "n": polars.Int64, "replicates": polars.Int32, "noise": polars.Float64},
    **{"replicate_values": polars.List(polars.Float64), "of_samples": polars.Float64},
    **{"peak_gbps": polars.Float64, "of_peak": polars.Float64, "bound_by": _WORDS},
    "notes": _WORDS,
    "parts_s": polars.List(polars.Float64),
}
"""Columns of the frame and their types; "class" is the class of figures that share a noise."""


def figures(run: RunFile) -> polars.DataFrame:
    """Every figure of a run, in the plan's order, with the columns of ``SCHEMA``; null where a thing is not known.

    ``gbps`` or ``seconds`` is the figure itself, by what ``figure`` names; beside the rate of one flow stands its time,
    beside the time of a transfer its rate: what has no ``gbps`` moves nothing.
    ``left_out``: skipped for lack of time alone.
    ``assumed``: of a model, mostly a latency that no source gives.
    ``origin``: the tool that it was imported from, "" where linkscope measured it.
    ``low`` and ``high`` bound the 95 % interval. ``flows`` and ``background`` count what ran together, ``together``
    says how the measured ones lie: "both ways", "1 to 3", "12 flows"; "" for one alone. ``memory``: the kind, and who
    placed it, "managed (first touch: gpu)". ``paths``: see ``paths_of``. ``id``, ``place`` and
    ``figure`` make a line unique.
    ``unit`` says which of the two the figure is, "GB/s" or "s"; ``replicate_values`` are its values in each replicate
    in that unit; ``of_samples`` is the relative half width that samples alone leave in one of them.
    Of a schedule, ``members`` are where messages lie, by rank; ``workload``, ``deck``, ``interface``, ``state_memory``,
    ``rank_order`` and ``isolated`` are as of its labels (results/records.py), ``messages`` counts them; ``parts_s`` are
    seconds of one transfer of the slowest member, in the order of ``PARTS`` (results/member_time.py).
    ``notes``: what engines noted of the case while they measured it, each once, "; " between.
    """
    found, frames = iter(lines(run.rows, Paths(run.node))), []
    while chunk := list(islice(found, _CHUNK)):
        frames.append(polars.DataFrame(chunk, schema=SCHEMA, orient="row"))
    return polars.concat(frames) if frames else polars.DataFrame(schema=SCHEMA)


def lines(rows: Iterable[Row], paths: Paths) -> Iterable[tuple[Any, ...]]:
    """A tuple for every figure, in the order of ``SCHEMA``."""
    for row in rows:
        replicates = [apart([one]) for one in row.measured if row.status == "ok"]
        notes = _notes(row)
        for index, part in enumerate(apart([row])):
            line = _line(part, paths) | _of_replicates([parts[index] for parts in replicates]) | notes
            yield tuple(line.get(name) for name in SCHEMA)


def _line(row: Row, paths: Paths) -> Json:
    found = headline(row)
    limit = peak(row, paths) if found is not None and found.higher_is_better else None
    return of_case(row) | _of_outcome(row, found) | _of_peak(found, limit)


def of_case(row: Row) -> Json:
    """The columns that depend on the case alone, not on what came of it. ``row`` is taken apart (``apart``)."""
    flow = row.case["flows"][0]
    roles = [one.get("role", "measured") for one in row.case["flows"]]
    collective = Collective.of(flow)
    _, table_row, table_column, figure = place_of(row)
    return {
        **{"id": row.id, "suite": row.suite, "row": row.name, "title": title(row), "modelled": row.modelled},
        "assumed": row.assumed,
        "origin": row.origin,
        **{"clock": row.case["clock"], "regime": regime(row)},
        **{"cache": row.case.get("cache", "rotated"), "load": row.load, "environment": _words(row.environment)},
        **{"processes": int(row.case.get("processes", 1)), "hosts": ", ".join(row.between)},
        **{"tier": str(row.labels.get("tier", "")), "class": figure_class(row.case).key, "method": flow["method"]},
        **{"executor": flow["executor"], **_end("source", flow), **_end("destination", flow)},
        "paths": paths_of([one for one in row.case["flows"] if one.get("role", "measured") == "measured"]),
        "members": " ".join(end["device"] for end in flow["members"]) if "members" in flow else None,
        "members_memory": memory(flow["members"][0]) if "members" in flow else None,
        **{"collective": collective.kind if collective else None, "parameters": _words(flow.get("parameters", {}))},
        **_of_workload(row.labels.get("workload"), flow),
        **{"bytes": payload(row), "flows": roles.count("measured"), "background": roles.count("background")},
        "together": _together([one for one in row.case["flows"] if one.get("role", "measured") == "measured"]),
        **{"place": place(table_row, table_column), "figure": figure},
        "variant": ", ".join(str(word) for word in row.labels.get("variant", {}).values()),
    }


def _of_workload(label: Json | None, flow: Json) -> Json:
    if label is None:
        return {}
    return {
        **{"workload": label["application"], "deck": label["deck"], "interface": label["interface"]},
        "state_memory": memory(flow["state"][0]) if flow.get("state") else None,
        "rank_order": " ".join(label.get("order") or (end["device"] for end in flow.get("members", ()))),
        **{"messages": label.get("messages"), "isolated": bool(label.get("isolated", False))},
    }


def place(row: str, column: str) -> str:
    """Where in its table a figure stands."""
    return f"{row}|{column}"


def paths_of(flows: Sequence[Json]) -> str:
    """Ways over which the flows' bytes go, "gpu:0>gpu:1 gpu:1>gpu:0", or the one device, "gpu:0", in which they stay;
    "" for those of members, which lead from all to all."""
    found = [
        f"{a}>{b}" for one in flows if "members" not in one for a, b in Traffic.of(one).legs or [(one["executor"], "")]
    ]
    return " ".join(dict.fromkeys(way.rstrip(">") for way in found))


def _together(flows: Sequence[Json]) -> str:
    if len(flows) == 1:
        return ""
    ends = [
        tuple(flow.get(end, {}).get("device", flow["executor"]) for end in ("source", "destination")) for flow in flows
    ]
    sources, destinations = {end[0] for end in ends}, {end[1] for end in ends}
    if len({frozenset(pair) for pair in ends}) == 1:
        return "both ways" if len(sources) > 1 and len(flows) == 2 else f"{len(flows)} flows on one path"
    if len(sources) == 1 or len(destinations) == 1:
        return f"{len(sources)} to {len(destinations)}"
    return f"{len(flows)} flows{', both ways' if all((b, a) in ends for a, b in ends) else ''}"


def _end(name: str, flow: Json) -> Json:
    end = flow.get(name)
    return {name: end["device"], f"{name}_memory": memory(end)} if end else {}


def _words(named: Json) -> str:
    return " ".join(f"{name}={value}" for name, value in named.items())


def _of_outcome(row: Row, found: Headline | None) -> Json:
    line: Json = {"status": row.status, "reason": row.reason, "left_out": row.left_out, "noise": row.noise}
    if found is None:
        return line
    rate = found.higher_is_better
    line |= {"n": found.value.n, "replicates": len(row.measured), "unit": RATE if rate else TIME}
    own = row.measured_flows[0][1].gbps
    if rate:
        line |= _bounds("gbps", found.value)
    elif own is not None:
        line |= _bounds("gbps", own)
    if str(row.labels.get("figure", "first")) in OF_ONE_FLOW or not rate:
        line |= _bounds("seconds", row.measured_flows[0][1].seconds)
    longest = slowest(row.measured_flows[0][1].breakdown)
    return line | ({"parts_s": longest.in_order} if longest else {})


def _of_replicates(parts: Sequence[Row]) -> Json:
    found = [one for one in map(headline, parts) if one is not None]
    if not found:
        return {}
    shares = [(one.value.high - one.value.low) / 2 / one.value.median for one in found if one.value.median]
    values = [one.value.median if one.higher_is_better else one.seconds for one in found]
    return {"replicate_values": values, "of_samples": median(shares) if shares else None}


def _notes(row: Row) -> Json:
    if row.status != "ok":
        return {}
    replicates = [[note for flow in one.flows for note in flow.notes] for one in row.measured]
    return {"notes": BETWEEN_NOTES.join(noted(replicates, row.noise))}


def _bounds(name: str, value: Stats) -> Json:
    return {name: value.median, f"{name}_low": value.low, f"{name}_high": value.high}


def _of_peak(found: Headline | None, limit: Peak | None) -> Json:
    if found is None or limit is None or not limit.gbps:
        return {}
    return {"peak_gbps": limit.gbps, "of_peak": found.value.median / limit.gbps, "bound_by": limit.why}

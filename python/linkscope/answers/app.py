"""App: of each application's communication that a run carried out, which method is fastest, and where time goes.

Times are of one transfer, the whole schedule once, of the member that takes longest: packing and waiting included, what
the application computes left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.row_times import time_of
from linkscope.answers.run_head import run_head
from linkscope.answers.schedule_times import ScheduleTimes, schedule_times
from linkscope.answers.show_details import reason_of
from linkscope.figures.run import Run
from linkscope.machine.paths import Paths
from linkscope.machine.traits import memory_traits, method_traits
from linkscope.messages.finding import Facts, Finding, note, warning
from linkscope.messages.methods import memory_name, method_name
from linkscope.results.member_time import PARTS, slowest
from linkscope.results.row import Row
from linkscope.statistics.best import dearer
from linkscope.workload.planned_schedule import planned_schedule

Json = dict[str, Any]

STEPS, PARTICLES = "steps/s", "particles sent/s"
HEADER_BYTES, PARTICLE_BYTES = 8, 136
"""Bytes of a message before its particles, and of each particle."""
MOST_METHODS, MOST_PHASES = 6, 4
"""Lines of a first screen."""
_STAGED = "full"
"""The application copies through the host itself."""
_EXCHANGE = (
    *(Column("phase"), Column("seconds", Kind.TIME), Column("rank_bytes", Kind.SIZE, head="bytes")),
    Column("rank_gbps", Kind.NUMBER, head="GB/s"),
)
_METHODS: dict[str, Any] = {
    **dict.fromkeys(("id", "name", "interface", "memory", "state", "settings", "order"), polars.String),
    **{"staged": polars.Boolean, "processes": polars.Int64},
    **{f"{name}{bound}": polars.Float64 for name in ("seconds", "speedup") for bound in ("", "_low", "_high")},
    **{"gbps": polars.Float64, "merit": polars.Float64, "baseline": polars.Boolean},
    **{"ties_with_fastest": polars.Boolean, "ties_with_baseline": polars.Boolean, "modelled": polars.Boolean},
    **{"mark": polars.String, **dict.fromkeys(PARTS, polars.Float64)},
}


@dataclass(frozen=True)
class Workload:
    """One application's communication, by all methods that the run has.

    ``methods``: a line for each that has a time, the fastest first. ``speedup``: the time of the baseline over its
    time. Parts are shares of the mean time of its slowest member. ``merit``: of a halo exchange steps/s, of a particle
    exchange particles that are sent, per second of communication; "" where all is messages. ``missing``: what has no
    time, and why. ``stands_in_for``: why the application's method has no time, where another is the baseline.
    ``times``: of the fastest method. ``exchanges``: phases of all methods, the fastest first; empty where ranks keep no
    bytes of their own.
    """

    facts: Facts
    methods: polars.DataFrame
    missing: tuple[Finding, ...]
    stands_in_for: str
    times: ScheduleTimes
    merit: str
    exchanges: polars.DataFrame
    notes: tuple[str, ...]


def answer(run: Run) -> Answer:
    """Return which method is fastest for each application, deck and number of ranks of a run."""
    head = run_head(run)
    found = workloads(run)
    if not found:
        return Answer("app", (head,), note("app.none"), Outcome.UNTESTED, head.findings)
    lines = [_conclusion(one) for one in found]
    several = len(found) > 1
    timed = any(one.methods.height for one in found)
    return Answer(
        question="app",
        runs=(head,),
        headline=note("app.several", workloads=len(found)) if several else lines[0],
        outcome=None if timed else Outcome.UNTESTED,
        findings=(*head.findings, *(lines if several else ()), *_findings(found)),
        tables=(
            *_exchanges([one for one in found if one.exchanges.height and several]),
            *(replace(table, detail=table.detail or several) for one in found for table in _tables(one)),
        ),
        details=tuple(said for one in found for said in _details(one)),
    )


def workloads(run: Run) -> list[Workload]:
    """Return the workloads of a run, in its order."""
    found: dict[tuple[str, str, int], list[Row]] = {}
    for row in run.rows.values():
        if "workload" in row.labels:
            label = row.labels["workload"]
            found.setdefault((str(label["application"]), str(label["deck"]), int(label["ranks"])), []).append(row)
    return [_workload(key, rows, run) for key, rows in found.items()]


def _workload(key: tuple[str, str, int], rows: Sequence[Row], run: Run) -> Workload:
    whole = [row for row in rows if not row.labels["workload"].get("isolated")]
    kinds = [_kind(row, run.library) for row in whole]
    names = _names(kinds)
    timed = sorted(
        (one for one in zip(whole, kinds, names, strict=True) if _has_time(one[0])),
        key=lambda one: one[0].measured_flows[0][1].seconds.median,
    )
    based = next((row for row, *_ in timed if row.labels["workload"].get("baseline")), None)
    lacking = [row for row in whole if row.labels["workload"].get("baseline")] if based is None else []
    based = based or (_stand_in(timed) if lacking else None)
    lines = [_line(*one, timed[0][0], based) for one in timed]
    best = timed[0] if timed else None
    described = best[0] if best else (whole or rows)[0]
    flow = described.case["flows"][0]
    schedule = flow.get("schedule", {})
    alone = [row for row in rows if row not in whole and _has_time(row) and best and _kind(row, run.library) == best[1]]
    name = " ".join(filter(None, (key[0], key[1].removeprefix(key[0]).removeprefix(", "))))
    sent = planned_schedule(flow, "").messages().total() if schedule else 0
    messages = sent or int(described.labels["workload"].get("messages", 0))
    return Workload(
        facts={"workload": name, "ranks": key[2], "bytes": int(flow["bytes"]), "messages": messages},
        methods=polars.DataFrame(lines, schema=_METHODS, orient="row"),
        missing=tuple(_missing([(row, name) for row, name in zip(whole, names, strict=True) if not _has_time(row)])),
        stands_in_for=reason_of(lacking[0]) if lacking and based else "",
        times=schedule_times(best[0], run.paths, alone[0] if alone else None) if best else ScheduleTimes(),
        exchanges=_by_method(timed, run.paths),
        merit=STEPS if "grid" in schedule else PARTICLES if "particles" in schedule else "",
        notes=tuple(dict.fromkeys(str(text) for row in whole for text in row.labels["workload"].get("notes", ()))),
    )


def _by_method(timed: Sequence[tuple[Row, Json, str]], paths: Paths) -> polars.DataFrame:
    lines = [
        schedule_times(row, paths).phases.with_columns(method=polars.lit(name))
        for row, _, name in timed
        if "own_bytes" in row.labels["workload"]
    ]
    return polars.concat(lines) if lines else polars.DataFrame()


def _kind(row: Row, library: str) -> Json:
    """Return by which interface, memory and settings a row carried its workload out.

    ``memory``: of the messages' buffers; ``state``: of what they are packed from. ``order``: device of each rank.
    """
    label, flow = row.labels["workload"], row.case["flows"][0]
    members = flow.get("members", ())
    return {
        "interface": method_name(str(label["interface"]), library),
        "staged": label.get("staging") == _STAGED,
        "memory": memory_name(str(label.get("memory") or (members[0]["memory"] if members else "")), library),
        "state": str(label.get("state") or ""),
        "settings": " ".join(f"{name}={value}" for name, value in row.environment.items()),
        "processes": int(row.case.get("processes", 1)),
        "order": " ".join(label.get("order") or (end["device"] for end in members)),
    }


def _names(kinds: Sequence[Json]) -> list[str]:
    """Return "mpi staged, pinned" or "direct, device": interface and memory, and what else tells one from another."""
    varied = {name for name in (kinds[0] if kinds else ()) if len({one[name] for one in kinds}) > 1}

    def name(one: Json) -> str:
        counts = {other["processes"] for other in kinds if other["interface"] == one["interface"]}
        words = [f"{one['interface']}{' staged' if one['staged'] else ''}", one["memory"]]
        words += [f"state={one['state']}"] if one["state"] and "state" in varied else []
        words += [one["settings"] or "unchanged"] if "settings" in varied else []
        words += [f"processes={one['processes']}"] if len(counts) > 1 else []
        words += [f"order {one['order']}"] if "order" in varied else []
        return ", ".join(words)

    return [name(one) for one in kinds]


def _has_time(row: Row) -> bool:
    """Return whether a row has a time that can be compared."""
    measured = row.measured_flows
    return bool(measured) and "schedule" in measured[0][0] and measured[0][1].seconds.low > 0


def _stand_in(timed: Sequence[tuple[Row, Json, str]]) -> Row | None:
    """Return device memory staged, as applications do where MPI takes no GPU memory; else the fastest by MPI."""
    flows = ((row, kind, row.measured_flows[0][0]) for row, kind, _ in timed)
    by_mpi = [(row, kind, flow) for row, kind, flow in flows if method_traits(row.case, flow["method"]).by_mpi]
    staged = (row for row, kind, flow in by_mpi if kind["staged"] and _on_gpus(row, flow))
    return next(staged, by_mpi[0][0] if by_mpi else None)


def _on_gpus(row: Row, flow: Json) -> bool:
    return all(memory_traits(row.case, end["memory"]).lies_on == "gpu" for end in flow["members"])


def _line(row: Row, kind: Json, name: str, fastest: Row, based: Row | None) -> Json:
    flow, result = row.measured_flows[0]
    time, least = time_of(row), time_of(fastest)
    before = time_of(based) if based is not None and row is not based else None
    ties = before is not None and not dearer(before, time) and not dearer(time, before)
    member = slowest(result.breakdown)
    return {
        **{"id": row.id, "name": name, **kind, "gbps": flow["bytes"] / time.value * 1e-9, "merit": _merit(row)},
        **time.columns("seconds"),
        **(before.over(time).columns("speedup") if before is not None else {}),
        **{"baseline": row is based, "ties_with_baseline": ties, "modelled": row.modelled, "mark": "=" if ties else ""},
        "ties_with_fastest": row is fastest or not dearer(time, least),
        **({part: member.share(part) or None for part in PARTS} if member else {}),
    }


def _merit(row: Row) -> float | None:
    flow, result = row.measured_flows[0]
    schedule = planned_schedule(flow, "")
    if "grid" in flow["schedule"]:
        return max((loop.repeats for loop in schedule.loops), default=0) / result.seconds.median
    if "particles" not in flow["schedule"]:
        return None
    sent = sum(
        max(one.size - HEADER_BYTES, 0) // PARTICLE_BYTES * phase.repeats
        for phase in schedule.phases
        for one in phase.messages
    )
    return sent / result.seconds.median


def _missing(rows: Sequence[tuple[Row, str]]) -> Iterator[Finding]:
    """Yield each reason once, with the methods that it holds for."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row, name in rows:
        names = groups.setdefault((reason_of(row) or row.status, "failed" if row.status == "ok" else row.status), [])
        names.extend([name] if name not in names else [])
    for (reason, status), names in groups.items():
        code = "app.failed" if status == "failed" else "app.skipped"
        yield note(code, methods=names, reason=reason, count=len(names))


def _conclusion(one: Workload) -> Finding:
    """Return which method is fastest, and its gain over the application's."""
    if one.methods.is_empty():
        return note("app.nothing", **one.facts)
    best = one.methods.row(0, named=True)
    facts = {**one.facts, "method": best["name"], "seconds": best["seconds"]}
    equal = one.methods.filter("ties_with_fastest").height
    based = one.methods.filter("baseline")
    if one.methods.height == 1:
        return note("app.only", **facts)
    if equal == one.methods.height:
        return note("app.ties", **facts)
    if based.is_empty():
        return note("app.fastest", **facts)
    facts["baseline"] = based["name"][0]
    if best["baseline"]:
        return note("app.baseline-fastest", **facts)
    if best["ties_with_baseline"]:
        return note("app.baseline-ties", **facts)
    return note("app.faster", **facts, gain=best["speedup"])


def _findings(found: Sequence[Workload]) -> Iterator[Finding]:
    """Yield what the reader must know of workloads: stand-ins, shared GPUs, one's busiest link, what did not run."""
    for one in found:
        yield from _stand_ins(one)
        if one.times.links.height and len(found) == 1:
            link = one.times.links.row(0, named=True)
            yield note("app.busiest-link", link=link["link"], bytes=link["bytes"], share=link["share"])
    if gone := sum(missing.facts["count"] for one in found for missing in one.missing):
        yield note("app.not-run", count=gone)


def _stand_ins(one: Workload) -> Iterator[Finding]:
    """Yield what makes a workload's gain another than the application's."""
    based = one.methods.filter("baseline")
    if one.stands_in_for and based.height:
        yield note("app.stands-in", baseline=based["name"][0])
    gpus = {device for order in one.methods["order"] for device in order.split() if device.startswith("gpu:")}
    if gpus and len(gpus) < one.facts["ranks"]:
        yield warning("app.shared-gpus", ranks=one.facts["ranks"], gpus=len(gpus))


def _details(one: Workload) -> Iterator[Finding]:
    """Yield why methods did not run, and what the plan says of the workload."""
    yield from one.missing
    if (one.methods["interface"] == "direct").any():
        yield note("app.direct")
    yield from (note("app.engine", text=text) for text in one.notes)


def _exchanges(found: Sequence[Workload]) -> Iterator[Table]:
    """Yield the phases of several workloads whose ranks keep bytes of their own, by the fastest method of each."""
    frames = [
        one.exchanges.head(one.times.phases.height).with_columns(workload=polars.lit(one.facts["workload"]))
        for one in found
    ]
    if frames:
        yield Table("app.fastest-exchanges", polars.concat(frames), (Column("workload", once=True), *_EXCHANGE))


def _tables(one: Workload) -> Iterator[Table]:
    if one.methods.is_empty():
        return
    first, rest = one.methods.head(MOST_METHODS), one.methods.tail(-MOST_METHODS)
    based = rest.filter("baseline")
    shown = polars.concat([first.head(MOST_METHODS - based.height), based]) if rest.height else first
    columns = [Column("name"), Column("seconds", Kind.TIME, interval=True)]
    columns += [Column("speedup", Kind.FACTOR, mark="mark", interval=True)] if one.methods["baseline"].any() else []
    columns += [Column("gbps", Kind.NUMBER), *([Column("merit", Kind.NUMBER, head=one.merit)] if one.merit else [])]
    yield Table("app.methods", one.methods, tuple(columns), facts=one.facts, detail=rest.height > 0)
    if rest.height:
        facts = {**one.facts, "more": one.methods.height - shown.height}
        yield Table("app.fastest-methods", shown, tuple(columns), facts=facts)
    known = one.methods.filter(polars.any_horizontal(polars.col(PARTS).is_not_null()))
    named = known.filter((polars.col("id") == one.methods["id"][0]) | polars.col("baseline"))
    parts = [part for part in PARTS if known[part].is_not_null().any()]
    shares = (Column(part, Kind.PERCENT) for part in parts)
    yield Table("app.parts", named.select("name", *parts), (Column("name"), *shares))
    yield from _of_schedule(one)


def _of_schedule(one: Workload) -> Iterator[Table]:
    """Yield the phases, longest first, the ranks and the links of the fastest method."""
    seconds, link, share = Column("seconds", Kind.TIME), Column("link", Kind.PATH), Column("share", Kind.PERCENT)
    if one.exchanges.height:
        own = Column("own", Kind.SIZE, head="own")
        yield Table("app.exchanges", one.exchanges, (Column("method", once=True), *_EXCHANGE, own), first=MOST_PHASES)
    phases = one.times.phases.sort("seconds", descending=True, maintain_order=True)
    alone = [Column("of_alone", Kind.FACTOR)] if phases["of_alone"].is_not_null().any() else []
    columns = (Column("phase"), Column("times", Kind.COUNT), seconds, link, share, *alone)
    yield Table("app.phases", phases, columns, first=MOST_PHASES, detail=one.merit != "" or one.exchanges.height > 0)
    sizes = [Column(name, Kind.SIZE, head=name) for name in ("sent", "received", "own")]
    sizes = sizes if one.exchanges.height else sizes[:2]
    ranks = (Column("rank", Kind.COUNT), Column("device"), seconds, *sizes, Column("waits", Kind.PERCENT))
    yield Table("app.ranks", one.times.ranks, ranks, detail=True)
    yield Table("app.links", one.times.links, (link, Column("bytes", Kind.SIZE), seconds, share), detail=True)

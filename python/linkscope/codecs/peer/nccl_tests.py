"""nccl-tests: its tables by size, one for each program and way of making calls. Format: src/util.cu of 2.19."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from linkscope.figures.collective import Collective
from linkscope.figures.run import Run
from linkscope.results.nccl_programs import NCCL_PROGRAMS
from linkscope.results.row import Row

Json = dict[str, Any]
_NOT = "N/A"
_TYPES = {"float32": ("float", 4), "float16": ("half", 2), "bfloat16": ("bfloat16", 2), "int32": ("int32", 4)}
_HEAD = (
    f"# {'':>10}  {'':>12}  {'':>8}  {'':>6}  {'':>6}           out-of-place                       in-place          "
)
_HEADINGS = (
    (("size", "count", "type", "redop", "root"), ("time", "algbw", "busbw", "#wrong")),
    (("(B)", "(elements)", "", "", ""), ("(us)", "(GB/s)", "(GB/s)", "")),
)


def takes(case: Json) -> bool:
    """Return whether it is a collective of NCCL or RCCL, or a ring of its messages, timed over many calls in a row; an
    import's of a type or operation that linkscope does not have is none."""
    known = _type(case) in _TYPES and "variant" not in _parameters(case)
    return case["clock"] == "batch" and _kind(case) in NCCL_PROGRAMS and known


def alike(case: Json) -> bool:
    """Return whether it is by NCCL or RCCL."""
    return str(case["flows"][0]["method"]).startswith("xccl")


def text(run: Run, rows: Sequence[Row]) -> str:
    """Return a table for each program and way of making calls; cases without results are left out.

    N/A stands where a case is not measured in place, or not out of place, and where a value is unknown: how often an
    import was called, and as ``#wrong`` of results that linkscope has not verified itself, a model's and imports'.
    """
    tables: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.status == "ok":
            tables.setdefault(_way(row), []).append(row)
    return "".join(f"{line}\n" for of_table in tables.values() for line in _table(run, of_table))


def _kind(case: Json) -> str:
    """Return the collective; "send-receive" of a ring of messages; "" of others."""
    flows = case["flows"]
    if flows[0]["method"] == "xccl-collective":
        return str(_parameters(case).get("collective", "all-reduce"))
    sources, destinations = ({flow.get(end, {}).get("device") for flow in flows} for end in ("source", "destination"))
    ring = len(flows) > 1 and sources == destinations and len(sources) == len(flows)
    alike = all(flow["method"] == "xccl" and flow.get("role", "measured") == "measured" for flow in flows)
    return "send-receive" if ring and alike else ""


def _parameters(case: Json) -> Json:
    return dict(case["flows"][0].get("parameters", {}))


def _type(case: Json) -> str:
    return str(_parameters(case).get("type", "float32"))


def _bytes(row: Row) -> int:
    return int(row.case["flows"][0]["bytes"])


def _in_place(row: Row) -> bool:
    return str(_parameters(row.case).get("in_place", "no")) == "yes"


def _members(row: Row) -> list[Json]:
    flows = row.case["flows"]
    return list(flows[0].get("members") or (flow["source"] for flow in flows))


def _way(row: Row) -> tuple[str, ...]:
    """Return what the lines of one table share: in place and out of place stand side by side."""
    told = sorted(f"{name}={value}" for name, value in _parameters(row.case).items() if name != "in_place")
    members = [f"{end['device']} {end['memory']} {end.get('rank', 0)}" for end in _members(row)]
    test = (row.imported.tool, str(row.imported.test)) if row.imported else (row.suite, row.name)
    return (*test, *told, *members, *(f"{k}={v}" for k, v in row.environment.items()))


def _table(run: Run, rows: Sequence[Row]) -> Iterator[str]:
    ordered = sorted(rows, key=_bytes)
    program = NCCL_PROGRAMS[_kind(rows[0].case)].name
    yield f"# Collective test starting: {program}"
    yield _config(ordered)
    yield f"# linkscope: {rows[0].suite}/{rows[0].name}, {rows[0].labels.get('series', '')}"
    if rows[0].environment:
        yield "# linkscope: " + " ".join(f"{name}={value}" for name, value in rows[0].environment.items())
    if any(row.modelled for row in rows):
        yield "# linkscope: MODELLED, not a measurement"
    yield from ("#", "# Using devices", *_ranks(run, rows[0]), "#", _HEAD)
    for words, figures in _HEADINGS:
        size, count, kind, redop, root = words
        yield f"# {size:>10}  {count:>12}  {kind:>8}  {redop:>6}  {root:>6}  {_both([figures] * 2)} "
    lines: dict[tuple[int, int], list[Row]] = {}
    seen: Counter[tuple[int, bool]] = Counter()
    for row in ordered:
        side = _bytes(row), _in_place(row)
        lines.setdefault((side[0], seen[side]), []).append(row)  # a size that comes twice has a further line
        seen[side] += 1
    yield from map(_line, lines.values())
    if all(map(_verified, rows)):
        yield f"# {'Out of bounds values':<20} : 0 OK"  # a case whose data differ has no results
    yield f"# {'Avg bus bandwidth':<20} : {fmean(map(_bus_gbps, rows)):g} "
    yield from ("#", f"# Collective test concluded: {program}", "#")


def _config(rows: Sequence[Row]) -> str:
    """Return how a program would be started for it: threads and GPUs of a process, sizes, calls of a graph."""
    parameters = _parameters(rows[0].case)
    each = max(len(_members(rows[0])) // int(rows[0].case.get("processes", 1)), 1)
    threads = 1 if parameters.get("launch", "one-thread") == "one-thread" else each
    sizes = list(dict.fromkeys(map(_bytes, rows)))
    step = sizes[1] // sizes[0] if len(sizes) > 1 and sizes[0] else 1
    started = f"nThread {threads} nGpus {each // threads} minBytes {sizes[0]} maxBytes {sizes[-1]} step: {step}(factor)"
    verified, graph = all(map(_verified, rows)), parameters.get("form") == "graph"
    unknown = 1 if verified else _NOT
    calls = f"warmup iters: {unknown} iters: {parameters.get('recorded', unknown)} agg iters: {unknown}"
    return f"# {started} {calls} validation: {verified:d} graph: {graph:d} unalign: 0"


def _ranks(run: Run, row: Row) -> Iterator[str]:
    """Yield who the ranks are; for the process's number stands that of its rank, zeros for an unknown PCI address."""
    gpus = {gpu.id: gpu for gpu in run.node.devices}
    for rank, end in enumerate(_members(row)):
        process = int(end.get("rank", 0))
        host = row.hosts[process] if process < len(row.hosts) else "" if run.modelled else run.header.get("host", "")
        named = (host or run.node.name).replace(" ", "-")
        gpu = gpus.get(end["device"])
        pci = ((gpu.pci if gpu else None) or "0000:00:00").partition(".")[0]
        about = f"device {end['device'].partition(':')[2]:>2} [{pci}] {gpu.name if gpu else ''}"
        yield f"#  Rank {rank:>2} Group  0 Pid {process:>6} on {named:>10} {about}"


def _line(rows: Sequence[Row]) -> str:
    """Return the line of the cases of one size."""
    program = NCCL_PROGRAMS[_kind(rows[0].case)]
    size, (named, width) = _bytes(rows[0]), _TYPES[_type(rows[0].case)]
    count = size // width // (len(_members(rows[0])) if program.shares else 1)
    places = {_in_place(row): _numbers(row) for row in rows}
    sides = [places.get(in_place, (_NOT,) * 4) for in_place in (False, True)]
    return f"{size:>12}  {count:>12}  {named:>8}  {program.redop:>6}  {program.root:>6}  {_both(sides)}"


def _both(sides: Sequence[Sequence[str]]) -> str:
    """Return what stands out of place and in place."""
    return "  ".join(f"{time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}" for time, algbw, busbw, wrong in sides)


def _numbers(row: Row) -> tuple[str, str, str, str]:
    time, rate = _in_width(row.flows[0].seconds.median * 1e6, 7), _in_width(_gbps(row), 6)
    return time, rate, _in_width(_bus_gbps(row), 6), "0" if _verified(row) else _NOT


def _verified(row: Row) -> bool:
    """Return whether linkscope has measured it, and so compared its data."""
    return not row.modelled and not row.origin


def _gbps(row: Row) -> float:
    rate = row.flows[0].gbps
    return rate.median if rate else 0.0


def _bus_gbps(row: Row) -> float:
    collective = Collective.of(row.case["flows"][0])
    return _gbps(row) * (collective.bus_factor if collective else 1.0)


def _in_width(value: float, width: int) -> str:
    """Return a number with two digits after the point, or as many as fit."""
    words = [f"{value:{form}}" for form in (".2f", ".1f", ".0f", ".1e", ".0e")]
    return next((word for word in words if len(word) <= width), words[-1])

"""Where a run's figures come from: machine, software, command and method, as (name, text) lines."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from linkscope.analysis.headline import headline
from linkscope.analysis.spoilers import spoilers
from linkscope.analysis.summary import DEFAULT_PRECISION
from linkscope.machine.node import Node
from linkscope.machine.traits import method_traits
from linkscope.messages.catalog import sentence
from linkscope.report import wording
from linkscope.results.other_sizes import other_sizes
from linkscope.results.row import Row, origin_name
from linkscope.results.run_file import RunFile

Header = dict[str, Any]

_LIMITS = {
    **{name: f"--{name}" for name in ("sizes", "devices", "methods", "budget")},
    "keyword": "-k",
}
"""Fields of a request that leave cases out."""
_VERSION = re.compile(r"^MPI VERSION : |\bversion:? +|\bv(?=\d)", re.IGNORECASE)
"""Words before a library's name or number that say nothing."""


def precision(header: Header) -> float:
    """The relative half width of the 95 % interval that the run asked for."""
    return float(header.get("plan", {}).get("options", {}).get("precision", DEFAULT_PRECISION))


def provenance(
    header: Header, node: Node, states: Sequence[Header] = (), rows: Sequence[Row] = ()
) -> list[tuple[str, str]]:
    """The lines above every table; what a header does not hold is left out. ``states``: the run's, of which those of
    processes that came together name hosts. ``rows`` tell what their intervals hold for.
    """
    several = hosts(states)
    engine = header.get("engine", {})
    said = (header.get("origin") or engine).get("versions", {})
    versions = ", ".join(f"{name} {text}" for name, text in said.items())
    own, tool = f"linkscope {header.get('version', '?')}", origin_name(header)
    software = f"{tool}, imported by {own}" if tool else f"{own}, engine {engine.get('backend', '?')}"
    sought = f"95 % interval {_reach(rows)}; sought: {wording.asked(precision(header))}"
    lines = [
        ("node", _node(node)),
        ("host", str(header.get("host", ""))),
        ("processes", f"on {', '.join(several)}; peaks are of paths within a host" if several else ""),
        ("started", str(header.get("started", ""))),
        ("software", f"{software}, {versions}" if versions else software),
        ("MPI", mpi(rows)),
        ("PyTorch", _further(header)),
        ("command", shlex.join(str(word) for word in header.get("command", []))),
        ("precision", "" if tool or _exact(rows) else sought),
        ("noise", _noise(header)),
        ("bytes", "payload, counted once; GB/s are decimal, KiB/MiB/GiB binary"),
    ]
    return [(name, text) for name, text in lines if text]


def _exact(rows: Sequence[Row]) -> bool:
    """Whether all figures are a model's that have no interval."""
    return bool(rows) and all(figure.exact for row in rows if (figure := headline(row)) is not None)


def measured_once(rows: Sequence[Row]) -> bool:
    """Whether every figure is of one replicate that no calibration widens: its interval says nothing of other runs."""
    figures = [row for row in rows if row.status == "ok" and not row.modelled and not row.origin]
    return bool(figures) and all(len(row.measured) == 1 and not row.noise for row in figures)


def _reach(rows: Sequence[Row]) -> str:
    """What the intervals hold for, by how many replicates they are of."""
    counts = Counter(len(row.measured) for row in rows if row.status == "ok" and not row.within_run)
    alone, single = sum(row.within_run for row in rows), counts.pop(1, 0)
    of = " to ".join(str(count) for count in dict.fromkeys((min(counts, default=0), max(counts, default=0))))
    parts = [
        (alone, "within this run only, of 1 replicate"),
        (sum(counts.values()), f"between rounds, of {of} replicates"),
        (single, "of 1 replicate, as wide as calibrated" if any(row.noise for row in rows) else "within one run"),
    ]
    found = [(count, text) for count, text in parts if count]
    if len(found) < 2:
        return found[0][1] if found else "of each figure"
    return ", ".join(f"{text} ({wording.count(count, 'case')})" for count, text in found)


def _noise(header: Header) -> str:
    """By which calibration the intervals are widened; empty where by none."""
    known = header.get("noise")
    if not known:
        return ""
    when, of = str(known.get("calibrated", "?"))[:10], ", ".join(known.get("suites", ()))
    runs = f"{known.get('turns', '?')} runs" + (f" of {of}" if of else "")
    return f"calibrated {when} by {runs}; intervals include that"


def mpi(rows: Iterable[Row]) -> str:
    """The MPI libraries that figures are by, such as "MPICH 5.0.2"; empty where there are none."""
    by_mpi = [row for row in rows if method_traits(row.case, row.case["flows"][0]["method"]).by_mpi]
    names = (_VERSION.sub("", name) for row in by_mpi for one in row.measured for name in one.libraries)
    return ", ".join(dict.fromkeys(names))


def limits(header: Header) -> str:
    """What the request left out of the suites, as it is typed: "--sizes 1:1M -k mpi"; empty where nothing."""
    request = header.get("plan", {}).get("request") or {}
    return shlex.join(
        word for name, flag in _LIMITS.items() if request.get(name) for word in (flag, str(request[name]))
    )


def unasked(run: RunFile) -> str:
    """Which suite rows are not of all sizes that the request names; empty where all are, and of a run that lacks cases
    of its plan."""
    request = run.header.get("plan", {}).get("request") or {}
    others = [] if run.missing else other_sizes((row.case for row in run.rows), request.get("sizes"))
    return f"measured {'; '.join(others)}" if others else ""


def date(text: str) -> str:
    """Such as "19 November 2025, 14:02 UTC" of an RFC 3339 time in UTC; the text itself where it is none."""
    try:
        return f"{datetime.fromisoformat(text.replace('Z', '+00:00')):%-d %B %Y, %H:%M} UTC"
    except ValueError:
        return text


def hosts(states: Sequence[Header]) -> tuple[str, ...]:
    """Those of processes that came together on several; empty where none did."""
    groups = [[str(one["host"]) for one in state["processes"]] for state in states if state.get("when") == "joined"]
    return tuple(dict.fromkeys(host for group in groups if len(set(group)) > 1 for host in group))


def _further(header: Header) -> str:
    """What an older run file says of its second engine, PyTorch's; empty where it took none."""
    further = header.get("further_engines", ())
    words = [f"{name} {text}" for engine in further for name, text in engine.get("versions", {}).items()]
    first = [method for engine in further for method in engine.get("methods", ())[:1]]
    return ", ".join([*words, *(method["reason"] for method in first if "reason" in method)])


def _node(node: Node) -> str:
    """Its devices, behind its name where that says something else than its GPUs."""
    devices = _devices(node)
    return devices if devices.startswith(node.name.replace(" x ", " × ")) else f"{node.name}: {devices}"


def _devices(node: Node) -> str:
    """Such as "4 × NVIDIA H200, 1 NUMA node"."""
    gpus = Counter(device.name or "GPU" for device in node.of_kind("gpu"))
    parts = [f"{count} × {name}" for name, count in gpus.items()]
    numa = len(node.of_kind("numa"))
    if numa:
        parts.append(wording.count(numa, "NUMA node"))
    return ", ".join(parts) or "no devices"


def machine_state(header: Header) -> list[tuple[str, str]]:
    """The recorded state, flattened to dotted names; empty where the run recorded none."""
    return _flatten(header.get("state", {}), "")


def _flatten(data: Any, prefix: str) -> list[tuple[str, str]]:
    if isinstance(data, dict):
        items = [(f"{prefix}.{key}" if prefix else str(key), value) for key, value in data.items()]
        return [line for name, value in items for line in _flatten(value, name)]
    if isinstance(data, list) and any(isinstance(value, (dict, list)) for value in data):
        return [line for index, value in enumerate(data) for line in _flatten(value, f"{prefix}.{index}")]
    if isinstance(data, list):
        return [(prefix, ", ".join(str(value) for value in data))] if data else []
    return [] if data is None else [(prefix, str(data))]


def remarks(run: RunFile) -> list[str]:
    """What a reader must know before any figure: what the doctor finds in the recorded state (problems and
    warnings, not notes), sizes that were not asked for, cases without a row, an odd file. One line each."""
    lines = [sentence(found) for found in spoilers(run)]
    lines += filter(None, [unasked(run)])
    if run.missing:
        count = f"{len(run.missing)} of {len(run.plan_ids)} planned cases have no figure"
        lines.append(f"{count}: the run was cut short; `linkscope run --resume -o {run.path}` completes it")
    else:
        lines += _rounds_lacking(run)
    return [*lines, *run.notices]


def _rounds_lacking(run: RunFile) -> list[str]:
    """Of a run whose cases all have a row, but not all the replicates that were planned."""
    plan = run.header["plan"]
    least = int((plan.get("rounds") or {}).get("least", 1))
    had = Counter(len(row.lines) for row in run.rows if row.status == "ok" and len(row.lines) < least)
    if not had:
        return []
    counts = ", ".join(f"{cases} with {visits} of {least} replicates" for visits, cases in sorted(had.items()))
    if (plan.get("request") or {}).get("budget"):
        return [f"the budget ended in round {min(had) + 1}: of {len(run.rows)} cases {counts}"]
    what = f"interrupted in round {min(had) + 1}: of {len(run.rows)} cases {counts}"
    return [f"{what}; `linkscope run --resume -o {run.path}` completes it"]

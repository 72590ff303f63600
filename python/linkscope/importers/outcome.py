"""Outcome: what a case's row holds of another tool's figures, flow by flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import asdict

from linkscope.importers.peer_output import GBPS, Figure
from linkscope.machine.traits import method_traits
from linkscope.results.row import Stats
from linkscope.results.stats import scaled

Json = dict[str, Any]
ALIKE = "the tool prints one result for all flows; each gets the same share"


def outcome(case: Json, figures: Mapping[int, Figure]) -> Json | None:
    """The fields ``flows`` and ``aggregate`` of the row of ``case``; None where a measured flow has no figure.

    ``figures``: by the place of each among the case's. Of background flows, which tools do not report, there is
    nothing.
    """
    flows = [flow for flow in case["flows"] if flow.get("role", "measured") == "measured"]
    figure = str(case["labels"].get("figure", "first"))
    if case["labels"].get("cells"):
        if len(figures) < len(flows):
            return None
        return {"flows": [_flow(case, flow, figures[i], _own(figures[i], figure)) for i, flow in enumerate(flows)]}
    only = figures[0]
    if figure == "aggregate":
        share = scaled(only.value, 1 / len(flows))
        noted = replace(only, notes=(*only.notes, *([ALIKE] if len(flows) > 1 else [])))
        return {
            "flows": [_flow(case, flow, noted, share) for flow in flows],
            "aggregate": {"gbps": asdict(only.value)},
        }
    if figure == "sum" and len(flows) > 1:
        shares = only.parts if len(only.parts) == len(flows) else [scaled(only.value, 1 / len(flows))] * len(flows)
        noted = only if only.parts else replace(only, notes=(*only.notes, ALIKE))
        return {"flows": [_flow(case, flow, noted, share) for flow, share in zip(flows, shares, strict=True)]}
    if len(flows) > 1:
        noted = replace(only, notes=(*only.notes, ALIKE))
        return {"flows": [_flow(case, flow, noted, only.value) for flow in flows]}
    found = _flow(case, flows[0], only, _own(only, figure))
    if figure == "touched":
        found["touched_bytes"] = 2 * (only.size or flows[0]["bytes"])
    return {"flows": [found]}


def sized(case: Json, figures: Mapping[int, Figure]) -> Json:
    """The case with the bytes that the tool moved."""
    sizes = {figure.size for figure in figures.values() if figure.size is not None}
    if len(sizes) != 1:
        return case
    size = sizes.pop()
    return {**case, "flows": [{**flow, "bytes": size} for flow in case["flows"]]}


def inverted(stats: Stats, numerator: float) -> Stats:
    """``numerator`` over every figure: of a rate the time and the other way round, so that bounds change sides."""
    swapped = {"low": "high", "high": "low", "min": "max", "max": "min", "p5": "p95", "p95": "p5", "p99": "min"}
    return Stats(stats.n, *(numerator / getattr(stats, swapped.get(name, name)) for name in _NAMES))


_NAMES = [name for name in Stats.__dataclass_fields__ if name != "n"]


def _own(figure: Figure, kind: str) -> Stats:
    """Return the flow's own rate or time, of what the case's figure says of it."""
    return scaled(figure.value, {"half": 2.0, "touched": 0.5}.get(kind, 1.0))


def _flow(case: Json, flow: Json, figure: Figure, value: Stats) -> Json:
    size = figure.size if figure.size is not None else flow["bytes"]
    found: Json = {"repeats": 1, "operations": 1}
    if figure.unit == GBPS:
        found |= {"seconds": asdict(inverted(value, size * 1e-9)), "gbps": asdict(value)}
    else:
        moves = size > 0 and not method_traits(case, flow["method"]).dependent
        found |= {"seconds": asdict(value)}
        found |= {"gbps": asdict(inverted(value, size * 1e-9))} if moves else {}
    return found | ({"notes": list(figure.notes)} if figure.notes else {})


def sequence_of(figures: Mapping[int, Figure]) -> Sequence[str]:
    """The tests that the figures are of, each once."""
    return tuple(dict.fromkeys(figure.test for figure in figures.values()))

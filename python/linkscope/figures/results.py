"""Results: a run file as the frame of figures/columns.py."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import polars

from linkscope.analysis.cell import CALLS_INCLUDED, MODELS_CLOCK, shown_as
from linkscope.analysis.figures import figures
from linkscope.figures.columns import ASKED, DEFAULTS, LIKENESS, SCHEMA
from linkscope.figures.movement import movement, path, role
from linkscope.machine.nominal import nominal, nominal_tiers
from linkscope.results.run_file import RunFile

Json = dict[str, Any]

_TOGETHER = {"": "", "both ways": "both"}
_CALLS = ("ping-pong", "window", "in-kernel")


def results(run: RunFile) -> polars.DataFrame:
    """Return every result of a run, in the plan's order, with the columns of ``SCHEMA``; null where unknown.

    Peaks and tiers are those of links as they were built: one that is down makes no peer of a GPU its better.
    """
    tiers = nominal_tiers(run.node)
    old = figures(replace(run, header={**run.header, "node": nominal(run.node).to_json()}) if tiers else run)
    old = old.with_columns(
        polars.col(name).cast(polars.String) for name, kind in old.schema.items() if kind == polars.Categorical
    )
    old = old.with_columns(polars.col("tier").replace(tiers))
    rows = {row.id: row for row in run.rows}
    lines = []
    for line in old.iter_rows(named=True):
        row = rows[line["id"]]
        lines.append(_line(line, row))
    return polars.DataFrame(lines, schema=SCHEMA, orient="row")


def _line(line: Json, row: Any) -> Json:
    labels = row.labels
    words = line["regime"].split(", ")
    clock = words[0].removesuffix(" clock")
    memories = ">".join(m for m in (line["source_memory"], line["destination_memory"]) if m) or line["members_memory"]
    unit = line["unit"]
    value = "gbps" if unit == "GB/s" else "seconds"
    found = {
        **line,
        "layout": next(kind for kind in ("matrix", "curve", "list") if shown_as(row, kind)),
        "series": str(labels.get("series", "")),
        "x": float(labels["x"]) if isinstance(labels.get("x"), (int, float)) else None,
        "x_name": str(labels.get("x_name", "bytes")) if shown_as(row, "curve") else "",
        "value": line[value] if unit else None,
        "value_low": line[f"{value}_low"] if unit else None,
        "value_high": line[f"{value}_high"] if unit else None,
        "clock": "model" if words[0] == MODELS_CLOCK else clock,
        "calls_included": CALLS_INCLUDED in words,
        "both_ways": "both ways" in words,
        "call": next((word for word in words if word in _CALLS), ""),
        "together": _together(line["together"] or ""),
        "memories": memories or "",
        "environment": line["environment"] or "",
        "tier": line["tier"] or "",
        "overlap": row.overlap if len(row.measured_flows) > 1 and row.load == "once" else None,
        "notes": [note for note in (line["notes"] or "").split("; ") if note],
    }
    found |= {"movement": movement(found), "role": role(found), "path": path(found)}
    found["way"] = _way(found)
    found["likeness"] = _likeness(found)
    return {name: found.get(name) for name in SCHEMA}


def _together(words: str) -> str:
    if words in _TOGETHER:
        return _TOGETHER[words]
    if words.endswith("on one path"):
        return "one-path"
    if " to " in words:
        return "one-to-many" if words.startswith("1 to") else "many-to-one"
    return "many-both" if words.endswith("both ways") else "many"


def _way(line: Json) -> str:
    pairs = [tuple(word.split("=", 1)) for word in (line["parameters"] or "").split()]
    how = [f"{name}={word}" for name, word in pairs if name not in ASKED and (name, word) not in DEFAULTS]
    if line["workload"]:
        state = [f"state={line['state_memory']}"] if line["state_memory"] else []
        how += [*state, f"processes={line['processes']}", f"order={(line['rank_order'] or '').replace(' ', ',')}"]
    return " ".join(filter(None, (line["method"], line["role"], *how, line["environment"])))


def _likeness(line: Json) -> int:
    asked = [word for word in (line["parameters"] or "").split() if word.split("=", 1)[0] in ASKED]
    tier = "" if line["tier"] in ("local", "mixed", "unknown") or line["workload"] else line["tier"]
    shared = (*(tier if name == "tier" else line[name] for name in LIKENESS), *asked)
    return int.from_bytes(hashlib.blake2b(repr(shared).encode(), digest_size=8).digest(), "big")

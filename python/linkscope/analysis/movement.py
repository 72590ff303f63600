"""Movement: what a figure moves from where to where, in words, and who drives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars

BETWEEN_PROCESSES = "between processes"
_ENDS = ("executor", "source", "destination", "members", "processes", "collective", "workload", "deck")


def with_movement(figures: polars.DataFrame) -> polars.DataFrame:
    """The frame with columns ``movement``, ``role`` and ``path``, the two ends or all members, in front of its own."""
    keys = figures.select(_ENDS).unique(maintain_order=True)
    lines = list(keys.iter_rows(named=True))
    told = keys.select(
        polars.Series("movement", [movement(line) for line in lines], polars.String),
        polars.Series("role", [role(line) for line in lines], polars.String),
        polars.Series("path", [ends(line) for line in lines], polars.String),
        *_ENDS,
    )
    joined = figures.join(told, on=_ENDS, how="left", nulls_equal=True, maintain_order="left")
    return joined.select("movement", "role", "path", *figures.columns)


def movement(line: Mapping[str, Any]) -> str:
    """Such as "host to GPU", "within a GPU", "CPU reads host memory", "all-reduce on 4 GPUs in 4 processes", "halo
    61440x30720, 87 steps on 4 ranks"."""
    source, destination, executor = line["source"], line["destination"], line["executor"]
    if line["members"]:
        members = line["members"].split()
        if line.get("workload"):
            deck = line["deck"].removeprefix(line["workload"]).removeprefix(", ")
            return f"{' '.join(filter(None, (line['workload'], deck)))} on {len(members)} ranks"
        kind = "GPUs" if members[0].startswith("gpu:") else "ranks"
        apart = f" in {line['processes']} processes" if line["processes"] > 1 and kind == "GPUs" else ""
        return f"{line['collective']} on {len(members)} {kind}{apart}"
    between = f", {BETWEEN_PROCESSES}" if line["processes"] > 1 else ""
    if source and destination:
        if source == destination and not between:
            return f"within a {_kind(source)}"
        return f"{_side(source)} to {_side(destination)}{between}"
    verb, end = ("reads", source) if source else ("writes", destination)
    here = "its own" if end == executor else "another GPU's" if _kind(end) == _kind(executor) == "GPU" else "host"
    return f"{'GPU' if _kind(executor) == 'GPU' else 'CPU'} {verb} {here} memory{between}"


def role(line: Mapping[str, Any]) -> str:
    """Who drives a transfer between two devices: "push", "pull", or a third one by its name; else ""."""
    source, destination, executor = line["source"], line["destination"], line["executor"]
    if not source or not destination or source == destination:
        return ""
    return {source: "push", destination: "pull"}.get(executor, f"by {executor}")


def ends(line: Mapping[str, Any]) -> str:
    """Such as "gpu:0>gpu:1"; the members of a collective."""
    pair = f"{line['source'] or line['executor']}>{line['destination'] or line['executor']}"
    return str(line["members"] or pair)


def there_and_back() -> polars.Expr:
    """Whether a figure is of messages between processes there and back: it is the time of one, and has no rate."""
    between = polars.col("class").cast(polars.String) == "processes"
    return between & polars.col("regime").cast(polars.String).str.ends_with("ping-pong")


def _kind(device: str) -> str:
    return "GPU" if device.startswith("gpu:") else "NUMA node"


def _side(device: str) -> str:
    return "GPU" if device.startswith("gpu:") else "host"

"""Export: a run's rows as a flat table, one line per flow, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from pathlib import Path
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.results.row import Row, Stats
from linkscope.results.run_file import RunFile
from linkscope.results.whole_file import put_whole

_OF_AN_END = ("memory", "placement", "first_touch", "advice")
_STATS = tuple(field.name for field in fields(Stats))


def flat_rows(run: RunFile) -> list[dict[str, Any]]:
    """One dict per flow of every row, all with the same keys.

    Sizes in bytes, times in seconds, rates in decimal GB/s; None where a row or method has no such figure. The rate of
    a collective is its size over its time: nccl-tests' algorithm bandwidth.
    """
    return [record for row in run.rows for record in _flows(row)]


def export(run: RunFile, path: Path) -> None:
    """Writes ``flat_rows`` as the suffix says: .csv, or .parquet where pyarrow is installed.

    Raises LinkscopeError for another suffix, a missing pyarrow, or a file that cannot be written.
    """
    writers = {".csv": _write_csv, ".parquet": _write_parquet}
    if path.suffix not in writers:
        raise LinkscopeError(f"cannot export to {path}: choose a name that ends in {' or '.join(writers)}")
    try:
        writers[path.suffix](flat_rows(run), path)
    except OSError as error:
        raise LinkscopeError(f"cannot write {path}: {error.strerror or error}") from error


def _flows(row: Row) -> list[dict[str, Any]]:
    records = []
    for i, flow in enumerate(row.case["flows"]):
        result = row.flows[i] if i < len(row.flows) else None
        records.append(
            {
                "id": row.id,
                "suite": row.suite,
                "name": row.name,
                "status": row.status,
                "reason": row.reason,
                "modelled": row.modelled,
                "clock": row.case["clock"],
                "cache": row.case.get("cache", "rotated"),
                "load": row.load,
                "environment": " ".join(f"{name}={value}" for name, value in row.environment.items()),
                "flow": i,
                "role": flow.get("role", "measured"),
                "method": flow["method"],
                "processes": int(row.case.get("processes", 1)),
                "hosts": " ".join(row.hosts),
                "executor": flow["executor"],
                "members": " ".join(end["device"] for end in flow.get("members", ())),
                "members_memory": " ".join(dict.fromkeys(end["memory"] for end in flow.get("members", ()))),
                **_end("source", flow),
                **_end("destination", flow),
                "parameters": " ".join(f"{name}={value}" for name, value in flow.get("parameters", {}).items()),
                "bytes": flow["bytes"],
                "touched_bytes": result.touched_bytes if result else None,
                "stopped": row.stopped,
                "overlap": row.overlap,
                **_stats("seconds", result.seconds if result else None),
                **_stats("gbps", result.gbps if result else None),
                **_stats("aggregate_gbps", row.aggregate),
            }
        )
    return records


def _end(name: str, flow: dict[str, Any]) -> dict[str, Any]:
    """The end's device under its own name, and what its memory is; all None where the flow lacks it."""
    end = flow.get(name) or {}
    return {name: end.get("device"), **{f"{name}_{what}": end.get(what) for what in _OF_AN_END}}


def _stats(prefix: str, stats: Stats | None) -> dict[str, float | int | None]:
    return {f"{prefix}_{name}": getattr(stats, name) if stats else None for name in _STATS}


def _write_csv(records: list[dict[str, Any]], path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(records[0]) if records else [])
    writer.writeheader()
    writer.writerows(records)
    put_whole(path, text.getvalue().encode())


def _write_parquet(records: list[dict[str, Any]], path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise LinkscopeError("cannot export Parquet without pyarrow: pip install pyarrow, or export .csv") from error
    data = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), data)
    put_whole(path, data.getvalue())

"""Large run: a run file of any number of result lines, made of a recorded one, to measure how fast runs are read.

python bench/large_run.py tests/fixtures/runs/h200x4-default.jsonl large.jsonl --cases 25000 --replicates 4
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_STEADY = ("n", "repeats", "operations", "touched_bytes")
"""Numbers of a result that are no measurements."""


def main() -> None:
    """Write the file that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("large", type=Path)
    parser.add_argument("--cases", type=int, default=25_000)
    parser.add_argument("--replicates", type=int, default=4)
    asked = parser.parse_args()
    with asked.large.open("w", encoding="utf-8") as stream:
        for record in records(asked.recorded, asked.cases, asked.replicates):
            stream.write(json.dumps(record, separators=(",", ":")) + "\n")


def records(recorded: Path, cases: int, replicates: int) -> Iterator[Json]:
    """Yield the records of a run whose cases are copies of the recorded ones, visited in rounds."""
    header, *others = (json.loads(line) for line in recorded.read_text(encoding="utf-8").splitlines())
    rows = list({record["id"]: record for record in others if record["record"] == "row"}.values())
    copies = [(rows[number % len(rows)], number // len(rows)) for number in range(cases)]
    header["plan"]["ids"] = [_named(row["id"], copy) for row, copy in copies]
    yield header
    chance = random.Random(1)
    for replicate in range(replicates):
        for row, copy in copies:
            factor = chance.gauss(1.0, 0.004)
            name = _named(row["id"], copy)
            flows = [_scaled(flow, factor) for flow in row.get("flows", ())]
            found = {**row, "id": name, "replicate": replicate, "case": {**row["case"], "id": name}, "flows": flows}
            if "aggregate" in row:
                found["aggregate"] = _scaled(row["aggregate"], factor)
            yield found
    yield from (record for record in others if record["record"] == "state")


def _named(name: str, copy: int) -> str:
    return f"{name}/copy-{copy}" if copy else name


def _scaled(value: Any, factor: float) -> Any:
    """Return a result whose times are longer and rates lower by a factor."""
    return {
        name: found
        if name in _STEADY
        else _times(found, 1 / factor if name == "gbps" else factor)
        if name in ("seconds", "gbps", "samples_s")
        else found
        for name, found in value.items()
    }


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, dict):
        return {name: found if name == "n" else float(f"{found * factor:.6g}") for name, found in value.items()}
    return [float(f"{found * factor:.6g}") for found in value]


if __name__ == "__main__":
    main()

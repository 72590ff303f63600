"""An engine of a few lines that speaks the protocol and misbehaves where FAKE_ENGINE says so.

FAKE_ENGINE is a JSON object: part of a case id -> crash | hang | garbage | fatal | slow | leave (after its row);
"start" -> die | refuse.
FAKE_GPUS is how many GPUs it describes, FAKE_PROBLEM why it has none. FAKE_LOG is a file: a line for each run.
FAKE_SLOWER is a factor on the times of cases from FAKE_SLOWER_FROM bytes on. FAKE_LOADED is the MPI that it names.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

FAULTS: dict[str, str] = json.loads(os.environ.get("FAKE_ENGINE", "{}"))
SLOWER = float(os.environ.get("FAKE_SLOWER", "1"))
SLOWER_FROM = int(os.environ.get("FAKE_SLOWER_FROM", "0"))
METHODS = (
    *("memcpy", "pointer-chase", "copy-engine", "kernel-copy", "kernel-exchange", "ping-pong"),
    *("mpi-schedule", "direct-schedule"),
)
MEMORIES = ("pageable", "huge", "pinned", "device")


def say(**record: Any) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def leave(words: str, code: int) -> NoReturn:
    sys.stderr.write(words + "\n")
    sys.exit(code)


def stats(median: float) -> dict[str, float]:
    around = {"low": 0.99, "high": 1.01, "median": 1.0, "mean": 1.0, "min": 0.9, "p5": 0.9, "p95": 1.1, "p99": 1.1}
    return {"n": 9, **{name: median * share for name, share in {**around, "max": 1.1}.items()}}


def describe(gpus: int, problem: str) -> None:
    devices: list[dict[str, Any]] = [{"id": "numa:0", "name": "CPU", "memory_bytes": 1 << 34, "cpus": [0, 1, 2, 3]}]
    devices += [{"id": f"gpu:{i}", "name": "Fake GPU", "memory_bytes": 1 << 34, "numa": 0} for i in range(gpus)]
    catalog = {"available": True, "summary": "fake"}
    say(
        record="description",
        schema=1,
        version="0",
        backend="cuda" if gpus or problem else "host",
        devices=devices,
        methods=[{"name": name, **catalog} for name in METHODS],
        memories=[{"name": name, **catalog} for name in MEMORIES],
        **({"problem": problem} if problem else {}),
        **(
            {"versions": {"MPI": "Fake MPI", "MPI library": loaded}}
            if (loaded := os.environ.get("FAKE_LOADED"))
            else {}
        ),
    )


def row(case: dict[str, Any]) -> None:
    seconds = 1e-3 * (SLOWER if case["flows"][0]["bytes"] >= SLOWER_FROM else 1.0)
    figures = [
        {"repeats": 1, "operations": 1, "seconds": stats(seconds), "gbps": stats(1e-3 / seconds)} for _ in case["flows"]
    ]
    say(record="row", id=case["id"], status="ok", modelled=False, backend="host", flows=figures)


def misbehave(fault: str, case: dict[str, Any]) -> None:
    if fault == "crash":
        sys.stderr.write("about to crash\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "hang":
        time.sleep(3600)
    if fault == "garbage":
        sys.stdout.write("Segmentation fault (not JSON)\n")
    if fault == "fatal":
        say(record="row", id=case["id"], status="failed", reason="device lost", modelled=False)
        sys.exit(3)
    if fault == "slow":
        time.sleep(0.2)


def note_start(plan: dict[str, Any], log: str | None) -> None:
    if log is not None:
        with Path(log).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"seed": os.environ.get("LINKSCOPE_SEED"), "cases": len(plan["cases"])}) + "\n")


def run(plan: dict[str, Any]) -> None:
    note_start(plan, os.environ.get("FAKE_LOG"))
    if FAULTS.get("start") == "die":
        leave("driver gone", 1)
    if FAULTS.get("start") == "refuse":
        leave("plan.json: case 1 is wrong", 2)
    if any("labels" in case for case in plan["cases"]):
        leave("plan.json: labels are the supervisor's", 2)
    say(record="hello", schema=1, version="0", backend="host")
    for case in plan["cases"]:
        say(record="start", id=case["id"])
        for part, fault in FAULTS.items():
            if part in case["id"]:
                misbehave(fault, case)
        row(case)
        if any(part in case["id"] and fault == "leave" for part, fault in FAULTS.items()):
            leave("gone for good", 4)
    say(record="done", rows=len(plan["cases"]))


def main() -> None:
    if sys.argv[1] == "describe":
        describe(int(os.environ.get("FAKE_GPUS", "0")), os.environ.get("FAKE_PROBLEM", ""))
    else:
        run(json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()

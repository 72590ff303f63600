"""Handles: which memory of a GPU another process can map, by which handle, as it was tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.documents.escaped import escaped
from linkscope.machine.memory_handles import FABRIC, INTERFACES, IPC
from linkscope.messages.finding import Finding, note, warning

Json = Mapping[str, Any]
_GOOD = {"works", "same-gpu", "exported"}
"""Cells of memory that can be exported."""


def handles(vendor: str, lines: Sequence[Json], status: int | None, last_words: str) -> Answer:
    """Return a table of what the program of machine/memory_handles.py printed. ``status``: as launch/process/trial.py
    has it; ``last_words``: its last complaint."""
    clean = [escaped(dict(line)) for line in lines]
    if not clean:
        reason = escaped(last_words) or str(status)
        code = "handles.no-driver" if status == 1 else "handles.nothing"
        return Answer("handles", (), note(code, reason=reason), Outcome.UNTESTED)
    farthest = max((line.get("gpu", 0) for line in clean), default=0)
    cells = {(line["memory"], line["interface"]): _cell(line, farthest) for line in clean}
    rows = _rows(cells)
    columns = {"memory": list(rows), **{way: [row[at] for row in rows.values()] for at, way in enumerate(INTERFACES)}}
    heads = {IPC: {"cuda": "cuda_ipc", "hip": "hipIpc"}[vendor]}
    shown = (Column(way, Kind.NAME, head=heads.get(way, ""), of="handle") for way in INTERFACES)
    works = sum(cell in ("works", "same-gpu") for cell in cells.values())
    return Answer(
        "handles",
        (),
        note("handles.tried", works=works, tried=len(cells)),
        findings=tuple(_findings(clean, status)),
        tables=(
            Table("handles.table", polars.DataFrame(columns), (Column("memory"), *shown), facts={"gpu": farthest}),
        ),
        data={"tried": clean},
    )


def _rows(cells: Mapping[tuple[str, str], str]) -> dict[str, tuple[str | None, ...]]:
    """Return the cells of each memory, by interface; memories that are refused alike in all of them share a row."""
    alike: dict[object, list[str]] = {}
    for memory in dict.fromkeys(memory for memory, _ in cells):
        row = tuple(cells.get((memory, way)) for way in INTERFACES)
        alike.setdefault((row, memory) if _GOOD & {*row} else (row, ""), []).append(memory)
    return {", ".join(names): tuple(cells.get((names[0], way)) for way in INTERFACES) for names in alike.values()}


def _cell(line: Json, farthest: int) -> str:
    """Return works, same-gpu, exported, or the driver's words, with what they are about in front."""
    if line.get("opened") == "":
        return "works" if line.get("gpu") == farthest else "same-gpu"
    for step in ("allocated", "exported", "opened"):
        if line.get(step):
            return f"{step}:{line[step]}"
    return "exported"


def _findings(lines: Sequence[Json], status: int | None) -> Iterator[Finding]:
    if status is None:
        yield warning("handles.hung", last=f"{lines[-1]['memory']}, {lines[-1]['interface']}")
    elif status:
        yield warning("handles.died", status=status, last=f"{lines[-1]['memory']}, {lines[-1]['interface']}")
    of_fabric = [line for line in lines if line["interface"] == FABRIC]
    if of_fabric and not any(line.get("opened") == "" for line in of_fabric):
        yield note("handles.no-fabric")

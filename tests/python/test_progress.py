"""Progress on standard error where it is no terminal: a line per case, one for many that are skipped alike."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import modelled_run as made
from rich.console import Console

from linkscope.cli.progress import progress
from linkscope.plan.budget import RoundLimits

Json = dict[str, Any]


def told(rows: list[Json]) -> list[str]:
    """What is printed of ``rows``, after the line about the job."""
    text = io.StringIO()
    job: Any = SimpleNamespace(node=made.node(), estimate_s=lambda cases: 1.0, rounds=RoundLimits())
    with progress(Console(file=text, width=400)) as listener:
        listener.on_job(job, [None] * len(rows))  # type: ignore[list-item]
        for row in rows:
            listener.on_row(row)
    return text.getvalue().splitlines()[1:]


def row(size: int, reason: str | None, name: str = "copies") -> Json:
    plan_case = made.case(name, [made.flow("gpu:0", "gpu:1", size)], {"figure": "first"})
    done = made.ok(plan_case, [[1e-5] * 8]) if reason is None else made.not_ok(plan_case, "skipped", reason)
    return done.raw


def test_cases_skipped_alike_in_succession_are_one_line() -> None:
    lines = told([row(1, None), row(2, "no torch"), row(3, "no torch"), row(4, "no mpi"), row(5, None)])
    assert [line.split()[0] for line in lines] == ["[1/5]", "[2-3/5]", "[4/5]", "[5/5]"]
    assert lines[1] == "[2-3/5] synthetic/copies  2 skipped: no torch"
    assert lines[2].endswith("skipped: no mpi")


def test_those_at_the_end_are_told_and_rows_are_not_mixed() -> None:
    lines = told([row(1, "no torch"), row(2, "no torch", "messages"), row(3, "no torch", "messages")])
    assert [line.split()[0] for line in lines] == ["[1/3]", "[2-3/3]"]
    assert "synthetic/messages" in lines[1]

"""Reasons why a case has no figure: whose they are, once for all ranks, and what to do."""

from __future__ import annotations

import modelled_run as made

from linkscope.analysis.overview import overview
from linkscope.analysis.reasons import reason_of
from linkscope.results.row import Row

WHY = "no page-locked memory"
ALONE = "rank 0 of 2 is alone in MPI's world: it was started by no MPI launcher"


def row(name: str, status: str, reason: str) -> Row:
    return made.not_ok(made.case(name, [made.flow("gpu:0", "gpu:1")], {}), status, reason)


def test_what_all_ranks_share_is_one_reason_and_a_failure_names_its_rank() -> None:
    told = [f"rank {rank} (host a): {WHY}" for rank in (0, 1)]
    rows = [row(f"skipped{rank}", "skipped", text) for rank, text in enumerate(told)]
    run = made.run(found=[*rows, row("plain", "skipped", WHY), row("failed", "failed", told[0])])
    summary = overview(run.rows, run.node).summary
    assert [(group.reason, group.count) for group in summary.skipped] == [(WHY, 3)]
    assert [group.reason for group in summary.failed] == [told[0]]


def test_a_known_reason_is_told_with_what_to_do() -> None:
    told = reason_of(row("alone", "skipped", ALONE))
    assert told.startswith(ALONE)
    assert "--launcher-command" in told
    assert "LINKSCOPE_MPI" in told

"""What studies published comes out of the described nodes, and what a node's recorded run has, out of its model."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

import linkscope
from linkscope.figures.run import Run
from linkscope.results.run_file import RunFile

RECORDED = Path(__file__).resolve().parents[1] / "fixtures" / "runs" / "h200x4-default.jsonl"


@pytest.mark.parametrize(
    ("study", "machine", "asked", "agreeing"),
    [
        ("pearson23", "frontier", {}, 25),
        ("schieffer24", "frontier", {}, 37),
        ("schieffer25", "mi300a", {}, 41),
        ("scalarlm25", "mi300x", {}, 5),
        ("pearson19", "ac922", {"methods": "copy-engine,prefetch", "sizes": "1G"}, 6),
        ("pearson19", "s822lc", {"methods": "copy-engine,prefetch", "sizes": "1G"}, 4),
    ],
)
def test_the_model_of_a_studys_machine_agrees_with_all_claims_that_it_can_be_held_against(
    study: str, machine: str, asked: dict[str, str], agreeing: int, tmp_path: Path
) -> None:
    suite = "commscope" if study == "pearson19" else study
    run = linkscope.run(suite, output=tmp_path / "run.jsonl", machine=machine, **asked)
    found = linkscope.reproduce(study, run)
    assert (found.exit_code, found.headline.facts["hold"]) == (0, agreeing)
    assert linkscope.explain(run).data["problems"] == []


def values(run: RunFile) -> dict[str, float]:
    return dict(Run(run).results.select("id", "value").iter_rows())


def as_recorded(case_id: str) -> str:
    """Return the id that a case of the suite had then."""
    for now, then in (
        ("threads62", "threads64"),
        ("non-temporal", "non_temporal"),
        ("memcpy-by-size/numa:0/", "memcpy-by-size/numa:0/threads1/"),
        ("memcpy-by-size-all/numa:0/", "memcpy-by-size/numa:0/threads64/"),
    ):
        case_id = case_id.replace(now, then)
    return case_id


def test_the_model_of_h200x4_is_as_its_node_was_recorded(tmp_path: Path) -> None:
    recorded = values(RunFile.read(RECORDED))
    run = linkscope.run("default", output=tmp_path / "run.jsonl", machine="h200x4")
    errors = [
        abs(value / recorded[then] - 1)
        for name, value in values(run).items()
        if value is not None and (then := as_recorded(name)) in recorded
    ]
    assert len(errors) == 242
    assert median(errors) <= 0.05
    assert sum(error <= 0.15 for error in errors) >= 0.9 * len(errors)

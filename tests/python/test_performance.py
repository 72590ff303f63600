"""docs/performance.md: the page and its CSVs are up to date, and each result has its node, date and command."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.performance.figures import RESULTS, Compared, Figures, meets  # noqa: E402
from tools.performance.page import page  # noqa: E402
from tools.performance.result_line import ResultLine  # noqa: E402


@pytest.fixture(scope="module")
def figures() -> Figures:
    return Figures.load()


def test_the_page_is_up_to_date(figures: Figures) -> None:
    written = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert written == page(figures), "run: python tools/performance"


def test_the_csvs_of_recorded_runs_are_up_to_date(figures: Figures) -> None:
    for name, text in figures.made.items():
        assert (RESULTS / name).read_text(encoding="utf-8") == text, f"{name}: run: python tools/performance"


def test_every_csv_names_node_date_and_command(figures: Figures) -> None:
    described = re.findall(r"^\| ([^|]+) \|", (ROOT / "bench" / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    for name, origin in figures.origins.items():
        assert origin.kind in described, name
        assert re.fullmatch(r"2\d{3}-\d\d-\d\d", origin.date), name
        assert origin.command.startswith(("linkscope ", "python bench/")), name


def test_every_run_with_nccl_states_its_setting_of_nvlink_sharp(figures: Figures) -> None:
    for one in figures.compared:
        if "nccl" in one.peer.lower():
            assert "NVLS" in figures.origins[one.run].libraries, one.what


def test_recorded_figures_meet_their_targets(figures: Figures) -> None:
    recorded = [one for one in figures.compared if one.run in ("packets", "large") and one.met]
    assert len(recorded) == 10
    for one in recorded:
        assert one.met is not None
        assert one.met[0] == one.met[1] == len(one.figures), one.what


def test_the_page_has_ten_ratios_and_each_missed_target(figures: Figures) -> None:
    written = page(figures)
    short = [one.short for one in figures.compared if one.short]
    assert len(short) == 10
    assert all(f"| {name} |" in written for name in short)
    missed = [one for one in figures.compared if one.is_missed]
    assert all((one.short or one.what) in written for one in missed)


def test_a_target_is_held_against_the_figure() -> None:
    assert meets(0.995, {"at_least": 0.995})
    assert not meets(0.9949, {"at_least": 0.995})
    assert meets(0.4, {"at_most": 0.4})
    assert not meets(0.401, {"at_most": 0.4})
    assert meets(1.02, {"within": 0.02})
    assert not meets(0.9799, {"within": 0.02})


def test_bounds_widen_the_range_and_cases_are_counted() -> None:
    figures = Figures({"comparisons": [{"run": "r", "peer": "p", "what": "w", "target": {"at_least": 1}}], "runs": {}})
    figures.__dict__["lines"] = {
        "r": [ResultLine("w", "a", 2, 1, 1.5, 3), ResultLine("w", "b", 1, 2), ResultLine("other", "", 9, 1)]
    }
    (one,) = figures.compared
    assert one == Compared("p", "w", (2.0, 0.5), 0.5, 3, "", {"at_least": 1}, (1, 2), "r", "", "")
    assert one.median == 1.25

"""docs/performance.md: the page is up to date, and its figures are those of the run files that it names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.performance.figures import Compared, Figures, meets  # noqa: E402
from tools.performance.page import page  # noqa: E402


@pytest.fixture(scope="module")
def figures() -> Figures:
    return Figures.load()


def test_the_page_is_up_to_date(figures: Figures) -> None:
    written = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert written == page(figures), "run: python tools/performance"


def test_every_figure_names_a_run_with_node_date_and_command(figures: Figures) -> None:
    named = [one.run for one in figures.compared] + [one["run"] for one in figures.raw["alone"]]
    assert sorted(set(named) | set(figures.files)) == sorted(figures.runs)
    for run in figures.runs.values():
        assert run["node"].partition(" (")[0] in figures.raw["nodes"]
        assert run["date"]
        assert run["command"]


def test_every_run_with_nccl_states_its_setting_of_nvlink_sharp(figures: Figures) -> None:
    for one in figures.compared:
        if "nccl" in one.peer.lower():
            assert "NVLS" in figures.runs[one.run]["with"], one.what


def test_recorded_figures_meet_their_targets(figures: Figures) -> None:
    recorded = [one for one in figures.compared if one.run in figures.recorded and one.met]
    assert len(recorded) == 10
    for one in recorded:
        assert one.met is not None
        assert one.met[0] == one.met[1] == len(one.figures), one.what


def test_a_target_is_held_against_the_figure() -> None:
    assert meets(0.995, {"at_least": 0.995})
    assert not meets(0.9949, {"at_least": 0.995})
    assert meets(0.4, {"at_most": 0.4})
    assert not meets(0.401, {"at_most": 0.4})
    assert meets(1.02, {"within": 0.02})
    assert not meets(0.9799, {"within": 0.02})


def test_cells_widen_the_range_and_cases_are_counted(figures: Figures) -> None:
    entry = {"peer": "p", "what": "w", "run": "nvbandwidth", "target": {"at_least": 1}}
    entry["cases"] = {"a": [2, 1, 1.5, 3], "b": [1, 2]}
    (line,) = Figures({**figures.raw, "beside": [entry]}).compared
    assert line == Compared("p", "w", (2.0, 0.5), 0.5, 3, "", {"at_least": 1}, (1, 2), "nvbandwidth", "", "")

"""The estimate of a run: every part of the time that it will take is in it, as often as it comes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from modelled_run import ok

from linkscope.launch import costs
from linkscope.plan.budget import Costs, RoundLimits, SamplingOptions, row_of, setup_s, tuning_s
from linkscope.plan.run_estimate import RunEstimate, crowd_now, run_estimate

ONE_ROUND = RunEstimate(10.0, 20.0, 5.0, 15.0, RoundLimits(1, 1), tuning_s=3.0)


def case(size: int, method: str = "memcpy", device: str = "numa:0", **more: Any) -> dict[str, Any]:
    end = {"device": device, "memory": "pageable"}
    flow = {"method": method, "executor": device, "bytes": size, "source": end, "destination": end}
    return {"id": f"s/a/{method}/{size}", "suite": "s", "name": "a", "flows": [flow | more], "labels": {}}


@pytest.mark.parametrize("part", ["starts_s", "setup_s", "sampling_s"])
def test_each_part_comes_in_each_round(part: str) -> None:
    before = replace(ONE_ROUND, rounds=RoundLimits(3, 6))
    after = replace(before, **{part: getattr(before, part) + 1.0})
    assert after.likely_s - before.likely_s == pytest.approx(3.0)


def test_kernels_are_tuned_once_and_scatter_costs_the_further_rounds() -> None:
    one, six = ONE_ROUND, replace(ONE_ROUND, rounds=RoundLimits(3, 6))
    assert one.likely_s == 10.0 + 20.0 + 5.0 + 3.0
    assert six.likely_s == 3 * 35.0 + 3.0
    assert six.most_s == 6 * 45.0 + 3.0


def test_a_crowded_machine_takes_longer_and_a_budget_ends_it() -> None:
    crowded = replace(ONE_ROUND, rounds=RoundLimits(3, 6), crowd=2.0)
    assert crowded.likely_s == 2 * (3 * 35.0 + 3.0)
    within = replace(crowded, limit_s=100.0)
    assert (within.likely_s, within.most_s) == (100.0, 100.0)


def test_what_a_run_will_take_has_the_starts_set_up_and_samples_of_its_cases() -> None:
    cases = [case(1 << 20), case(1 << 30)]
    options = SamplingOptions(visits=3)
    found = run_estimate(cases, options, RoundLimits(3, 6))
    assert found.starts_s == options.costs.starts_s(cases) > 0
    assert found.setup_s == pytest.approx(sum(map(setup_s, cases)))
    assert 0 < found.sampling_s <= found.most_sampling_s
    assert found.rounds.least == 3


def test_more_processes_take_longer_to_start() -> None:
    two, eight = ([case(1 << 20) | {"processes": number}] for number in (2, 8))
    assert Costs().starts_s(two) < Costs().starts_s(eight)


def test_a_launch_shape_is_sought_once_for_all_that_share_it() -> None:
    gpu = [case(size, "kernel-copy", "gpu:0", tuning_group="one") for size in (1, 2, 3)]
    other = case(4, "kernel-copy", "gpu:0", tuning_group="two")
    assert tuning_s([*gpu, other]) == pytest.approx(2 * tuning_s(gpu[:1]))
    assert tuning_s(gpu) == tuning_s(gpu[:1]) > 0
    assert tuning_s([case(1, tuning_group="host")]) == 0.0


def test_bytes_that_cpus_move_are_expected_to_be_sampled_for_all_the_time_they_have() -> None:
    options = SamplingOptions(point_budget_s=0.3)
    found = run_estimate([case(64 << 20)], options, RoundLimits())
    assert found.sampling_s == pytest.approx(0.3)


def test_on_a_crowded_machine_what_was_learnt_and_what_was_not_takes_so_much_longer(tmp_path: Path) -> None:
    cases = [case(1, "kernel-copy", "gpu:0", tuning_group="one")]
    path = tmp_path / "costs.json"
    costs.learn(path, Costs(), [ok(cases[0], [[1e-3] * 8], elapsed_s=4.0)], {1: [8.0]}, crowd=4.0)
    options = SamplingOptions(costs=costs.known(path))
    assert options.costs.setup_s(cases[0]) == pytest.approx(1.0, abs=0.1)
    idle, busy = (run_estimate(cases, options, RoundLimits(), crowd) for crowd in (1.0, 4.0))
    assert min(idle.setup_s, idle.sampling_s, idle.tuning_s) > 0
    assert busy.likely_s == pytest.approx(4 * idle.likely_s)
    assert busy.most_s == pytest.approx(4 * idle.most_s)


def test_a_run_on_a_crowded_machine_leaves_the_costs_of_others_alone_and_adds_its_own_as_if_idle(
    tmp_path: Path,
) -> None:
    row = ok(case(1 << 20), [[1e-3] * 8], elapsed_s=8.0)
    before = Costs({"other": 2.0, row.id: 3.0}, {"other": 1.5}, {1: 0.5, 2: 0.7})
    path = tmp_path / "costs.json"
    costs.learn(path, before, [row], {1: [4.0], 2: []}, crowd=8.0)
    found = costs.known(path)
    assert found.visits == {"other": 2.0, row.id: pytest.approx(1.0, abs=0.2)}
    assert found.starts == {1: 0.5, 2: 0.7}
    assert found.ratios["other"] == 1.5
    costs.learn(path, before, [row], {}, crowd=1.0)
    quiet = costs.known(path)
    own = row_of(row.case)
    assert quiet.ratios[own] == pytest.approx(8 * found.ratios[own])


def test_what_one_row_took_is_not_expected_of_all_rows(tmp_path: Path) -> None:
    row = ok(case(1 << 20), [[1e-3] * 8], elapsed_s=8.0)
    before = Costs({"other": 2.0}, {"one": 1.5, "other": 1.0, "": 1.25}, {})
    costs.learn(tmp_path / "costs.json", before, [row], {})
    assert costs.known(tmp_path / "costs.json").ratios[""] == 1.5


def test_an_idle_machine_is_not_crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setattr("os.getloadavg", lambda: (0.2, 0.0, 0.0))
    assert crowd_now() == 1.0
    monkeypatch.setattr("os.getloadavg", lambda: (11.0, 0.0, 0.0))
    assert crowd_now() == 3.0

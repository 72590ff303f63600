"""Orders of ranks: what is predicted of them beside what machine models give, and what a run's rows say."""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import polars
import pytest
from modelled_run import result, steady
from modelled_schedule import case_of, messages_s, played, seconds

from linkscope.answers.order import measured_gain
from linkscope.answers.rank_order import pair_costs, predicted_s, rank_order
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.machine.described import load_machine
from linkscope.machine.paths import Paths
from linkscope.results.row import Row
from linkscope.workload.halo import halo
from linkscope.workload.schedule import Message, Phase, Schedule, in_order

Json = dict[str, Any]
MIB = 1 << 20
FRONTIER = load_machine("frontier")
METHODS = {"mpi-schedule": "mpi", "direct-schedule": "kernel-copy"}
TOLERANCE = {"mpi-schedule": 0.15, "direct-schedule": 0.03}
"""By which the model may differ from what is predicted of large messages without packs and collectives. MPI's rate on a
wide link is its own and not the link's: how much several messages get out of that link is then not known exactly."""


def sparse(seed: int) -> Schedule:
    """Every rank sends to two others, at random 4, 16 or 64 MiB."""
    rng = random.Random(seed)
    messages = tuple(
        Message(source, destination, rng.choice((4, 16, 64)) * MIB)
        for source in range(8)
        for destination in rng.sample([other for other in range(8) if other != source], 2)
    )
    return Schedule("sparse", 8, in_order((Phase("all", messages, 3),)))


def across() -> Schedule:
    """Each rank swaps 64 MiB with the one four places on, which the devices' own order puts far away."""
    messages = tuple(Message(rank, (rank + 4) % 8, 64 * MIB) for rank in range(8))
    return Schedule("across", 8, in_order((Phase("swap", messages, 5),)))


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all pairs of frontier's GPUs, by kernels and by MPI."""
    path = tmp_path_factory.mktemp("frontier") / "run.jsonl"
    with pytest.raises(SystemExit) as left:
        main(("run", "peer", "p2p-processes", "--machine", "frontier", "--methods", "kernel-copy,mpi", "-o", str(path)))
    assert left.value.code == 0
    return path


@pytest.fixture(scope="module")
def figures(run_file: Path) -> polars.DataFrame:
    return Run.of(run_file).results


def modelled(schedule: Schedule, order: tuple[str, ...], method: str) -> Json:
    return played(case_of(schedule, order, method), FRONTIER)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("schedule", [across(), *(sparse(seed) for seed in range(3))])
def test_the_model_takes_what_is_predicted(schedule: Schedule, method: str, figures: polars.DataFrame) -> None:
    costs = pair_costs(figures, Paths(FRONTIER), METHODS[method])
    found = rank_order(schedule, figures, Paths(FRONTIER), METHODS[method])
    shuffled = tuple(random.Random(5).sample(found.default, 8))
    for order in (found.default, found.devices, shuffled):
        row = modelled(schedule, order, method)
        assert seconds(row) == pytest.approx(predicted_s(schedule, order, costs), rel=TOLERANCE[method]), order


@pytest.mark.parametrize("method", METHODS)
def test_where_heavy_pairs_are_on_narrow_links_the_suggested_order_is_faster_by_half(
    method: str, figures: polars.DataFrame
) -> None:
    found = rank_order(across(), figures, Paths(FRONTIER), METHODS[method])
    default, best = (seconds(modelled(across(), order, method)) for order in (found.default, found.devices))
    assert found.gain >= 1.5
    assert default / best >= 1.5
    assert default / best == pytest.approx(found.gain, rel=TOLERANCE[method])


def test_of_the_halo_exchange_the_messages_gain_what_packs_and_collectives_do_not(figures: polars.DataFrame) -> None:
    """The prediction is of messages alone; an application's time has packs and collectives, which no order moves."""
    found = rank_order(halo(8), figures, Paths(FRONTIER), "kernel-copy")
    assert found.gain >= 1.5
    rows = [modelled(halo(8), order, "direct-schedule") for order in (found.default, found.devices)]
    whole = seconds(rows[0]) / seconds(rows[1])
    exchanges = messages_s(rows[0], halo(8)) / messages_s(rows[1], halo(8))
    assert found.gain > exchanges > whole > 1.35
    gained = seconds(rows[0]) - seconds(rows[1])
    assert gained == pytest.approx(found.default_seconds - found.seconds, rel=0.3)


def test_a_method_that_the_run_has_not_is_said(figures: polars.DataFrame) -> None:
    with pytest.raises(LinkscopeError, match="no messages by xccl"):
        rank_order(across(), figures, Paths(FRONTIER), "xccl")


def ordered(order: tuple[str, ...], time: float, **more: Any) -> Row:
    """A row of the pattern "mine" with that order of ranks."""
    schedule = Schedule("mine", 2, in_order((Phase("all", (Message(0, 1, MIB),)),)))
    case = case_of(schedule, order) | {"environment": more.pop("environment", {})}
    workload = {"application": "mine", "ranks": 2, "order": list(order), **more}
    line = {"record": "row", "id": case["id"], "status": "ok", "modelled": False, "backend": "host", "elapsed_s": 1.0}
    line |= {
        "case": case | {"labels": {"workload": workload}},
        "flows": [result(MIB, steady(time))],
        "stopped": "precision",
    }
    return Row.from_json(line)


OWN, SWAPPED, OTHER = ("gpu:0", "gpu:1"), ("gpu:1", "gpu:0"), ("gpu:1", "gpu:3")


def test_a_run_with_several_orders_says_what_the_best_gained() -> None:
    rows = [ordered(SWAPPED, 2e-3), ordered(OWN, 3e-3), ordered(OTHER, 2.5e-3)]
    (found,) = measured_gain(rows).to_dicts()
    assert (found["workload"], found["method"], found["modelled"]) == ("mine", "mpi-schedule", False)
    assert (found["default"], found["order"]) == (" ".join(OWN), " ".join(SWAPPED))
    assert found["gain"] == pytest.approx(1.5, rel=1e-5)
    assert found["gain_low"] < found["gain"] < found["gain_high"]
    assert found["gain_high"] - found["gain_low"] < 1e-4


def test_rows_that_differ_in_more_than_the_order_are_kept_apart() -> None:
    rows = [
        ordered(OWN, 3e-3),
        ordered(SWAPPED, 1e-3, memory="managed"),
        ordered(SWAPPED, 1e-3, environment={"HSA_XNACK": "1"}),
    ]
    assert measured_gain(rows).is_empty()
    assert measured_gain([]).is_empty()


def test_without_the_devices_own_order_the_base_is_the_slowest() -> None:
    (found,) = measured_gain([ordered(SWAPPED, 2e-3), ordered(("gpu:3", "gpu:1"), 4e-3)]).to_dicts()
    assert found["order"] == " ".join(SWAPPED)
    assert found["gain"] == pytest.approx(2, rel=1e-5)


def order_command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(("app", "order", *arguments))
    return left.value.code if isinstance(left.value.code, int) else 0


def test_the_rankfile_has_a_line_for_each_rank_with_cpus_of_its_own(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ranks"
    assert order_command("halo", str(run_file), "--ranks", "8", "-o", str(path), "--json") == 0
    devices = msgspec.json.decode(capsys.readouterr().out)["devices"]
    lines = path.read_text().splitlines()
    assert [line.split("=")[0] for line in lines] == [f"rank {rank}" for rank in range(8)]
    slots = [set(line.rpartition("=")[2].split(",")) for line in lines]
    for a, b in permutations(range(8), 2):
        assert not slots[a] & slots[b]
    for device, slot in zip(devices, slots, strict=True):
        numa = FRONTIER.device(f"numa:{FRONTIER.device(device).numa}")
        assert slot <= {str(cpu) for cpu in numa.cpus}


def test_a_rankfile_that_cannot_be_written_is_said_and_leaves_nothing(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert order_command("halo", str(run_file), "-o", str(tmp_path / "none" / "ranks")) == 2
    assert "cannot write" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

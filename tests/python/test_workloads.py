"""Workloads: the halo exchange's messages by its formulas, patterns from files, and the order of ranks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import msgspec
import polars
import pytest
from launching import Ended

from linkscope.answers.rank_order import pair_costs, predicted_s, rank_order
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.figures.columns import SCHEMA
from linkscope.machine.described import load_machine
from linkscope.machine.paths import Paths
from linkscope.workload.halo import CELLS, STEPS, decomposition, halo
from linkscope.workload.pattern_file import read_pattern
from linkscope.workload.schedule import Message, Phase, Schedule, in_order

MIB = 1 << 20


@pytest.mark.parametrize(
    ("ranks", "chunks"),
    [(1, (1, 1)), (2, (2, 1)), (3, (3, 1)), (4, (2, 2)), (6, (3, 2)), (7, (7, 1)), (8, (4, 2)), (16, (4, 4))],
)
def test_chunks_are_those_of_the_application(ranks: int, chunks: tuple[int, int]) -> None:
    assert decomposition(ranks) == chunks


@pytest.mark.parametrize("cells", [CELLS, (1000, 500), (7, 5)])
@pytest.mark.parametrize("ranks", [2, 4, 6, 8])
def test_each_rank_sends_what_the_formulas_say(ranks: int, cells: tuple[int, int]) -> None:
    across, up = decomposition(ranks, cells)
    if cells[0] < across or cells[1] < up:
        pytest.skip("fewer cells than chunks")
    schedule = halo(ranks, cells)
    widths = [cells[0] // across + (i < cells[0] % across) for i in range(across)]
    heights = [cells[1] // up + (i < cells[1] % up) for i in range(up)]
    for rank in range(ranks):
        column, row = rank % across, rank // across
        beside = (column > 0) + (column < across - 1)
        above = (row > 0) + (row < up - 1)
        a_step = 312 * (beside * (heights[row] + 5) + above * (widths[column] + 5))
        at_start = 160 * (beside * (heights[row] + 5) + above * (widths[column] + 5))
        assert schedule.sent()[rank] == STEPS * a_step + at_start
        assert schedule.messages()[rank] == (6 * STEPS + 1) * (beside + above)


def test_too_few_cells_are_refused() -> None:
    with pytest.raises(LinkscopeError, match="too few for 8 ranks"):
        halo(8, (3, 3))


def test_a_matrix_and_a_table_are_read(tmp_path: Path) -> None:
    matrix = tmp_path / "m.txt"
    matrix.write_text("0 64K 0\n1.5M 0 10\n0 2G 0\n")
    found = read_pattern(matrix)
    assert found.ranks == 3
    assert found.sent() == Counter({0: 64 << 10, 1: 3 * MIB // 2 + 10, 2: 2 << 30})
    table = tmp_path / "t.csv"
    table.write_text("source,destination,bytes,phase\n0,1,1K,a\n1,0,1K,a\n0,2,5,b\n2,2,9,b\n")
    found = read_pattern(table)
    assert [(one.name, one.pairs) for one in found.phases] == [("a", ((0, 1), (1, 0))), ("b", ((0, 2),))]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("m.txt", "0 1\n0\n", "line 2: 1 cells in a matrix of 2 lines"),
        ("m.txt", "0 x\n0 0\n", "line 1: 'x' is no number of bytes"),
        ("m.txt", "0 99999999G\n0 0\n", "is no number of bytes"),
        ("m.txt", "", "no pattern that linkscope reads"),
        ("m.txt", "hello", "no pattern that linkscope reads"),
        ("n.csv", "measurement_id, a\n0, waves, 0, 1\n", "line 2: '0, waves, 0, 1' is neither"),
        ("n.yaml", "traffic_patterns:\n - matrix_file: ../../etc/passwd\n", "leads out of its folder"),
        ("n.yaml", "traffic_patterns: 3\n", "traffic_patterns: Expected"),
        ("m.txt", "0\n", "holds no message"),
        ("t.csv", "source,bytes\n0,1\n", "no column 'destination'"),
        ("t.csv", "source,destination,bytes\n0,-1,5\n", "line 2: '-1' is no rank"),
        ("t.csv", "source,destination,bytes\n0,1\n", "line 2: nothing is no number of bytes"),
        ("t.csv", "source,destination,bytes\n0,9999,5\n", "is no rank"),
    ],
)
def test_what_is_no_pattern_is_refused(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(LinkscopeError, match=complaint):
        read_pattern(path)


def test_nvlooms_and_nixls_patterns_are_read(tmp_path: Path) -> None:
    loom = tmp_path / "loom.csv"
    loom.write_text(
        "measurement_id, bandwidth/latency, gpu_src_id, gpu_dst_id, iteration_count, mem_src_type, mem_dst_type, "
        "write/read, ce/sm/multicast, buffer_size, comment\n"
        "0, bandwidth, 0, 1, default, device, egm, write, ce, default, both\n"
        "0, bandwidth, 1, 0, default, egm, device, read, ce, 10000K, both\n"
        "1, latency, 3, 1, default, device, ignored, ignored, ignored, ignored, alone\n"
        "2, BANDWIDTH, 2, 1, 32, device, device, write, ce, 256M, one\n"
    )
    assert [(one.name, [message.size for message in one.messages]) for one in read_pattern(loom).phases] == [
        ("measurement 0", [512 * MIB, 10_000 << 10]),
        ("measurement 2", [256 * MIB]),
    ]
    (tmp_path / "a.txt").write_text("0 1K\n1K 0\n")
    (tmp_path / "b.txt").write_text("0 1M\n0 0\n")
    patterns = tmp_path / "nixl.yaml"
    patterns.write_text("traffic_patterns:\n- matrix_file: a.txt\n  sleep_before_launch_sec: 1\n- matrix_file: b.txt\n")
    assert read_pattern(patterns).sent() == Counter({0: 1024 + MIB, 1: 1024})


def traced(kind: str, count: int, ranks: str, **more: object) -> dict[str, object]:
    """As PyTorch 2.11 with NCCL 2.28 writes it."""
    group = {"Process Group Name": "0", "Process Group Ranks": ranks, "Group size": 4, "Rank": 0, "Seq": 1}
    sizes = {"In msg nelems": count, "Out msg nelems": 4 * count, "In split size": "[]", "dtype": "Float"}
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": "record_param_comms",
        "ts": 1.5,
        "args": {"Collective name": kind, **group, **sizes, **more},
    }


def test_collectives_of_a_trace_of_pytorch_become_rings(tmp_path: Path) -> None:
    wide = {"Global rank start": 1, "Global rank stride": 2}
    events = [
        {"name": "aten::add", "args": {"External id": 3}},
        traced("init", 0, "[0, 1, 2, 3]"),
        traced("allreduce", 1000, "[0, 1, 2, 3]"),
        traced("_allgather_base", 250, "[0, 2]"),
        traced("reduce_scatter_tensor_coalesced", 1000, "[0, 1, 2, 3]"),
        traced("broadcast", 10, "[3, 1]"),
        traced("all_to_allv", 8, "[0, 1]"),
        traced("allreduce", 4, "[1, ..., 7]", **wide),
    ]
    path = tmp_path / "trace.json"
    path.write_bytes(msgspec.json.encode({"schemaVersion": 1, "traceEvents": events}))
    phases = read_pattern(path).phases
    assert [one.name for one in phases] == [one["args"]["Collective name"] for one in events[2:]]  # type: ignore[index]
    sizes = [[message.size for message in one.messages] for one in phases]
    assert sizes == [[6000] * 4, [2000] * 2, [3000] * 4, [40], [16, 16], [24] * 4]
    assert phases[0].pairs == ((0, 1), (1, 2), (2, 3), (3, 0))
    assert phases[-1].pairs == ((1, 3), (3, 5), (5, 7), (7, 1))


def inspected(coll: str, size: int, ranks: int) -> str:
    """A line as the plugin's README shows it."""
    header = {"id": "0x7f8c496ae9f661", "rank": 2, "n_ranks": ranks, "nnodes": 1}
    found = {"coll": coll, "coll_sn": 1407, "coll_msg_size_bytes": size, "coll_exec_time_us": 61974}
    return msgspec.json.encode({"header": header, "metadata": {"pid": 7}, "coll_perf": found}).decode() + "\n"


def test_what_nccls_inspector_leaves_becomes_rings(tmp_path: Path) -> None:
    path = tmp_path / "rank2.log"
    path.write_text(
        inspected("AllReduce", 800, 4) * 3 + inspected("ReduceScatter", 100, 4) + inspected("AllReduce", 5, 2) + "\n"
    )
    found = read_pattern(path)
    assert [(one.name, one.repeats) for one in found.phases] == [
        ("AllReduce of 800 B", 3),
        ("ReduceScatter of 100 B", 1),
    ]
    assert found.sent() == Counter(dict.fromkeys(range(4), 3 * 1200 + 300))
    path.write_text(inspected("AllReduce", 800, 4) + '{"header": {}}\n')
    with pytest.raises(LinkscopeError, match="line 2: Object missing required field"):
        read_pattern(path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"traceEvents": 3}', "is no trace"),
        ('{"traceEvents": [', "is no trace"),
        ('{"traceEvents": []}', "holds no message"),
        ('{"traceEvents": [{"name": "record_param_comms", "args": {"Collective name": 3}}]}', r"traceEvents\[0\].args"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(LinkscopeError, match=complaint):
        read_pattern(path)


@pytest.mark.parametrize("name", ["m.txt", "t.csv"])
def test_damaged_patterns_are_refused_or_read(tmp_path: Path, name: str) -> None:
    rng, path = random.Random(7), tmp_path / name
    good = "0 64K 0\n1.5M 0 10\n0 2G 0\n" if name == "m.txt" else "source,destination,bytes,phase\n0,1,1K,a\n1,0,7,b\n"
    for _ in range(300):
        data = bytearray(good.encode())
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(bytes(data[: rng.randrange(len(data) + 1)]))
        said = ""
        try:
            assert read_pattern(path).ranks > 1
        except LinkscopeError as error:
            said = str(error)
        assert "\n" not in said


def measured(machine: str) -> tuple[polars.DataFrame, Paths]:
    """A copy of each pair at 77 % of its path's peak."""
    paths = Paths(load_machine(machine))
    gpus = [device.id for device in paths.node.of_kind("gpu")]
    lines = []
    for source, destination in permutations(gpus, 2):
        path = paths.between(source, destination)
        assert path is not None
        assert path.peak_gbps is not None
        gbps = 0.77 * path.peak_gbps
        line = {
            "status": "ok",
            "source": source,
            "destination": destination,
            "tier": path.tier,
            "flows": 1,
            "background": 0,
        }
        lines.append(line | {"together": "", "bytes": 512 * MIB, "gbps": gbps, "seconds": 512 * MIB / gbps * 1e-9})
        lines.append(line | {"together": "", "bytes": 16, "gbps": 0.002, "seconds": 8.7e-6})
    return polars.DataFrame(lines, schema=SCHEMA, orient="row"), paths


def test_pairs_cost_their_latency_and_their_rate() -> None:
    costs = pair_costs(*measured("frontier"))
    assert len(costs) == 56
    assert costs["gpu:0", "gpu:1"].gbps == pytest.approx(154)
    assert costs["gpu:0", "gpu:1"].latency_s == pytest.approx(8.7e-6)
    assert dict(costs["gpu:0", "gpu:1"].links) == {"gpu:0>gpu:1": pytest.approx(154)}


def test_a_phase_that_is_repeated_waits_each_time() -> None:
    again = Schedule("again", 2, in_order((Phase("send", (Message(0, 1, 154),), 5),)))
    seconds = predicted_s(again, ("gpu:0", "gpu:1"), pair_costs(*measured("frontier")))
    assert seconds == pytest.approx(5 * (8.7e-6 + 1e-9))


def test_heavy_pairs_are_put_on_wide_links() -> None:
    pairs = [(0, 7), (1, 6), (2, 5), (3, 4)]
    heavy = Phase("swap", tuple(Message(a, b, 64 * MIB) for pair in pairs for a, b in (pair, pair[::-1])))
    found = rank_order(Schedule("swap", 8, in_order((heavy,))), *measured("frontier"))
    assert found.tried
    assert found.matters
    assert {frozenset((found.devices[a], found.devices[b])) for a, b in pairs} == {
        frozenset((f"gpu:{number}", f"gpu:{number + 1}")) for number in (0, 2, 4, 6)
    }
    assert found.gain > 3


def test_the_halo_exchange_of_eight_ranks_gains_half_again_on_frontier() -> None:
    found = rank_order(halo(8), *measured("frontier"))
    assert found.gain >= 1.5
    assert found.bottleneck.share > 0


def test_where_all_pairs_are_equal_the_devices_keep_their_order() -> None:
    found = rank_order(halo(4), *measured("h200x4"))
    assert not found.matters
    assert found.devices == found.default == ("gpu:0", "gpu:1", "gpu:2", "gpu:3")


def test_fewer_ranks_than_devices_choose_their_devices() -> None:
    ring = Phase("pair", (Message(0, 1, MIB), Message(1, 0, MIB)))
    figures, paths = measured("frontier")
    narrow = figures.filter(polars.col("tier") != "quad")
    with pytest.raises(LinkscopeError, match="no large copy gpu:0 -> gpu:1"):
        rank_order(Schedule("pair", 2, in_order((ring,))), narrow, paths)
    assert rank_order(Schedule("pair", 2, in_order((ring,))), figures, paths).devices == ("gpu:0", "gpu:1")


def test_more_devices_than_can_be_tried_are_interchanged_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    from linkscope.answers import rank_order as module

    rng = random.Random(3)
    messages = tuple(
        Message(a, b, rng.randrange(1, 64) * MIB) for a, b in rng.sample(list(permutations(range(8), 2)), 10)
    )
    sparse = Schedule("sparse", 8, in_order((Phase("all", messages),)))
    best = rank_order(sparse, *measured("frontier"))
    monkeypatch.setattr(module, "MOST_TRIED", 4)
    found = rank_order(sparse, *measured("frontier"))
    assert not found.tried
    assert best.seconds <= found.seconds <= best.seconds * 1.3
    assert found.gain > 1.2


def test_too_many_ranks_are_refused() -> None:
    with pytest.raises(LinkscopeError, match="paths between 4 devices"):
        rank_order(halo(8), *measured("h200x4"))


@pytest.fixture
def linkscope(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    def cli(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        captured = capsys.readouterr()
        return Ended(left.value.code if isinstance(left.value.code, int) else 0, captured.out, captured.err)

    return cli


def test_the_order_is_told_as_runtimes_and_slurm_take_it(linkscope: Callable[..., Ended], tmp_path: Path) -> None:
    run = str(tmp_path / "frontier.jsonl")
    linkscope("run", "peer", "--machine", "frontier", "--methods", "kernel-copy", "-o", run)
    told = linkscope("app", "order", "halo", run, "--ranks", "8")
    assert told.code == 0
    assert "ROCR_VISIBLE_DEVICES=0,2,4,6,1,3,5,7" in told.out
    assert "--gpu-bind=map_gpu:0,2,4,6,1,3,5,7" in told.out
    data = msgspec.json.decode(linkscope("app", "order", "halo", run, "--ranks", "8", "--json").out)
    assert (data["headline"]["code"], data["runs"][0]["modelled"]) == ("order.faster", True)
    assert data["gain"] >= 1.5
    assert linkscope("app", "order", "halo", run, "--cells", "7").code == 2
    assert linkscope("app", "order", str(tmp_path / "none.csv"), run).code == 2

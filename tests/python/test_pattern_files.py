"""Files of patterns, as tools leave them: what is read of each, and that damaged ones are refused in one line."""

from __future__ import annotations

import gzip
import re
import shutil
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkscope.errors import LinkscopeError
from linkscope.workload import pattern_file, pattern_text
from linkscope.workload.pattern_file import READERS, read_pattern
from linkscope.workload.pattern_text import PatternText
from linkscope.workload.readers import chakra
from linkscope.workload.schedule import Phase, Schedule

SAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "patterns"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.name != "README.md")


def sample(name: str) -> Schedule:
    return read_pattern(SAMPLES / name)


def told(phase: Phase) -> tuple[int, list[tuple[int, int, int]]]:
    """Its gap in microseconds, and its messages."""
    return round(phase.gap_s * 1e6), [(one.source, one.destination, one.size) for one in phase.messages]


def around(ranks: int, size: int) -> list[tuple[int, int, int]]:
    return [(rank, (rank + 1) % ranks, size) for rank in range(ranks)]


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_is_read(name: str) -> None:
    schedule = sample(name)
    assert schedule.bytes > 0
    assert schedule.ranks >= 2
    assert [loop.repeats for loop in schedule.loops] == [phase.repeats for phase in schedule.phases]


def test_every_sample_says_how_it_was_made() -> None:
    listed = (SAMPLES / "README.md").read_text()
    for name in NAMES:
        stem, _, rest = name.partition(".")
        assert name in listed or f"{stem}.*.{rest.partition('.')[2]}" in listed, name


@pytest.mark.parametrize(("kind", "ranks", "phases"), [("csv", 3, 2), ("json", 4, 2)])
def test_the_examples_of_the_page_are_read(tmp_path: Path, kind: str, ranks: int, phases: int) -> None:
    page = SAMPLES.parents[2] / "docs" / "applications.md"
    (example,) = re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "example").write_text(example)
    read = read_pattern(tmp_path / "example")
    assert (read.ranks, len(read.phases)) == (ranks, phases)


def test_our_own_formats_have_gaps_repeats_and_idle_ranks() -> None:
    listing = sample("listing.json")
    assert listing.ranks == 4
    assert [(one.name, one.repeats, *told(one)) for one in listing.phases] == [
        ("halo", 87, 0, [(0, 1, 4096), (1, 0, 4096)]),
        ("reduce", 1, 2000, [(1, 0, 8), (2, 0, 8)]),
    ]
    assert [(one.name, *told(one)) for one in sample("table.csv").phases] == [
        ("forward", 2000, [(0, 1, 65536), (1, 2, 65536)]),
        ("back", 1000, [(2, 0, 3 << 19)]),
    ]


@pytest.mark.parametrize("rank", range(4))
def test_any_ranks_chakra_trace_leads_to_all(rank: int) -> None:
    found = [told(one) for one in sample(f"model_parallel.{rank}.et").phases]
    assert found[:2] == [(500, around(4, 3 * 65536)), (200, around(4, 3 * 32768))]
    gap_us, everyone = found[2]
    assert gap_us == 150
    assert sorted(everyone) == [(a, b, 98304 // 4) for a in range(4) for b in range(4) if a != b]
    assert [told(one) for one in sample(f"model_parallel.{rank}.json").phases] == found


def test_computation_of_several_nodes_adds_up() -> None:
    # Forward 500 and 200 us, backward 250; then 150 and 400 before the first layer's all-reduce.
    assert [told(one) for one in sample("data_parallel.1.et").phases] == [
        (950, around(2, 1048576)),
        (550, around(2, 9437184)),
    ]


def test_chakras_stages_wait_for_one_another() -> None:
    phases = sample("pipeline.0.et").phases
    assert [told(one) for one in phases] == [
        (100, [(0, 1, 4096)]),
        (250, [(1, 2, 2048)]),
        (30, [(0, 2, 1000), (2, 0, 1000)]),
    ]


def test_a_workload_graph_is_read(tmp_path: Path) -> None:
    node = {"Id": 1, "Name": "c10d::allreduce_", "NodeType": 7, "comm_type": 0, "comm_size": 64, "data_deps": []}
    cpu = {"Id": 0, "Name": "aten::add", "NodeType": 4, "runtime": 5, "is_cpu_op": True}
    for rank in range(2):
        (tmp_path / f"job.{rank}.json").write_bytes(msgspec.json.encode({"workload_graph": [cpu, node]}))
    assert [told(one) for one in read_pattern(tmp_path / "job.0.json").phases] == [(0, around(2, 64))]


def test_nixl_sleeps_between_its_patterns(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("0 8\n8 0\n")
    (tmp_path / "p.yaml").write_text(
        "traffic_patterns:\n"
        "- {matrix_file: m, sleep_before_launch_sec: 1, sleep_after_launch_sec: 0.5}\n"
        "- {matrix_file: m, sleep_before_launch_sec: 2}\n"
        "- {matrix_file: m, sleep_before_launch_sec: null}\n"
    )
    assert [phase.gap_s for phase in read_pattern(tmp_path / "p.yaml").phases] == [1, 2.5, 0]


def test_a_trace_of_pytorch_keeps_its_order_and_gaps() -> None:
    assert [(one.name, *told(one)) for one in sample("kineto.json").phases] == [
        ("allreduce", 0, around(2, 4 << 20)),
        ("_allgather_base", 102, around(2, 1 << 20)),  # half of 1,048,576 BFloat16
        ("_reduce_scatter_base", 46, around(2, 2 << 20)),  # half of 1,048,576 Float
        ("broadcast", 44, [(0, 1, 1 << 20)]),
        ("all_to_allv", 118, around(2, 2 << 20)),
    ]  # and no barrier


def test_a_verbose_inspector_keeps_its_order_and_gaps() -> None:
    assert [told(one) for one in sample("inspector-verbose.jsonl").phases] == [
        (0, around(4, 1200)),
        (9009, around(4, 3 * 1048576)),
    ]


def test_an_inspectors_sends_receives_and_all_to_alls_are_read(tmp_path: Path) -> None:
    def line(**perf: object) -> str:
        return msgspec.json.encode({"header": {"rank": 1, "n_ranks": 4}, **perf}).decode()

    def single(name: str, peer: int, size: int) -> str:
        return line(p2p_perf={"p2p": name, "p2p_peer": peer, "p2p_msg_size_bytes": size, "p2p_exec_time_us": 5})

    lines = [single("Send", 2, 64), single("Recv", 0, 32), single("Send", 2, 64), single("Send", 1, 8)]
    lines += [single("Send", 4, 8), line(coll_perf={"coll": "All2All", "coll_msg_size_bytes": 16})]
    (tmp_path / "log").write_text("\n".join(lines))
    phases = read_pattern(tmp_path / "log").phases
    assert [(phase.repeats, told(phase)) for phase in phases] == [
        (2, (0, [(1, 2, 64)])),
        (1, (0, [(0, 1, 32)])),
        (1, (0, [(a, b, 16) for a in range(4) for b in range(4) if a != b])),
    ]


def test_a_file_of_the_inspector_itself_is_read() -> None:
    mebi = 1 << 20
    phases = sample("inspector.jsonl").phases
    assert [(one.name.split()[0], one.messages[0].size) for one in phases] == [
        ("AllReduce", 4 * mebi),
        ("AllGather", mebi),
        ("ReduceScatter", 2 * mebi),
        ("Broadcast", mebi),
        ("Send", 2 * mebi),
        ("Recv", 2 * mebi),
        ("AllReduce", 4),
    ]
    send, receive = phases[4].pairs, phases[5].pairs
    assert send == tuple(pair[::-1] for pair in receive)


def test_packed_files_are_read(tmp_path: Path) -> None:
    packed = tmp_path / "kineto.json.gz"
    packed.write_bytes(gzip.compress((SAMPLES / "kineto.json").read_bytes()))
    assert read_pattern(packed).phases == sample("kineto.json").phases
    for rank in range(3):
        whole = (SAMPLES / f"pipeline.{rank}.et").read_bytes()
        (tmp_path / f"p.{rank}.et.gz").write_bytes(gzip.compress(whole))
    assert read_pattern(tmp_path / "p.2.et.gz").phases == sample("pipeline.2.et").phases


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"phases": 3}', r"Expected `array`, got `int` - at `\$.phases`"),
        ('{"phases": [', "truncated"),
        ('{"phases": []}', "holds no message"),
        ('{"phases": [{"messages": []}]}', "holds no message"),
        ('{"phases": [{"messages": [[0, 1]]}]}', "length 3"),
        ('{"phases": [{"messages": [[0, 1, 0]]}]}', "`int` >= 1"),
        ('{"phases": [{"messages": [[0, 0, 8]]}]}', r"phases\[0\]: .* a rank sends to itself"),
        ('{"phases": [{"messages": [[0, 5000, 8]]}]}', "`int` <= 4095"),
        ('{"phases": [{"messages": [[0, 1, 8]], "gap_s": -1}]}', ">= 0"),
        ('{"phases": [{"messages": [[0, 1, 8]], "gap": 1}]}', "unknown field `gap`"),
        ('{"ranks": 2, "phases": [{"messages": [[0, 2, 8]]}]}', "there are 2 ranks, from 0"),
        ('{"phases": [{"messages": [[0, 1, 1125899906842624]], "repeats": 1000000}]}', "bytes in all"),
        ('{"phases"' + "[" * 100_000, "no pattern|phases|malformed"),
    ],
)
def test_what_is_no_listing_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "l.json"
    path.write_text(text)
    with pytest.raises(LinkscopeError, match=complaint) as refused:
        read_pattern(path)
    assert "\n" not in str(refused.value)


def test_gaps_are_seconds(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for gap, seconds in (("", 0), ("0.5", 0.5), (" 3600 ", 3600), ("2e-6", 2e-6)):
        path.write_text(f"source,destination,bytes,gap_s\n0,1,5,{gap}\n")
        assert read_pattern(path).phases[0].gap_s == seconds
    for gap in ("-1", "nan", "1e9", "inf", "1 s"):
        path.write_text(f"source,destination,bytes,gap_s\n0,1,5,{gap}\n")
        with pytest.raises(LinkscopeError, match=r"line 2: .* is no number of seconds"):
            read_pattern(path)


def test_too_many_messages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("table.csv", "matrix.txt", "nvloom.csv"):
        monkeypatch.setattr(pattern_text, "MOST_MESSAGES", 1)
        with pytest.raises(LinkscopeError, match="holds more than 1 messages"):
            sample(name)
    monkeypatch.setattr(pattern_file, "MOST_PHASES", 1)
    monkeypatch.setattr(pattern_text, "MOST_MESSAGES", 1000)
    with pytest.raises(LinkscopeError, match="holds more than 1 phases"):
        sample("listing.json")
    monkeypatch.setattr(pattern_text, "MOST_LINES", 2)
    with pytest.raises(LinkscopeError, match="more than 2 lines"):
        sample("table.csv")


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_text, "MOST_BYTES", 1 << 20)
    bomb = tmp_path / "t.csv.gz"
    bomb.write_bytes(gzip.compress(bytes(8 << 20)))
    with pytest.raises(LinkscopeError, match="longer than 1 MiB"):
        read_pattern(bomb)
    bomb.write_bytes(gzip.compress(b"source,destination,bytes\n0,1,2\n")[:-9])
    with pytest.raises(LinkscopeError, match="no whole gzip file"):
        read_pattern(bomb)


def test_chakras_ranks_that_wait_in_vain_are_named(tmp_path: Path) -> None:
    for name in ("pipeline.1.et", "pipeline.2.et"):  # rank 0, which sends to 1, is missing
        shutil.copy(SAMPLES / name, tmp_path)
    with pytest.raises(LinkscopeError, match="rank 1 waits at 'from 0' for what no other rank does"):
        read_pattern(tmp_path / "pipeline.1.et")
    lone = tmp_path / "trace.et"
    shutil.copy(SAMPLES / "pipeline.0.et", lone)
    with pytest.raises(LinkscopeError, match=r"NAME\.0\.et"):
        read_pattern(lone)


def test_many_ranks_that_wait_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chakra, "MOST_LOOKED_AT", 2)
    with pytest.raises(LinkscopeError, match="too many steps"):
        sample("pipeline.0.et")


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), name=st.sampled_from(NAMES))
def test_damaged_files_are_refused_in_one_line_or_read(data: st.DataObject, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for path in SAMPLES.glob(f"{name.partition('.')[0]}.*"):
            shutil.copy(path, folder)
        path = Path(folder) / name
        spoilt = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(spoilt) - 1))
            spoilt[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
            spoilt = spoilt or bytearray(b" ")
        path.write_bytes(spoilt)
        judge(path)


@settings(deadline=None, max_examples=300)
@given(data=st.binary(max_size=200), name=st.sampled_from(["a.0.et", "a.0.json", "a.csv", "a.json.gz"]))
def test_no_bytes_are_more_than_refused(data: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        judge(Path(folder) / name)


@settings(deadline=None, max_examples=100)
@given(data=st.binary(max_size=200))
def test_recognising_fails_by_no_other_error(data: bytes) -> None:
    refusals = set()
    for reader in READERS:
        try:
            reader.recognises(PatternText(Path("a"), data))
        except LinkscopeError as error:
            refusals.add(str(error).partition(":")[0])
    assert refusals <= {"a is no text"}


def judge(path: Path) -> None:
    refusal = ""
    try:
        schedule = read_pattern(path)
    except LinkscopeError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) <= 1
    if refusal:
        return
    assert schedule.ranks >= 2
    for phase in schedule.phases:
        assert all(0 <= rank < schedule.ranks for pair in phase.pairs for rank in pair)
        assert all(one.size > 0 and one.source != one.destination for one in phase.messages)
        assert 0 <= phase.gap_s <= pattern_text.LONGEST_S
    assert msgspec.json.decode(msgspec.json.encode(schedule.to_plan()))

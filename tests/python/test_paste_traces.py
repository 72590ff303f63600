"""Traces as results: collectives of Kineto and of NCCL's Inspector by kind and size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.importers import collective_trace
from linkscope.importers.collective_trace import read
from linkscope.importers.peer_output import Movement, PeerOutput, Source
from linkscope.messages.catalog import sentence

FIXTURES = Path(__file__).parents[1] / "fixtures"
KINETO, INSPECTOR = (FIXTURES / "importers" / name for name in ("traces-kineto.json", "traces-inspector.jsonl"))
MIB = 1 << 20


def of(text: str) -> PeerOutput:
    source = Source(Path("trace.json"), text)
    assert collective_trace.recognises(source.text)
    return read(source)


def rows(output: PeerOutput) -> list[tuple[str, int | None, float, Movement]]:
    return [(one.test, one.size, one.value.median, one.moves) for one in output.figures if one.moves is not None]


def codes(output: PeerOutput) -> list[str]:
    return [one.code.removeprefix("import.") for one in output.findings]


def test_kernels_of_a_trace_are_times_by_kind_and_size() -> None:
    output = of(KINETO.read_text())
    found = [(test, size, us, moves.ranks, moves.hosts, moves.varies) for test, size, us, moves in rows(output)]
    assert found == [
        ("Kineto all-reduce", 4 * MIB, 612.25 / 1e6, 4, 2, ""),
        ("Kineto all-reduce", 2 * MIB, 55.5 / 1e6, 2, 1, "bfloat16, ranks 0 to 1"),
        ("Kineto all-gather", 2 * MIB, 171.5 / 1e6, 4, 2, "bfloat16"),
        ("Kineto reduce-scatter", 2 * MIB, 48.25 / 1e6, 2, 1, "bfloat16"),
        ("Kineto all-reduce", 32768, 31 / 1e6, 2, 2, "long, ranks 0 to 2"),
    ]
    stats = output.figures[0].value
    assert (stats.n, stats.min, stats.max) == (4, 598.5 / 1e6, 701.75 / 1e6)
    assert {moves.collective for *_, moves in rows(output)} == {"all-reduce", "all-gather", "reduce-scatter"}
    assert (codes(output), output.versions) == (["includes-waiting"], {"NCCL": "2.21.5"})
    assert [gpu.name for gpu in output.gpus] == ["NVIDIA A100-SXM4-80GB"] * 4
    assert "waiting" in sentence(output.findings[0])


def test_inspectors_lines_are_times_by_kind_and_size() -> None:
    output = of(INSPECTOR.read_text())
    found = [(test, size, us, moves.ranks, moves.hosts, moves.varies) for test, size, us, moves in rows(output)]
    assert found == [
        ("NCCL Inspector all-reduce", 16 * MIB, 347e-6, 8, 2, ""),
        ("NCCL Inspector all-gather", 8 * MIB, 77e-6, 8, 2, ""),
        ("NCCL Inspector all-reduce", 16 * MIB, 420e-6, 8, 2, "host clock"),
        ("NCCL Inspector send", 65536, 19e-6, 2, 1, "send"),
    ]
    assert (output.version, codes(output)) == ("4.0", ["includes-waiting", "profiled"])
    assert output.figures[-1].moves is not None
    assert output.figures[-1].moves.kind == "message"


def test_a_trace_without_kernels_says_so() -> None:
    output = of((FIXTURES / "patterns" / "kineto.json").read_text())
    assert (output.figures, codes(output)) == ((), ["no-kernels"])


@pytest.mark.parametrize("cut", [1, 300, 2000])
def test_a_cut_trace_is_refused_in_one_line(cut: int) -> None:
    with pytest.raises(LinkscopeError) as error:
        read(Source(Path("trace.json"), KINETO.read_text()[:-cut].rstrip() + '"'))
    assert len(str(error.value).splitlines()) == 1


def test_of_cut_records_the_whole_ones_count() -> None:
    text = INSPECTOR.read_text()
    cut = of(text.rstrip()[:-20])
    assert [one.code for one in cut.findings][-1] == "import.cut"
    assert len(cut.figures) == len(of(text).figures) - 1
    with pytest.raises(LinkscopeError):
        of(text.splitlines()[0][:-5])


def test_records_stand_between_other_lines_or_over_several() -> None:
    text = INSPECTOR.read_text()
    pretty = "\n".join(json.dumps(json.loads(line), indent=2) for line in text.splitlines())
    mixed = f"$ head -4 rank0.jsonl\nnode-1:5:6 [0] NCCL INFO Init COMPLETE\n{text}"
    assert [of(one).figures for one in (pretty, mixed)] == [of(text).figures] * 2


def test_a_plug_ins_own_clock_and_parts_of_microseconds_are_read() -> None:
    header = {"rank": 0, "n_ranks": 8}
    perf = {"coll": "AllReduce", "coll_sn": 3, "coll_msg_size_bytes": 4096, "coll_exec_time_us": 51.25}
    (figure,) = of(
        json.dumps({"header": header, "coll_perf": {**perf, "coll_timing_source": "gpu_globaltimer"}})
    ).figures
    assert figure.value.median == pytest.approx(51.25e-6)
    assert figure.facts["clock"] == "device"


def test_other_json_is_no_trace() -> None:
    assert not collective_trace.recognises('{"traceEvents": []}')
    assert not collective_trace.recognises('{"version":3,"start_time":"x"}')


def test_a_trace_without_sizes_or_collectives_says_so() -> None:
    head = '{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "'
    old = of(f'{head}ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "ts": 1, "dur": 2}}]}}')
    assert (old.figures, codes(old), old.findings[0].facts["calls"]) == ((), ["no-sizes"], 1)
    assert codes(of(f'{head}gemm", "ts": 1, "dur": 2}}]}}')) == ["no-calls"]

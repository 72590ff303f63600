"""Files for other systems: what stands in them is what the run says is best, and what a run cannot say is refused."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
from jsonschema_rs import Draft202012Validator
from recorded import cut_short
from tuned_run import KIB, SIZES, line, nccl, open_mpi, rows, run
from typer.testing import CliRunner

from linkscope.answers.answer import Outcome
from linkscope.answers.run_head import run_head
from linkscope.cli import main
from linkscope.cli.main import app
from linkscope.codecs.tuner import formats
from linkscope.codecs.tuner.formats import FORMATS
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.messages.catalog import sentence
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "fixtures" / "runs" / "h200x4-default.jsonl"
PACKETS = ROOT / "tests" / "fixtures" / "runs" / "h200x4-packets.jsonl"
Json = dict[str, Any]
COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "reduce", "broadcast")
FAST_START, FAST_END = line(5, 50), line(20, 300)
CROSS = 15e-6 / (1 / 50e9 - 1 / 300e9)


@pytest.fixture(scope="module")
def tuner_run() -> RunFile:
    """Ring with LL starts fast, with Simple it ends fast; two numbers of channels do not differ under LL."""
    curves = [
        rows(collective, environment, seconds)
        for collective in COLLECTIVES
        for environment, seconds in (
            ({}, line(1, 900)),
            (nccl("ring", "ll", 8), FAST_START),
            (nccl("ring", "ll", 2), FAST_START),
            (nccl("ring", "simple", 24), FAST_END),
        )
    ]
    return run(curves)


@pytest.fixture(scope="module")
def mpi_run() -> RunFile:
    """On 2 ranks algorithm 3 starts fast and 4 ends fast; on 8 one is as good as Open MPI's choice."""
    return run(
        [
            rows("all-reduce", open_mpi("allreduce", 0), line(50, 20), 2, "mpi"),
            rows("all-reduce", open_mpi("allreduce", 3), FAST_START, 2, "mpi"),
            rows("all-reduce", open_mpi("allreduce", 4), FAST_END, 2, "mpi"),
            rows("all-reduce", open_mpi("allreduce", 0), FAST_START, 8, "mpi"),
            rows("all-reduce", open_mpi("allreduce", 3), FAST_START, 8, "mpi"),
            rows("all-gather", open_mpi("allgather", 0), FAST_START, 2, "mpi"),
        ]
    )


def export(read: RunFile, name: str) -> str:
    return formats.export(name, Run(read))


def rules_of(text: str) -> list[list[str]]:
    return [text_line.split(",") for text_line in text.splitlines() if not text_line.startswith("#")]


def test_rules_for_nccl_leave_no_size_and_no_collective_to_its_one_channel(tuner_run: RunFile) -> None:
    rules = rules_of(export(tuner_run, "nccl-tuner"))
    for name in ("allreduce", "reducescatter", "allgather", "reduce", "broadcast"):
        mine = [rule for rule in rules if rule[0] == name]
        assert mine[0][1] == "0"
        assert int(mine[-1][2]) == (1 << 64) - 1
        assert [int(above[1]) for above in mine[1:]] == [int(below[2]) + 1 for below in mine[:-1]]
        assert all(rule[5].isdecimal() and rule[6:] == ["1", "4"] for rule in mine)


def test_rules_for_nccl_take_the_fewest_channels_of_equals_and_part_at_the_crossover(tuner_run: RunFile) -> None:
    small, large = (rule for rule in rules_of(export(tuner_run, "nccl-tuner")) if rule[0] == "allreduce")
    assert small[3:6] == ["ring", "ll", "2"]
    assert large[3:6] == ["ring", "simple", "24"]
    assert CROSS / 1.2 < int(large[1]) < CROSS * 1.2


def test_lines_for_nccl_stay_below_what_its_plugin_reads(tuner_run: RunFile) -> None:
    tuner_run.header["version"] = "9" * 300
    text = export(tuner_run, "nccl-tuner")
    tuner_run.header["version"] = "0"
    assert max(map(len, text.splitlines())) < 255


def test_a_collective_that_was_not_measured_is_named(tuner_run: RunFile) -> None:
    without = tuple(row for row in tuner_run.rows if "broadcast" not in row.id)
    with pytest.raises(LinkscopeError, match="broadcast on 4 GPUs"):
        export(RunFile(tuner_run.path, tuner_run.header, without, ()), "nccl-tuner")


def test_every_measured_setting_goes_to_nccls_optimizer(tuner_run: RunFile) -> None:
    lines = list(csv.DictReader(export(tuner_run, "nccl-optimize").splitlines()))
    assert len(lines) == len(COLLECTIVES) * 3 * len(SIZES)
    at = next(one for one in lines if one["collective"] == "reduce" and int(one["size_bytes"]) == 64 * KIB)
    assert (at["algorithm"], at["protocol"], at["nodes"], at["ranks"]) == ("ring", "ll", "1", "4")
    assert float(at["bandwidth_gbps"]) * float(at["latency_us"]) * 1e3 == pytest.approx(64 * KIB, rel=1e-3)


def beside_plain_ones(change: Callable[[Json], None]) -> list[Row]:
    """Return a curve of a third setting whose cases are changed."""
    changed = []
    for row in rows("all-reduce", nccl("tree", "simple", 4), line(1, 900)):
        raw = deepcopy(row.raw)
        change(raw)
        changed.append(Row.from_json(raw))
    return changed


def of_two_flows(raw: Json) -> None:
    for part in (raw["case"], raw):
        part["flows"] = part["flows"] * 2


def of_windows(raw: Json) -> None:
    raw["case"]["flows"][0]["parameters"]["registered"] = "window"


def misaligned(raw: Json) -> None:
    raw["case"]["flows"][0]["parameters"]["misaligned"] = 4


@pytest.mark.parametrize("change", [of_two_flows, of_windows, misaligned])
def test_only_plain_calls_one_at_a_time_go_to_a_tuner(change: Callable[[Json], None]) -> None:
    plain = [rows("all-reduce", nccl("ring", *one), FAST_START) for one in (("ll", 8), ("simple", 8))]
    lines = list(csv.DictReader(export(run([*plain, beside_plain_ones(change)]), "nccl-optimize").splitlines()))
    assert {one["algorithm"] for one in lines} == {"ring"}


def numbers_of(text: str) -> list[int]:
    """All numbers of a classic rules file, in its order, without comments."""
    return [int(word) for text_line in text.splitlines() for word in text_line.partition("#")[0].split()]


def test_rules_of_open_mpi_hold_for_the_sizes_measured_and_no_more(mpi_run: RunFile) -> None:
    numbers = numbers_of(export(mpi_run, "ompi-tuned"))
    assert numbers[:2] == [1, 2]  # collectives, of which all-gather has but its own; all-reduce
    own, cross = (1, 0, 0, 0, 0), numbers[15]
    assert numbers[2:] == [5, 1, *own, 2, 2, *(0, 3, 0, 0), *(cross, 4, 0, 0), 3, *own, 8, *own, 9, *own]
    assert CROSS / 1.2 < cross < CROSS * 1.2


def test_the_json_of_open_mpi_says_the_same(mpi_run: RunFile) -> None:
    held = json.loads(export(mpi_run, "ompi-tuned-json"))
    assert (held["rule_file_version"], held["module"], list(held["collectives"])) == (3, "tuned", ["allreduce"])
    two, eight = held["collectives"]["allreduce"]
    assert (two["comm_size_min"], two["comm_size_max"], two["comm_rank_distribution"]) == (2, 2, "single-node")
    assert [rule["alg"] for rule in two["rules"]] == [3, 4]
    assert two["rules"][0]["msg_size_max"] + 1 == two["rules"][1]["msg_size_min"]
    assert eight["rules"] == [{"msg_size_min": 0, "msg_size_max": "inf", "alg": 0}]


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_run_lacks_is_refused_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = run([rows("all-reduce", {}, FAST_START, method="mpi")])
    monkeypatch.setattr("linkscope.results.run_file.RunFile.read", lambda path: bare)
    with pytest.raises(SystemExit) as left:
        main(["choose", "any.jsonl", "--export", name, "-o", str(tmp_path / "file")])
    assert left.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if not one.says_modelled])
def test_a_modelled_run_is_refused(name: str) -> None:
    with pytest.raises(LinkscopeError, match="modelled"):
        export(made.run(), name)


def test_an_unknown_format_and_a_missing_file_name_are_bad_input(tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError, match="nccl-tuner"):
        export(made.run(), "nccl-tunr")
    for arguments in (["--export", "nccl-tuner"], ["-o", str(tmp_path / "x")]):
        with pytest.raises(SystemExit) as left:
            main(["choose", "any.jsonl", *arguments])
        assert left.value.code == 2


@pytest.fixture(scope="module")
def recorded() -> RunFile:
    return RunFile.read(RECORDED)


def test_our_json_is_of_its_schema_and_leaves_no_size_out(recorded: RunFile) -> None:
    held = json.loads(export(recorded, "json"))
    Draft202012Validator(json.loads((ROOT / "schema" / "choices.schema.json").read_text())).validate(held)
    assert not held["modelled"]
    for one in held["choices"]:
        spans = one["ranges"]
        assert (spans[0]["first"], spans[-1]["last"]) == (0, None)
        assert all(span["first"] <= span["measured"][0] <= span["measured"][1] for span in spans)
        assert all(span["measured"][1] <= span["last"] for span in spans[:-1])
        assert [above["first"] for above in spans[1:]] == [below["last"] + 1 for below in spans[:-1]]


def test_both_examples_pick_the_same_at_run_time(recorded: RunFile, tmp_path: Path) -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (tmp_path / "linkscope_choices.h").write_text(export(recorded, "header"))
    (tmp_path / "choices.json").write_text(export(recorded, "json"))
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}"]
    program = str(tmp_path / "choose")
    subprocess.run([compiler, *flags, str(ROOT / "examples" / "choose.cpp"), "-o", program], check=True)
    script = [sys.executable, str(ROOT / "examples" / "choose.py"), str(tmp_path / "choices.json")]
    first = json.loads((tmp_path / "choices.json").read_text())["choices"][0]
    for span in first["ranges"]:
        asked = [first["movement"], str(span["first"])]
        said = [subprocess.run([*one, *asked], capture_output=True, text=True, check=True).stdout.strip()
                for one in ([program], script)]  # fmt: skip
        assert said == [span["use"]] * 2
    for one in ([program], script):
        assert subprocess.run([*one, "nowhere to go", "1"], capture_output=True).returncode == 1


@pytest.mark.parametrize("name", ["json", "header"])
def test_a_modelled_run_is_marked_in_our_own_forms(name: str) -> None:
    curves = [rows("all-reduce", {}, FAST_START), rows("all-reduce", nccl("ring", "ll", 8), FAST_END)]
    modelled = [Row.from_json({**row.raw, "modelled": True}) for curve in curves for row in curve]
    text = export(made.run(found=modelled), name)
    assert ('"modelled": true' if name == "json" else "LINKSCOPE_CHOICES_MODELLED 1") in text


def test_the_header_holds_no_code_of_the_run_file(recorded: RunFile) -> None:
    head = {**recorded.header, "started": 'a\\\n"; int x; /* \x1b ??/'}
    text = export(RunFile(recorded.path, head, recorded.rows, ()), "header")
    (told,) = [one for one in text.splitlines() if "int x" in one]
    assert told.startswith('// "')
    assert told.endswith('"')
    assert "\x1b" not in text
    assert "??/" not in text


def test_a_trace_for_inductor_has_each_collectives_fastest_time_in_its_own_terms() -> None:
    run_read = RunFile.read(PACKETS)
    held = json.loads(export(run_read, "inductor"))
    assert held["distributedInfo"]["pg_config"] == [{"pg_name": "0", "ranks": [0, 1, 2, 3]}]
    by_name: dict[str, list[Any]] = {}
    for event in held["traceEvents"]:
        assert (event["cat"], event["args"]["Group size"]) == ("kernel", 4)
        by_name.setdefault(event["args"]["Collective name"], []).append(event)
    assert set(by_name) == {"allreduce", "_allgather_base", "_reduce_scatter_base", "all_to_all"}
    for name, ratio in (("allreduce", 1), ("_allgather_base", 4), ("_reduce_scatter_base", 0.25), ("all_to_all", 1)):
        assert {one["args"]["Out msg nelems"] / one["args"]["In msg nelems"] for one in by_name[name]} == {ratio}
    at = next(one for one in by_name["allreduce"] if one["args"]["In msg nelems"] == 1 << 16)
    timed = [row.flows[0].seconds.median for row in run_read.rows
             if row.case["flows"][0]["bytes"] == 1 << 18 and "/all-reduce/" in row.id
             and row.case["flows"][0]["method"] == "xccl-collective"]  # fmt: skip
    assert at["dur"] == pytest.approx(min(timed) * 1e6)


def test_ucx_is_told_of_copies_by_copy_engines_in_its_own_units(recorded: RunFile) -> None:
    settings = dict(one.split("=") for one in export(recorded, "ucx").splitlines() if not one.startswith("#"))
    by_key = dict(one.split(":") for one in settings["UCX_CUDA_COPY_BW"].split(",")[1:])
    mib_per_s = {key: float(value.removesuffix("MBs")) for key, value in by_key.items() if key != "d2d"}
    assert mib_per_s == pytest.approx({"h2d": 55.5e3 / 1.048576, "d2h": 55.4e3 / 1.048576}, rel=0.01)
    assert float(settings["UCX_CUDA_IPC_BW"].removesuffix("MBs")) == pytest.approx(396e3 / 1.048576, rel=0.01)


def test_ucx_reads_the_bandwidths_as_they_are_meant(recorded: RunFile, tmp_path: Path) -> None:
    ucx_info = shutil.which("ucx_info")
    if ucx_info is None:
        pytest.skip("no UCX here")
    (tmp_path / "ucx.conf").write_text(export(recorded, "ucx"))
    environment = {**os.environ, "UCX_CONFIG_DIR": str(tmp_path)}
    told = subprocess.run([ucx_info, "-c"], env=environment, capture_output=True, text=True, check=True)
    settings = dict(one.split("=", 1) for one in told.stdout.splitlines() if one.startswith("UCX_"))
    if "UCX_CUDA_COPY_BW" not in settings:
        pytest.skip("this UCX has no CUDA transports")
    assert "UCX  ERROR" not in told.stdout + told.stderr
    by_key = dict(one.split(":") for one in settings["UCX_CUDA_COPY_BW"].split(","))
    read = {key: float(value.removesuffix("GBps")) for key, value in by_key.items() if key in ("h2d", "d2h")}
    read["peers"] = float(settings["UCX_CUDA_IPC_BW"].removesuffix("GBps"))
    gib_per_s = {"h2d": 55.5 / 1.024**3, "d2h": 55.4 / 1.024**3, "peers": 396 / 1.024**3}
    assert read == pytest.approx(gib_per_s, rel=0.01)


def ucc(collective: str, algorithm: str) -> dict[str, Any]:
    """The environment of a variant of the suite ucc-tuner."""
    tuned = {"UCC_TL_UCP_TUNE": f"{collective}:@{algorithm}"} if algorithm else {}
    return {"OMPI_MCA_coll_ucc_enable": 1, "OMPI_MCA_coll_ucc_priority": 100, **tuned}


def test_ucc_is_told_the_algorithm_by_size_and_ranks_in_its_own_sizes() -> None:
    curves = [
        rows("all-reduce", ucc("allreduce", ""), line(50, 20), 2, "mpi"),
        rows("all-reduce", ucc("allreduce", "knomial"), FAST_START, 2, "mpi"),
        rows("all-reduce", ucc("allreduce", "ring"), FAST_END, 2, "mpi"),
        rows("reduce-scatter", ucc("reduce_scatter", "ring"), FAST_START, 4, "mpi"),
        rows("reduce-scatter", ucc("reduce_scatter", ""), FAST_END, 4, "mpi"),
        rows("broadcast", ucc("bcast", ""), FAST_START, 2, "mpi"),
        rows("broadcast", ucc("bcast", "dbt"), FAST_START, 2, "mpi"),
        rows("reduce", ucc("allreduce", "dbt"), line(0.1, 999), 2, "mpi"),  # of another collective: no setting
        rows("reduce", {"OMPI_MCA_coll_tuned_priority": 100}, line(0.1, 999), 2, "mpi"),
    ]
    written = export(run(curves), "ucc").splitlines()
    (tune,) = (one.removeprefix("UCC_TL_UCP_TUNE=") for one in written if not one.startswith("#"))
    tokens = [one.split(":") for one in tune.split("#")]
    assert [(name, *rest) for name, _, *rest in tokens] == [
        ("allreduce", "host", "[2]", "@knomial"),
        ("allreduce", "host", "[2]", "@ring"),
        ("reduce_scatter", "host", "[4]", "@ring"),
    ]
    ends = [[float(end) for end in token[1].split("-")] for token in tokens]
    assert (ends[0][0], ends[1][1]) == (0, float("inf"))
    assert ends[0][1] == ends[1][0] == pytest.approx(CROSS, rel=0.2)
    assert ends[2] == [0, pytest.approx(CROSS / 4, rel=0.2)]  # UCC counts one rank's part
    assert any("broadcast on 2 ranks" in one for one in written if one.startswith("#"))


def mpich(name: str, algorithm: str) -> dict[str, Any]:
    """The environment of a variant of the suite mpich-tuner."""
    return {f"MPIR_CVAR_{name}_INTRA_ALGORITHM": algorithm, f"MPIR_CVAR_{name}_DEVICE_COLLECTIVE": 0}


def test_mpich_is_told_what_is_best_at_all_sizes_and_left_alone_elsewhere() -> None:
    curves = [
        rows("all-reduce", {}, line(50, 20), 2, "mpi"),
        rows("all-reduce", mpich("ALLREDUCE", "ring"), FAST_START, 2, "mpi"),
        rows("broadcast", {}, line(50, 20), 2, "mpi"),
        rows("broadcast", mpich("BCAST", "tree"), FAST_START, 2, "mpi"),
        rows("broadcast", mpich("BCAST", "binomial"), FAST_END, 2, "mpi"),
        rows("reduce", {}, FAST_START, 2, "mpi"),
        rows("reduce", mpich("REDUCE", "binomial"), FAST_START, 2, "mpi"),
    ]
    lines = [one for one in export(run(curves), "mpich").splitlines() if not one.startswith("#")]
    assert lines == [
        "export MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring",
        "export MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE=0",
    ]


@pytest.mark.parametrize("value", ["$(reboot)", "3;id", "1" * 5000, "\u0663"])
def test_what_a_run_file_sets_is_written_only_where_it_is_a_setting(value: str) -> None:
    """It may come from anyone."""
    forced = {**open_mpi("allreduce", 0), "OMPI_MCA_coll_tuned_allreduce_algorithm": value}
    channels = {**nccl("ring", "ll", 2), "NCCL_MAX_NCHANNELS": value}
    settings = [
        ("ompi-tuned", "mpi", [open_mpi("allreduce", 0), open_mpi("allreduce", 1), forced]),
        ("ompi-tuned-json", "mpi", [open_mpi("allreduce", 0), open_mpi("allreduce", 1), forced]),
        ("nccl-optimize", "xccl", [nccl("ring", "ll", 8), nccl("ring", "ll", 4), channels]),
        ("mpich", "mpi", [{}, mpich("ALLREDUCE", "ring"), mpich("ALLREDUCE", value)]),
    ]
    for name, method, environments in settings:
        *sound, foul = environments
        curves = [rows("all-reduce", environment, FAST_START, 2, method) for environment in sound]
        curves.append(rows("all-reduce", foul, line(1, 900), 2, method))
        assert value not in export(run(curves), name)


def test_the_help_names_every_format() -> None:
    shown = CliRunner().invoke(app, ["choose", "--help"], env={"COLUMNS": "200"}).output
    assert set(FORMATS) <= set(re.findall(r"[a-z-]+", re.sub(r"-\n\s+", "-", shown)))


def test_a_file_written_of_a_run_that_was_cut_short_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut, written = cut_short(tmp_path), tmp_path / "choices.json"
    with pytest.raises(SystemExit) as left:
        main(["choose", str(cut), "--export", "json", "-o", str(written)])
    assert left.value.code == Outcome.UNTESTED.exit_code
    (said,) = (one for one in run_head(Run.of(cut)).findings if one.code == "run.cut-short")
    assert sentence(said) in capsys.readouterr().err
    assert json.loads(written.read_text())["choices"]

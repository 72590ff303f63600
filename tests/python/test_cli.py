"""The command line: every wrong input is one clear line and the right exit code; every command answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from launching import TINY_IDS, TINY_SUITE, Bench, add_engine, bench

import linkscope
from linkscope.cli.dry_run import plan as plan_of
from linkscope.cli.listing import KINDS
from linkscope.errors import LinkscopeError
from linkscope.launch.engines import describe
from linkscope.launch.job import Request, prepare
from linkscope.machine.described import machine_names
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import note
from linkscope.plan.patterns import PATTERNS
from linkscope.plan.suites import load_suite, suite_names
from linkscope.results.calibration import kept_at
from linkscope.results.run_file import RunFile

__all__ = ["bench"]

BAD_INPUTS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "no command of that name": (["measure"], ("'measure'",)),
    "unknown option": (["run", "--fast"], ("--fast",)),
    "unknown suite": (["run", "nosuch"], ("'nosuch'", "linkscope list suites")),
    "mistyped suite": (["run", "deflt"], ("'deflt'", "default")),
    "mistyped machine": (["run", "--machine", "fronteir"], ("'fronteir'", "frontier")),
    "mistyped study": (["reproduce", "pearson2"], ("'pearson2'", "pearson23")),
    "mistyped command": (["tpology"], ("'tpology'", "topology")),
    "suite for a command": (["nvbandwidth"], ("linkscope run nvbandwidth",)),
    "missing suite file": (["run", "none.yaml"], ("none.yaml",)),
    "unknown method": (["run", "--methods", "teleport"], ("'teleport'", "linkscope list methods")),
    "unknown device": (["run", "--devices", "gpu:9"], ("'gpu:9'",)),
    "malformed device": (["run", "--devices", "gpu9"], ("'gpu9'", "gpu:0,gpu:2")),
    "malformed size": (["run", "--sizes", "4Q"], ("'4Q'", "64K")),
    "malformed range": (["run", "--sizes", "1G:4K:2x"], ("'1G:4K:2x'",)),
    "malformed precision": (["run", "--precision", "lots"], ("'lots'", "1%")),
    "malformed budget": (["run", "--budget", "soon"], ("'soon'", "60s")),
    "unknown clock": (["run", "--clock", "sundial"], ("'sundial'", "device, host, batch")),
    "unknown machine": (["run", "--machine", "cray-1"], ("'cray-1'", "linkscope list machines")),
    "unknown engine": (["run", "--engine", "steam"], ("'steam'", "cuda, hip, host")),
    "mistyped engine": (["run", "--engine", "hots"], ("'hots'", "host")),
    "mistyped launcher": (["run", "--launcher", "mpiexe"], ("'mpiexe'", "mpiexec")),
    "engine not built": (["run", "--engine", "cuda"], ("'cuda'", "host", "make setup")),
    "GPU suite without GPU": (["run", "nvbandwidth"], ("nvbandwidth", "GPU")),
    "nothing to resume": (["run", "--resume"], ("runs/",)),
    "resume of a missing file": (["run", "--resume", "-o", "none.jsonl"], ("none.jsonl",)),
    "output is a directory": (["run", "tiny.yaml", "-o", "."], ("-o FILE",)),
    "output below a file": (["run", "tiny.yaml", "-o", "tiny.yaml/a.jsonl"], ("tiny.yaml/a.jsonl",)),
    "output is standard output": (["run", "tiny.yaml", "-o", "-"], ("-o FILE", "--json")),
    "show a missing file": (["show", "none.jsonl"], ("none.jsonl",)),
    "show a directory": (["show", "."], ("folder",)),
    "show a foreign file": (["show", "tiny.yaml"], ("tiny.yaml",)),
    "show a device": (["show", "/dev/zero"], ("/dev/zero",)),
    "report of a foreign file": (["report", "tiny.yaml", "-o", "a.html"], ("tiny.yaml",)),
    "report without output": (["report", "tiny.yaml"], ("'-o' / '--output'",)),
    "list something else": (["list", "planets"], ("'planets'", "linkscope list -h")),
    "mistyped list": (["list", "machine"], ("'machine'", "machines")),
    "list of something unknown": (["list", "machines", "fronteir"], ("'fronteir'", "frontier")),
    "topology of an unknown machine": (["topology", "--machine", "cray-1"], ("'cray-1'", "linkscope list machines")),
    "two runs where one is read": (["explain", "a.jsonl", "b.jsonl"], ("compare", "choose")),
}
"""Words -> what the complaint names: what was typed, and what to type."""
MOST_CHARACTERS = 100


@pytest.mark.parametrize(("arguments", "named"), BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    bench: Bench, arguments: list[str], named: tuple[str, ...]
) -> None:
    ended = bench.cli(*arguments)
    assert ended.code == 2
    complaint = ended.complaint.removeprefix("linkscope: ")
    assert complaint != ended.complaint
    assert all(name in complaint for name in named), complaint
    assert len(complaint) <= MOST_CHARACTERS, complaint
    assert not list(Path().glob("runs/*"))


@pytest.mark.parametrize(("budget", "told"), [("60", "60s"), ("60s", None), ("1m", None)])
def test_a_budget_without_a_unit_means_seconds_and_says_so(bench: Bench, budget: str, told: str | None) -> None:
    ended = bench.cli("run", bench.suite, "--budget", budget, "--dry-run")
    notes = prepare(Request(suites=(bench.suite,), budget=budget)).notes
    assert ended.code == 0
    assert notes == ((sentence(note("plan.unit", given=budget, taken=told)),) if told else ())


def test_a_missing_engine_is_one_clear_line(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKSCOPE_ENGINE_DIR", str(bench.folder / "none"))
    for arguments in (["run"], ["list", "methods"]):
        ended = bench.cli(*arguments)
        assert (ended.code, "no engine in " in ended.complaint) == (2, True)
        assert "LINKSCOPE_ENGINE_DIR" in ended.complaint


def test_a_machine_model_needs_no_engine(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKSCOPE_ENGINE_DIR", str(bench.folder / "none"))
    ended = bench.cli("run", "contention", "--machine", "h200x4", "-o", "a.jsonl")
    assert ended.code == 0, ended.err
    assert RunFile.read(Path("a.jsonl")).modelled


def test_a_run_file_of_another_schema_is_one_clear_line(bench: Bench) -> None:
    Path("a.jsonl").write_text('{"record": "header", "schema": 99}\n')
    for command in ("show", "report", "export"):
        ended = bench.cli(command, "a.jsonl", *([] if command == "show" else ["-o", "b.csv"]))
        assert (ended.code, "has schema 99, this linkscope reads 1" in ended.complaint) == (2, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_is_one_clear_line(bench: Bench) -> None:
    Path("locked").mkdir(mode=0o500)
    ended = bench.cli("run", bench.suite, "-o", "locked/a.jsonl")
    assert (ended.code, "Permission denied" in ended.complaint) == (2, True)


def test_a_read_only_file_system_is_one_clear_line(bench: Bench) -> None:
    ended = bench.cli("run", bench.suite, "-o", "/proc/a.jsonl")
    assert ended.code == 2
    assert ended.complaint.startswith("linkscope: cannot write /proc/a.jsonl")


def test_output_that_nobody_can_take_is_one_clear_line(bench: Bench) -> None:
    source = Path(__file__).resolve().parents[2] / "python"
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "linkscope", "list", "patterns"],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr == "linkscope: No space left on device\n"


def test_an_unforeseen_fault_is_one_line_too_unless_asked_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr("linkscope.cli.listing.entries", fail)
    ended = bench.cli("list")
    assert ended.code == 70
    assert ended.complaint.startswith("linkscope: internal error, please report it: ZeroDivisionError: a b")
    monkeypatch.setenv("LINKSCOPE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        linkscope.cli.main(["list"])


def test_lists_name_everything_there_is(bench: Bench) -> None:
    wanted = {"patterns": list(PATTERNS), "machines": machine_names()}
    for what, names in wanted.items():
        assert [entry["name"] for entry in json.loads(bench.cli("list", what, "--json").out)] == names
    assert {entry["name"] for entry in json.loads(bench.cli("list", "suites", "--json").out)} == set(suite_names())


@pytest.mark.parametrize("what", KINDS)
def test_each_entry_of_a_list_is_one_line_of_eighty_characters(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [entry["name"] for entry in json.loads(bench.cli("list", what, "--json").out)]
    lines = bench.cli("list", what).out.splitlines()
    assert max(map(len, lines)) <= 80 or what == "engines"
    assert [sum(line.split()[:1] == [name] for line in lines) for name in names] == [1] * len(names)


@pytest.mark.parametrize("what", KINDS)
def test_all_about_one_entry_holds_its_whole_text(bench: Bench, what: str) -> None:
    for entry in json.loads(bench.cli("list", what, "--json").out)[:3]:
        about = " ".join(bench.cli("list", what, entry["name"]).out.split())
        assert about.startswith(f"{entry['name']}: {' '.join(entry['text'].split())}")
        assert entry.items() <= json.loads(bench.cli("list", what, entry["name"], "--json").out).items()


@pytest.mark.parametrize(("what", "name"), [("methods", "xccl-collective"), ("memories", "managed")])
def test_what_suites_name_and_the_engine_here_lacks_has_a_line(bench: Bench, what: str, name: str) -> None:
    here = [entry["name"] for entry in json.loads(bench.cli("list", what, "--json").out)]
    assert name not in here
    assert name in bench.cli("list", what).out.replace(",", " ").split()
    about = " ".join(bench.cli("list", what, name).out.split())
    assert "needs a GPU" in about
    assert "suites: " in about


def test_suites_say_how_much_and_how_long_they_are_here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {entry["name"]: entry for entry in json.loads(bench.cli("list", "suites", "--json").out)}
    assert found["latency-host"]["cases"] > 0
    assert found["sweep"]["note"].startswith("needs GPUs")
    assert found["sweep"]["on_example"]["cases"] == 25 * 12 * 4
    assert found["sweep"]["on_example"]["seconds"] > 1
    assert found["sweep"]["cases"] == 0
    assert found["torch"]["on_example"]["cases"] > 0, "what this machine lacks besides GPUs is no reason"
    in_part = [
        name for name, one in found.items() if one["cases"] and any(row.needs_gpu for row in load_suite(name).rows)
    ]
    assert "with GPUs: " in bench.cli("list", "suites", in_part[0]).out
    assert "with GPUs: " not in bench.cli("list", "suites", "latency-host").out
    add_engine(bench.engines, "cuda")
    monkeypatch.setenv("FAKE_GPUS", "2")
    describe.cache_clear()
    with_gpus = {entry["name"]: entry for entry in json.loads(bench.cli("list", "suites", "--json").out)}
    assert with_gpus["sweep"]["cases"] == 25 * 2 * 4
    assert with_gpus["sweep"]["seconds"] > found["sweep"]["seconds"]


def test_suites_are_listed_without_an_engine_too(bench: Bench) -> None:
    for engine in bench.engines.iterdir():
        engine.unlink()
    assert {entry["name"] for entry in json.loads(bench.cli("list", "--json").out)} == set(suite_names())
    assert bench.cli("list").code == 0


def test_a_dry_run_says_what_would_run_and_writes_nothing(bench: Bench) -> None:
    assert bench.cli("run", bench.suite, "--dry-run").code == 0
    found = plan_of(prepare(Request(suites=(bench.suite,))))
    assert found.tables[0].frame.rows() == [("tiny/copy", 6, None)]
    assert (found.headline.facts["cases"], found.headline.facts["rounds"]) == (6, 3)
    plan = json.loads(bench.cli("run", bench.suite, "--dry-run", "--json").out)
    assert [case["id"] for case in plan["cases"]] == TINY_IDS
    assert not Path("runs").exists()


def test_a_dry_run_of_a_model_says_what_measuring_takes(bench: Bench) -> None:
    found = plan_of(prepare(Request(suites=(bench.suite,), machine="frontier")))
    (real,) = (one for one in found.findings if one.code == "plan.next-measure")
    assert real.facts["cases"] > 0 < real.facts["likely"]
    assert bench.cli("run", bench.suite, "--machine", "frontier", "--dry-run").code == 0


@pytest.mark.parametrize(("last", "said"), [("1M", True), ("256K", False)])
def test_a_run_says_where_sizes_end_before_the_end_that_was_asked_for(bench: Bench, last: str, said: bool) -> None:
    ended = bench.cli("run", bench.suite, "--sizes", f"8:{last}:8x", "--dry-run")
    assert (f"8:{last}:8x ends at 256 KiB" in ended.out) == said


def test_a_dry_run_counts_what_is_skipped_by_reason(bench: Bench) -> None:
    skipped = TINY_SUITE.replace("name: copy", "name: skipped").replace("memcpy", "mpi")
    Path(bench.suite).write_text(TINY_SUITE + skipped.partition("rows:")[2])
    found = plan_of(prepare(Request(suites=(bench.suite,))))
    assert found.tables[0].frame.rows() == [("tiny/copy", 6, None), ("tiny/skipped", 6, 6)]
    (why,) = (one for one in found.findings if one.code == "plan.skipped")
    assert (why.facts["skipped"], "mpi" in why.facts["reason"]) == (6, True)


def test_show_report_and_export_take_a_run(bench: Bench) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    assert "6 cases" in bench.cli("show", "a.jsonl").out
    assert json.loads(bench.cli("show", "a.jsonl", "--json").out)["header"]["plan"]["ids"] == TINY_IDS
    assert bench.cli("report", "a.jsonl", "-o", "a.html").code == 0
    assert "<html" in Path("a.html").read_text().lower()
    assert bench.cli("export", "a.jsonl", "-o", "a.csv").code == 0
    assert len(Path("a.csv").read_text().splitlines()) == 7


def test_this_machines_topology_needs_no_engine(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscope.launch.engines.find_engines", dict)
    ended = bench.cli("topology", "--json")
    assert ended.code == 0
    assert "numa:0" in {device["id"] for device in json.loads(ended.out)["devices"]}


def test_topology_of_a_described_node(bench: Bench) -> None:
    assert "gpu:7" in bench.cli("topology", "--machine", "frontier").out
    assert len(json.loads(bench.cli("topology", "--machine", "frontier", "--json").out)["devices"]) == 12
    assert bench.cli("topology", "--machine", "frontier", "--svg", "a.svg").code == 0
    assert Path("a.svg").read_text().startswith("<svg")


def test_doctor_answers_and_its_exit_code_follows_what_it_finds(bench: Bench) -> None:
    ended = bench.cli("doctor", "--json")
    found = json.loads(ended.out)
    assert ended.code == found["exit_code"] == (1 if "error" in {one["level"] for one in found["findings"]} else 0)
    assert bench.cli("doctor").code == ended.code


def test_the_interface_gives_the_same_things(bench: Bench) -> None:
    made = linkscope.run(bench.suite, output="a.jsonl", sizes="4K,8K")
    assert [row.id for row in linkscope.read("a.jsonl").rows] == [row.id for row in made.rows] == TINY_IDS[:2]
    assert linkscope.machines() == machine_names()
    assert len(linkscope.topology("h200x4").of_kind("gpu")) == 4


def test_the_interface_writes_nothing_here_unless_asked(bench: Bench) -> None:
    before = set(Path().rglob("*"))
    made = linkscope.run(bench.suite, sizes="4K,8K")
    assert [row.id for row in linkscope.read(made.path).rows] == TINY_IDS[:2]
    assert set(Path().rglob("*")) == before
    shutil.rmtree(made.path.parent)


def test_the_interface_leaves_no_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(LinkscopeError, match="unknown suite"):
        linkscope.run("nosuch")
    assert not list(tmp_path.iterdir())


def test_the_interface_completes_before_it_is_loaded() -> None:
    assert set(linkscope.__all__) <= set(dir(linkscope))


def test_the_interface_calibrates_and_keeps_it_for_the_node(bench: Bench, own_folders: Path) -> None:
    found = linkscope.calibrate(bench.suite, turns=5, output="noise", sizes="4K,8K", rounds="2")
    assert found.noise.turns == 5
    assert set(found.noise.runs) == set(TINY_IDS[:2])
    assert list(own_folders.rglob("calibration/*.json")) == [kept_at(found.noise.node)]
    again = linkscope.calibrate(turns=5, output="noise")
    assert again.noise == found.noise, "of the runs that are there"
    with pytest.raises(LinkscopeError, match="is too few"):
        linkscope.calibrate(bench.suite, turns=1)


def test_the_version_is_printed(bench: Bench) -> None:
    assert bench.cli("--version").out == f"linkscope {linkscope.__version__}\n"


def test_the_commands_at_the_end_of_a_run_start_where_the_name_is_not_on_path(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Path(sys.executable).parent / "linkscope"
    if not beside.is_file():
        pytest.skip("no command beside this Python")
    monkeypatch.setattr("linkscope.cli.measuring.which", lambda _: None)
    told = bench.cli("run", bench.suite, "-o", "a.jsonl", "--rounds", "1").out.splitlines()
    (line,) = (line for line in told if " show a.jsonl" in line)
    assert Path(line.removeprefix("Next:").split()[0]).samefile(beside)

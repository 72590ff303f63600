"""Input that nobody foresaw: it ends in one line and exit code 2, and never in an internal error."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launching import TINY_SUITE, Bench, bench, use_built_engines

from linkscope.cli.console import PlainNames
from linkscope.errors import LinkscopeError
from linkscope.importers.importers import IMPORTERS
from linkscope.launch.calibrate import MOST_TURNS, turns
from linkscope.launch.launcher.hosts import MOST_HOSTS, named_hosts, whole
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.machine.described import load_machine
from linkscope.plan.candidates import host_memories
from linkscope.plan.suites import load_suite, suite_names
from linkscope.plan.variant_settings import ALLOW_VARIABLE
from linkscope.results import run_file, run_writer
from linkscope.results.run_file import RunFile
from linkscope.results.run_writer import RunWriter

__all__ = ["bench"]

ROOT = Path(__file__).resolve().parents[2]
BARE_GPUS = """
name: bare
title: GPUs without the host
sources: {spec: a data sheet}
devices:
  - {of: "gpu:0-1", name: GPU, memory: 80 GiB, memory_gbps: 100, source: spec}
links:
  - {kind: xgmi, tier: single, lanes: 1, peak_gbps: 50, every_pair_of: gpu, source: spec}
methods:
  copy-engine: {latency_us: 1, source: spec, fits: spec}
"""
NO_MEMORY = BARE_GPUS.replace(
    "links:", '  - {of: "numa:0-1", name: CPU, memory: 0 GiB, memory_gbps: 10, source: spec}\nlinks:'
)
NO_GPU = BARE_GPUS.replace("gpu", "numa")


@pytest.mark.parametrize("command", [("run", "halo"), ("run", "particles")])
def test_a_shipped_machine_without_numa_nodes_plans_what_it_can(
    command: tuple[str, ...], bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_built_engines(monkeypatch)
    assert not host_memories(load_machine("mi300x"))
    assert bench.cli(*command, "--machine", "mi300x", "--dry-run").code == 0
    assert bench.cli("app", command[1], "--machine", "mi300x", "--dry-run").code in (0, 2)


@pytest.mark.parametrize("machine", [BARE_GPUS, NO_MEMORY, NO_GPU])
@pytest.mark.parametrize(("end", "executor"), [("gpu", "numa"), ("numa", "gpu"), ("nearest-numa", "source")])
def test_a_row_asks_for_devices_that_are_not_there(
    machine: str, end: str, executor: str, tmp_path: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_built_engines(monkeypatch)
    suite = TINY_SUITE.replace("first-device", "local").replace("executor: source", f"executor: {executor}")
    (tmp_path / "odd.yaml").write_text(suite.replace("{on: numa", f"{{on: {end}", 1).replace("pageable", "managed"))
    (tmp_path / "machine.yaml").write_text(machine)
    ended = bench.cli("run", tmp_path / "odd.yaml", "--machine", tmp_path / "machine.yaml", "--dry-run")
    assert ended.code == 0 or (ended.code == 2 and "odd.yaml, line" not in ended.err), ended.err


@pytest.mark.parametrize("text", ["[" * 600 + "]" * 600, '{"a":' * 600 + "1" + "}" * 600])
def test_json_that_is_nested_deeply_is_bad_input(text: str, bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text(text)
    (tmp_path / "deep.jsonl").write_text(f'{{"record":"header","schema":2,"host":"\\u0007","node":{text}}}\n')
    for name in IMPORTERS:
        assert bench.cli("import", "deep.json", "--from", name, "-o", "a.jsonl").code == 2
    assert bench.cli("app", "pattern", "deep.json").code == 2
    assert bench.cli("show", "deep.jsonl").code == 2


def test_a_lone_carriage_return_in_a_tables_header_is_bad_input(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"source,destination\r,bytes\n0,1,64\n")
    assert bench.cli("app", "pattern", "a.csv").code == 2


@pytest.mark.parametrize("command", ["'", 'a "b', "", " ", "''"])
def test_a_launchers_command_is_words(command: str) -> None:
    with pytest.raises(LinkscopeError):
        LaunchOptions(launcher_command=command)


@pytest.mark.parametrize("hosts", ["n[0-999999999]", "n[0-9999][0-9999]"])
def test_a_range_of_hosts_has_a_limit(hosts: str) -> None:
    with pytest.raises(LinkscopeError, match=f"{MOST_HOSTS:,}"):
        named_hosts(hosts)


def test_numbers_of_hosts_are_plain_digits() -> None:
    assert named_hosts("n[²],m[08-09]") == ("n[²]", "m08", "m09") or named_hosts("n[²],m[08-09]")[1:] == ("m08", "m09")
    assert (whole("9" * 5000), whole("²"), whole("12")) == (0, 0, 12)


def test_an_interrupt_of_the_first_imports_ends_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(f"import os, signal\nos.kill(os.getpid(), {signal.SIGINT.value})\n")
    program = "import sys; from linkscope.cli import main; main(['list'])"
    folders = os.pathsep.join([str(tmp_path), str(ROOT / "python")])
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": folders},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (ended.returncode, ended.stderr.count("\n"), "Traceback" in ended.stderr) == (130, 1, False)


def test_file_names_reach_the_terminal_escaped(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "\x1b]0;x\x07.jsonl"
    (tmp_path / name).write_text("no run\n")
    for arguments in (("show", name), ("export", ".", "-o", "a.csv"), ("export", name, "-o", "a.csv")):
        assert "\x1b" not in bench.cli(*arguments).err
    PlainNames(force_terminal=True).print(f"wrote {name}", style="red", highlight=False)
    assert r"\x1b]0;x" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("LD_PRELOAD", "x.so", False),
        ("NVSHMEM_DISABLE_NCCL", "1", True),
        ("NVSHMEM_BOOTSTRAP_PLUGIN", "x.so", False),
        ("LD_LIBRARY_PATH", "a", False),
        ("PYTHONPATH", "a", False),
        ("PATH", "a", False),
        ("LINKSCOPE_MPI", "a", False),
        ("NCCL_TUNER_PLUGIN", "/tmp/a.so", False),
        ("OMPI_MCA_plm_rsh_agent", "sh -c x", False),
        ("NCCL_CONF_FILE", "a", False),
        ("NCCL_ALGO", "ring", True),
        ("OMPI_MCA_coll", "ucc,basic,^self", True),
        ("LINKSCOPE_SYNC", "spin", True),
    ],
)
def test_a_suite_sets_no_variable_that_runs_code(
    variable: str, value: str, allowed: bool, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = f"{TINY_SUITE}    environment: [{{name: odd, set: {{{variable}: '{value}'}}}}]\n"
    for path, allows, code in (("a.yaml", "0", 0 if allowed else 2), ("b.yaml", "1", 0)):
        (tmp_path / path).write_text(suite)
        monkeypatch.setenv(ALLOW_VARIABLE, allows)
        assert bench.cli("run", path, "--dry-run").code == code


def test_packaged_suites_need_no_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOW_VARIABLE, raising=False)
    assert all(load_suite(name) for name in suite_names())


@pytest.mark.parametrize("count", [0, 1, MOST_TURNS + 1, 10**9])
def test_a_calibration_has_two_turns_and_an_end(count: int, tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError):
        next(turns(None, count, tmp_path))


def test_a_line_that_could_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = (ROOT / "tests" / "fixtures" / "runs" / "h200x4-default.jsonl").read_bytes().split(b"\n")[0]
    (tmp_path / "whole.jsonl").write_bytes(header + b"\n")
    record = RunFile.read(tmp_path / "whole.jsonl").header
    written = RunWriter.create(tmp_path / "a.jsonl", record)
    length = (tmp_path / "a.jsonl").stat().st_size
    written.close()
    for one in (run_file, run_writer):
        monkeypatch.setattr(one, "MOST_LINE", length + 1)
    RunWriter.create(tmp_path / "b.jsonl", record).close()
    assert RunFile.read(tmp_path / "b.jsonl").header == record
    monkeypatch.setattr(run_writer, "MOST_LINE", length)
    with pytest.raises(LinkscopeError):
        RunWriter.create(tmp_path / "c.jsonl", record)
    assert not (tmp_path / "c.jsonl").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_without_python_make_names_what_is_missing(tmp_path: Path) -> None:
    for name in ("make", "sh"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    ended = subprocess.run(
        ["make", "-C", str(ROOT), "-n", "run"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "apt-get install -y python3" in ended.stderr

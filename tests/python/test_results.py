"""Run files: what is read back, what is refused, and what a full disk leaves behind."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from linkscope.errors import LinkscopeError
from linkscope.machine.node import Device, Node
from linkscope.messages.finding import note
from linkscope.results.run_file import RunFile
from linkscope.results.run_writer import RunWriter

STATS = dict.fromkeys(("median", "low", "high", "mean", "min", "p5", "p95", "p99", "max"), 1.0) | {"n": 9}
NODE = Node("n", (Device("numa:0", "numa"),), ()).to_json()


def header(*ids: str) -> dict[str, Any]:
    plan = {"options": {}, "ids": list(ids)}
    return {"record": "header", "schema": 1, "version": "0", "started": "", "host": "h", "node": NODE, "plan": plan}


def row(case_id: str, status: str = "ok") -> dict[str, Any]:
    end = {"device": "numa:0", "memory": "pageable"}
    flow = {"method": "memcpy", "executor": "numa:0", "bytes": 8, "source": end, "destination": end}
    case = {"id": case_id, "clock": "host", "flows": [flow], "suite": "s", "name": "r", "labels": {}}
    record = {"record": "row", "id": case_id, "status": status, "modelled": False, "case": case}
    if status == "ok":
        return {**record, "flows": [{"repeats": 1, "operations": 1, "seconds": STATS, "gbps": STATS}]}
    return {**record, "reason": "broken"}


def write(path: Path, *records: dict[str, Any], tail: bytes = b"") -> Path:
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records) + tail)
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path / "deep" / "a.jsonl", header("a", "b"))
    for record in (row("b"), row("a", "failed"), {"record": "state", "when": "finished"}):
        writer.append(record)
    writer.close()
    run = RunFile.read(tmp_path / "deep" / "a.jsonl")
    assert [one.id for one in run.rows] == ["a", "b"]  # the plan's order, not that of writing
    assert run.with_status("failed")[0].reason == "broken"
    assert (run.missing, run.findings, run.node.name) == ((), (), "n")


def test_what_was_measured_is_on_disk_at_once_and_a_models_figures_cost_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    writer = RunWriter.create(tmp_path / "a.jsonl", header("a", "b"))
    after = []
    for record in ({**row("a"), "modelled": True}, {**row("b"), "modelled": False}, {"record": "state"}):
        writer.append(record)
        after.append(len(synced))
    writer.close()
    assert after == [1, 2, 3]


def test_of_two_rows_of_one_case_the_last_counts(tmp_path: Path) -> None:
    run = RunFile.read(write(tmp_path / "a", header("a"), row("a", "failed"), row("a")))
    assert [one.status for one in run.rows] == ["ok"]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_last_line_cut_short_is_left_out_and_told(tmp_path: Path, cut: int) -> None:
    run = RunFile.read(write(tmp_path / "a", header("a", "b"), row("a"), tail=json.dumps(row("b")).encode()[:cut]))
    assert [one.id for one in run.rows] == ["a"]
    assert run.missing == ("b",)
    assert run.findings == (note("run.last-line-cut", path=str(tmp_path / "a")),)


def test_reopening_takes_the_cut_line_away(tmp_path: Path) -> None:
    path = write(tmp_path / "a", header("a", "b"), row("a"), tail=b'{"record": "ro')
    writer = RunWriter.reopen(path)
    writer.append(row("b"))
    writer.close()
    assert RunFile.read(path).missing == ()


def test_reopening_keeps_a_whole_line_that_lacks_its_newline(tmp_path: Path) -> None:
    path = write(tmp_path / "a", header("a", "b"), tail=json.dumps(row("a")).encode())
    writer = RunWriter.reopen(path)
    writer.append(row("b"))
    writer.close()
    assert RunFile.read(path).missing == ()


def lines(*records: dict[str, Any] | bytes) -> bytes:
    return b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in records)


@pytest.mark.parametrize(
    ("content", "code", "named"),
    [
        (b"", "empty", ""),
        (b"\x89PNG\r\n\x1a\n\0\0", "no-header", ""),
        (lines({"answer": 42}), "no-header", ""),
        (b"[1, 2]\n", "no-header", ""),
        (lines({"record": "header", "schema": 7}), "other-schema", "schema 7"),
        (lines({"record": "header", "schema": 1}), "damaged", "line 1: version"),
        (lines({**header(), "plan": {"ids": 5}}), "damaged", "line 1: plan.ids"),
        (lines({**header(), "node": []}), "damaged", "line 1: node"),
        (lines(header(), b"nonsense\n", {"record": "state"}), "not-json", "line 2"),
        (lines(header(), {"record": "row", "id": "a"}), "damaged", "line 2: status"),
        (lines(header(), {"record": "rowdy"}), "unknown-record", "line 2"),
        (lines(header(), {"id": "a"}), "unknown-record", "line 2"),
        (lines(header("a"), {**row("a"), "noise": 0.5}), "damaged", "line 2: replicates, noise"),
        (lines(header("a"), {**row("a"), "replicates": [row("a")]}), "damaged", "line 2: replicates, noise"),
    ],
)
def test_anything_else_is_refused_in_one_line(tmp_path: Path, content: bytes, code: str, named: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(LinkscopeError) as refusal:
        RunFile.read(tmp_path / "a")
    assert (refusal.value.code, refusal.value.exit_code) == (f"run-file.{code}", 2)
    assert named in str(refusal.value)
    assert "\n" not in str(refusal.value)


@contextmanager
def small_files() -> Iterator[None]:
    """Files of this process may grow to 4 KiB: a disk that fills up, without needing one.

    Held only around the writing itself: pytest's own output may be a file.
    """
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_that_fills_up_loses_no_row_that_was_written(tmp_path: Path) -> None:
    ids = [f"case-{i}" for i in range(40)]
    writer = RunWriter.create(tmp_path / "a", header(*ids))

    def append_all() -> None:
        for case_id in ids:
            writer.append(row(case_id))

    with small_files(), pytest.raises(LinkscopeError) as refusal:
        append_all()
    writer.close()
    run = RunFile.read(tmp_path / "a")
    assert (refusal.value.code, refusal.value.exit_code) == ("run-file.file-size", 2)
    assert run.findings == ()  # the line that did not fit was taken back whole
    assert 0 < len(run.rows) < 40


def test_a_full_disk_is_named() -> None:
    path = Path("/dev/full")
    with io.FileIO(path, "r+") as stream, pytest.raises(LinkscopeError) as refusal:
        RunWriter(path, stream).append(row("a"))
    assert refusal.value.code == "run-file.full-disk"


def test_a_device_is_no_run_file() -> None:
    for use in (RunFile.read, RunWriter.reopen):
        with pytest.raises(LinkscopeError) as refusal:
            use(Path("/dev/zero"))
        assert refusal.value.code in ("run-file.device", "run-file.no-file")

"""No run file, however damaged, ends in anything but an answer or one line that says what is wrong with it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import hostile_files
import hostile_runs
import pytest

from linkscope.errors import LinkscopeError
from linkscope.results import run_file
from linkscope.results.run_file import RunFile


def test_mutations_are_read_or_refused(tmp_path: Path) -> None:
    counts = hostile_runs.tally(hostile_runs.mutations(1), 40, tmp_path / "run.jsonl", hostile_runs.run_outcome)
    assert set(counts) == {"read", "refused"}
    assert min(counts.values()) > 5


@pytest.mark.parametrize("kind", hostile_files.KINDS)
def test_mutations_of_other_files_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    good, judge = hostile_files.KINDS[kind]
    counts = hostile_runs.tally(hostile_files.mutations(good(), 1), 60, tmp_path / "file.yaml", judge)
    assert set(counts) == {"read", "refused"}


def _wrong(change: Any) -> bytes:
    lines = hostile_runs.good_lines(4)
    change(lines)
    return b"".join(json.dumps(line).encode("utf-8", "surrogatepass") + b"\n" for line in lines)


def _set(lines: Any, *keys: Any, to: Any) -> None:
    place = lines
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: _set(lines, 1, "flows", 0, "seconds", "median", to="1"), "line 2: flows[0].seconds.median: "),
        (lambda lines: _set(lines, 1, "case", "labels", to=None), "line 2: case.labels: "),
        (lambda lines: _set(lines, 1, "case", "flows", 0, "bytes", to=2**60), "line 2: case.flows[0].bytes: "),
        (lambda lines: _set(lines, 1, "case", "flows", 0, "bytes", to=-1), "line 2: case.flows[0].bytes: "),
        (lambda lines: _set(lines, 1, "flows", 0, "seconds", "median", to=float("nan")), "line 2 is no JSON object"),
        (lambda lines: _set(lines, 1, "flows", 0, "seconds", "median", to=float("inf")), "line 2 is no JSON object"),
        (lambda lines: _set(lines, 1, "flows", 0, "seconds", "low", to=9e9), "line 2: flows[0].seconds: its median"),
        (lambda lines: _set(lines, 1, "reason", to="\ud800"), "line 2 is no JSON object"),
        (lambda lines: _set(lines, 1, "flows", to=[]), "line 2: flows: 0 results of 1 flows"),
        (lambda lines: lines[0]["plan"]["ids"].append(lines[0]["plan"]["ids"][0]), "line 1: plan.ids: an id"),
        (
            lambda lines: _set(lines, 0, "node", "devices", 0, "memory_gbps", to="fast"),
            "line 1: node.devices[0].memory",
        ),
        (lambda lines: _set(lines, 0, "node", "devices", to=[]), "line 1: node: no device"),
        (lambda lines: _set(lines, 0, "node", "links", 0, "a", to="gpu:7"), "line 1: node: a link ends"),
        (
            lambda lines: _set(lines, 0, "node", "devices", 0, "kind", to="x"),
            "line 1: node: a device is of another kind",
        ),
        (lambda lines: _set(lines, 0, "state", "gpus", 0, "power_w", to=[]), "line 1: state.gpus[0].power_w"),
        (lambda lines: _set(lines, 0, "plan", "request", to=True), "line 1: plan.request: "),
    ],
)
def test_the_line_and_the_field_are_named(change: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(_wrong(change))
    with pytest.raises(LinkscopeError) as caught:
        RunFile.read(path)
    assert said in str(caught.value)


def test_an_engine_that_does_not_say_what_it_is_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(_wrong(lambda lines: lines[0]["engine"].pop("backend")))
    assert hostile_runs.run_outcome(path) == "read"


def test_depth_length_and_what_never_ends_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(_wrong(lambda lines: None) + b"[" * 100_000 + b"\n")
    with pytest.raises(LinkscopeError, match="line 5 is no JSON object"):
        RunFile.read(path)
    monkeypatch.setattr(run_file, "MOST_LINE", 1 << 10)
    with pytest.raises(LinkscopeError, match="line 1 is longer than"):
        RunFile.read(path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for endless in (pipe, Path("/dev/zero")):
        with pytest.raises(LinkscopeError, match="is no file"):
            RunFile.read(endless)


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(_wrong(lambda lines: _set(lines, 0, "host", to="\x1b]0;owned\x07\u202e\n")))
    assert RunFile.read(path).header["host"] == r"\x1b]0;owned\x07\u202e\n"

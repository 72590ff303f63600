"""Whole runs of machine models, from the command line to the run file."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import Ended

from linkscope.cli import main
from linkscope.results.run_file import RunFile


def run(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> Ended:
    with pytest.raises(SystemExit) as left:
        main(["run", *arguments, "--machine", "h200x4", "-o", str(folder / "a.jsonl")])
    captured = capsys.readouterr()
    return Ended(int(left.value.code or 0), captured.out, captured.err)


def test_the_default_suite_runs_on_a_described_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = run(tmp_path, capsys, "--sizes", "1M", "--methods", "copy-engine,kernel-copy,ping-pong")
    assert ended.code == 0, ended.err
    found = RunFile.read(tmp_path / "a.jsonl")
    assert found.modelled
    assert found.missing == ()
    assert all(row.modelled for row in found.rows)
    rows = {row.id: row for row in found.rows}
    everything, alone = (rows[f"default/{name}/copy-engine/1MiB"] for name in ("all-to-all/12flows", "d2d/gpu:0>gpu:1"))
    assert everything.aggregate is not None
    assert alone.flows[0].gbps is not None
    assert everything.aggregate.median > 2 * alone.flows[0].gbps.median  # several links carry the bytes, not one


UNTOLD = """
name: untold
answers: What becomes of a row whose figure nothing gives?
rows:
  - name: touched
    title: Copies, read plus written
    pattern: local
    source: {on: gpu, memory: device}
    destination: {on: gpu, memory: device}
    method: [kernel-copy, stream]
    executor: source
    sizes: 1M
    show: list
    figure: touched
"""


def test_a_row_without_the_figure_that_it_is_for_has_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = tmp_path / "untold.yaml"
    suite.write_text(UNTOLD)
    ended = run(tmp_path, capsys, str(suite))
    assert ended.code == 1
    by_method = {row.case["flows"][0]["method"]: row for row in RunFile.read(tmp_path / "a.jsonl").rows}
    assert by_method["stream"].status == "ok"
    assert by_method["kernel-copy"].status == "failed"
    assert by_method["kernel-copy"].reason == "no figure: kernel-copy does not tell what it touches"

"""Snapshots: what commands print of recorded runs, one file a command and form.

`pytest tests/python/test_snapshots.py --regenerate` writes them anew. Screens have at most 24 lines of 80 columns.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
import recorded

from linkscope.cli import main

FOLDER = Path(__file__).parents[1] / "snapshots"
MOST_LINES, WIDTH = 24, 80
COMMANDS: dict[str, tuple[str, ...]] = {
    "explain-healthy": ("explain", "healthy.jsonl"),
    "explain-bad-link": ("explain", "bad-link.jsonl"),
    "explain-bad-link-full": ("explain", "bad-link.jsonl", "--full"),
    "explain-cpu": ("explain", "cpu.jsonl"),
    "explain-frontier": ("explain", "frontier.jsonl"),
    "explain-cut-short": ("explain", "cut-short.jsonl"),
    "analyze-healthy": ("analyze", "healthy.jsonl"),
    "analyze-cpu": ("analyze", "cpu.jsonl"),
    "analyze-anisotropy": ("analyze", "healthy.jsonl", "anisotropy"),
    "analyze-tiers": ("analyze", "bad-link.jsonl", "tiers"),
    "analyze-scaling": ("analyze", "frontier.jsonl", "scaling"),
    "calibrate-pair": ("calibrate", "--from", "pair.jsonl", "pair-again.jsonl"),
    "compare-pair": ("compare", "pair.jsonl", "pair-again.jsonl"),
    "compare-bad-link": ("compare", "healthy.jsonl", "bad-link.jsonl"),
    "compare-cpu": ("compare", "cpu.jsonl", "cpu-again.jsonl"),
    "compare-cut-short": ("compare", "healthy.jsonl", "cut-short.jsonl"),
    "compare-frontier": ("compare", "frontier.jsonl", "frontier.jsonl"),
    "choose-healthy": ("choose", "healthy.jsonl"),
    "choose-bad-link": ("choose", "bad-link.jsonl"),
    "choose-cpus": ("choose", "cpu.jsonl", "cpu-again.jsonl"),
    "choose-frontier": ("choose", "frontier.jsonl"),
    "choose-cut-short": ("choose", "cut-short.jsonl"),
    "choose-pair-full": ("choose", "pair.jsonl", "--full"),
    "show-healthy": ("show", "healthy.jsonl"),
    "show-healthy-full": ("show", "healthy.jsonl", "--full"),
    "show-bad-link": ("show", "bad-link.jsonl"),
    "show-cpu": ("show", "cpu.jsonl"),
    "show-frontier": ("show", "frontier.jsonl"),
    "show-cut-short": ("show", "cut-short.jsonl"),
    "show-collectives": ("show", "direct.jsonl"),
}
"""Name of the snapshot -> command line; NAME.jsonl stands for a run of the fixture ``runs``."""
LONG = ("-full", "-json", "-csv")
"""Endings of snapshots that are no first screens."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one run of each kind."""
    folder = tmp_path_factory.mktemp("runs")
    for name, path in {"healthy": recorded.HEALTHY, "cpu": recorded.CPU, "cpu-again": recorded.CPU_AGAIN}.items():
        (folder / f"{name}.jsonl").write_bytes(path.read_bytes())
    for name, path in {"pair": recorded.PAIR, "pair-again": recorded.PAIR_AGAIN}.items():
        (folder / f"{name}.jsonl").write_bytes(path.read_bytes())
    (folder / "direct.jsonl").write_bytes(recorded.DIRECT.read_bytes())
    recorded.bad_link(folder)
    recorded.cut_short(folder)
    recorded.frontier(folder)
    return folder


def printed(words: tuple[str, ...]) -> str:
    """Return what a command prints, with its exit code in the last line."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as stopped:
            code = stopped.code or 0
    text = "\n".join(line.rstrip() for line in f"{out.getvalue()}{err.getvalue()}".splitlines())
    return f"{text}\n[exit code {code}]\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_its_snapshot(
    name: str, runs: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(runs)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    text = printed(COMMANDS[name])
    if not name.endswith(LONG):
        lines = text.splitlines()[:-1]
        assert len(lines) <= MOST_LINES
        assert max(map(len, lines), default=0) <= WIDTH
    path = FOLDER / f"{name}.txt"
    if request.config.getoption("--regenerate"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_every_snapshot_is_of_a_command() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(COMMANDS)

"""Screens of docs/it-got-slower.md; python tests/python/screens.py writes them anew.

A screen stands between `<!-- made: screen -->` and `<!-- end -->`: a command, and what it prints first. A number behind
`screen` says how many lines. The commands run in a folder with recorded runs, some with planted faults.
The sides of NCCL's protocols were recorded by `linkscope ab`; serial numbers and the list of methods are left out.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from unittest.mock import patch

import planted_faults as planted
import recorded
from planted_health import with_health
from typer.testing import CliRunner

from linkscope.answers.check import limits_of
from linkscope.cli.main import app
from linkscope.figures.run import Run
from linkscope.launch.job import Request
from linkscope.launch.run import run as measure
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "it-got-slower.md"
_SCREEN = re.compile(
    r"(?P<head><!-- made: screen ?(?P<lines>\d*) -->\n)"
    r"```\n\$ (?P<command>.+)\n(?:(?!```).*\n)*```\n(?P<end><!-- end -->\n)"
)


def screens(page: str) -> list[str]:
    """Return the commands whose screens are made."""
    return [found["command"] for found in _SCREEN.finditer(page)]


def renewed(page: str) -> str:
    """Return the page with each screen made anew."""
    with tempfile.TemporaryDirectory() as folder, _inside(Path(folder)):
        _prepare(Path(folder))
        return _SCREEN.sub(lambda found: f"{found['head']}{_screen(found)}{found['end']}", page)


def _screen(found: re.Match[str]) -> str:
    done = CliRunner().invoke(app, shlex.split(found["command"])[1:], env={"COLUMNS": "80", "NO_COLOR": "1"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    shown = "\n".join(lines[: int(found["lines"] or len(lines))]).rstrip()
    return f"```\n$ {found['command']}\n{shown}\n```\n"


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    with patch.dict(os.environ, {"TZ": "UTC", "COLUMNS": "80"}):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _prepare(folder: Path) -> None:
    """Write the files that the page's commands name."""
    good = [RunFile.read(path) for path in (recorded.PAIR, recorded.PAIR_AGAIN)]
    recorded.write(good[0], folder / "good.jsonl")
    (folder / "h200.yaml").write_text(limits_of([Run(run) for run in good], date(2026, 11, 27).isoformat()).text())
    slow = planted.slowed(good[1], lambda flow: planted.copied(flow, "gpu:1", "gpu:0"), 0.94)
    counted = {"counts": {"gpu:1/7": {"nvlink-recovery": 505}}}
    recorded.write(with_health(slow, {}, counted), folder / "node7.jsonl")
    _load(folder)
    (folder / "ab").mkdir()
    for side in "ab":
        packed = (recorded.FIXTURES / "ab" / f"nccl-proto-{side}.jsonl.gz").read_bytes()
        (folder / "ab" / f"{side}.jsonl").write_bytes(gzip.decompress(packed))


def _load(folder: Path) -> None:
    """Write a modelled load as if it had been measured, with a path that is slow under load alone."""
    request = Request(suites=("sustained",), sustained=True, budget="2m", machine="h200x4")
    modelled = (
        measure(request, folder / "modelled.jsonl").path.read_bytes().replace(b'"modelled":true', b'"modelled":false')
    )
    known = RunFile.of_lines(folder / "load.jsonl", modelled.splitlines(keepends=True))
    slow = planted.slowed(known, lambda flow: planted.copied(flow, "gpu:1", "gpu:3"), 0.9)
    pairs = zip(known.rows, slow.rows, strict=True)
    rows = [b if a.load == "sustained" else a for a, b in pairs]
    timed = tuple(Row.from_json({**row.raw, "elapsed_s": 1.0}) for row in rows)
    header = {**known.header, "host": "node9", "started": "2026-11-27T12:00:00+00:00"}
    recorded.write(replace(known, header=header, rows=timed), folder / "load.jsonl")


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

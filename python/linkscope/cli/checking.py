"""What `linkscope check` does: reads or measures a run, holds it against limits, writes what was asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import typer
from rich.console import Console

from linkscope.analysis.check import check, made_from
from linkscope.cli.measuring import command_line
from linkscope.cli.progress import progress
from linkscope.documents.whole_file import write_whole
from linkscope.errors import LinkscopeError
from linkscope.launch.job import Request
from linkscope.launch.run import default_output
from linkscope.launch.run import run as measure
from linkscope.report import check_files, check_text
from linkscope.results.limits import Limits
from linkscope.results.run_files import open_all
from linkscope.results.run_stream import Run, open_run


def make_limits(path: Path, runs: Sequence[str], err: Console) -> int:
    """Writes the limits that good runs suggest to ``path``, which must not exist."""
    if path.exists():
        raise LinkscopeError(f"{path} exists: choose another name, or take it away")
    found = made_from(open_all(Path(run) for run in runs), date.today().isoformat())
    write_whole(path, found.text())
    err.print(f"wrote {path}: {len(found.limits)} limits of {len(found.runs)} runs", highlight=False, markup=False)
    return 0


def run_of(what: Sequence[str], budget: str | None, output: Path | None, err: Console) -> Run:
    """The run file that ``what`` names, or the run of the suites that it names."""
    files = [name for name in what if Path(name).suffix == ".jsonl" or (Path(name).is_file() and not _is_suite(name))]
    if files and (len(what) > 1 or budget is not None or output is not None):
        raise LinkscopeError("name one run file alone, or suites to measure; --budget and -o are of suites")
    if files:
        return open_run(Path(files[0]))
    request = Request(suites=tuple(what) or ("default",), budget=budget)
    with progress(err) as listener:
        return measure(request, output or default_output(), listener, command_line(request, output))


def hold(run: Run, limits: Limits, junit: Path | None, prometheus: Path | None, out: Console, as_json: bool) -> int:
    """Prints the result and writes the files asked for; 1 where the run does not keep the limits."""
    found = check(run, limits)
    if junit is not None:
        write_whole(junit, check_files.junit(found))
    if prometheus is not None:
        write_whole(prometheus, check_files.prometheus(found))
    if as_json:
        typer.echo(json.dumps(found.to_json(), allow_nan=False))
    else:
        check_text.show(found, out)
    return 0 if found.passed else 1


def _is_suite(name: str) -> bool:
    return Path(name).suffix in (".yaml", ".yml")

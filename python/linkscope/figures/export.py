"""Export: the results of many runs in one frame, loaded from run files, written as CSV and Parquet."""

from __future__ import annotations

import io
import os
import shlex
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

import polars

from linkscope.documents.whole_file import put_whole
from linkscope.figures.run import Run
from linkscope.messages.catalog import problem
from linkscope.results.member_time import PARTS
from linkscope.results.run_files import named

_CSV = ".csv"
WRITERS: dict[str, Callable[[polars.DataFrame, io.BytesIO], object]] = {
    _CSV: lambda frame, stream: _flat(frame).write_csv(stream),
    ".parquet": lambda frame, stream: frame.write_parquet(stream),
}
"""Writers by the ending of a file's name."""


def load(patterns: Iterable[str | os.PathLike[str]]) -> polars.DataFrame:
    """Return the results of all run files that are named: files, folders, or patterns such as "runs/*.jsonl".

    Raises LinkscopeError where one is no run file, and where there are none.
    """
    asked = [os.fspath(pattern) for pattern in patterns]
    found = named(path for pattern in asked for path in _matched(pattern))
    if not found:
        raise problem("export.no-runs", patterns=asked or ["nothing"])
    return polars.concat([of_run(Run.of(path)) for path in found])


def of_run(run: Run) -> polars.DataFrame:
    """Return the run's results after five columns: ``run``, its file; ``node``; ``host``; ``started``; and ``command``,
    what was typed, "" where the run was asked for by Python."""
    return run.results.select(
        polars.lit(str(run.path)).alias("run"),
        polars.lit(run.node.name).alias("node"),
        polars.lit(str(run.header["host"])).alias("host"),
        polars.lit(_started(run), polars.Datetime("us", "UTC")).alias("started"),
        polars.lit(shlex.join(run.header.get("command", ()))).alias("command"),
        polars.all(),
    )


def export(runs: Iterable[Run], path: Path) -> None:
    """Write the results of all runs, one below the other, as the ending of the name says, whole or not at all.

    Raises LinkscopeError for another ending, without runs, and where the file cannot be written.
    """
    if path.suffix not in WRITERS:
        raise problem("export.other-ending", path=str(path), endings=list(WRITERS))
    data = exported(runs, path.suffix)
    try:
        put_whole(path, data)
    except OSError as error:
        raise problem("run-file.unwritable", path=str(path), why=str(error.strerror or error)) from error


def exported(runs: Iterable[Run], ending: str = _CSV) -> bytes:
    """Return what ``export`` writes into a file with that ending. Raises LinkscopeError for no runs."""
    frames = [of_run(run) for run in runs]
    if not frames:
        raise problem("export.nothing")
    data = io.BytesIO()
    WRITERS[ending](polars.concat(frames), data)
    return data.getvalue()


def _matched(pattern: str) -> list[Path]:
    """Return the paths that match; where none does, the pattern itself, of which reading complains."""
    path = Path(pattern)
    try:
        found = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))
    except (ValueError, IndexError):  # no pattern: a path without a name, or ** within one
        found = []
    return found or [path]


def _flat(frame: polars.DataFrame) -> polars.DataFrame:
    """Return lists as words, "1.5 1.6 1.5", notes with "; " between, and parts of a time as columns, "pack_s"."""
    parts = [polars.col("parts_s").list.get(place).alias(f"{name}_s") for place, name in enumerate(PARTS)]
    frame = frame.with_columns(polars.col("notes").list.join("; "), *parts).drop("parts_s")
    lists = polars.col(polars.List(polars.Float64), polars.List(polars.Int64))
    return frame.with_columns(lists.cast(polars.List(polars.String)).list.join(" "))


def _started(run: Run) -> datetime | None:
    """Return when the run began; None where the file says no time."""
    try:
        return datetime.fromisoformat(run.header["started"])
    except ValueError:
        return None

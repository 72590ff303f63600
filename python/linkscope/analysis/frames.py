"""Frames: the figures of runs with the run they are of, loaded from run files, written as CSV and Parquet."""

from __future__ import annotations

import io
import os
import shlex
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

import polars

from linkscope.analysis.figures_in_parts import figures_of
from linkscope.documents.whole_file import put_whole
from linkscope.errors import LinkscopeError
from linkscope.results.member_time import PARTS
from linkscope.results.run_files import named
from linkscope.results.run_stream import Run, open_run

WRITERS: dict[str, Callable[[polars.DataFrame, io.BytesIO], object]] = {
    ".csv": lambda frame, stream: _flat(frame).write_csv(stream),
    ".parquet": lambda frame, stream: frame.write_parquet(stream),
}
"""By the ending of a file's name."""


def load(patterns: Iterable[str | os.PathLike[str]]) -> polars.DataFrame:
    """The figures of all run files that are named: files, folders, or patterns such as "runs/*.jsonl".

    Raises LinkscopeError where one is no run file, and where there are none.
    """
    asked = [os.fspath(pattern) for pattern in patterns]
    found = named(path for pattern in asked for path in _matched(pattern))
    if not found:
        raise LinkscopeError(f"no run files in {', '.join(asked) or 'nothing'}: name files, folders or patterns")
    return polars.concat([of_run(open_run(path)) for path in found])


def _matched(pattern: str) -> list[Path]:
    """The paths that match; where none does, the pattern itself, of which reading complains."""
    path = Path(pattern)
    try:
        found = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))
    except (ValueError, IndexError):  # no pattern: a path without a name, or ** within one
        found = []
    return found or [path]


def of_run(run: Run) -> polars.DataFrame:
    """The run's ``figures`` beside five columns: ``run``, its file; ``node``, what it is; ``host``; ``started``; and
    ``command``, what was typed, "" where the run was asked for by Python."""
    own = [
        polars.lit(str(run.path), polars.Categorical).alias("run"),
        polars.lit(run.node.name, polars.Categorical).alias("node"),
        polars.lit(run.header["host"], polars.Categorical).alias("host"),
        polars.lit(_started(run), polars.Datetime("us", "UTC")).alias("started"),
        polars.lit(shlex.join(run.header["command"]), polars.Categorical).alias("command"),
    ]
    return figures_of(run).select(*own, polars.all())


def export(runs: Iterable[Run], path: Path) -> None:
    """Writes ``of_run`` of all ``runs``, one below the other, as the ending of the name says, whole or not at all.

    Raises LinkscopeError for another ending, without runs, and where the file cannot be written.
    """
    if path.suffix not in WRITERS:
        raise LinkscopeError(
            f"cannot export to {path}: choose a name that ends in {' or '.join(WRITERS)}, or - for CSV, which "
            "spreadsheets open"
        )
    data = exported(runs, path.suffix)
    try:
        put_whole(path, data)
    except OSError as error:
        raise LinkscopeError(f"cannot write {path}: {error.strerror or error}") from error


def exported(runs: Iterable[Run], ending: str) -> bytes:
    """What ``export`` writes into a file with that ``ending``, of ``WRITERS``. Raises LinkscopeError for no runs."""
    frames = [of_run(run) for run in runs]
    if not frames:
        raise LinkscopeError("nothing to export: name run files, or folders that hold some")
    data = io.BytesIO()
    WRITERS[ending](polars.concat(frames), data)
    return data.getvalue()


def _flat(frame: polars.DataFrame) -> polars.DataFrame:
    """Lists as words, "1.5 1.6 1.5"; the parts of a schedule's time as columns, "pack_s"."""
    parts = [polars.col("parts_s").list.get(place).alias(f"{name}_s") for place, name in enumerate(PARTS)]
    frame = frame.with_columns(parts).drop("parts_s")
    return frame.with_columns(polars.col(polars.List(polars.Float64)).cast(polars.List(polars.String)).list.join(" "))


def _started(run: Run) -> datetime | None:
    """None where the file says no time."""
    try:
        return datetime.fromisoformat(run.header["started"])
    except ValueError:
        return None

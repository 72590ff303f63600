"""Run files: a header line, row lines of finished cases, state lines; JSON Lines, appended and never rewritten."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linkscope.displayed import Displayed, Picture, displays
from linkscope.documents.typed_call import typed_call
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.messages.catalog import problem
from linkscope.messages.finding import Finding, note
from linkscope.messages.near_names import near_names
from linkscope.results.noise_class import noise_class
from linkscope.results.records import MOST_LINE, Json, checked_header, checked_state, decoded
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.row_reader import RowReader
from linkscope.results.usual_noise import NONE, usual_noise
from linkscope.without_collection import without_collection

SCHEMA = 1
"""Schema number of plans and of what engines print."""
FILE_SCHEMA = 2
"""Schema number of run files; in 2 a case may have several rows, its replicates."""
MOST_NOISE = 10.0
"""A header that says more of a node is not believed."""


@dataclass(frozen=True, repr=False)
class RunFile(Displayed):
    """A run as read from its file. A case's rows are its replicates, folded into one; of several with one number the
    last one counts.

    ``rows`` stand in the plan's order. ``findings``: what was odd about the file.
    """

    path: Path
    header: Json
    rows: tuple[Row, ...]
    states: tuple[Json, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def node(self) -> Node:
        """Return the machine the run was made on."""
        return Node.from_json(self.header["node"])

    @property
    def plan_ids(self) -> tuple[str, ...]:
        """Return the ids of all cases that the run was to hold."""
        return tuple(self.header["plan"]["ids"])

    @property
    def modelled(self) -> bool:
        """Return whether any row comes from a machine model."""
        return any(row.modelled for row in self.rows)

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the ids of cases without a row: the run was killed or interrupted."""
        have = {row.id for row in self.rows}
        return tuple(i for i in self.plan_ids if i not in have)

    def with_status(self, status: str) -> tuple[Row, ...]:
        """Return the rows that are ``ok``, ``skipped`` or ``failed``."""
        return tuple(row for row in self.rows if row.status == status)

    @typed_call()
    def plot(self, table: str | None = None) -> Picture:
        """Return the first matrix or curve with the word ``table`` in its title, or else that of the GPUs.

        Raises LinkscopeError where there is none.
        """
        picture: Picture = displays().picture(self, table)
        return picture

    @typed_call()
    def report(self, path: str | os.PathLike[str], *beside: RunFile) -> None:
        """Write the page of `linkscope report` to ``path``, side by side with the runs ``beside``.

        Raises LinkscopeError where it cannot be written.
        """
        displays().write_page(self, Path(path), *beside)

    def to_json(self) -> Json:
        """Return everything as one JSON-ready object."""
        return {
            "header": self.header,
            "rows": [line for row in self.rows for line in row.lines],
            "states": list(self.states),
            "findings": [found.to_json() for found in self.findings],
        }

    @staticmethod
    def read(path: str | os.PathLike[str]) -> RunFile:
        """Return the run of a file; a last line cut short by a kill is left out.

        Raises LinkscopeError, one line, where the file cannot be read, is no run file, or has another schema.
        """
        with without_collection():
            return _read(Path(path), _lines(Path(path)))

    @staticmethod
    def of_lines(path: Path, lines: Iterable[bytes]) -> RunFile:
        """Return the run that lines are, which are in no file. Raises LinkscopeError."""
        with without_collection():
            return _read(path, ((number, line, True) for number, line in enumerate(lines, 1)))


def fold(header: Json, rows: Sequence[Row]) -> Row:
    """Return the rows of a case as one, with the noise that the header says of it or else of its class, and the usual
    noise of its kind where several were measured."""
    good = [row for row in rows if row.status == "ok"]
    usual = usual_noise(good[-1]) if len(good) > 1 and not good[-1].modelled else NONE
    if not header.get("noise"):
        return folded(rows, usual=usual)
    return folded(rows, noise_of(header, rows[0].id, len(good), noise_class(rows[0].case).key), usual)


def noise_of(header: Json, case_id: str, replicates: int, of_class: str) -> float:
    """Return what the header says that a case with so many ok replicates varies from run to run, as a relative half
    width; 0 where it says nothing."""
    try:
        noise = header["noise"]
        known = noise.get("one_replicate", noise["between_runs"]) if replicates == 1 else noise["between_runs"]
        width = known["cases"].get(case_id)
        width = float(known["classes"][of_class] if width is None else width)
    except (KeyError, TypeError, ValueError, AttributeError):
        return 0.0
    return width if 0 <= width < MOST_NOISE else 0.0


def _read(path: Path, lines: Iterable[tuple[int, bytes, bool]]) -> RunFile:
    header: Json | None = None
    reader = RowReader()
    rows: dict[str, dict[int, Row]] = {}
    states: list[Json] = []
    findings: list[Finding] = []
    for number, line, whole in lines:
        try:
            if header is None:
                header = _header(path, decoded(line) or {})
            else:
                row = reader.read(line)
                rows.setdefault(row.id, {})[row.replicate] = row
        except (ValueError, RecursionError) as error:
            record = decoded(line)
            if record is None and not whole:
                findings.append(note("run.last-line-cut", path=str(path)))
            elif record is not None and record.get("record") == "state":
                states.append(_state(path, number, record))
            else:
                raise _damaged(path, number, record, error) from error
    if header is None:
        raise problem("run-file.no-header" if findings else "run-file.empty", path=str(path))
    order = {case_id: i for i, case_id in enumerate(header["plan"]["ids"])}
    found = [fold(header, [by_number[number] for number in sorted(by_number)]) for by_number in rows.values()]
    ordered = sorted(found, key=lambda row: order.get(row.id, len(order)))
    return RunFile(path, header, tuple(ordered), tuple(states), tuple(findings))


def _header(path: Path, record: Json) -> Json:
    """Return the record, if it is a header. Raises LinkscopeError, or ValueError that names a field."""
    if record.get("record") != "header":
        raise problem("run-file.no-header", path=str(path))
    if record.get("schema") not in (1, FILE_SCHEMA):
        raise problem("run-file.other-schema", path=str(path), schema=str(record.get("schema"))[:20])
    checked_header(record)
    return record


def _state(path: Path, number: int, record: Json) -> Json:
    try:
        checked_state(record)
    except ValueError as error:
        raise _damaged(path, number, record, error) from error
    return record


def _damaged(path: Path, number: int, record: Json | None, error: Exception) -> LinkscopeError:
    """Return the error for a line that is not what it should be."""
    at = {"path": str(path), "number": number}
    if record is None:
        return problem("run-file.not-json", **at)
    if record.get("record") not in ("header", "row", "state"):
        return problem("run-file.unknown-record", record=repr(str(record.get("record"))[:40]), **at)
    return problem("run-file.damaged", what=str(error), **at)


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield (number from 1, line, whether its end is there) of every line that is not blank."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # devices never end, pipes may never begin
            raise _no_file(path)
        with path.open("rb") as stream:
            for number in itertools.count(1):
                line = stream.readline(MOST_LINE)
                if not line:
                    return
                if len(line) == MOST_LINE:
                    raise problem("run-file.long-line", path=str(path), number=number, most=MOST_LINE)
                if line.strip():
                    yield number, line, line.endswith(b"\n")
    except OSError as error:
        raise _unreadable(path, error) from error


def _no_file(path: Path) -> LinkscopeError:
    """Return the error for something that is no file; of a folder, with the newest run file in it."""
    if not path.is_dir():
        return problem("run-file.no-file", path=str(path))
    newest = max(path.glob("*.jsonl"), key=lambda one: one.stat().st_mtime, default=None)
    if newest is None:
        return problem("run-file.empty-folder", path=str(path))
    return problem("run-file.folder", path=str(path), newest=str(newest))


def _unreadable(path: Path, error: OSError) -> LinkscopeError:
    """Return the error for a run file that cannot be read; of one that is not there, with names of those that are."""
    if not isinstance(error, FileNotFoundError):
        return problem("run-file.unreadable", path=str(path), why=str(error.strerror or error))
    near = near_names(path.name, (other.name for other in path.parent.glob("*.jsonl")))
    if not near:
        return problem("run-file.not-found", path=str(path))
    return problem("run-file.not-found-near", path=str(path), near=[str(path.parent / name) for name in near])

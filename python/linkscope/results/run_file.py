"""Run files: a header line, row lines of finished cases, state lines; JSON Lines, appended and never rewritten."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkscope.displayed import Displayed, Picture, displays
from linkscope.documents.typed_call import typed_call
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.messages.near_names import near_names
from linkscope.results.figure_class import figure_class
from linkscope.results.records import checked_header, checked_state, decoded
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.row_reader import RowReader

Json = dict[str, Any]

SCHEMA = 1
"""Of plans and of what engines print."""
FILE_SCHEMA = 2
"""Of run files: in 2 a case may have several rows, its replicates."""
MOST_NOISE = 10.0
"""A header that says more of a node is not believed."""
MOST_LINE = 64 << 20
"""Bytes; the longest seen, a header of 10^5 cases, has 6 MiB."""


@dataclass(frozen=True, repr=False)
class RunFile(Displayed):
    """A run as read from its file. A case's rows are its replicates, folded into one; of several with one number the
    last one counts.

    ``rows`` stand in the plan's order. ``notices`` says, one line each, what was odd about the file. ``left_out``: how
    many cases with a row are left out of an excerpt.
    """

    path: Path
    header: Json
    rows: tuple[Row, ...]
    states: tuple[Json, ...]
    notices: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def node(self) -> Node:
        """The machine the run was made on."""
        return Node.from_json(self.header["node"])

    @property
    def plan_ids(self) -> tuple[str, ...]:
        """Ids of all cases that the run was to hold."""
        return tuple(self.header["plan"]["ids"])

    @property
    def modelled(self) -> bool:
        return any(row.modelled for row in self.rows)

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids of cases without a row: the run was killed or interrupted."""
        have = {row.id for row in self.rows}
        return tuple(i for i in self.plan_ids if i not in have)

    def with_status(self, status: str) -> tuple[Row, ...]:
        """The rows that are ``ok``, ``skipped`` or ``failed``."""
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
        """Writes the page of `linkscope report` to ``path``, side by side with the runs ``beside``.

        Raises LinkscopeError where it cannot be written.
        """
        displays().write_page(self, Path(path), *beside)

    def to_json(self) -> Json:
        """Everything, as one JSON-ready object."""
        return {
            "header": self.header,
            "rows": [line for row in self.rows for line in row.lines],
            "states": list(self.states),
            "notices": list(self.notices),
        }

    @staticmethod
    def read(path: str | os.PathLike[str]) -> RunFile:
        """Reads a run file; a last line cut short by a kill is left out with a notice.

        Raises LinkscopeError, one line, where the file cannot be read, is no run file, or has another schema.
        """
        place = Path(path)
        header: Json | None = None
        reader = RowReader()
        rows: dict[str, dict[int, Row]] = {}
        states: list[Json] = []
        notices: list[str] = []
        for number, line, whole in _lines(place):
            if header is None:
                header = checked_first(place, decoded(line) or {})
                continue
            try:
                row = reader.read(line)
            except (ValueError, RecursionError) as error:
                record = decoded(line)
                if record is not None and record.get("record") == "state":
                    _check(place, number, record, checked_state)
                    states.append(record)
                elif record is None and not whole:
                    notices.append(f"{place}: the last line is cut short (the run was killed); that case is left out")
                else:
                    raise _damaged(place, number, record, error) from error
            else:
                rows.setdefault(row.id, {})[row.replicate] = row
        if header is None:
            raise LinkscopeError(f"{place} is not a linkscope run file: it holds no header")
        order = {case_id: i for i, case_id in enumerate(header["plan"]["ids"])}
        found = [fold(header, [by_number[number] for number in sorted(by_number)]) for by_number in rows.values()]
        ordered = sorted(found, key=lambda row: order.get(row.id, len(order)))
        return RunFile(place, header, tuple(ordered), tuple(states), tuple(notices))


def fold(header: Json, rows: Sequence[Row]) -> Row:
    """Return the rows of a case as one, with the noise that the header says of it or else of its class."""
    if not header.get("noise"):
        return folded(rows)
    good = sum(row.status == "ok" for row in rows)
    return folded(rows, noise_of(header, rows[0].id, good, figure_class(rows[0].case).key))


def noise_of(header: Json, case_id: str, replicates: int, of_class: str) -> float:
    """What the header says that a case with so many ok replicates varies from run to run, as a relative half width; 0
    where it says nothing."""
    try:
        noise = header["noise"]
        known = noise.get("one_replicate", noise["between_runs"]) if replicates == 1 else noise["between_runs"]
        width = known["cases"].get(case_id)
        width = float(known["classes"][of_class] if width is None else width)
    except (KeyError, TypeError, ValueError, AttributeError):
        return 0.0
    return width if 0 <= width < MOST_NOISE else 0.0


class RunWriter:
    """Appends records to a run file, each on disk before the next is taken; a model's figures, which anybody can have
    again, when the system writes them.

    A line that cannot be written whole (disk full) is taken back, so that the file stays readable to its end.
    """

    def __init__(self, path: Path, stream: io.FileIO) -> None:
        self.path = path
        self._stream = stream
        self._end = stream.seek(0, os.SEEK_END)

    @staticmethod
    def create(path: Path, header: Json) -> RunWriter:
        """A new file that holds ``header``. Raises LinkscopeError where it exists or cannot be written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            stream = io.FileIO(path, "x")
        except FileExistsError as error:
            raise LinkscopeError(f"{path} exists: choose another -o FILE, or add --resume to complete it") from error
        except OSError as error:
            raise _cannot_write(path, error) from error
        writer = RunWriter(path, stream)
        try:
            writer.append(header)
        except LinkscopeError:
            stream.close()
            path.unlink(missing_ok=True)
            raise
        return writer

    @staticmethod
    def reopen(path: Path) -> RunWriter:
        """An existing run file, to go on after its last whole line."""
        _refuse_device(path)
        try:
            stream = io.FileIO(path, "r+")
            _mend_end(stream)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return RunWriter(path, stream)

    def append(self, record: Json) -> None:
        """Raises LinkscopeError where the record cannot be written, or not be read again; all earlier ones are safe."""
        data = memoryview((json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n").encode())
        if len(data) >= MOST_LINE:
            limit = f"{MOST_LINE >> 20} MiB, the most that is read"
            raise LinkscopeError(f"a line of {self.path} would have more than {limit}: run fewer cases at a time")
        try:
            done = 0
            while done < len(data):
                done += self._stream.write(data[done:])
            if not record.get("modelled"):
                _sync(self._stream)
        except OSError as error:
            self._take_back()
            raise _cannot_write(self.path, error) from error
        self._end += len(data)

    def close(self) -> None:
        self._stream.close()

    def _take_back(self) -> None:
        try:
            self._stream.truncate(self._end)
        except OSError:
            return  # a reader leaves the cut line out, with a notice


def _sync(stream: io.FileIO) -> None:
    try:
        os.fsync(stream.fileno())
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # pipes and devices such as /dev/stdout have no disk
            raise


def _cannot_write(path: Path, error: OSError) -> LinkscopeError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        what = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota is used up"}
        why = what.get(error.errno, "the file size limit is reached")
        return LinkscopeError(f"cannot write {path}: {why}; free space, then go on with --resume -o {path}")
    return LinkscopeError(f"cannot write {path}: {error.strerror or error}")


def _refuse_device(path: Path) -> None:
    """/dev/zero and its like never end."""
    if path.is_char_device() or path.is_block_device():
        raise LinkscopeError(f"{path} is a device: name a file")


def _mend_end(stream: io.FileIO) -> None:
    """Ends the last line if it is whole but for its newline, takes it away if it was cut short."""
    data = stream.readall()
    end = data.rfind(b"\n") + 1
    try:
        json.loads(data[end:] or b"null")
    except ValueError:
        stream.truncate(end)
    else:
        stream.seek(0, os.SEEK_END)
        stream.write(b"\n" if data[end:] else b"")


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """(number from 1, line, whether its end is there) of every line that is not blank."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # devices never end, pipes may never begin
            raise _no_file(path)
        with path.open("rb") as stream:
            for number in itertools.count(1):
                line = stream.readline(MOST_LINE)
                if not line:
                    return
                if len(line) == MOST_LINE:
                    raise LinkscopeError(f"{path} is no run file: line {number} is longer than {MOST_LINE >> 20} MiB")
                if line.strip():
                    yield number, line, line.endswith(b"\n")
    except OSError as error:
        raise unreadable(path, error) from error


def _no_file(path: Path) -> LinkscopeError:
    """The error for something that is no file; of a folder, with the newest run file in it."""
    if not path.is_dir():
        return LinkscopeError(f"{path} is no file: name a run file")
    newest = max(path.glob("*.jsonl"), key=lambda one: one.stat().st_mtime, default=None)
    found = f"name a run file in it, such as {newest}" if newest else "it has no run file, *.jsonl"
    return LinkscopeError(f"{path} is a folder: {found}")


def unreadable(path: Path, error: OSError) -> LinkscopeError:
    """The error for a run file that cannot be read; of one that is not there, with the names of those that are."""
    why = f"cannot read {path}: {error.strerror or error}"
    if not isinstance(error, FileNotFoundError):
        return LinkscopeError(why)
    near = near_names(path.name, (other.name for other in path.parent.glob("*.jsonl")))
    files = " or ".join(str(path.parent / name) for name in near)
    return LinkscopeError(f"{why}: {f'did you mean {files}?' if near else '`linkscope run -o FILE` writes one'}")


def checked_first(path: Path, record: Json) -> Json:
    """The record, if it is a header. Raises LinkscopeError."""
    if record.get("record") != "header":
        raise LinkscopeError(
            f"{path} is not a linkscope run file: it does not start with a header, as those of `linkscope run` do"
        )
    if record.get("schema") not in (1, FILE_SCHEMA):
        found = str(record.get("schema"))[:20]
        message = f"{path} has schema {found}, this linkscope reads 1 and {FILE_SCHEMA}: use the version that wrote it"
        raise LinkscopeError(message)
    _check(path, 1, record, checked_header)
    return record


def _damaged(path: Path, number: int, record: Json | None, error: Exception) -> LinkscopeError:
    """Return the error for a line that is no row and no state."""
    if record is None:
        return LinkscopeError(f"{path} is damaged: line {number} is no JSON object; take that line out")
    if record.get("record") != "row":
        return LinkscopeError(f"{path}, line {number}: unknown record {str(record.get('record'))[:40]!r}")
    return LinkscopeError(f"{path} is damaged: line {number}: {error}")


def _check(path: Path, number: int, record: Json, check: Callable[[Json], None]) -> None:
    try:
        check(record)
    except ValueError as error:
        raise LinkscopeError(f"{path} is damaged: line {number}: {error}") from error

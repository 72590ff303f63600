"""Run writer: appends records to a run file, so that what is written stays readable to its end."""

from __future__ import annotations

import errno
import io
import json
import os
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.messages.catalog import problem
from linkscope.results.records import MOST_LINE, Json

_FULL = {errno.ENOSPC: "run-file.full-disk", errno.EDQUOT: "run-file.quota", errno.EFBIG: "run-file.file-size"}


class RunWriter:
    """Appends records, each on disk before the next is taken; a model's results, which anybody can have again, when the
    system writes them. A line that cannot be written whole (disk full) is taken back."""

    def __init__(self, path: Path, stream: io.FileIO) -> None:
        self.path = path
        self._stream = stream
        self._end = stream.seek(0, os.SEEK_END)

    @staticmethod
    def create(path: Path, header: Json) -> RunWriter:
        """Return the writer of a new file that holds ``header``. Raises LinkscopeError where it exists or cannot be
        written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = io.FileIO(path, "x")
        except OSError as error:
            if isinstance(error, FileExistsError) and path.exists():
                raise problem("run-file.exists", path=str(path)) from error
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
        """Return the writer of an existing run file, to go on after its last whole line."""
        if path.is_char_device() or path.is_block_device():  # /dev/zero and its like never end
            raise problem("run-file.device", path=str(path))
        try:
            stream = io.FileIO(path, "r+")
            _mend_end(stream)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return RunWriter(path, stream)

    def append(self, record: Json) -> None:
        """Write a record. Raises LinkscopeError where that fails or nobody could read it; all earlier ones are safe."""
        data = memoryview((json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n").encode())
        if len(data) >= MOST_LINE:
            raise problem("run-file.too-long", path=str(self.path), most=MOST_LINE)
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
        """Close the file."""
        self._stream.close()

    def _take_back(self) -> None:
        try:
            self._stream.truncate(self._end)
        except OSError:
            return  # a reader leaves the cut line out


def _sync(stream: io.FileIO) -> None:
    try:
        os.fsync(stream.fileno())
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # pipes and devices such as /dev/stdout have no disk
            raise


def _cannot_write(path: Path, error: OSError) -> LinkscopeError:
    if error.errno in _FULL:
        return problem(_FULL[error.errno], path=str(path))
    return problem("run-file.unwritable", path=str(path), why=str(error.strerror or error))


def _mend_end(stream: io.FileIO) -> None:
    """End the last line if it is whole but for its newline, take it away if it was cut short."""
    data = stream.readall()
    end = data.rfind(b"\n") + 1
    try:
        json.loads(data[end:] or b"null")
    except ValueError:
        stream.truncate(end)
    else:
        stream.seek(0, os.SEEK_END)
        stream.write(b"\n" if data[end:] else b"")

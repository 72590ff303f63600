"""Again: measures some cases of a run anew, into a copy of it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.launch.run import INTERRUPTED, Listener, resume
from linkscope.launch.supervisor import outcome
from linkscope.results.run_file import RunFile
from linkscope.results.run_writer import RunWriter

REASON = "left out: to be measured again"


def measured_again(before: RunFile, ids: Collection[str], path: Path, listener: Listener | None = None) -> RunFile:
    """A new run file at ``path``: the rows of ``before``, but the cases ``ids`` (and those that failed) measured anew.

    Raises LinkscopeError, with no file left, where this is not the machine of ``before`` or the run cannot be repeated
    as its file says (see ``resume``); with exit code 130 where interrupted, the file then being resumable.
    """
    backend = str((before.header.get("engine") or {}).get("backend"))
    writer = RunWriter.create(path, before.header)
    try:
        for row in before.rows:
            lines = (
                [{**outcome(row.case, "skipped", REASON, backend), "left_out": True}] if row.id in ids else row.lines
            )
            for line in lines:
                writer.append(line)
        for state in before.states:
            writer.append(state)
        writer.close()
        return resume(path, listener=listener)
    except LinkscopeError as error:
        writer.close()
        if error.exit_code != INTERRUPTED:
            path.unlink(missing_ok=True)
        raise

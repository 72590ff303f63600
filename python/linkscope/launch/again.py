"""Again: measures some cases of a run anew, into a copy of it or, in more processes, into a run of their own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.launch.ab_sides import AS_IS
from linkscope.launch.job import prepare
from linkscope.launch.run import INTERRUPTED, Listener, check_machine, check_variables, request_of, resume, run
from linkscope.launch.supervisor import outcome
from linkscope.messages.catalog import problem
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


def rerun(
    before: RunFile,
    ids: Collection[str],
    processes: int,
    path: Path,
    listener: Listener | None = None,
    command: Sequence[str] = (),
) -> RunFile:
    """A new run file at ``path``: the cases ``ids`` of a run, each in so many processes of its own.

    Raises LinkscopeError where this is not the machine of ``before``, or its file was measured under settings of its
    own (``linkscope ab``), does not say how it was asked for or names a program to start (see ``request_of``); with
    exit code 130 where interrupted, the file then being resumable.
    """
    settings = [one for one in before.header.get("interleaved", {}).get("settings", ()) if one != AS_IS]
    if settings:
        raise problem("ab.no-rerun", path=str(before.path), settings=" ".join(settings))
    asked = replace(request_of(before), budget=None)
    job = prepare(asked)
    check_machine(before, job, instead="rerun it there")
    check_variables(before, job)
    return run(replace(asked, keyword=" or ".join(ids), rounds=str(processes)), path, listener, command)

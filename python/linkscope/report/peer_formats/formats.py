"""Formats: every tool in whose format `run` and `show` print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import unknown
from linkscope.report.peer_formats import nccl_tests, nvbandwidth, osu
from linkscope.results.printed_mark import printed_mark
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
_MOST_SUITES = 3
_MOST_ROWS = 2


@dataclass(frozen=True)
class PeerFormat:
    """``tool``: with the version whose output it is like. ``comment``: what its comments begin with. ``suite``: the
    packaged one that has most of its cases. ``does``: what each of its tests does, and cases on such paths need not.
    ``takes``: whether the tool measures what a case of a plan does. ``alike``: whether a case is on such paths, though
    it need not be the tool's. ``write``: the text of a run and of those of its cases that the tool measures. ``clock``:
    the one that its cases are timed by; "" where any does."""

    tool: str
    comment: str
    suite: str
    does: str
    takes: Callable[[Json], bool]
    alike: Callable[[Json], bool]
    write: Callable[[RunFile, Sequence[Row]], str]
    clock: str = ""


FORMATS = {
    "nvbandwidth": PeerFormat(
        "nvbandwidth 0.8",
        "",
        "nvbandwidth",
        "copies one buffer over and over, with a direction and a driver of its own",
        nvbandwidth.takes,
        nvbandwidth.alike,
        nvbandwidth.text,
    ),
    "nccl-tests": PeerFormat(
        "nccl-tests 2.19",
        "# ",
        "collectives",
        "calls one collective many times in a row",
        nccl_tests.takes,
        nccl_tests.alike,
        nccl_tests.text,
        "batch",
    ),
    "osu": PeerFormat(
        "OSU 7.4",
        "# ",
        "p2p-processes",
        "makes one call of MPI's, out of place and without staging, with a window of its own",
        osu.takes,
        osu.alike,
        osu.text,
        "host",
    ),
}


def check_format(name: str, cases: Sequence[Json] | None = None) -> None:
    """Raises LinkscopeError where there is no format of that name, or none of ``cases``, a plan's, is one for it."""
    form = _form(name)
    if cases is not None and not any(form.takes(case) for case in cases):
        why = _by_another_clock(name, cases) or _others(name, cases)
        raise LinkscopeError(why or f"none of these cases {_no_case(name)}")


def formats_for(run: RunFile) -> list[tuple[str, str]]:
    """(Name, tool) of every format in which some figures of the run can be printed."""
    rows = run.with_status("ok")
    return [
        (name, form.tool.partition(" ")[0])
        for name, form in FORMATS.items()
        if any(form.takes(row.case) for row in rows)
    ]


def printed(run: RunFile, name: str) -> str:
    """The cases of ``run`` that the tool measures, as it prints them, below two lines that say who printed it.

    Raises LinkscopeError for a format that there is not, and where no such case has figures.
    """
    form = _form(name)
    rows = [row for row in run.rows if form.takes(row.case)]
    if not rows:
        cases = [row.case for row in run.rows]
        why = _by_another_clock(name, cases, run.node.name if run.modelled else "") or _others(name, cases)
        held = f"; `linkscope show {quote(str(run.path))}` prints what is here"
        raise LinkscopeError(f"{run.path}: {why or f'none of its cases {_no_case(name)}'}{held}")
    if not any(row.status == "ok" for row in rows):
        reason = next((str(row.reason) for row in rows if row.reason), "no reason is given")
        raise LinkscopeError(f"{run.path}: none of the cases that {form.tool} measures has figures: {reason}")
    return "".join(f"{form.comment}{line}\n" for line in printed_mark(run, form.tool)) + form.write(run, rows)


def not_printed(run: RunFile, name: str) -> int:
    """How many cases with figures the tool has no test for, so that ``printed`` leaves them out."""
    form = _form(name)
    return sum(not form.takes(row.case) for row in run.with_status("ok"))


def _form(name: str) -> PeerFormat:
    if name not in FORMATS:
        raise unknown("format", name, FORMATS, otherwise="`linkscope export RUN -o FILE.csv` for a spreadsheet")
    return FORMATS[name]


def _no_case(name: str) -> str:
    return f"is one that {FORMATS[name].tool} measures: {_command(name)} has such"


def _others(name: str, cases: Iterable[Json]) -> str:
    """Why the tool's table needs another suite than those that measure its paths; "" where none does."""
    form = FORMATS[name]
    suites = dict.fromkeys(str(case.get("suite", "")) for case in cases if form.alike(case))
    others = [suite for suite in suites if suite not in ("", form.suite)][:_MOST_SUITES]
    if not others:
        return ""
    measure = f"suite {others[0]} measures" if len(others) == 1 else f"suites {', '.join(others)} measure"
    return (
        f"the {measure} such paths otherwise than {form.tool}, each test of which {form.does}: "
        f"{_command(name)} measures those"
    )


def _by_another_clock(name: str, cases: Sequence[Json], machine: str = "") -> str:
    """How to time cases of the right suite as the tool does, modelled on ``machine`` if they were; "" where they are
    none of its cases by its clock either."""
    form = FORMATS[name]
    meant = [one for one in cases if one.get("suite") == form.suite and form.takes({**one, "clock": form.clock})]
    if not (form.clock and meant):
        return ""
    clocks = " or ".join(sorted({str(one["clock"]) for one in meant}))
    picked = _keyword(meant)
    options = (picked and f"-k {quote(picked)}", machine and f"--machine {quote(machine)}", f"--clock {form.clock}")
    command = _command(name, " ".join(filter(None, options)))
    return f"timed by the {clocks} clock; {form.tool} times by the {form.clock} clock: {command}"


def _keyword(cases: Sequence[Json]) -> str:
    """What picks the suite rows and the collective that they are of; "" for more rows than fit a line."""
    rows = dict.fromkeys(f"/{one['name']}/" for one in cases)
    kinds = {f"/{one['flows'][0].get('parameters', {}).get('collective')}/" for one in cases}
    alone = f" and {kinds.pop()}" if len(kinds) == 1 and all(next(iter(kinds)) in one["id"] for one in cases) else ""
    return " or ".join(f"{row}{alone}" for row in rows) if len(rows) <= _MOST_ROWS else ""


def _command(name: str, options: str = "") -> str:
    return f"`linkscope run {FORMATS[name].suite} {options + ' ' if options else ''}--format {name}`"

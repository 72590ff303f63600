"""Formats: every tool in whose format `run` and `show` print, and why some runs cannot be printed so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from linkscope.codecs.peer import nccl_tests, nvbandwidth, osu
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.messages.catalog import problem
from linkscope.messages.near_names import unknown
from linkscope.results.printed_mark import printed_mark
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
_MOST_SUITES = 3
_MOST_TESTS = 2


@dataclass(frozen=True)
class PeerFormat:
    """``tool``: with the version whose output it is like. ``comment``: what its comments begin with. ``suite``: the
    packaged one that has most of its cases. ``takes``: whether the tool measures what a case of a plan does.
    ``alike``: whether a case is on such paths, though it need not be the tool's. ``write``: the text of a run and of
    those of its cases that the tool measures. ``clock``: what its cases are timed by; "" where that is any."""

    tool: str
    comment: str
    suite: str
    takes: Callable[[Json], bool]
    alike: Callable[[Json], bool]
    write: Callable[[Run, Sequence[Row]], str]
    clock: str = ""


FORMATS = {
    "nvbandwidth": PeerFormat(
        "nvbandwidth 0.11", "", "nvbandwidth", nvbandwidth.takes, nvbandwidth.alike, nvbandwidth.text
    ),
    "nccl-tests": PeerFormat(
        "nccl-tests 2.19", "# ", "collectives", nccl_tests.takes, nccl_tests.alike, nccl_tests.text, "batch"
    ),
    "osu": PeerFormat("OSU 7.4", "# ", "p2p-processes", osu.takes, osu.alike, osu.text, "host"),
}


def check_format(name: str, cases: Sequence[Json] | None = None) -> None:
    """Raise LinkscopeError where there is no format of that name, or none of a plan's ``cases`` is one for it."""
    form = _form(name)
    if cases is not None and not any(form.takes(case) for case in cases):
        raise _why_not(name, cases)


def printed(run: Run | RunFile, name: str) -> str:
    """Return the cases of a run that the tool measures, as it prints them, below two lines that say who printed it.

    Raises LinkscopeError for a format that there is not, and where no such case has results.
    """
    run, form = Run.of(run), _form(name)
    rows = [row for row in run.file.rows if form.takes(row.case)]
    if not rows:
        raise _why_not(name, [row.case for row in run.file.rows], run.node.name if run.modelled else "")
    if not any(row.status == "ok" for row in rows):
        reason = next((str(row.reason) for row in rows if row.reason), "")
        raise problem("peer.no-results", tool=form.tool, reason=reason)
    return "".join(f"{form.comment}{line}\n" for line in printed_mark(run.file, form.tool)) + form.write(run, rows)


def not_printed(run: RunFile, name: str) -> int:
    """Return how many cases with results the tool has no test for, so that ``printed`` leaves them out."""
    form = _form(name)
    return sum(not form.takes(row.case) for row in run.with_status("ok"))


def _form(name: str) -> PeerFormat:
    if name not in FORMATS:
        raise unknown("format", name, FORMATS, otherwise="`linkscope export RUN -o FILE.csv` for a spreadsheet")
    return FORMATS[name]


def _why_not(name: str, cases: Sequence[Json], machine: str = "") -> LinkscopeError:
    """Return why none of the cases is the tool's: another clock, another suite of such paths, other paths."""
    form = FORMATS[name]
    meant = [one for one in cases if one.get("suite") == form.suite and form.takes({**one, "clock": form.clock})]
    if form.clock and meant:
        clocks = sorted({str(one["clock"]) for one in meant})
        picked = _keyword(meant)
        words = (picked and f"-k {quote(picked)}", machine and f"--machine {quote(machine)}", f"--clock {form.clock}")
        command = _command(name, *filter(None, words))
        return problem("peer.other-clock", tool=form.tool, clock=form.clock, clocks=clocks, command=command)
    suites = dict.fromkeys(str(case.get("suite", "")) for case in cases if form.alike(case))
    others = [suite for suite in suites if suite not in ("", form.suite)][:_MOST_SUITES]
    if others:
        return problem("peer.other-suite", tool=form.tool, suites=others, command=_command(name))
    return problem("peer.no-case", tool=form.tool, command=_command(name))


def _keyword(cases: Iterable[Json]) -> str:
    """Return what picks the tests and the collective that cases are of; "" for more tests than fit a line."""
    known = list(cases)
    tests = dict.fromkeys(f"/{one['name']}/" for one in known)
    kinds = {f"/{one['flows'][0].get('parameters', {}).get('collective')}/" for one in known}
    alone = f" and {kinds.pop()}" if len(kinds) == 1 and all(next(iter(kinds)) in one["id"] for one in known) else ""
    return " or ".join(f"{test}{alone}" for test in tests) if len(tests) <= _MOST_TESTS else ""


def _command(name: str, *words: str) -> str:
    return " ".join(("linkscope", "run", FORMATS[name].suite, *words, "--format", name))

"""The dry run: what `linkscope run --dry-run` says of a plan, and the plan itself as JSON."""

from __future__ import annotations

import json
from collections import Counter

import polars
import typer
from rich.console import Console

from linkscope.answers.answer import Answer, Column, Kind, Table
from linkscope.cli.answering import printed
from linkscope.cli.progress import extent, not_modelled
from linkscope.codecs.peer.formats import check_format
from linkscope.launch.job import Job, Request, prepare
from linkscope.launch.launcher import inside
from linkscope.launch.outlook import measured_outlook
from linkscope.messages.finding import Finding, note, warning

_WIDEST_SKIP = 3
"""Reasons that are listed; there are more of a suite whose libraries all lack."""


def dry_run(request: Request, out: Console, as_json: bool, form: str | None = None) -> int:
    """Print the plan as JSON, or how many cases each test has and the time they take; of ranks the first does.

    Raises LinkscopeError where there is no case for ``form``.
    """
    place = inside.place()
    if place is not None and place.rank > 0:
        return 0
    job = prepare(request)
    if form is not None:
        check_format(form, [planned.case for planned in job.cases])
    if as_json:
        typer.echo(json.dumps(job.plan([case for case in job.cases if case.skip is None]), indent=1))
        return 0
    return printed(plan(job), out)


def plan(job: Job) -> Answer:
    """Return what a job would measure: cases by test, why some are skipped, and how long all takes."""
    return Answer(
        "plan",
        (),
        extent(job, job.cases),
        findings=(
            *(warning("plan.note", text=text) for text in job.notes),
            *_skipped(job),
            *_measured(job),
        ),
        tables=(_tests(job),),
        next=tuple(not_modelled(job)[-1:]),
    )


def _tests(job: Job) -> Table:
    tests = Counter(f"{one.case['suite']}/{one.case['name']}" for one in job.cases)
    skipped = Counter(f"{one.case['suite']}/{one.case['name']}" for one in job.cases if one.skip is not None)
    lines = [(name, count, skipped[name] or None) for name, count in tests.items()]
    schema = {"test": polars.String, "cases": polars.Int64, "skipped": polars.Int64}
    columns = [Column("test"), Column("cases", Kind.COUNT)]
    columns += [Column("skipped", Kind.COUNT)] if skipped else []
    return Table("plan.tests", polars.DataFrame(lines, schema, orient="row"), tuple(columns))


def _skipped(job: Job) -> list[Finding]:
    reasons = Counter(one.skip for one in job.cases if one.skip is not None).most_common()
    found = [note("plan.skipped", skipped=count, reason=reason) for reason, count in reasons[:_WIDEST_SKIP]]
    rest = sum(count for _, count in reasons[_WIDEST_SKIP:])
    return [*found, note("plan.skipped-otherwise", skipped=rest)] if rest else found


def _measured(job: Job) -> list[Finding]:
    if not job.node.modelled:
        return []
    real = measured_outlook(job.request)
    return [note("plan.next-measure", cases=real.cases, likely=real.seconds)]

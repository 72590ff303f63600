"""A check on a terminal: passed or not, then every figure beyond its limit."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from linkscope.analysis.check import UNCLEAR, CheckResult, Verdict
from linkscope.report import wording
from linkscope.report.label_lines import Column, print_label_lines

FEW = 8


def show(found: CheckResult, console: Console) -> None:
    """In at most 40 lines."""
    title = Text(f"{found.host}: {found.node}", style="bold")
    if mark := wording.mark(found):
        title.append(f"  {mark}", style="bold yellow")
    console.print(title)
    console.print(Text(verdict(found), style="bold green" if found.passed else "bold red"))
    if found.broken:
        few = found.broken[:FEW]
        columns = (
            Column("path", tuple(one.path for one in few)),
            Column("value", tuple(quantity(one, one.value) for one in few)),
            Column("limit", tuple(quantity(one, one.limit) for one in few)),
            Column("beyond by", tuple(wording.percent(one.beyond) for one in few)),
        )
        print_label_lines("figure", [one.id for one in few], columns, console)
        if len(found.broken) > FEW:
            console.print(Text(f"{len(found.broken) - FEW} more in --json", style="dim"))
    for lack in found.too_few[:FEW]:
        console.print(Text(f"too few: {lack.what}: {lack.count} of {lack.of}: {lack.reason}", style="red"))
    for name, reason in found.failed[:FEW]:
        console.print(Text(f"failed: {name}: {reason}", style="red"))
    for limit in found.unmatched[:FEW]:
        console.print(Text(f"not measured: {limit.words}", style="dim"))
    if len(found.unmatched) > FEW:
        console.print(Text(f"{len(found.unmatched) - FEW} more not measured: see --json", style="dim"))


def verdict(found: CheckResult) -> str:
    """One sentence or two."""
    word = "passed" if found.passed else "FAILED"
    parts = [f"{len(found.verdicts)} figures held against limits, {len(found.broken)} beyond them"]
    if found.count(UNCLEAR):
        parts.append(f"{found.count(UNCLEAR)} too uncertain to tell")
    if found.failed:
        parts.append(f"{len(found.failed)} cases failed")
    if found.too_few:
        parts.append(f"{wording.count(len(found.too_few), 'thing')} of which good nodes have more")
    if found.unmatched:
        parts.append(f"{len(found.unmatched)} limits without a figure of this run")
    return f"{word}: {'; '.join(parts)}."


def quantity(one: Verdict, value: float) -> str:
    """With its unit."""
    return f"{wording.value(value)} GB/s" if one.unit == "GB/s" else wording.time(value)

"""A check on a terminal: passed or not, then every figure beyond its limit."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from linkscope.analysis.check import UNCLEAR, CheckResult, Verdict
from linkscope.report import wording
from linkscope.report.label_lines import LabelColumn, print_label_lines
from linkscope.results.limits import Limit

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
            LabelColumn("path", tuple(one.path for one in few)),
            LabelColumn("value", tuple(quantity(one, one.value) for one in few)),
            LabelColumn("limit", tuple(quantity(one, one.limit) for one in few)),
            LabelColumn("beyond by", tuple(wording.percent(one.beyond) for one in few)),
        )
        print_label_lines("figure", [one.id for one in few], columns, console)
        if len(found.broken) > FEW:
            console.print(Text(f"{len(found.broken) - FEW} more in --json", style="dim"))
    for lack in found.too_few[:FEW]:
        console.print(Text(f"too few: {lack.what}: {lack.count} of {lack.of}: {lack.reason}", style="red"))
    for name, reason in found.failed[:FEW]:
        console.print(Text(f"failed: {name}: {reason}", style="red"))
    for limit in found.unmatched[:FEW]:
        console.print(Text(f"not measured: {_asked(limit)}", style="dim"))
    if len(found.unmatched) > FEW:
        console.print(Text(f"{len(found.unmatched) - FEW} more not measured: see --json", style="dim"))
    if found.broken:
        console.print(Text("linkscope explain RUN  what is slow, and why", style="dim"))


def verdict(found: CheckResult) -> str:
    """One sentence or two."""
    word = "passed" if found.passed else "FAILED"
    parts = [f"{wording.count(len(found.verdicts), 'figure')} held against limits, {len(found.broken)} beyond them"]
    if found.count(UNCLEAR):
        parts.append(f"{found.count(UNCLEAR)} too uncertain to tell")
    if found.failed:
        parts.append(f"{wording.count(len(found.failed), 'case')} failed")
    if found.too_few:
        parts.append(f"{wording.count(len(found.too_few), 'thing')} of which good nodes have more")
    if found.unmatched:
        parts.append(f"{len(found.unmatched)} limits without a figure of this run")
    return f"{word}: {'; '.join(parts)}."


def _asked(limit: Limit) -> str:
    """What a limit is of: the suite's row, how and how much is moved, then the rest of its words."""
    words = {name: str(value) for name, value in limit.match.items() if (name, value) != ("figure", "first")}
    row = words.pop("row", "")
    memories = " > ".join(words.pop(end) for end in ("source_memory", "destination_memory") if end in words)
    amount = wording.size(int(words.pop("bytes"))) if words.get("bytes", "").isdigit() else ""
    told = [f"suite row {row}" if row else "", words.pop("method", ""), memories, amount, *words.values()]
    return ", ".join(filter(None, told))


def quantity(one: Verdict, value: float) -> str:
    """With its unit."""
    return f"{wording.value(value)} GB/s" if one.unit == "GB/s" else wording.time(value)

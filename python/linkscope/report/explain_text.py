"""An explanation on a terminal: the answer first, then what is slow and why, then the ledger of each kind of path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from linkscope.analysis.explain import Diagnosis, Shortfall
from linkscope.analysis.ledger import SIBLINGS, Ledger
from linkscope.report import wording
from linkscope.report.grid import empty_grid

MOST_ROWS = 15
CAPTION = (
    "GB/s. line: line rate; packets: what the engine's packets leave of it; both: of two directions together; "
    "*: what its best siblings reach"
)
FEW = 3
"""Findings that are shown unless all are asked for."""


def show(found: Diagnosis, console: Console) -> None:
    """In at most 40 lines: the gravest findings, the best path of each kind, and the worst of each finding."""
    shown = found.shortfalls[:FEW]
    best = _best(found.accounts)[: MOST_ROWS - 3 * len(shown)]
    _show(found, shown, [*best, *(one for one in _odd(found, shown) if one not in best)], console)
    if len(found.shortfalls) > FEW:
        console.print(Text(f"{len(found.shortfalls) - FEW} more with --full", style="dim"))


def show_all(found: Diagnosis, console: Console) -> None:
    """Every finding, every path, and the source of each number."""
    _show(found, found.shortfalls, found.accounts, console)


def verdict(found: Diagnosis) -> str:
    """One to four sentences."""
    return f"{_failures(found)}{_judgement(found)}"


def _failures(found: Diagnosis) -> str:
    """What failed comes first: the figures that are left say nothing of it."""
    if not found.failed:
        return ""
    count, first = sum(len(one.ids) for one in found.failed), found.failed[0]
    where = f"{', '.join(first.where)}: " if first.where else ""
    return f"{count} case{'s' if count > 1 else ''} failed ({where}{first.reason}). "


def _judgement(found: Diagnosis) -> str:
    if found.judged == 0:
        return (
            "Cannot tell: this run has no large transfer between GPUs, or a GPU and pinned host memory, that could "
            "be held against a published figure or a sibling."
        )
    waits = f", {found.judged_latencies} latencies by siblings" if found.judged_latencies else ""
    published = sum(one.held_against not in ("", SIBLINGS) for one in found.accounts)
    of = f"{_figures(found.judged)} held against what is expected, {published} of them by published figures{waits}"
    if not found.shortfalls:
        text = f"{'What did not fail is as' if found.failed else 'As'} fast as it should be: {of}, none is short."
    else:
        worst = found.shortfalls[0]
        number = len(found.shortfalls)
        things = "One thing is" if number == 1 else f"{number} things are"
        first = "" if number == 1 else "first of all "
        text = f"{things} slower than expected: {first}{_where(worst)}, {worst.what}, {lost(worst)} ({of})."
    if found.unsure:
        text += f" {_figures(len(found.unsure))} may be short, but too uncertain to tell."
    return text


def lost(one: Shortfall) -> str:
    """What is missing of a rate, or by what a latency is too long."""
    return f"{one.cost:.1%} {'longer' if one.late else 'missing'}"


def _figures(count: int) -> str:
    return "1 figure" if count == 1 else f"{count} figures"


def _where(one: Shortfall) -> str:
    return ", ".join(one.where)


def _show(found: Diagnosis, shown: Sequence[Shortfall], accounts: Sequence[Ledger], console: Console) -> None:
    title = Text(found.node, style="bold")
    if found.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    console.print(Text(verdict(found)))
    for notice in found.notices:
        console.print(Text(notice, style="yellow"))
    for number, one in enumerate(shown, start=1):
        head = Text(f"{number}. {_where(one)}: {one.what}, {lost(one)}", style="bold red")
        console.print(head)
        for line in (f"cause: {one.cause}", *one.evidence, f"next: {one.decide}"):
            console.print(Padding(Text(line), (0, 0, 0, 3)))
    if accounts:
        console.print(_table(accounts))
        console.print(Text(CAPTION, style="dim"))
    sources = dict.fromkeys(one.held_against for one in accounts if one.held_against not in ("", SIBLINGS))
    if sources:
        console.print(Text(f"Expected by: {'; '.join(sources)}.", style="dim"))
    if found.judged and found.left_out:
        counts = ", ".join(f"{count} {reason}" for reason, count in found.left_out.items())
        console.print(Text(f"Not judged: {counts}.", style="dim"))


def _table(accounts: Iterable[Ledger]) -> Table:
    grid = empty_grid("path")
    for name in ("engine", "line", "packets", "expected", "measured", "lacks"):
        grid.add_column(Text(name), justify="left" if name == "engine" else "right", no_wrap=True)
    for one in accounts:
        taxed = next((step.gbps for step in one.steps[1:] if step.source != SIBLINGS), None)
        against = "*" if one.held_against == SIBLINGS else ""
        grid.add_row(
            Text(f"{one.source} > {one.destination} {_driver(one.way)}".rstrip(), no_wrap=True),
            Text(one.method),
            Text(_rate(one.line_gbps)),
            Text(_rate(taxed)),
            Text(_rate(one.expected_gbps) + against),
            Text(_rate(one.measured.median)),
            Text(
                f"{round(one.missing, 3) + 0.0:.1%}" if one.expected_gbps else "–",
                style="bold red" if one.short else "",
            ),
        )
    return grid


def _driver(way: str) -> str:
    """The ends say whether it is host or GPU; who drives it they do not."""
    return {"peer-write": "push", "peer-read": "pull"}.get(way, "both" if way.endswith("+both") else "")


def _rate(gbps: float | None) -> str:
    return "–" if gbps is None else f"{gbps:.1f}" if gbps < 1000 else f"{gbps:.0f}"


def _best(accounts: Iterable[Ledger]) -> list[Ledger]:
    """The fastest of each way and method."""
    best: dict[tuple[object, ...], Ledger] = {}
    for one in accounts:
        key = (one.kind, one.way, one.method)
        if key not in best or one.measured.median > best[key].measured.median:
            best[key] = one
    return list(best.values())


def _odd(found: Diagnosis, shown: Iterable[Shortfall]) -> list[Ledger]:
    odd = []
    for one in shown:
        held = [a for a in found.accounts if a.short and a.id in one.ids]
        odd += [max(held, key=lambda account: account.missing)] if held else []
    return list(dict.fromkeys(odd))

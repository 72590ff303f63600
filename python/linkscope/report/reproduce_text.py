"""A study beside this machine on a terminal: what differs, the verdict, the tables, every claim; figures if asked."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscope.analysis.claims import FormerJudgement
from linkscope.analysis.reproduce import Grid, GridCell, Reproduction, ShownExhibit
from linkscope.report import wording
from linkscope.report.grid import Parts, empty_grid, words
from linkscope.report.terminal import print_table

STYLES = {"agrees": "green", "differs": "bold red", "untested": "dim"}
WORDS = {"agrees": "agrees", "differs": "differs", "untested": "not tested"}


def show(found: Reproduction, console: Console) -> None:
    """The study's tables and the claims that can be tested; its pictures are named, with what prints them."""
    _show_top(found, console)
    for one in found.shown:
        if one.grid is not None:
            _print_grid(one, one.grid, console)
    pictures = [one.exhibit.name for one in found.shown if one.tables]
    if pictures:
        console.print(Text(f"\nAlso: {', '.join(pictures)}. --full prints them, -o PAGE.html draws them.", style="dim"))
    told = [one for one in found.judgements if not one.claim.cell]
    tested = [one for one in told if one.outcome != "untested"]
    if tested:
        _show_claims(tested, console)
    if len(tested) < len(told):
        left = wording.count(len(told) - len(tested), "claim")
        console.print(Text(f"\n{left} cannot be tested here: --full says which, and why", style="dim"))


def show_all(found: Reproduction, console: Console) -> None:
    """Everything, in the study's order, the claims last."""
    _show_top(found, console)
    for one in found.shown:
        if one.grid is not None:
            _print_grid(one, one.grid, console)
        for table in one.tables:
            print_table(table, console)
        if one.why:
            console.print(Text(f"\n{heading(one)}", style="bold"))
            console.print(Text(f"not tested: {one.why}", style="dim"))
    _show_claims(found.judgements, console)


def verdict(found: Reproduction) -> str:
    """One sentence."""
    counts = found.counts
    who = "the model" if found.modelled else "this machine"
    tested = counts["agrees"] + counts["differs"]
    text = f"Of {wording.count(len(found.judgements), 'claim')} {tested} can be tested on {who}: "
    text += f"{counts['agrees']} agree, {counts['differs']} differ."
    agreed, inputs, foretold, predictions = found.predicted
    if inputs:
        text += f" The model was given {inputs} of them ({agreed} agree) and predicts {predictions} ({foretold} agree)."
    return text if tested else f"None of the study's {len(found.judgements)} claims can be tested on {who}."


def heading(one: ShownExhibit) -> str:
    """Name, title and, of a table, unit."""
    unit = f", {one.exhibit.unit}" if one.grid is not None else ""
    return f"{one.exhibit.name}: {one.exhibit.title}{unit}"


def off(one: FormerJudgement) -> str:
    """By how much a claim is missed, such as "12 % less", "3.1 times"; empty where nothing tells."""
    if one.off is None or abs(one.off) < 0.0005 or one.claim.alike is not None:
        return ""
    if one.off >= 1:
        return f"{1 + one.off:.3g} times"
    return f"{abs(one.off):.1%} {'more' if one.off > 0 else 'less'}".replace("%", " %")


def outcome(one: FormerJudgement) -> str:
    """The verdict; of what the model was given it says so."""
    return WORDS[one.outcome] + (" (given)" if one.fitted and one.outcome != "untested" else "")


def says(one: FormerJudgement) -> str:
    """The claim; of a table's cell with the published figure."""
    return f"{one.claim.says}: {one.claim.about:g} {one.claim.unit}" if one.claim.cell else one.claim.says


def reasons(grid: Grid) -> list[str]:
    """Why figures of a table are lacking, each once."""
    return list(dict.fromkeys(cell.why for cells in grid.cells for cell in cells if cell.why))


def figure(value: float | None) -> str:
    """Three digits; "–" for none."""
    return "–" if value is None else f"{value:.3g}"


def _show_top(found: Reproduction, console: Console) -> None:
    console.print(Text(found.study.title, style="bold"))
    here = Text(f"beside {found.run.node.name}")
    if found.modelled:
        here.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(here)
    console.print(Text(verdict(found)))
    for notice in found.run.notices:
        console.print(Text(notice, style="yellow"))
    if found.differences:
        grid = empty_grid("what differs")
        for name in (f"the study ({found.machine.node})", "here"):
            grid.add_column(Text(name), overflow="fold")
        for what, there, own in found.differences:
            grid.add_row(Text(what), words(there), words(own))
        console.print()
        console.print(grid)


def _print_grid(one: ShownExhibit, grid: Grid, console: Console) -> None:
    console.print(Text(f"\n{heading(one)}", style="bold"))
    table = empty_grid("")
    table.add_column("")
    for column in grid.columns:
        table.add_column(Text(column), justify="right", no_wrap=True)
    for line, cells in zip(grid.lines, grid.cells, strict=True):
        table.add_row(Text(line), "study", *(Text(figure(cell.published), style="dim") for cell in cells))
        table.add_row("", "here", *map(_here, cells))
    console.print(table)
    for why in reasons(grid):
        console.print(Text(f"–: {why}", style="dim"))


def _here(cell: GridCell) -> Text:
    outcome = cell.judgement.outcome if cell.judgement is not None else None
    style = STYLES[outcome] if outcome is not None else "bold"
    return Text(("≠ " if outcome == "differs" else "") + figure(cell.here), style=style)


def _show_claims(judgements: Iterable[FormerJudgement], console: Console) -> None:
    console.print(Text("\nClaims", style="bold"))
    console.print(_claims(judgements))


def _claims(judgements: Iterable[FormerJudgement]) -> Table:
    grid = empty_grid("where")
    grid.add_column("the study says")
    grid.add_column("here", overflow="fold")
    grid.add_column("")
    for one in judgements:
        here: Text | Parts = (
            words(one.why, "dim") if one.outcome == "untested" else words(" ".join([one.here, _by(one)]).strip())
        )
        grid.add_row(words(one.claim.where), words(says(one)), here, Text(outcome(one), style=STYLES[one.outcome]))
    return grid


def _by(one: FormerJudgement) -> str:
    missed = off(one)
    return f"({missed})" if missed and one.outcome == "differs" else ""

"""Answers on a terminal: of each question a sentence that concludes, and its table where it is asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polars import DataFrame
from rich.console import Console
from rich.text import Text

from linkscope.analysis.questions import QUESTIONS
from linkscope.report import wording
from linkscope.report.answers.answer import AnswerText, Line, words
from linkscope.report.answers.paths import ANISOTROPY, ENGINES, NUMA, PEAKS, TIERS
from linkscope.report.answers.sharing import INTERFERENCE, SCALING, THREADS
from linkscope.report.answers.sizes import COLLECTIVES, FITS, SATURATION
from linkscope.report.label_lines import LabelColumn, print_label_lines

ANSWERS: dict[str, AnswerText] = {
    **{"peaks": PEAKS, "tiers": TIERS, "fits": FITS, "saturation": SATURATION, "anisotropy": ANISOTROPY, "numa": NUMA},
    **{
        "engines": ENGINES,
        "scaling": SCALING,
        "threads": THREADS,
        "interference": INTERFERENCE,
        "collectives": COLLECTIVES,
    },
}
"""By the names of ``QUESTIONS``."""
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?( %)?")
NOTHING = (
    "This run answers none of the questions: it has no figures that can be compared. `linkscope show RUN` has all."
)


def show(found: Mapping[str, DataFrame], node: str, console: Console, caveats: Sequence[str] = ()) -> None:
    """Every answer in a sentence or two, and how to get at its table. ``caveats``: what to know before, a line each."""
    _print_title(found, node, caveats, console)
    for name, table in found.items():
        _print_conclusion(name, table, console)
    if found:
        console.print(Text(f"\nlinkscope analyze RUN {next(iter(found)):<10} the table of an answer", style="dim"))
        console.print(Text("linkscope analyze RUN --full     all tables", style="dim"))


def show_tables(found: Mapping[str, DataFrame], node: str, console: Console, caveats: Sequence[str] = ()) -> None:
    """Every answer with its whole table; ``caveats`` as of ``show``."""
    _print_title(found, node, caveats, console)
    for name, table in found.items():
        _print_conclusion(name, table, console)
        if len(table):
            _print_table(ANSWERS[name], table, console)


def _print_title(found: Mapping[str, DataFrame], node: str, caveats: Sequence[str], console: Console) -> None:
    title = Text(node, style="bold")
    if any(modelled(table) for table in found.values()):
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    for caveat in caveats:
        console.print(Text(caveat, style="yellow"))
    if not found:
        console.print(Text(NOTHING))


def _print_conclusion(name: str, table: DataFrame, console: Console) -> None:
    console.print(Text(name, style="bold") + Text(f"  {QUESTIONS[name].asks}", style="dim"))
    console.print(Text(conclusion(name, table)))


def conclusion(name: str, table: DataFrame) -> str:
    """One sentence."""
    if table.is_empty():
        return f"Cannot tell: this run lacks {QUESTIONS[name].needs}."
    return ANSWERS[name].conclude(table)


def to_json(found: Mapping[str, DataFrame]) -> dict[str, Any]:
    """By question: the sentence and the table's lines."""
    return {name: {"conclusion": conclusion(name, table), "lines": table.to_dicts()} for name, table in found.items()}


def modelled(table: DataFrame) -> bool:
    """Whether any figure in it was."""
    return bool(len(table) and table["modelled"].any())


def _print_table(answer: AnswerText, table: DataFrame, console: Console) -> None:
    groups: dict[tuple[str, tuple[str, ...]], list[Line]] = {}
    for line in answer.order(table).to_dicts():
        kinds = tuple(device.partition(":")[0] for device in answer.devices(line))
        groups.setdefault((answer.label(line), kinds or (str(len(groups)),)), []).append(line)
    columns = [
        LabelColumn(head, tuple(_together([text(line) for line in alike]) for alike in groups.values()))
        for head, text in answer.columns.items()
    ]
    kept = [column for column in columns if any(column.cells)]
    labels = [words(label, _devices([answer.devices(line) for line in some])) for (label, _), some in groups.items()]
    twice = {label for label, count in Counter(labels).items() if count > 1}
    labels = [
        words(label, some[0].get("row") or some[0].get("regime")) if label in twice else label
        for label, some in zip(labels, groups.values(), strict=True)
    ]
    print_label_lines("", labels, kept, console)
    if answer.legend:
        console.print(Text(answer.legend, style="dim"))


def _together(cells: Sequence[str]) -> str:
    """Of lines that differ in devices alone: the lowest and the highest number, or the most frequent words."""
    found = Counter(cells)
    if len(found) == 1:
        return cells[0]
    numbers = sorted((cell for cell in found if _NUMBER.fullmatch(cell)), key=lambda cell: float(cell.split()[0]))
    if len(numbers) == len(found):
        return f"{numbers[0].partition(' ')[0]}–{numbers[-1]}"
    (most, _), *others = found.most_common()
    return f"{most} and {len(others)} more"


def _devices(places: Sequence[Sequence[str]]) -> str:
    """Such as "gpu:0-3 numa:0": each one's device at every position."""
    return " ".join(_span(dict.fromkeys(column)) for column in zip(*places, strict=True))


def _span(names: Iterable[str]) -> str:
    """ "gpu:0-3" of gpu:0 to gpu:3, "gpu:0,2" where some lack."""
    kind = next(iter(names)).partition(":")[0]
    numbers = sorted(int(name.partition(":")[2]) for name in names)
    whole = len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{kind}:{f'{numbers[0]}-{numbers[-1]}' if whole else ','.join(map(str, numbers))}"

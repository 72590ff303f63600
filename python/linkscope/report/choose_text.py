"""Choices on a terminal: for each question the best interface by size, and what another costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from linkscope.analysis.choose import AtSize, Choice, Choices, Question
from linkscope.analysis.size_ranges import AS_GOOD, Crossover, SizeRange
from linkscope.analysis.workloads import WorkloadTable
from linkscope.report import wording, workload_text
from linkscope.report.grid import GAP, words
from linkscope.report.label_lines import Column, print_label_lines

MOST_LINES = 40
INDENT = 2
MOST_ASKED = 2
"""Applications."""
COST_WIDTH = 9
"""Of a column with what a way costs at a size."""
HEAD_LINES = 18
"""Title, verdict, caveats, the line on what is left out and what next, in 80 columns."""
WORDS = 'By size what is fastest, then how much longer others take. Equals stand together with "or": '
ALIKE, ALIKE_IN_MODEL = (
    "their 95 % intervals do not tell them apart, or they differ by less than 1 %.",
    "they differ by less than 1 %.",
)


LAUNCHES = (
    "kernel-copy: all repeats are one launch, so its time holds none; a copy engine's holds a call each. An "
    "application that launches every copy adds some microseconds: `linkscope run calls` has them, `--clock host` "
    "measures with them."
)
NAMED = {
    "xccl": "xccl: NCCL or RCCL",
    "direct": "direct: linkscope's own kernels on peers' memory, which show what the hardware allows",
}
"""Ways whose names say little."""
_KERNELS = ("kernel-", "bulk-copy")


def show(found: Choices, node: str, console: Console, asked: Sequence[WorkloadTable] = ()) -> None:
    """In at most 40 lines: what applications are ``asked`` about, the answers that matter most, the others counted."""
    _print_head(found, node, console, asked)
    matter = [one for one in found.answers if not one.equals]
    left, shown = MOST_LINES - HEAD_LINES, 0
    for alike in sorted(by_ranges(matter), key=lambda answers: rank(answers[0])):
        block = _block(alike, console.width)
        lines = len(console.render_lines(block, pad=False))
        if lines > left:
            break
        console.print(block)
        left, shown = left - lines, shown + len(alike)
    rest = [
        *([wording.count(len(matter) - shown, "more question")] if shown < len(matter) else []),
        *(
            [f"{len(found.answers) - len(matter)} in which all ways are equals"]
            if len(matter) < len(found.answers)
            else []
        ),
        *([f"{len(found.unrivalled)} done in one way alone"] if found.unrivalled else []),
    ]
    if rest:
        console.print(Text(f"\n{'; '.join(rest)}: see --full", style="dim"))
    if found.answers and not found.modelled:
        console.print(
            Text("linkscope choose RUN --export json -o FILE  for programs; -h names more forms", style="dim")
        )


def show_all(found: Choices, node: str, console: Console, asked: Sequence[WorkloadTable] = ()) -> None:
    """Every answer, each with what every way costs at every size."""
    _print_head(found, node, console, asked)
    for answer in found.answers:
        console.print(_block([answer], console.width))
        _print_map(answer, console)
    if found.unrivalled:
        console.print(Text("Done in one way alone:", style="bold"))
    for question in found.unrivalled:
        console.print(Text(f"  {title(question)}", style="dim"))


def verdict(found: Choices, asked: Sequence[WorkloadTable] = ()) -> str:
    """One sentence or two; of the applications that the run was ``asked`` about what is fastest and its gain."""
    starts = tuple(f"{one.application} " for one in asked)
    others = [one for one in found.answers if not one.question.movement.startswith(starts)] if asked else []
    told = [workload_text.answer(one) for one in asked[:MOST_ASKED]]
    rest = [f"{wording.count(len(asked) - MOST_ASKED, 'more')}: `linkscope show`."] if len(asked) > MOST_ASKED else []
    return " ".join([*told, *rest, *([_of_questions(found)] if others or not asked else [])])


def _of_questions(found: Choices) -> str:
    matter = [one for one in found.answers if not one.equals]
    if not found.answers:
        return (
            "Nothing to choose: this run does nothing in two ways under the same conditions. With GPUs the suites "
            "default and peer do; between processes collectives and mpi-allocators; an application's messages halo."
        )
    if not matter:
        return f"It does not matter: in {len(found.answers)} of {len(found.answers)} questions all ways are equals."
    worst = min(matter, key=lambda one: (_on_host(one), -one.stake))
    return (
        f"It matters in {len(matter)} of {len(found.answers)} questions. Most is at stake here: "
        f"{title(worst.question)}; the wrong way takes up to {1 + worst.stake:.3g} times as long."
    )


def title(question: Question) -> str:
    """Such as "GPU to GPU, nvlink-18, device > device (device clock)"."""
    what = ", ".join(word for word in (question.movement, question.tier, question.memory) if word)
    return f"{what} ({', '.join(question.conditions)})"


def best(one: SizeRange) -> str:
    """Its winner, or its equals."""
    return wording.either(one.best)


def sizes(one: SizeRange) -> str:
    """Such as "4 KiB to 16 MiB"."""
    if one.first == one.last:
        return wording.size(one.first)
    return f"{wording.size(one.first)} to {wording.size(one.last)}"


def costs(one: SizeRange) -> str:
    """What the next best costs more there, and the worst."""
    named = one.excess if len(one.excess) < 2 else (one.excess[0], max(one.excess, key=lambda loser: loser[2]))
    told = dict.fromkeys(f"{name} {_more(least, most)}" for name, least, most in named)
    return "; worst ".join(told)


def rank(answer: Choice) -> tuple[bool, int, bool, float]:
    """Order of importance: what GPUs do before what CPUs do, plain questions before others, movements between devices
    before those within one."""
    return _on_host(answer), len(answer.question.conditions), not answer.question.tier, -answer.stake


def _on_host(answer: Choice) -> bool:
    return "GPU" not in answer.question.movement


def _print_head(found: Choices, node: str, console: Console, asked: Sequence[WorkloadTable]) -> None:
    head = Text(node, style="bold")
    if found.modelled:
        head.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(head)
    console.print(Text(verdict(found, asked), style="bold"))
    if found.answers:
        console.print(Text(WORDS + (ALIKE_IN_MODEL if found.modelled else ALIKE), style="dim"))
    for text in caveats(found):
        console.print(Text(text, style="yellow"))


def caveats(found: Choices) -> list[str]:
    """What a reader must know before he takes an answer: a sentence or two each."""
    rivals = {name for one in found.answers for name in one.rivals}
    named = [text for start, text in NAMED.items() if any(name.startswith(start) for name in rivals)]
    told = [f"{'; '.join(named)}."] if named else []
    told += [f"{setting}: with it that library may be faster." for setting in found.settings]
    if any(_mixes_launches(one) for one in found.answers):
        told.append(LAUNCHES)
    return told


def _mixes_launches(one: Choice) -> bool:
    """Whether kernels that are launched once stand beside copies that are called one by one."""
    kernels = [name.startswith(_KERNELS) for name in one.rivals]
    return one.question.conditions[0].startswith("device clock") and any(kernels) and not all(kernels)


def by_ranges(answers: Iterable[Choice]) -> list[list[Choice]]:
    """Those that differ only in the paths they are about, together."""
    found: dict[object, list[Choice]] = {}
    for one in answers:
        ranges = tuple((span.first, span.last, span.best) for span in one.ranges)
        found.setdefault((replace(one.question, tier=""), ranges), []).append(one)
    return list(found.values())


def _block(alike: Sequence[Choice], width: int) -> Group:
    """A title, a line for each size range, and where ways cross; costs from the least to the most of all."""
    spans = [_together(span) for span in zip(*(one.ranges for one in alike), strict=True)]
    tiers = list(dict.fromkeys(one.question.tier for one in alike))
    tier = " or ".join(tiers) if len(tiers) < 3 else f"{len(tiers)} kinds of links"
    head = Text(title(replace(alike[0].question, tier=tier)), style="bold")
    parts: list[RenderableType] = [Text(""), head, *_range_lines(spans, width)]
    if len(alike) == 1 and (line := closing(alike[0])):
        parts.append(Text(f"  {line}", style="dim"))
    return Group(*parts)


def _range_lines(spans: Sequence[SizeRange], width: int) -> list[RenderableType]:
    """A line for each range, or two where its costs do not fit beside it."""
    sized, ways = max(len(sizes(one)) for one in spans), max(len(best(one)) for one in spans)
    beside = all(INDENT + sized + GAP + ways + GAP + len(costs(one)) <= width for one in spans)
    lines: list[RenderableType] = []
    for one in spans:
        line = Text(f"{' ' * INDENT}{sizes(one):<{sized + GAP}}").append(best(one), style="cyan")
        if beside:
            line.pad_right(max(INDENT + sized + GAP + ways + GAP - len(line), 0))
        lines.append(line.append(costs(one), style="dim") if beside else line)
        if not beside and costs(one):
            lines.append(Padding(words(costs(one), "dim"), (0, 0, 0, 2 * INDENT)))
    return lines


def _together(spans: Sequence[SizeRange]) -> SizeRange:
    """One range of several that have the same best."""
    found: dict[str, tuple[float, float]] = {}
    for name, least, most in (loser for span in spans for loser in span.excess):
        low, high = found.get(name, (least, most))
        found[name] = min(low, least), max(high, most)
    return replace(spans[0], excess=tuple((name, *cost) for name, cost in found.items()))


def closing(answer: Choice) -> str:
    """Where ways cross, and what one for all sizes costs; may be empty."""
    aside = ", launches aside" if _mixes_launches(answer) else ""
    cross = [f"cross at {_about(one.size)}{_within(one)}{aside}" for one in answer.crossovers]
    always = answer.always if len(answer.ranges) > 1 else None
    one_for_all = [f"{always[0]} for all sizes {_at_most(always[1])}"] if always else []
    return "; ".join([*cross, *one_for_all])


def _at_most(most: float) -> str:
    return "is as good" if most <= AS_GOOD else f"costs at most {_percent(most)}"


def _within(one: Crossover) -> str:
    low, high = _about(one.low), _about(one.high)
    return "" if low == high else f" ({low} to {high})"


def _print_map(answer: Choice, console: Console) -> None:
    """In as many parts as the width of the terminal needs."""
    head = "costs more than the best"
    left = console.width - max(len(head), min(max(map(len, answer.rivals)), console.width // 2))
    each = max(left // COST_WIDTH, 1)
    for start in range(0, len(answer.sizes), each):
        columns = [
            Column(wording.size(at.bytes), tuple(cost(at, name) for name in answer.rivals), "numbers")
            for at in answer.sizes[start : start + each]
        ]
        print_label_lines(head, answer.rivals, columns, console)


def cost(at: AtSize, name: str) -> str:
    """Of a way at a size: "best", "equal", "+12 %"; empty where it was not measured."""
    if name in at.best:
        return "best" if len(at.best) == 1 else "equal"
    return next((_percent(share) for rival, share in at.excess if rival == name), "")


def _more(least: float, most: float) -> str:
    low, high = _percent(least), _percent(most)
    if low == high:
        return low
    return f"up to {high}" if least <= AS_GOOD else f"{low} to {high}"


def _percent(share: float) -> str:
    return f"+{share * 100:.0f} %" if share < 10 else f"x{1 + share:.3g}"


def _about(size: float) -> str:
    """Two digits: what a crossover is worth."""
    return wording.size(float(f"{size / _unit(size):.2g}") * _unit(size))


def _unit(size: float) -> int:
    return next((unit for unit in (1 << 30, 1 << 20, 1 << 10) if size >= unit), 1)

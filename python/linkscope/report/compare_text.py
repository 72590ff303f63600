"""A comparison on a terminal: the answer first, then what changed by what it has in common, then what else differs."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from linkscope.analysis.common_cause import CommonCause
from linkscope.analysis.compare import BETTER, SAME, UNCLEAR, WORSE, Change, Comparison
from linkscope.analysis.setting_changes import DEVICES
from linkscope.report import wording
from linkscope.report.label_lines import LabelColumn, print_label_lines
from linkscope.results.figure_class import FigureClass

MOST_PERCENT = 3.0
"""Ratios above are told as factors."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
ALPHA_OF_INTERVAL = 0.05
FEW_FINDINGS = 4
FEW_CHANGES = 3
FEW_LINES = 5
CLASSES = {
    FigureClass.GPU_LARGE.key: "large copies between GPUs",
    FigureClass.GPU.key: "other figures of GPUs",
    FigureClass.PINNED.key: "pinned memory",
    FigureClass.PAGEABLE.key: "pageable memory",
    FigureClass.CPU.key: "host memory by CPUs",
    FigureClass.PROCESSES.key: "between processes",
}


def show(found: Comparison, node: str, console: Console) -> None:
    """In at most 40 lines: the gravest findings, the first figures of each, the first differences of settings."""
    _show(found, node, FEW_FINDINGS, FEW_CHANGES, FEW_LINES, console)


def show_all(found: Comparison, node: str, console: Console) -> None:
    """Every finding with all of its figures, and then every other figure."""
    many = len(found.figures) + sum(map(len, (found.differences, found.lost, found.gone, found.added)))
    _show(found, node, many, many, many, console)
    rest = [change for change in found.changes if change.verdict in (SAME, UNCLEAR)]
    if rest:
        _print_changes(rest, (one.verdict for one in rest), console)
    if any(one.verdict == UNCLEAR for one in rest):
        neither = f"neither surely within {wording.percent(found.threshold)} nor surely changed"
        stricter = ", stricter than the 95 % interval beside it" if found.alpha < ALPHA_OF_INTERVAL else ""
        console.print(Text(f"{UNCLEAR}: {neither} (--alpha {_alpha(found)}{stricter})", style="dim"))


def verdict(found: Comparison) -> str:
    """What is worse, what is better, how much is the same, and what could not be told."""
    text, count = changed(found), len(found.figures)
    if found.unknown < count or found.lost:
        same = f"{found.count(SAME)} of {count} figures are the same within {wording.percent(found.threshold)}"
        several = min(len(found.base), len(found.new)) > 1 and not found.calibrated
        calibrate = ", or `linkscope calibrate` how much it varies here" if several else ""
        more = f": more runs of each side would tell{calibrate}" if _farthest(found) else ""
        text += f" {same}, {found.count(UNCLEAR)} can't be told from noise{more}."
        text += _farthest(found)
    if found.gone:
        text += f" Not measured in NEW: {wording.count(len(found.gone), 'case')} of BASE ({_why_gone(found)})."
    if found.seen_from:
        seen = ", ".join(f"{_least(change)} ({CLASSES[name]})" for name, change in found.seen_from.items())
        text += f" Half of the figures would have shown a change of {seen}."
    return text


def changed(found: Comparison) -> str:
    """What is worse and what is better, or that nothing is, or that nothing can be told, in one sentence."""
    parts = [_direction(found, WORSE), _direction(found, BETTER)]
    if found.lost:
        parts.insert(0, f"{wording.count(len(found.lost), 'case')} no longer ok")
    text = "; ".join(part for part in parts if part) or _unchanged(found)
    return f"{text[0].upper()}{text[1:]}."


def _unchanged(found: Comparison) -> str:
    """That nothing changed, of as many figures as that can be said of."""
    count, nothing = len(found.figures), f"no change that is beyond {_noise(found)}"
    if not found.unknown:
        alone = (
            f"cannot tell: of {wording.count(count, 'figure')} none is known to be the same, and none shows a change"
        )
        return nothing if found.count(SAME) or not count else f"{alone} beyond {_noise(found)}"
    if found.unknown == count:
        farthest = _farthest(found).removesuffix(".")
        figures = "the figure differs" if count == 1 else f"the {count} figures differ"
        lone = [side for side, paths in (("BASE", found.base), ("NEW", found.new)) if len(paths) == 1]
        if len(lone) == 1:
            one = f"cannot tell: of {lone[0]} there is one run, which does not show"
            return f"{one} how far {figures} from run to run.{farthest}"
        return f"cannot tell: nothing shows how far {figures} from run to run.{farthest}"
    known = wording.count(count - found.unknown, "figure")
    return f"{nothing} in {known}; of {found.unknown} no interval between runs is known"


def _farthest(found: Comparison) -> str:
    """The largest difference that can't be told from none: a sentence behind a space; empty where there is none."""
    one = found.farthest
    if one is None or percent(one.ratio) in ("+0.0 %", "-0.0 %"):
        return ""
    sides = f"{wording.value(one.base)} to {wording.value(one.new)} {one.unit}"
    means = "" if len(found.base) == len(found.new) == 1 else " (means of the runs' medians)"
    return f" Farthest apart of what can't be told: {sides}{means}, {percent(one.ratio)}, {one.name}."


def _alpha(found: Comparison) -> str:
    return f"{found.alpha * 100:g} % over all figures"


def _why_gone(found: Comparison) -> str:
    """Such as "3 left out for lack of time, 1 not in its plan"."""
    left_out, not_reached = len(found.left_out), len(found.not_reached)
    causes = {
        "left out for lack of time": left_out,
        "not reached before it ended": not_reached,
        "not in its plan": len(found.gone) - left_out - not_reached,
    }
    return ", ".join(f"{count} {cause}" for cause, count in causes.items() if count)


def _noise(found: Comparison) -> str:
    if found.other_machine or min(len(found.base), len(found.new)) > 1:
        return "the noise of these runs"
    return "this node's noise" if found.calibrated else "the noise that is assumed (`linkscope calibrate` measures it)"


def _unknown(found: Comparison) -> str:
    lone = [name for name, paths in (("BASE", found.base), ("NEW", found.new)) if len(paths) == 1]
    needs = {
        0: "some of these are in one run of a side alone",
        1: f"{lone and lone[0]} is one: add another{' (--base RUN)' if lone == ['BASE'] else ''}",
        2: "add another run to both sides: `compare BASE NEW NEW2 --base BASE2` (of a past state there is no other; "
        "keep two from now on)",
    }
    what = "host memory and processes vary too much from run to run to be judged by one run of a side"
    return f"{wording.count(found.unknown, 'figure')}: {what}; {needs[len(lone)]}"


def _direction(found: Comparison, direction: str) -> str:
    alike = [one for one in found.findings if one.worse == (direction == WORSE)]
    if not alike:
        return ""
    things = "one thing is" if len(alike) == 1 else f"{len(alike)} things are"
    return f"{things} {direction}: {alike[0].what}, {percent(alike[0].ratio)}"


def _show(found: Comparison, node: str, findings: int, changes: int, lines: int, console: Console) -> None:
    title = Text(node, style="bold")
    if found.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    console.print(Text(f"base {_side(found.base)}; new {_side(found.new)}", style="dim"))
    if found.other_machine:
        console.print(Text(_machines(found), style="yellow"))
    _print_words(verdict(found), "bold", console)
    both = [path for path in found.base if path in found.new]
    if both:
        console.print(Text(f"{both[0]} is on both sides", style="yellow"))
    if found.unknown:
        console.print(Text(_unknown(found), style="yellow"))
    _print_lines("measured under", [f"{run}: {what}" for run, what in found.spoiled], lines, console)
    for number, one in enumerate(found.findings[:findings], start=1):
        _print_finding(number, one, changes, console)
    if len(found.findings) > findings:
        console.print(Text(f"{len(found.findings) - findings} more with --full", style="dim"))
    _print_lines("no longer ok", _lost(found), lines, console)
    ordered = sorted(found.differences, key=lambda one: one[0] != DEVICES)
    settings = [f"{what}: {old} -> {new}" for what, old, new in ordered]
    _print_lines("set differently", settings, lines, console)
    _print_lines("only in BASE", _cases(found.gone, lines), lines, console)
    _print_lines("only in NEW", _cases(found.added, lines), lines, console)
    if any(one.worse for one in found.findings) and not found.other_machine:
        console.print(Text(f"linkscope explain {found.new[-1]}  why it may be so", style="dim"))


def _machines(found: Comparison) -> str:
    if not found.no_machine:
        return "the two sides are of different machines: see their devices below"
    run = next((path for path in (*found.base, *found.new) if path not in found.no_machine), "RUN")
    return f"{wording.few(found.no_machine)}: {no_machine(run)}"


def no_machine(run: str) -> str:
    """What to do about an import that says nothing of its machine, which may be that of ``run``."""
    return (
        "an import that says nothing of its machine; if it is the same, "
        f"`linkscope import FILE --beside {run} -o OTHER.jsonl` takes it from there"
    )


def _cases(names: Sequence[str], most: int) -> Sequence[str]:
    """Their ids; of more than ``most`` how many each suite row has."""
    if len(names) <= most:
        return names
    counts = Counter("/".join(name.split("/")[:2]) for name in names)
    return [f"{wording.count(count, 'case')} of {row}" for row, count in counts.most_common()]


def _print_finding(number: int, one: CommonCause, most: int, console: Console) -> None:
    direction = "worse" if one.worse else "better"
    others = {"unchanged": one.unchanged, "unclear": one.unclear}
    unchanged = "".join(f"; {count} more there {what}" for what, count in others.items() if count)
    figures = wording.count(len(one.changes), "figure")
    head = f"{number}. {one.what}: {direction}, {percent(one.ratio)} in {figures}{unchanged}"
    console.print(Text(head, style="bold red" if one.worse else "bold green"))
    shown = sorted(one.changes, key=lambda change: change.p)[:most]
    _print_changes(shown, (), console)
    if len(one.changes) > most:
        console.print(Text(f"   {len(one.changes) - most} more with --full", style="dim"))


def _print_changes(changes: Sequence[Change], verdicts: Iterable[str], console: Console) -> None:
    """A line for each; ``verdicts``: of each, or none."""
    known = [f"{percent(one.low)} to {percent(one.high)}" if one.low and one.high else "not known" for one in changes]
    columns = [
        LabelColumn("base", tuple(wording.value(one.base) for one in changes)),
        LabelColumn("new", tuple(wording.value(one.new) for one in changes)),
        LabelColumn("unit", tuple(one.unit for one in changes)),
        LabelColumn("change", tuple(percent(one.ratio) for one in changes)),
        LabelColumn("95 % interval", tuple(known)),
    ]
    last = tuple(verdicts)
    print_label_lines(
        "figure", [one.name for one in changes], [*columns, *([LabelColumn("verdict", last)] if last else [])], console
    )


def _lost(found: Comparison) -> list[str]:
    """A line for each reason, with the cases that have it; reasons that differ in their numbers are one."""
    reasons: dict[str, list[str]] = {}
    for name, status, why in found.lost:
        reasons.setdefault(f"{status}: {_NUMBER.sub('…', why)}", []).append(name)
    return [f"{why} ({wording.few(names)})" for why, names in reasons.items()]


def _print_lines(what: str, lines: Sequence[str], most: int, console: Console) -> None:
    if lines:
        rest = f" and {len(lines) - most} more (--full)" if len(lines) > most else ""
        _print_words(f"{what}: {'; '.join(lines[:most])}{rest}", "dim", console)


def _print_words(text: str, style: str, console: Console) -> None:
    """Wrapped, without a break in an id that is longer than a line."""
    for line in textwrap.wrap(text, console.width, break_long_words=False, break_on_hyphens=False):
        console.print(Text(line, style=style), soft_wrap=True)


def _side(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{len(paths)} runs from {paths[0]} on"


def _least(change: float) -> str:
    """Of the least change that would show: "6.7 %", "a factor of 46"."""
    return f"a factor of {1 + change:.2g}" if 1 + change > MOST_PERCENT else f"{float(f'{change * 100:.2g}'):g} %"


def percent(ratio: float) -> str:
    """Of new over base: "-3.0 %", "x5.7"."""
    return f"x{ratio:.3g}" if ratio > MOST_PERCENT else f"{(ratio - 1) * 100:+.1f} %"

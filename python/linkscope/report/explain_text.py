"""An explanation on a terminal: the answer first, then what is slow and why, then the ledger of each kind of path."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Literal

from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from linkscope.analysis.conditions import differing
from linkscope.analysis.explain import Account, Diagnosis, Shortfall
from linkscope.analysis.known_collectives import JudgedCollective
from linkscope.analysis.latencies import TOLERANCE, JudgedLatency
from linkscope.analysis.layers import Added
from linkscope.analysis.ledger import SATURATED, SIBLINGS, SIZE, Ledger
from linkscope.analysis.left_out import OF_CPUS, OF_PROCESSES, OF_WORKLOADS, TOGETHER
from linkscope.messages.listed import listed
from linkscope.report import wording
from linkscope.report.explain_collectives import as_known, larger, left_open, print_collectives, worst_of_each
from linkscope.report.grid import empty_grid
from linkscope.report.model_grounds import of_diagnosis

MOST_UNSEEN = 4
"""GPUs that are named one by one."""
MOST_LINES = 40
MOST_LINES_OF_TABLE = 14
UNITS = {"GB/s": "<>: both directions together", "ns": "whose memory answers > who waits"}
STEPS = {"line": "line rate", "engine": "what is left of it by packets and the engine's own ceiling"}
"""Columns that are printed where they fit."""
UNSURE = " ?"
OF_UNSURE = "?: may be short, too uncertain to tell"
LINKS = "Every link that was measured"
NOT_KNOWN = "–"
UNPUBLISHED = "linkscope does not know what is usual for"
MOST_OPEN = 2
"""Figures that may be short, to be named each."""
OF_SIBLINGS = "siblings: what good ones among them reach in this run, as nothing is known of them"
ONE_OF_EACH = (
    "Of each way the size and clock (the host's has calls in it) furthest below what is expected; `show` may have "
    "others."
)
EARLIER = (
    "`linkscope compare BASE RUN` holds a run against an earlier one; those of CPUs and processes want two runs of each"
)
FEW = 3
"""Findings that are shown unless all are asked for."""


def show(found: Diagnosis, console: Console) -> None:
    """In at most 40 lines: the gravest findings, and of each kind of path the one that is furthest below."""
    for most in range(MOST_LINES_OF_TABLE - 4 * len(found.shortfalls[:FEW]), -1, -1):
        tried = Console(file=StringIO(), width=console.width, record=True)
        _show(found, most, tried)
        if tried.export_text().count("\n") <= MOST_LINES:
            break
    _show(found, most, console)


def _show(found: Diagnosis, most: int, console: Console) -> None:
    """With so many paths in its table."""
    shown = found.shortfalls[:FEW]
    told = [one for one in found.accounts if one.held_against or one.line_gbps is not None]
    if found.modelled:  # a model is no witness for itself
        told = [one for one in told if one.held_against != SIBLINGS]
    worst = _worst(told)[:most]
    _print_head(found, shown, console)
    marked = _print_tables(found, [*worst, *(one for one in _odd(found, shown) if one not in worst)], [], console)
    print_collectives(worst_of_each(found.collectives), console, marked)
    if worst:
        console.print(Text(ONE_OF_EACH, style="dim"))
    _print_left_out(found, console)
    if len(found.shortfalls) > FEW:
        console.print(Text(f"{len(found.shortfalls) - FEW} more with --full", style="dim"))
    _print_further(found, console)


def show_all(found: Diagnosis, console: Console) -> None:
    """Every finding, path and latency, with the source of what is expected."""
    _print_head(found, found.shortfalls, console)
    waits = [one for one in found.latencies if one.expected_ns is not None]
    marked = _print_tables(found, found.accounts, waits, console)
    print_collectives(found.collectives, console, marked)
    _print_left_out(found, console)


def verdict(found: Diagnosis) -> str:
    """One to five sentences."""
    return f"{headline(found)} {grounds(found)}".rstrip()


def _failures(found: Diagnosis) -> str:
    """What failed comes first: the figures that are left say nothing of it."""
    if not found.failed:
        return ""
    cases, first = wording.count(sum(len(one.ids) for one in found.failed), "case"), found.failed[0]
    where = f"{', '.join(first.where)}: " if first.where else ""
    return f"{cases} failed ({where}{first.reason}). "


def cannot_tell(found: Diagnosis) -> bool:
    """Whether nothing that this run has could be called normal or not."""
    return not found.shortfalls and found.known <= _open(found)


def _open(found: Diagnosis) -> int:
    """How many of those that were held against what is known may be short, but too uncertain to tell."""
    return sum(one.held_against != SIBLINGS for one in found.unsure)


def conclusion(found: Diagnosis) -> tuple[tuple[str, str], ...]:
    """(Text, style) of what a terminal prints of the verdict, the headline on lines of its own."""
    return tuple((text, style) for text, style in ((headline(found), "bold"), (grounds(found), "")) if text)


def headline(found: Diagnosis) -> str:
    """The conclusion alone, a sentence or two."""
    if _predicts(found):
        return f"{_failures(found)}What the description predicts: nothing here was measured."
    if found.judged == 0:
        return f"{_failures(found)}Cannot tell whether this is normal: {_nothing(found)}"
    if not found.shortfalls:
        but = ", as far as intervals tell" if found.unsure else ""
        if not found.known:
            if found.links_unknown:
                return f"{_failures(found)}Cannot tell whether this is normal: {no_links(found)}"
            alike = f"of {found.judged} that could be compared those of one kind are alike in this run{but}"
            unknown = f"Cannot tell whether this is normal: {UNPUBLISHED} such paths"
            return f"{_failures(found)}{unknown}; {alike}."
        if cannot_tell(found):
            figures = wording.count(found.known, "figure")
            why = _by_nvls(found) or f"of all {figures} with known ones intervals leave it open."
            return f"{_failures(found)}Cannot tell whether this is normal: {why}"
        known = as_known(found.collectives)
        if len(found.collectives) == found.judged:
            return f"{_failures(found)}{known}{_unseen(found)}"
        known = f" {known}" if known else ""
        if not found.accounts or any(one.held_against == SIBLINGS for one in found.accounts):
            paths = f"Paths with known figures are as fast on this node as they should be{but}."
            return f"{_failures(found)}{paths}{known}{_unseen(found)}"
        paths = "What did not fail" if found.failed else "What was judged" if found.unseen else LINKS
        return f"{_failures(found)}{paths} is as fast on this node as it should be{but}.{known}{_unseen(found)}"
    worst, number = found.shortfalls[0], len(found.shortfalls)
    things = "One thing is" if number == 1 else f"{number} things are"
    first = "" if number == 1 else "first of all "
    return f"{_failures(found)}{things} slower than expected: {first}{_where(worst)}, {worst.what}, {lost(worst)}."


def no_links(found: Diagnosis) -> str:
    """Of an import that was told neither run nor machine: what is missing, and where it may come from."""
    name = found.described[0] if found.described else "NAME"
    such = "of such GPUs; if it has more, tests of all are left out" if found.described else "`linkscope list machines`"
    node = f"a described node ({such})"
    return (
        "the imported file does not say what links the node has, so there is nothing to hold its figures against. "
        f"`linkscope import FILE --machine {name}` takes them from {node}, `--beside RUN` from a run on the same node: "
        "then figures are judged, as far as any are known."
    )


def _unseen(found: Diagnosis) -> str:
    """Of which GPUs that says nothing: a sentence, behind a space; empty where of none."""
    if not found.unseen:
        return ""
    some = listed(found.unseen) if len(found.unseen) <= MOST_UNSEEN else f"{len(found.unseen)} GPUs"
    return f" Of {some} nothing was judged."


def _predicts(found: Diagnosis) -> bool:
    """Whether it is a model's, whatever was asked for, and is no shorter than such nodes are known to be."""
    return found.modelled and not found.shortfalls and bool(found.left_out or found.accounts or found.latencies)


def grounds(found: Diagnosis) -> str:
    """What the conclusion stands on, and what it leaves out; empty where nothing was judged."""
    if _predicts(found):
        return of_diagnosis(found)
    if found.judged == 0:
        return ""
    text = " ".join(filter(None, (_of_known(found), _of_siblings(found))))
    for told in (_unsure(found.unsure), "" if _by_nvls(found) else left_open(found.collectives)):
        text += f" {told[:1].upper()}{told[1:]}" if told else ""
    together = found.left_out.get(TOGETHER, 0)
    if together and not found.shortfalls:
        are = "is" if together == 1 else "are"
        text += f" {wording.count(together, 'figure')} {TOGETHER} {are} not judged: nobody knows what is usual."
    return text


def _by_nvls(found: Diagnosis) -> str:
    """Why nothing else than reductions in the switch leaves it open: a sentence; empty where anything does."""
    return left_open(found.collectives) if cannot_tell(found) and not _unsure(found.unsure) else ""


def _unsure(every: Sequence[Ledger | JudgedCollective]) -> str:
    """How many intervals leave open, and which is furthest below what is expected: a sentence; empty without any."""
    some = [one for one in every if not (isinstance(one, JudgedCollective) and one.faster_known)]
    if not some:
        return ""
    names = [
        f"{one.name if isinstance(one, JudgedCollective) else _path(one)} by {one.method} at {wording.size(one.bytes)}"
        for one in sorted(some, key=lambda one: one.missing, reverse=True)
    ]
    named = f"most of all {names[0]}" if len(names) > MOST_OPEN else " and ".join(names)
    count = wording.count(len(some), "figure")
    return f"{count} may be short, but too uncertain to tell: {named}. The same run with `--rounds 6:12` tells more."


def _of_known(found: Diagnosis) -> str:
    """A sentence; empty where nothing is known of such nodes."""
    if not found.known:
        return ""
    known = f"{wording.count(found.known, 'figure')} held against what such nodes are known to reach"
    if found.shortfalls:
        return f"{known}."
    every: tuple[Account | JudgedCollective, ...] = (*found.accounts, *found.latencies, *found.collectives)
    limits = _limits(one for one in every if one.held_against not in ("", SIBLINGS))
    open_ = _open(found)
    if open_ == found.known:
        return f"{known}."
    rest = found.known - open_
    clear = f"{rest} {'is' if rest == 1 else 'are'} not" if open_ else "none is"
    return f"Of {known}, {clear} short by more than healthy nodes differ ({limits})."


def _of_siblings(found: Diagnosis) -> str:
    """What was held against the run itself, and what that is worth: a sentence; empty where nothing was."""
    some = found.by_siblings
    if not some:
        return ""
    late = all(isinstance(one, JudgedLatency) for one in some)
    count = wording.count(len(some), "latency", "latencies") if late else wording.count(len(some), "figure")
    compared = f"{count} could only be held against siblings in this run"
    if found.shortfalls:
        return f"{compared}, as nothing is known of them."
    open_ = sum(one.held_against == SIBLINGS for one in found.unsure)
    alike = f"{len(some) - open_} are" if open_ else "they are"
    apart = max(abs(one.missing) for one in some if one not in found.unsure)
    return f"{compared}: {alike} within {apart * 100:.2g} % of those, as a fault of all would leave them, too."


def _short_from(some: Iterable[Account]) -> str:
    """ "short below 96 % of it": from where on figures are held to be short, of what is expected."""
    latencies = [one for one in some if isinstance(one, JudgedLatency)]
    below = dict.fromkeys(f"{(1 - one.tolerance) * 100:.0f} %" for one in some if not isinstance(one, JudgedLatency))
    above = [f"above {(1 + TOLERANCE) * 100:.0f} %"] if latencies else []
    return f"short {' or '.join([*([f'below {wording.either(list(below))}'] if below else []), *above])} of it"


def _limits(some: Iterable[Account | JudgedCollective]) -> str:
    """The least and the most tolerance, in percent."""
    judged = list(some)
    rates = [one.tolerance for one in judged if not isinstance(one, JudgedLatency)]
    told = " to ".join(dict.fromkeys(f"{one * 100:.0f} %" for one in (min(rates), max(rates)))) if rates else ""
    late = f"latencies {TOLERANCE * 100:.0f} %" if len(rates) < len(judged) else ""
    return ", ".join(filter(None, (told, late)))


def _nothing(found: Diagnosis) -> str:
    """Why nothing could be judged, and what to do instead."""
    kinds = set(found.left_out)
    if not (kinds or found.accounts or found.latencies):
        return "no case has a figure."
    if kinds == {OF_WORKLOADS}:
        return (
            "nobody can say how long an application's messages should take. `linkscope show RUN` tells which way is "
            "fastest; a run of the suite default judges the paths beneath."
        )
    if kinds == {OF_CPUS}:
        return f"{UNPUBLISHED} CPUs. {EARLIER}. `linkscope analyze RUN` tells what memory gives."
    if kinds <= {OF_CPUS, OF_PROCESSES} and not found.accounts and not (found.links_unknown and found.unseen):
        if found.known_from is not None:
            return larger(found.known_from)
        share = " `linkscope analyze RUN` tells what share of their links collectives reach."
        reach = share if found.unseen and not found.layers else ""
        return f"{UNPUBLISHED} these messages and collectives. {_of_layer(found)}{EARLIER}.{reach}"
    if found.links_unknown:
        return f"{no_links(found)} `linkscope analyze RUN` says what this one tells."
    return (
        f"this run has no transfer of {wording.size(SATURATED)} or more between GPUs, or a GPU and pinned host memory, "
        "that could be held against a known figure or a sibling. A run of the suite default has them; `linkscope "
        "choose RUN` and `linkscope analyze RUN` say what this one tells."
    )


def _of_layer(found: Diagnosis) -> str:
    """How long the first layer takes beside what is below it, for the smallest and the largest size at which their
    intervals tell them apart, a sentence; empty without one."""
    if not found.layers:
        return ""
    layer = found.layers[0]
    clear = [point for point in layer.points if point.clear and point.bytes]
    if not clear:
        return ""
    first, *others = clear

    def told(point: Added) -> str:
        slower = point.ratio >= 1
        times = f"{point.ratio:.1f} times as long" if slower else f"{1 / point.ratio:.1f} times as fast"
        return f"{wording.size(point.bytes)} takes {wording.time(point.layer_s)}, {times}"

    last = "".join(f"; {told(point)}" for point in others[-1:])
    return f"By {layer.method} {told(first)} as by {layer.raw}{last} ({layer.what}). "


def lost(one: Shortfall) -> str:
    """What is missing of a rate, or by what a latency is too long."""
    return f"{one.cost * 100:.1f} % {'longer' if one.late else 'missing'}"


def _where(one: Shortfall) -> str:
    return ", ".join(one.where)


def _print_head(found: Diagnosis, shown: Sequence[Shortfall], console: Console) -> None:
    title = Text(found.node, style="bold")
    if found.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    for text, style in conclusion(found):
        console.print(Text(text, style=style))
    for notice in found.notices:
        console.print(Text(notice, style="yellow"))
    for number, one in enumerate(shown, start=1):
        head = Text(f"{number}. {_where(one)}: {one.what}, {lost(one)}", style="bold red")
        console.print(head)
        for line in (f"cause: {one.cause}", *one.evidence, f"next: {one.decide}"):
            console.print(Padding(Text(line), (0, 0, 0, 3)))


def _print_tables(
    found: Diagnosis, accounts: Sequence[Ledger], waits: Sequence[JudgedLatency], console: Console
) -> int:
    """Each with its unit and its words below, the intervals of figures that may be short, then the sources of both; how
    many these are."""
    unsure = [one for one in accounts if one in found.unsure]
    against = [one.held_against for one in accounts] + [one.held_against for one in waits]
    known = dict.fromkeys(source for source in against if source not in ("", SIBLINGS))
    marks = {source: f"[{number}]" for number, source in enumerate(known, start=1)}
    marks |= {SIBLINGS: "siblings", "": ""}
    for unit, some in (("GB/s", accounts), ("ns", waits)):
        if some:
            _print_table(unit, some, _Marks(marks, {one.id for one in found.unsure}), _measured(found), console)
    for one in unsure:
        console.print(Text(f"? {_path(one)} by {one.method}: {one.told}", style="dim"))
    if SIBLINGS in against:
        console.print(Text(OF_SIBLINGS, style="dim"))
    every: tuple[Account, ...] = (*accounts, *waits)
    for source in known:
        held = [one for one in every if one.held_against == source]
        console.print(Text(f"{marks[source]} {source}; {_short_from(held)}", style="dim"))
    return len(known)


def _print_table(unit: str, some: Sequence[Account], marks: _Marks, measured: str, console: Console) -> None:
    """With as many of the steps to what is expected as there is room for."""
    steps_of = [_line(one).steps for one in some] if unit == "GB/s" else []
    names = [name for name in STEPS if any(steps[name] != NOT_KNOWN for steps in steps_of)]
    room = console.options.update_width(2 * console.width)
    while names and Measurement.get(console, room, _table(some, marks, measured, names)).maximum > console.width:
        names.pop()
    console.print(_table(some, marks, measured, names))
    steps = [f"{name}: {STEPS[name]}" for name in names]
    unsure = [OF_UNSURE] if any(one.id in marks.unsure for one in some) else []
    ends = [UNITS[unit]] if any(one.both for one in some) or isinstance(some[0], JudgedLatency) else []
    console.print(Text(f"{unit}. {'; '.join([*steps, *ends, *unsure])}".rstrip(". "), style="dim"))


def _print_left_out(found: Diagnosis, console: Console) -> None:
    if found.judged and found.left_out:
        counts = ", ".join(f"{count} {reason}" for reason, count in found.left_out.items())
        console.print(Text(f"Not judged: {counts}.", style="dim"))


def _print_further(found: Diagnosis, console: Console) -> None:
    """What a reader may do next; nothing where the verdict says it."""
    ways = [("compare BASE RUN", "whether it was so in BASE, an earlier run")] if found.shortfalls else []
    ways += [("explain RUN --full", "every finding and path, with sources")] if found.judged else []
    for command, what in ways:
        console.print(Text(f"linkscope {command:<20}{what}", style="dim"))


def _measured(found: Diagnosis) -> str:
    return "modelled" if found.modelled else "measured"


@dataclass(frozen=True)
class _Marks:
    """``sources``: of each source of what is expected; ``unsure``: ids of figures that may be short."""

    sources: Mapping[str, str]
    unsure: Collection[str]


def _table(some: Iterable[Account], marks: _Marks, measured: str, names: Sequence[str]) -> Table:
    """``names``: of the steps to what is expected; no column of that where nothing is."""
    lines = _told_apart(_line(one) for one in some)
    wide = max(len(line.expected) for line in lines)
    noted = max(len(marks.sources[line.account.held_against]) for line in lines)
    grid = empty_grid("path")
    grid.columns[0].no_wrap = True
    held = any(line.account.held_against for line in lines)
    for name in ("by", "size", *names, *["expected"] * held, measured, *["of it"] * held):
        justify: Literal["left", "right"] = "left" if name in ("by", "expected") else "right"
        grid.add_column(Text(name), justify=justify, no_wrap=name != "by")
    for line in lines:
        one = line.account
        expected = Text(f"{line.expected:>{wide}} {marks.sources[one.held_against]:<{noted}}")
        of_it = Text(f"{line.share}{UNSURE if one.id in marks.unsure else ''}", style="bold red" if one.short else "")
        grid.add_row(
            *(Text(line.path, no_wrap=True), Text(line.by, overflow="fold"), Text(wording.size(one.bytes))),
            *(Text(line.steps[name]) for name in names),
            *([expected, Text(line.measured), of_it] if held else [Text(line.measured)]),
        )
    return grid


@dataclass(frozen=True)
class _Entry:
    """What a table prints of an account."""

    account: Account
    path: str
    steps: Mapping[str, str]
    expected: str
    measured: str
    apart: str = ""
    """What tells it from others of its path, method and size."""

    @property
    def by(self) -> str:
        return f"{self.account.method} {self.apart}".rstrip()

    @property
    def share(self) -> str:
        """Measured over expected."""
        one = self.account
        if not one.held_against:
            return NOT_KNOWN
        return f"{(1 + (one.missing if isinstance(one, JudgedLatency) else -one.missing)) * 100:.1f} %"


def _told_apart(lines: Iterable[_Entry]) -> list[_Entry]:
    """Each with what it differs in from others of its path, method and size."""
    found = list(lines)
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, line in enumerate(found):
        alike.setdefault((line.path, line.account.method, line.account.bytes), []).append(place)
    for places in alike.values():
        words = differing([found[place].account.conditions for place in places])
        for place, word in zip(places, words, strict=True):
            found[place] = replace(found[place], apart=word)
    return found


def _line(one: Account) -> _Entry:
    if isinstance(one, JudgedLatency):
        ends = f"{one.source} > {one.destination}"
        return _Entry(one, ends, {}, f"{one.expected_ns:.1f}", f"{one.measured.median:.1f}")
    taxed = [step.gbps for step in one.steps[1:] if step.source != SIBLINGS and step.what != SIZE]
    steps = {"line": _rate(one.line_gbps), "engine": _rate(taxed[-1] if taxed else None)}
    return _Entry(one, _path(one), steps, _rate(one.expected_gbps), _rate(one.measured.median))


def _path(one: Ledger) -> str:
    """Such as "gpu:0 > gpu:1 push"; the ends say whether it is host or GPU, who drives it they do not."""
    driver = {"peer-write": "push", "peer-read": "pull"}.get(one.way.removesuffix("+both"), "")
    return f"{one.source} {'<>' if one.both else '>'} {one.destination} {driver}".rstrip()


def _rate(gbps: float | None) -> str:
    return NOT_KNOWN if gbps is None else f"{gbps:.1f}" if gbps < 1000 else f"{gbps:.0f}"


def _worst(accounts: Iterable[Ledger]) -> list[Ledger]:
    """Of each way and method the one that is furthest below what is expected."""
    worst: dict[tuple[object, ...], Ledger] = {}
    for one in accounts:
        key = (one.kind, one.way, one.method)
        if key not in worst or one.missing > worst[key].missing:
            worst[key] = one
    return list(worst.values())


def _odd(found: Diagnosis, shown: Iterable[Shortfall]) -> list[Ledger]:
    odd = []
    for one in shown:
        held = [a for a in found.accounts if a.short and a.id in one.ids]
        odd += [max(held, key=lambda account: account.missing)] if held else []
    return list(dict.fromkeys(odd))

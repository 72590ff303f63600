"""Workloads on a terminal: which way is fastest and by how much, all ways, where time goes, what could not run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscope.analysis.schedule_times import FormerScheduleTimes, LinkLoad, PhaseTime, RankTime
from linkscope.analysis.workloads import PARTICLES, NotTimed, TimedWay, WorkloadTable, workloads
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.messages.listed import listed
from linkscope.report import direct_text, wording
from linkscope.report.grid import empty_grid
from linkscope.results.row import Row

MOST_WAYS = 12
"""Lines of a table; the baseline is one of them."""
MOST_PHASES = 5
MOST_PARTS = 3
"""Of a way's time, that are named beside its gain."""
WIDE = 100
"""Characters."""
MOST_REASONS = 4
PART_WORDS = {"send": "start sends", "synchronise": "synchronise devices"}
"""Parts of the time whose own name does not say enough."""
NO_SEGMENTS = (
    "particles sent/s: per second of communication. Quicksilver's own figure, segments per second, needs its physics."
)
NOTHING = "The run has no workload: `linkscope app halo` and `linkscope app particles` measure one."


def show(rows: Sequence[Row], node: Node, console: Console) -> None:
    """Every workload of the rows, each in at most about 40 lines of 80 characters."""
    found = workloads(rows, Paths(node))
    if not found:
        console.print(Text(NOTHING))
    for number, one in enumerate(found):
        if number:
            console.print()
        print_workload(one, console)


def print_workload(one: WorkloadTable, console: Console) -> None:
    """The verdict first, then the ways, then where the time goes."""
    console.print(title(one))
    console.print(Text(verdict(one), style="bold"))
    for text in meanings(one):
        console.print(Text(text))
    for text in (facts(one), *one.notes):
        console.print(Text(text, style="dim"))
    if one.ways:
        console.print(_grid(one, console.width))
        for text in remarks(one):
            console.print(Text(text, style="dim"))
        for line in parts(one):
            console.print(Text(line))
        for line in bound(one):
            console.print(Text(line))
        if one.pattern and one.times is not None:
            _print_phases(one.times, console)
    for line in missing(one):
        console.print(Text(line, style="red" if line.startswith("failed") else "dim"))


def title(one: WorkloadTable) -> Text:
    """Such as "halo, 61440x30720, 87 steps: 4 ranks"."""
    text = Text(name(one), style="bold")
    if one.modelled:
        text.append(f"  {wording.MODELLED}", style="bold yellow")
    return text


def name(one: WorkloadTable) -> str:
    """The same without its style."""
    return f"{_what(one)}: {wording.count(one.ranks, 'rank')}"


def _what(one: WorkloadTable) -> str:
    deck = one.deck.removeprefix(one.application).removeprefix(", ")
    return ", ".join(word for word in (one.application, deck) if word)


def answer(one: WorkloadTable) -> str:
    """What is asked, and what is fastest."""
    return f"{_what(one)} on {wording.count(one.ranks, 'rank')}: {verdict(one)}"


def verdict(one: WorkloadTable) -> str:
    """One sentence or two: what is fastest, its gain, who is as good."""
    best, base = one.best, one.baseline
    if best is None:
        return f"No way has a time: {wording.count(sum(len(gone.names) for gone in one.missing), 'way')} could not run."
    time = f"{wording.time(best.seconds.median)}{' modelled' if best.modelled else ''}{merit(one, best)}"
    others = [way.name for way in one.equals if way is not best]
    text = f"{best.name} is fastest: {time}"
    if len(one.ways) == 1:
        text = f"{best.name}, the only way with a time: {time}"
    elif len(one.equals) == len(one.ways):
        return f"No way is told apart from the fastest, {best.name}: {time}."
    return f"{text}{_gain(one, best, base)}.{f' Not told apart from it: {wording.few(others)}.' if others else ''}"


def meanings(one: WorkloadTable) -> list[str]:
    """What the verdict's words mean for the reader's own code, and what would help: a line each, may be none."""
    unaware = any(wording.NO_GPU_MEMORY in gone.reason for gone in one.missing)
    remedy = [f"mpi: this one {wording.NO_GPU_MEMORY}; {wording.GPU_AWARE}."] if unaware else []
    return [*_spent(one.baseline, one.best), *direct_text.of_messages(one), *remedy, *_shared_gpus(one)]


def _spent(base: TimedWay | None, best: TimedWay | None) -> list[str]:
    """Where the time of the way goes that the best is held against: a line; none where that is the best itself."""
    if base is None or base is best or not base.shares:
        return []
    ordered = sorted(base.shares, key=lambda one: -one[1])[:MOST_PARTS]
    return [f"{base.name} spends {listed(f'{wording.percent(share)} in {part}' for part, share in ordered)}."]


def _shared_gpus(one: WorkloadTable) -> list[str]:
    """That ranks took turns on GPUs, and what that means for the figures: a line, or none."""
    gpus = {device for way in one.ways for device in way.combination.order if device.startswith("gpu:")}
    if not gpus or len(gpus) >= one.ranks:
        return []
    turns = f"{one.ranks} ranks shared {wording.count(len(gpus), 'GPU')} and took turns there"
    kinds = {way.combination.processes == 1 for way in (one.best, one.baseline) if way is not None}
    if len(kinds) < 2 or one.best is None or one.baseline is None:
        return [f"{turns}: with a GPU each, gains are others."]
    threads, processes = sorted((one.best, one.baseline), key=lambda way: way.combination.processes)
    return [
        f"{turns}, as processes for {processes.name}, as threads of one for {threads.name}, whose kernels can run "
        "together: the gain is not the interface's alone, and would be another if each rank had a GPU."
    ]


def _gain(one: WorkloadTable, best: TimedWay, base: TimedWay | None) -> str:
    if base is None:
        lacks = next((gone for gone in one.missing if gone.baseline), None)
        return f". The application's own code has no time: {lacks.reason}" if lacks is not None else ""
    reason = f": {one.stood_in_for}" if one.stood_in_for else ""
    why = f", which stands in for the application's own code{reason}" if reason else ""
    whose = base.name if why else f"the application's own code ({base.name})"
    if best is base:
        does = f"It {'stands in for' if why else 'is'} what the application's own code does{reason}"
        return f". {does}" if len(one.ways) > 1 else ""
    told = best.speedup
    if told is None:
        return ""
    if not told.told:
        return f". {whose[0].upper()}{whose[1:]} is not told apart from it{why}"
    return f", {times(told.ratio)} times as fast as {whose}{why}"


def merit(one: WorkloadTable, way: TimedWay) -> str:
    """Such as " (7050 steps/s)"; empty where the workload has no figure of merit."""
    return f" ({wording.rate(way.merit)} {one.merit})" if way.merit is not None else ""


def facts(one: WorkloadTable) -> str:
    """What the time is of."""
    state = {way.combination.state for way in one.ways}
    held = f" · packed from {state.pop()}" if len(state) == 1 and "" not in state else ""
    sent = f"{wording.size(one.bytes)} in {wording.count(one.messages, 'message')}"
    return f"{sent}{held} · time of the whole schedule, slowest rank, without what the application computes"


def interval(way: TimedWay) -> str:
    """Half width, or bounds where it is wide, as in other tables."""
    low, middle, high = way.seconds.low, way.seconds.median, way.seconds.high
    if way.modelled and high - low < 1e-9 * middle:
        return ""
    return wording.half_width(max(high / middle, middle / low) - 1) + (wording.WITHIN_RUN if way.within_run else "")


def speedup(way: TimedWay) -> str:
    """Such as "x 1.92", with its bounds where they say more: "x 1.92 (1.85-1.99)"; "=" where not told apart."""
    if way.baseline:
        return "baseline"
    if way.speedup is None:
        return ""
    one = way.speedup
    middle, *bounds = (times(number) for number in (one.ratio, one.low, one.high))
    text = f"x {middle}" + (f" ({'-'.join(bounds)})" if set(bounds) != {middle} else "")
    return text if one.told else f"{text} ="


def times(ratio: float) -> str:
    """Three digits: "2.00", "1.05", "12.3"."""
    digits = max(2 - math.floor(math.log10(ratio)), 0) if ratio > 0 else 0
    return f"{ratio:.{min(digits, wording.MOST_DECIMALS)}f}"


def shown_ways(one: WorkloadTable) -> list[TimedWay]:
    """The fastest, and the baseline."""
    first = list(one.ways[:MOST_WAYS])
    if one.baseline is not None and one.baseline not in first:
        first[-1] = one.baseline
    return first


def remarks(one: WorkloadTable) -> list[str]:
    """What the table leaves out, and what its marks mean."""
    left = len(one.ways) - len(shown_ways(one))
    return [*([f"{wording.count(left, 'more way')}: see --json"] if left else []), *marks(one)]


def marks(one: WorkloadTable) -> list[str]:
    """What the marks in the table mean, those that it has."""
    return [
        *(["=: not told apart from the baseline"] if any(w.speedup and not w.speedup.told for w in one.ways) else []),
        *(
            [f"{wording.WITHIN_RUN}: one replicate; its interval says nothing of other runs"]
            if any(way.within_run and interval(way) for way in one.ways)
            else []
        ),
        *([NO_SEGMENTS] if one.merit == PARTICLES else []),
    ]


def parts(one: WorkloadTable) -> list[str]:
    """Of the fastest way and of the baseline where the time of the slowest member goes."""
    chosen = [one.best, *([] if one.best is one.baseline else [one.baseline])]
    return [f"{way.name}: {part_words(way)}" for way in chosen if way is not None and way.shares]


def part_words(way: TimedWay) -> str:
    """Such as "wait 62 %, pack 20 %, ...", the largest first."""
    ordered = sorted(way.shares, key=lambda share: -share[1])
    return ", ".join(f"{PART_WORDS.get(part, part)} {wording.percent(share)}" for part, share in ordered)


def bound(one: WorkloadTable) -> list[str]:
    """The busiest link of the fastest way."""
    if one.times is None or not one.times.links:
        return []
    return [f"Busiest link: {link_words(one.times.links[0])}"]


def link_words(one: LinkLoad) -> str:
    """Such as "gpu:0>gpu:1, 1.2 GiB, at its peak of 450 GB/s 2.86 ms, 23 % of the time"."""
    least = f"at its peak of {one.peak_gbps:g} GB/s {wording.time(one.seconds)}"
    return f"{one.link}, {wording.size(one.bytes)}, {least}, {wording.percent(one.share)} of the time"


def missing(one: WorkloadTable) -> list[str]:
    """Why ways have no time, each reason once."""
    lines = [missing_words(gone) for gone in one.missing[:MOST_REASONS]]
    rest = sum(len(gone.names) for gone in one.missing[MOST_REASONS:])
    return [*lines, *([f"{wording.count(rest, 'more way')} could not run, for other reasons"] if rest else [])]


def missing_words(gone: NotTimed) -> str:
    """Such as "skipped: no MPI library (mpi, device; mpi, pinned)"."""
    return f"{gone.status}: {gone.reason} ({wording.few(gone.names)})"


def slowdown(phase: PhaseTime) -> str:
    """Against its slowest message alone: "x 1.20"; empty where that was not measured."""
    return "" if phase.slowdown is None else f"x {times(phase.slowdown)}"


def rank_words(ranks: Sequence[RankTime]) -> str:
    """The rank that takes longest and the one that takes least."""
    if len(ranks) < 2:
        return ""
    if len({wording.time(one.seconds) for one in ranks}) == 1:
        return f"Every rank takes {wording.time(ranks[0].seconds)}."
    longest, least = max(ranks, key=lambda one: one.seconds), min(ranks, key=lambda one: one.seconds)
    text = f"Rank {longest.rank} ({longest.device}) takes longest: {wording.time(longest.seconds)}"
    text += f", of which it waits {wording.percent(longest.waits)}" if longest.waits else ""
    return f"{text}; rank {least.rank} ({least.device}) takes least: {wording.time(least.seconds)}."


def _grid(one: WorkloadTable, width: int) -> Table:
    """Without rates where the figure of merit needs their place."""
    grid = empty_grid("way")
    merits = [one.merit] if one.merit else []
    exact = not any(interval(way) for way in one.ways)
    based = one.baseline is not None
    rates = ["GB/s"] if not merits or width >= WIDE else []
    heads = ["time", *([] if exact else ["95 %"]), *(["speed-up"] if based else []), *rates, *merits]
    for head in heads:
        grid.add_column(Text(head), justify="right", no_wrap=True)
    for way in shown_ways(one):
        style = "bold" if way.equal else ""
        cells = [
            Text(wording.time(way.seconds.median), style=style),
            *([] if exact else [Text(interval(way), style="dim")]),
            *([Text(speedup(way), style="cyan" if way.speedup and way.speedup.told else "dim")] if based else []),
            *(Text(wording.value(way.gbps)) for _ in rates),
            *(Text("" if way.merit is None else wording.rate(way.merit)) for _ in merits),
        ]
        grid.add_row(Text(way.name, style=style), *cells)
    return grid


def _print_phases(times: FormerScheduleTimes, console: Console) -> None:
    if times.phases:
        compared = any(phase.slowdown is not None for phase in times.phases)
        grid = empty_grid("phase, slowest rank")
        for head in ("times", "time", "busiest link", "of the time", *(["of alone"] if compared else [])):
            grid.add_column(Text(head), justify="right", overflow="fold")
        for phase in times.longest[:MOST_PHASES]:
            link = phase.bound
            cells = [str(phase.times), wording.time(phase.seconds), link.link if link else ""]
            cells += [wording.percent(link.share) if link else "", *([slowdown(phase)] if compared else [])]
            grid.add_row(Text(phase.name), *map(Text, cells))
        console.print(grid)
        if len(times.phases) > MOST_PHASES:
            console.print(Text(f"{len(times.phases) - MOST_PHASES} shorter phases: see --json", style="dim"))
        if compared:
            console.print(Text("of alone: its time over that of its slowest message, sent alone", style="dim"))
    if text := rank_words(times.ranks):
        console.print(Text(text))

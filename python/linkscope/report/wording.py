"""Figures, sizes and table facts as people read them, the same on a terminal and on a page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Protocol

from linkscope.analysis.bounds import Bound
from linkscope.analysis.cell import Cell, Heading
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.headline import (
    ALGORITHM,
    BUS,
    CALL,
    OWN_RATE,
    RATE_UNIT,
    TOUCHED,
    Headline,
    in_unit,
    time_unit,
)
from linkscope.analysis.layers import Added, Layer
from linkscope.analysis.leaders import Leader
from linkscope.analysis.peak import ABOVE
from linkscope.analysis.rivals import IN_KERNEL, rivals, set_apart
from linkscope.analysis.summary import ABOVE_PEAK, DEFAULT_PRECISION, Summary, TableSummary
from linkscope.machine.node import Node
from linkscope.results.row import UNKNOWN_FROM, origin_name
from linkscope.results.run_stream import Run

TOGETHER = 0.9
"""Flows that ran together for less than this share of the time are worth a remark."""
MODELLED = "MODELLED — not a measurement"
WIDE_INTERVAL = 0.05
MOST_DECIMALS = 9
MOST_NAMED = 3
PASSES = {1: "one pass", 2: "two passes"}
FEWEST_SAMPLES = 6
"""Of fewer samples not even the extremes bound the median with 95 %."""
WITHIN_RUN = "†"
UNKNOWN = "unknown"
ASSUMED = "~"
TOO_WIDE = f"intervals beyond a factor of {UNKNOWN_FROM:g}"
NOT_TOLD = f"left out, as {TOO_WIDE} do not tell the faster"
OF_NO_SOURCE = "mostly an assumed latency: no source gives it"
BEYOND = "> peak"
"""Stands where the share of peak would, of figures that no link or memory can have delivered."""
COUNTED_IN_BYTES = ("locality",)
NO_GPU_MEMORY = "takes no GPU memory"
GPU_AWARE = (
    "a GPU-aware MPI sends straight from GPU memory, without copies by the application: Open MPI or MPICH built for "
    "CUDA or ROCm, Cray MPICH with MPICH_GPU_SUPPORT_ENABLED=1"
)
CONSEQUENCES = {
    NO_GPU_MEMORY: GPU_AWARE,
    "enqueued after the gate": "small sizes look slower than the path is, as they do to a program; large ones do not",
    "drift: the later half": "the machine changed while it was measured; measure again where it is quiet",
    "two modes": "a transfer takes one time or the other, hardly one between",
    "transparent huge pages": "fewer pages to look up: memory without them may be slower",
}
"""Words of the engine's remarks, and what they mean for the figures."""
NO_RIVALS = {
    IN_KERNEL: "in-kernel is no rival of the others: its time holds no launch, so only a kernel of yours gets it",
    "window": "window is no rival of the others: many messages are on their way at once",
    "both ways": "both ways is no rival of the others: the bytes of both directions count",
}
"""Of what sets a regime apart from others (``rivals.APART``): what that means."""


def count(number: int, noun: str, plural: str = "") -> str:
    """Such as "1 figure", "3 figures"."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or f'{noun}s'}"


def shortened(text: str, room: int) -> str:
    """At most ``room`` characters: of a longer text the end stays, which tells titles apart, and the middle goes."""
    if len(text) <= room:
        return text
    tail = min(room * 3 // 5, len(text.rpartition(", ")[2]) + 2)
    return f"{text[: max(room - tail - 1, 0)]}…{text[-tail:]}"


_LEAST_HEAD = 12


def shortened_apart(texts: Sequence[str], room: int) -> list[str]:
    """Each ``shortened``; of those that would read alike then, what follows the beginning that they share stays."""
    short = [shortened(text, room) for text in texts]
    counts = Counter(short)
    parts = [text.split(", ") for text in texts]
    for index, words in enumerate(parts):
        if counts[short[index]] > 1:
            same = _shared([other for other in parts if other[0] == words[0]])
            tail = ", ".join(words[same:])[-(room - min(_LEAST_HEAD, room // 2) - 1) :]
            short[index] = f"{texts[index][: room - len(tail) - 1]}…{tail}" if tail else short[index]
    return short


def _shared(lists: Sequence[Sequence[str]]) -> int:
    """How many of their first parts all have in common."""
    return next(
        (place for place, parts in enumerate(zip(*lists, strict=False)) if len(set(parts)) > 1), min(map(len, lists))
    )


def size(count: int | float) -> str:
    """Binary, such as "512 MiB", "1.5 KiB", "96 B"."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.4g} {unit}"


def value(number: float) -> str:
    """Four significant digits, whole above 1000, without an exponent: "393.9", "55.55", "2082", "0.004831"."""
    digits = 0 if number == 0 else math.floor(math.log10(abs(number)))
    return f"{number:.{min(max(3 - digits, 0), MOST_DECIMALS)}f}"


def rate(number: float) -> str:
    """The same of so many a second, which may be millions: "7050", "9.253 million"."""
    return f"{value(number / 1e6)} million" if number >= 1e6 else value(number)


def duration(seconds: float) -> str:
    """Such as "40 s", "12 min", "3.5 h": for estimates."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"


def cases_on(number: int, node: Node) -> str:
    """Such as "1 case on host-a", "12 modelled cases on frontier"."""
    return f"{count(number, 'modelled case' if node.modelled else 'case')} on {node.name}"


def percent(share: float) -> str:
    """Such as "88 %"; one decimal below 10 %, so that a small share is no zero."""
    if share >= 0.0995:
        return f"{share * 100:.0f} %"
    return f"{share * 100:.1f} %" if share >= 0.0005 or share <= 0 else "<0.1 %"


class _Marked(Protocol):
    """What may hold figures that are modelled, or another tool's."""

    @property
    def modelled(self) -> bool: ...

    @property
    def imported(self) -> tuple[str, ...]: ...


def mark(of: _Marked) -> str:
    """What a title must say where linkscope did not measure the figures: "imported from nvbandwidth 0.8"; else ""."""
    return MODELLED if of.modelled else imported(of.imported)


def imported(tools: Sequence[str]) -> str:
    """Such as "imported from nvbandwidth 0.8"; "" for no tools."""
    return f"imported from {', '.join(tools)}" if tools else ""


def done(summary: Summary) -> str:
    """What was done to the cases that are ok."""
    return "modelled" if summary.modelled else imported(summary.imported) or "measured and verified"


def titled(run: Run) -> str:
    """The node's name, and where the figures are from, unless linkscope measured them."""
    origin = origin_name(run.header)
    return "  ".join(filter(None, (run.node.name, imported([origin] if origin else []))))


def margin(figure: Headline) -> str:
    """The interval, its larger side for both: "±0.12 %", or its bounds "310.2–402.8" where a side is wider than 5 %;
    "unknown" where a bound is further from the median than a factor of 3; nothing where it is a point, as a model's.
    """
    low, high = figure.value.low, figure.value.high
    if figure.exact or low == high:
        return ""
    if figure.unknown:
        return UNKNOWN
    if figure.margin > WIDE_INTERVAL:
        return f"{value(low)}–{value(high)}"
    share = figure.margin * 100
    return f"±{share:.1f} %" if share >= 0.995 else f"±{max(share, 0.01):.2f} %"


def explained(note: str) -> str:
    """A remark of the engine with what follows from it for the figures."""
    return next((f"{note}: {what}" for known, what in CONSEQUENCES.items() if known in note), note)


def half_width(relative: float) -> str:
    """Of an interval, its larger side: "±0.12 %", "±12.7 %"; from 100 % on a factor, "× 2.9"."""
    if relative >= 1:
        return f"× {1 + relative:.1f}"
    return f"±{relative * 100:.{2 if relative < 0.00995 else 1}f} %"


def asked(precision: float) -> str:
    """Such as "the default ±1 %", or "the asked ±0.5 %"."""
    return f"the {'default' if precision == DEFAULT_PRECISION else 'asked'} ±{precision * 100:g} %"


def interval(entry: Cell) -> str:
    """The margin of a cell that has a figure, with a dagger where it is within this run only, and with a star where
    it is but the range of fewer than six samples; of a model's, that it is assumed.
    """
    if entry.headline is None or entry.headline.exact:
        return ASSUMED if entry.headline is not None and entry.assumed else ""
    return margin(entry.headline) + ("*" if _few_samples(entry) else "") + (WITHIN_RUN if entry.within_run else "")


def in_a_cell(cells: Sequence[Cell]) -> str:
    """What stands in the cells of a table, such as "median, 95 % interval, percent of peak"."""
    figures = [entry for entry in cells if entry.headline is not None]
    ranged = any(entry.headline is not None and not entry.headline.exact for entry in figures)
    share = any(entry.share is not None for entry in figures)
    words = [*(("median", "95 % interval") if ranged else ("figure",)), *(("percent of peak",) if share else ())]
    return ", ".join(words)


def _few_samples(entry: Cell) -> bool:
    if entry.headline is None or entry.headline.exact or not entry.of_samples or margin(entry.headline) == UNKNOWN:
        return False
    return entry.headline.value.n < FEWEST_SAMPLES


def share(entry: Cell) -> str:
    """Percent of peak, or nothing where no peak is known."""
    return "" if entry.share is None else share_of_peak(entry.share)


def of_peak(entry: Cell) -> str:
    """Such as "88 % of peak", "> peak"; or nothing where no peak is known."""
    text = share(entry)
    return f"{text} of peak" if text and not entry.above_peak else text


def share_of_peak(share: float) -> str:
    """Percent; of what no link or memory can have delivered that it is beyond."""
    return BEYOND if share > ABOVE else percent(share)


def marks(cells: Sequence[Cell]) -> list[str]:
    """What the marks in a table mean, those that it has."""
    figures = [entry for entry in cells if entry.headline is not None]
    counts = {
        "*: the range of fewer than six samples, no 95 % interval: the next figure may well lie outside": sum(
            map(_few_samples, figures)
        ),
        f"{WITHIN_RUN}: one replicate; its interval says nothing of other runs; `run --rounds 3` tells": sum(
            one.within_run and one.headline is not None and not one.headline.exact for one in figures
        ),
        f"{UNKNOWN}: the interval reaches further than a factor of {UNKNOWN_FROM:g}": sum(
            one.headline is not None and margin(one.headline) == UNKNOWN for one in figures
        ),
        f"{ASSUMED}: {of_no_source(one.stand_in for one in figures)}": sum(one.assumed for one in figures),
        f"{BEYOND}: {ABOVE_PEAK}": sum(entry.above_peak for entry in cells),
    }
    return [f"{count} of {len(figures)} {text}" for text, count in counts.items() if count]


def of_no_source(stand_ins: Iterable[str]) -> str:
    """What an assumed latency is, and where what stands in for it comes from, as far as that is known."""
    named = list(dict.fromkeys(filter(None, stand_ins)))
    return f"{OF_NO_SOURCE}; in its place {few(named)}" if named else OF_NO_SOURCE


def quantity(heading: Heading) -> str:
    """The unit and how bytes count: "GB/s, payload counted once"."""
    if heading.unit != RATE_UNIT:
        return heading.unit
    if heading.figure == BUS and heading.bus_factor is not None:
        return f"{RATE_UNIT}, {BUS}: {heading.bus_factor:.4g} times the algorithm bandwidth (size over time)"
    if heading.figure in (TOUCHED, ALGORITHM, BUS):
        return f"{RATE_UNIT}, {heading.figure}"
    return "GB/s, payload counted once (read + write: twice that)" if heading.local else "GB/s, payload counted once"


def facts(heading: Heading) -> list[str]:
    """What a reader must know of a table besides its figures, most wanted first."""
    found = [] if heading.bytes is None else [size(heading.bytes)]
    found += [", ".join(heading.methods), few(heading.memories), f"clock: {' and '.join(heading.clocks)}"]
    found += [] if heading.figure == CALL else [f"cache: {' and '.join(heading.caches)}"]
    found.append(quantity(heading))
    if heading.figure not in (OWN_RATE, TOUCHED, ALGORITHM, BUS):
        found.append(heading.figure)
    found += [bound(one) for one in heading.bounds]
    if heading.hosts:
        found.append(f"between hosts {', '.join(heading.hosts)}: no peak is known")
    if heading.background:
        found.append(f"in the background: {', '.join(heading.background)}")
    if "sustained" in heading.loads:
        found.append("each flow under the load of all others")
    if any(heading.environments):
        found.append(f"environment: {' or '.join(settings or 'unchanged' for settings in heading.environments)}")
    if heading.peer:
        found.append(heading.peer)
    return [fact for fact in found if fact]


def bound(one: Bound) -> str:
    """Such as "two passes of this run's best point-to-point latency, 8.7 us by copy-engine: 17.4 us (schieffer24)"."""
    latency = f"{time(one.seconds / one.passes)} by {one.method}"
    whole = f"{time(one.seconds)} (schieffer24)"
    return f"{PASSES[one.passes]} of this run's best point-to-point latency, {latency}: {whole}"


def time(seconds: float) -> str:
    """In the unit that suits it: "8.700 us"."""
    unit = time_unit(seconds)
    return f"{value(in_unit(seconds, unit))} {unit}"


def slowest(entry: Cell) -> str:
    """The member of a collective that took longest, such as "gpu:3, +2.1 % on the mean"; empty for other cells."""
    if entry.slowest is None:
        return ""
    return f"{entry.slowest.member}, +{max(entry.slowest.ratio - 1, 0) * 100:.1f} % on the mean"


def leads(table: CurveSet) -> list[str]:
    """A line for all places of a picture by size where the same is best by the same clock, such as "best, gpu:0 > gpu:1
    and 11 more places, batch clock: xccl, eager up to 4 MiB; mpi, window from 16 MiB"."""
    places: dict[str, list[str]] = {}
    for (where, regime), group in groupby(table.leads, key=lambda lead: (lead.place, lead.regime)):
        found = list(group)
        named = [(either(lead.best), _span(lead, number, len(found))) for number, lead in enumerate(found)]
        alike = (list(some) for _, some in groupby(named, key=lambda one: one[0]))
        spans = [f"{some[0][0]} {' and '.join(span for _, span in some)}" for some in alike]
        at = [where] if where and where != table.place else []
        places.setdefault(f"{regime}: {'; '.join(spans)}{_left_out(found[0].open)}", []).extend(at)
    return [f"best, {_of_places(where)}{best}" for best, where in places.items()]


def _left_out(sizes: Sequence[float]) -> str:
    if not sizes:
        return ""
    ends = " to ".join(dict.fromkeys(size(end) for end in (sizes[0], sizes[-1])))
    return f" ({NOT_TOLD}: {count(len(sizes), 'size')}, {ends})"


def _of_places(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = len(names) - 1
    return f"{names[0]}{f' and {more} more place' if more else ''}{'s' if more > 1 else ''}, "


def no_rivals(table: CurveSet) -> list[str]:
    """Why curves of a picture cannot be the best of it, though their figures may be better: by what sets them apart,
    and the names of those that no other one is timed like."""
    chosen = "".join(entry.regime for entry in rivals(table.flat)[:1])
    groups: dict[tuple[str, str], list[str]] = {}
    for name, curve in zip(table.names, table.curves, strict=True):
        for regime in dict.fromkeys(point.regime for point in curve.points if point.headline is not None):
            groups.setdefault((curve.series.partition(", ")[0], regime), []).append(f"{name} ({regime})")
    led = bool(table.leads)
    kinds = {set_apart(regime) for _, regime in groups} - {set_apart(chosen), ""}
    alone = [
        names[0]
        for (_, regime), names in groups.items()
        if len(names) == 1 and set_apart(regime) not in kinds and (led or regime != chosen)
    ]
    told = [text for kind, text in NO_RIVALS.items() if kind in kinds]
    return [*told, *([f"not set against the others, since none is timed alike: {few(alone)}"] if alone else [])]


def with_kind(text: str, entry: Cell) -> str:
    """``text`` with what sets the cell's figure apart, unless it says so: "mpi, both ways"."""
    kind = set_apart(entry.regime)
    return text if kind.replace("-", " ") in text.replace("-", " ") else ", ".join(filter(None, (text, kind)))


def _span(lead: Leader, number: int, count: int) -> str:
    if number == 0 and count > 1 and not lead.open and lead.first < lead.last:
        return f"up to {size(lead.last)}"
    if number == count - 1 and count > 1 and not lead.open:
        return f"from {size(lead.first)}"
    if lead.first == lead.last:
        return f"at {size(lead.first)}"
    return f"from {size(lead.first)} to {size(lead.last)}"


def layer_title(layer: Layer) -> str:
    """Such as "What torch-copy adds to copy-engine: gpu:0 > gpu:1, host clock"."""
    return f"What {layer.method} adds to {layer.raw}: {layer.what}, {layer.clock} clock"


def added(point: Added) -> str:
    """Such as "+3.21 us", with the bounds of what it may be: "+3.21 us (2.9 to 3.5)"; a question mark where
    it is not told from nothing."""
    unit = time_unit(max(abs(point.added_s), abs(point.low_s), abs(point.high_s)))
    low, high = (signed(in_unit(seconds, unit)) for seconds in (point.low_s, point.high_s))
    text = f"{signed(in_unit(point.added_s, unit))} {unit} ({low} to {high})"
    return text if point.clear else f"{text} ?"


def signed(number: float) -> str:
    """With its sign: "+3.210", "-0.4000"."""
    return f"{'-' if number < 0 else '+'}{value(abs(number))}"


def unshown(table: CurveSet) -> dict[str, list[str]]:
    """Why curves of a picture have no figure at all ("skipped: ..." of their first points), with their names."""
    found: dict[str, list[str]] = {}
    for name, curve in zip(table.names, table.curves, strict=True):
        if all(point.headline is None for point in curve.points):
            reasons = list(dict.fromkeys(f"{point.status}: {point.reason}" for point in curve.points))
            more = f", and {len(reasons) - 1} more reasons" if len(reasons) > 1 else ""
            found.setdefault(f"{reasons[0]}{more}", []).append(name)
    return found


def unshown_lines(table: CurveSet) -> list[str]:
    """The same as people read it, a line for each reason: "skipped: no MPI library (mpi, window; mpi, send)"."""
    return [f"{why} ({'; '.join(names)})" for why, names in unshown(table).items()]


def all_skipped(cells: Sequence[Cell]) -> str:
    """What stands in the place of a table that has nothing to show, for a few reasons; empty for any other."""
    reasons = list(dict.fromkeys(entry.reason or "no reason recorded" for entry in cells))
    statuses = {entry.status for entry in cells}
    if len(reasons) > MOST_NAMED or len(statuses) > 1 or any(entry.headline for entry in cells):
        return ""
    word = {"skipped": "skipped", "ok": "n/a"}.get(statuses.pop())
    return "" if word is None else f"{word if len(cells) == 1 else f'all {len(cells)} {word}'}: {'; '.join(reasons)}"


def few(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    rest = len(names) - MOST_NAMED
    text = "; ".join(names[:MOST_NAMED])
    return f"{text} and {rest} more" if rest > 0 else text


def either(names: Sequence[str]) -> str:
    """Equals, any of which will do: "a or b", "a or b or 3 more"."""
    rest = len(names) - MOST_NAMED
    return " or ".join([*names[:MOST_NAMED], *([f"{rest} more"] if rest > 0 else [])])


def together(line: TableSummary) -> str:
    """What is said of a table whose flows did not run at the same time throughout; empty where they did."""
    if line.lowest_overlap is None or line.highest_overlap is None or line.lowest_overlap >= TOGETHER:
        return ""
    low, high = (f"{share * 100:.0f} %" for share in (line.lowest_overlap, line.highest_overlap))
    span = low if low == high else f"{low} to {high}"
    text = f"all flows of a case ran together for {span} of the time from first start to last end"
    total = "the aggregate too low" if line.best.figure == "aggregate" else "the sum of such rates, too"
    return f"{text}: for the rest fewer shared the path, so a flow's own rate may be too good, {total}"


def doubled(line: TableSummary) -> str:
    """The memory traffic of copies within one memory, which reads and writes every byte; empty for other tables."""
    if not line.heading.local or line.heading.unit != RATE_UNIT or line.heading.figure == TOUCHED:
        return ""
    span = " to ".join(dict.fromkeys((value(2 * line.min), value(2 * line.max))))
    return f"read + write: {span} {RATE_UNIT}"


def x_value(x: float | None, x_name: str) -> str:
    """A curve's x: a size where it counts bytes, a plain number otherwise."""
    if x is None:
        return "?"
    if x_name.endswith("bytes") or x_name in COUNTED_IN_BYTES:
        return size(x)
    return f"{x:.0f}" if x == int(x) else f"{x:g}"


def x_title(x_name: str) -> str:
    """What stands at a curve's x axis: "bytes", "threads", "GPUs"."""
    return "GPUs" if x_name == "gpus" else x_name.replace("_", " ")


def place(entry: Cell, heading: Heading) -> str:
    """Where a cell stands in its table: "gpu:0, gpu:3" (row, column), a curve's series and x ("gpu:0 · blocks 8"),
    or its case's id.
    """
    if heading.x_name:
        at = x_value(entry.x, heading.x_name)
        at = at if heading.x_name == "bytes" else f"{x_title(heading.x_name)} {at}"
        return " · ".join(part for part in (entry.series, at) if part)
    parts = [part for part in (entry.row, entry.column, entry.series, *entry.variant_words) if part]
    return ", ".join(parts) or entry.id

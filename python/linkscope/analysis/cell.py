"""Cell: one row's outcome made ready for a table, and Heading: what all cells of a table share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from linkscope.analysis.bounds import Bound
from linkscope.analysis.collective import Collective
from linkscope.analysis.headline import Headline, asked, headline, shared_unit
from linkscope.analysis.peak import ABOVE, Peak, peak
from linkscope.analysis.reasons import reason_of
from linkscope.machine.paths import Paths
from linkscope.machine.traits import MemoryTraits, memory_traits, method_traits
from linkscope.results.case_traffic import both_ways
from linkscope.results.row import Row

Json = dict[str, Any]

_TOUCHERS = {"numa": "cpu", "gpu": "gpu"}
_OF_THEIR_OWN = ("ping-pong", "window", "in-kernel")
"""Calls and forms whose figure is not the time of one transfer from call to arrival."""
_SELF_EVIDENT = ("hosts", "method", "processes", "staging", "in_place", "call", "form", "launch", "type")
"""Axes whose values speak for themselves."""
HOSTS = "hosts"
"""The axis of figures between hosts."""
MODELS_CLOCK = "the model's clock"
CALLS_INCLUDED = "calls included"
"""Follows the device's clock where it holds the calls, which it leaves out otherwise."""
MOST_KINDS = 3
"""Kinds of memory that a heading names pair by pair; of more it names those at either end."""


@dataclass(frozen=True)
class Slowest:
    """Of a flow that several devices or processes carry out: the one that took longest, and its median time over the
    mean of all, 1.02 for 2 % longer."""

    member: str
    ratio: float


@dataclass(frozen=True)
class Cell:
    """A row's place in its table (``row``, ``column``, ``series``, ``x``) and what came of it.

    ``id`` is the row's in the run file; several cells have it where every flow of a case has a figure of its own.
    ``variant``: (axis, value) of what tells a list's lines apart besides their place. ``bytes`` is 0 where none move.
    ``status`` is ok, skipped or failed; ``reason`` says why there is no headline. ``headline`` is None unless ok.
    ``peak`` is None where the hardware's limit is not known or the figure is a time. ``overlap``: share of the time in
    which all measured flows ran, where the figure needs that they ran together; None elsewhere. ``figure``: the word by
    which the labels ask for it. ``slowest``: of a collective's members; None elsewhere. ``regime``: what figures must
    have in common to be set against one another: the clock, whether bytes of both ways count, what is timed.
    ``hosts``: those between which it was measured, where they are several; they stand in the ``variant``, too.
    ``of_samples``: its interval is that of samples alone. ``within_run``: and says nothing of other runs, as it should.
    ``assumed``: a model's figure that is mostly a latency of no source; ``stand_in``: where that comes from.
    """

    id: str
    status: str
    reason: str | None
    modelled: bool
    row: str
    column: str
    series: str
    variant: tuple[tuple[str, str], ...]
    x: float | None
    bytes: int
    headline: Headline | None
    peak: Peak | None
    overlap: float | None
    figure: str = "first"
    slowest: Slowest | None = None
    regime: str = ""
    hosts: tuple[str, ...] = ()
    of_samples: bool = True
    within_run: bool = False
    assumed: bool = False
    stand_in: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What no other cell of a run has: see ``place_of``."""
        return self.id, self.row, self.column, self.figure

    @property
    def variant_words(self) -> list[str]:
        """Each axis with its value, such as "threads 2"; the value alone where it says enough, as "in place"."""
        return [value if axis in _SELF_EVIDENT else f"{axis} {value}" for axis, value in self.variant]

    @property
    def share(self) -> float | None:
        """Measured over peak, 0.88 for 88 %; None where either is unknown."""
        if self.headline is None or self.peak is None or not self.peak.gbps:
            return None
        return self.headline.value.median / self.peak.gbps

    @property
    def above_peak(self) -> bool:
        """Whether the figure is more than its path can carry: a cache served it."""
        return self.share is not None and self.share > ABOVE

    def to_json(self) -> Json:
        """A JSON-ready dict, ``share`` and ``above_peak`` included."""
        return {**asdict(self), "share": self.share, "above_peak": self.above_peak}


@dataclass(frozen=True)
class Heading:
    """What the cells of one table have in common, in the words of the report.

    ``unit`` is empty where no row is ok. ``x_name``: what a curve's x counts, empty for other tables. ``figure`` says
    which number of a row stands in the table; which numbers, where its lines differ. ``bytes`` is None where the sizes
    differ. ``memories``: kinds at the ends, such as "pinned → device". ``background``: methods of flows that run beside
    the measured ones. ``loads``: once or sustained. ``environments``: variables the engine was started with, "" for
    none. ``local`` is true where source and destination are the same device throughout. ``peer`` names another tool's
    case that the table repeats, empty where none is. ``bounds``: what times of collectives are held against, where the
    run has it. ``bus_factor``: bus over algorithm bandwidth, where it is one for all collectives of the table.
    ``hosts``: between which figures were measured, where any were between several. ``imported``: the tools that figures
    are from, "nvbandwidth 0.8"; none where linkscope measured them.
    """

    suite: str
    name: str
    title: str
    unit: str
    x_name: str
    figure: str
    bytes: int | None
    methods: tuple[str, ...]
    background: tuple[str, ...]
    memories: tuple[str, ...]
    clocks: tuple[str, ...]
    caches: tuple[str, ...]
    loads: tuple[str, ...]
    environments: tuple[str, ...]
    modelled: bool
    local: bool
    peer: str
    bounds: tuple[Bound, ...] = ()
    bus_factor: float | None = None
    hosts: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()


def cells_of(rows: Iterable[Row], paths: Paths) -> list[Cell]:
    """The outcomes of one table's rows, times in one unit: the one that suits most of them, none unreadably long."""
    cells = [cell(row, paths) for row in rows]
    times = [c.headline.seconds for c in cells if c.headline is not None and not c.headline.higher_is_better]
    if not times:
        return cells
    if any(c.headline is not None and c.headline.higher_is_better for c in cells):
        return [_as_rate(c) for c in cells]
    unit = shared_unit(times)
    return [c if c.headline is None else replace(c, headline=c.headline.in_unit(unit)) for c in cells]


def _as_rate(one: Cell) -> Cell:
    """The cell as a table of rates has it: without the time of what moves nothing."""
    if one.headline is None or one.headline.higher_is_better:
        return one
    return replace(one, headline=None, reason=f"{one.bytes} B have no rate")


def cell(row: Row, paths: Paths) -> Cell:
    """The row's outcome; ``paths`` gives the peaks."""
    figure = headline(row)
    limit = peak(row, paths) if figure is None or figure.higher_is_better else None
    labels = row.labels
    x = labels.get("x")
    case_id, table_row, table_column, wanted = place_of(row)
    lacking = f"has no figure of the kind asked for, {wanted}" if row.status == "ok" and figure is None else None
    return Cell(
        id=case_id,
        status=row.status,
        reason=reason_of(row) if row.reason else lacking,
        modelled=row.modelled,
        row=table_row,
        column=table_column,
        series=str(labels.get("series", "")),
        variant=_variant(row),
        x=float(x) if isinstance(x, (int, float)) else None,
        bytes=payload(row),
        headline=figure,
        peak=limit,
        overlap=row.overlap if len(row.measured_flows) > 1 and row.load == "once" else None,
        figure=wanted,
        slowest=slowest(row),
        regime=regime(row),
        hosts=row.between,
        of_samples=len(row.measured) < 2 and not row.noise and not row.origin,
        within_run=row.within_run,
        assumed=row.assumed,
        stand_in=row.stand_in,
    )


def _variant(row: Row) -> tuple[tuple[str, str], ...]:
    said = tuple((str(axis), str(word)) for axis, word in row.labels.get("variant", {}).items())
    return (*said, (HOSTS, ", ".join(row.between))) if row.between else said


def regime(row: Row) -> str:
    """Such as "batch clock", "host clock, window", "device clock, in-kernel"; a described node has one for all that its
    rules do not tell apart by it."""
    flow = row.case["flows"][0]
    parameters = flow.get("parameters", {})
    words = [MODELS_CLOCK if row.modelled and not row.labels.get("by_clock") else f"{row.case['clock']} clock"]
    words += [CALLS_INCLUDED] if _with_calls(row, flow) else []
    words += ["both ways"] if both_ways(row.case, flow) else []
    words += [word for word in (parameters.get("call"), parameters.get("form")) if word in _OF_THEIR_OWN]
    return ", ".join(words)


def _with_calls(row: Row, flow: Json) -> bool:
    """Whether a copy's calls count on the device's clock: a copy engine's between a GPU and pages that no driver has
    locked."""
    ends = [flow[end] for end in ("source", "destination") if end in flow]
    if row.modelled or row.case["clock"] != "device" or not method_traits(row.case, flow["method"]).stages:
        return False
    open_pages = any(_unlocked(memory_traits(row.case, end["memory"])) for end in ends)
    return open_pages and len({end["device"].partition(":")[0] for end in ends}) > 1


def _unlocked(traits: MemoryTraits) -> bool:
    return traits.placed_by_touch and not (traits.registered or traits.migrates)


def place_of(row: Row) -> tuple[str, str, str, str]:
    """Id, table row, table column and figure: no two rows of a run that are taken apart (``apart``) share all four."""
    labels = row.labels
    return row.id, str(labels.get("row", "")), str(labels.get("column", "")), asked(row)


def slowest(row: Row) -> Slowest | None:
    """Of the case's one collective; None for others, and where the row does not say it."""
    flow = row.case["flows"][0]
    parts = row.flows[0].parts_s if row.flows else ()
    members = flow.get("members", ())
    if len(parts) < 2 or len(parts) != len(members):
        return None
    place = parts.index(max(parts))
    end = members[place]
    name = f"rank {end.get('rank', 0)}, {end['device']}" if row.case.get("processes", 1) > 1 else str(end["device"])
    return Slowest(name, parts[place] * len(parts) / sum(parts))


def payload(row: Row) -> int:
    """Bytes of one operation of the case's first flow; 0 where it has no memory at either end (a call)."""
    flow = row.case["flows"][0]
    return int(flow["bytes"]) if moves(flow) else 0


def moves(flow: Json) -> bool:
    """Whether a plan's flow moves bytes: it has memory at an end."""
    return any(end in flow for end in ("source", "destination", "members"))


def title(row: Row) -> str:
    """The table's title: the label, or the name of the suite's row."""
    return str(row.labels.get("title") or row.name or row.id)


def shown_as(row: Row, kind: str) -> bool:
    """Whether the row belongs to a ``matrix``, a ``curve`` or (the default) a ``list``."""
    asked = row.labels.get("show", "list")
    return bool(asked == kind or (kind == "list" and asked not in ("matrix", "curve")))


def heading(rows: Sequence[Row], cells: Sequence[Cell]) -> Heading:
    """Of the rows of one table (at least one) and their cells, in the same order."""
    first = rows[0]
    headlines = [c.headline for c in cells if c.headline is not None]
    sizes = {c.bytes for c in cells}
    return Heading(
        suite=first.suite,
        name=first.name,
        title=title(first),
        unit=headlines[0].unit if headlines else "",
        x_name=str(first.labels.get("x_name", "bytes")) if shown_as(first, "curve") else "",
        figure="; ".join(_distinct(headline.what for headline in headlines)),
        bytes=(sizes.pop() or None) if len(sizes) == 1 else None,
        methods=_methods(rows, "measured"),
        background=_methods(rows, "background"),
        memories=_kinds([row.case["flows"][0] for row in rows]),
        clocks=_distinct(row.case["clock"] for row in rows),
        caches=_distinct(row.case.get("cache", "rotated") for row in rows),
        loads=_distinct(row.load for row in rows),
        environments=_distinct(" ".join(f"{name}={text}" for name, text in row.environment.items()) for row in rows),
        modelled=any(row.modelled for row in rows),
        imported=_distinct(row.origin for row in rows if row.origin),
        local=all(_is_local(flow) for row in rows for flow in row.case["flows"]),
        peer=_peer(first),
        bus_factor=_bus_factor(rows),
        hosts=_distinct(host for row in rows for host in row.between),
    )


def _bus_factor(rows: Sequence[Row]) -> float | None:
    found = {None if one is None else one.bus_factor for one in (Collective.of(row.case["flows"][0]) for row in rows)}
    return found.pop() if len(found) == 1 else None


def _peer(row: Row) -> str:
    peer = row.labels.get("peer") or {}
    return f"{peer.get('tool', '?')}: {peer['case']}" if "case" in peer else ""


def _is_local(flow: Json) -> bool:
    ends = (flow.get("source"), flow.get("destination"))
    if ends[0] is None or ends[1] is None or ends[0].get("rank", 0) != ends[1].get("rank", 0):
        return False
    return bool(ends[0]["device"] == ends[1]["device"])


def _methods(rows: Iterable[Row], role: str) -> tuple[str, ...]:
    flows = (flow for row in rows for flow in row.case["flows"])
    return _distinct(flow["method"] for flow in flows if flow.get("role", "measured") == role)


def table_of(row: Row) -> tuple[str, str, str]:
    """What the rows of one table share: suite, the table's name (the suite row's own where it names none), title."""
    return row.suite, str(row.labels.get("table", row.name)), title(row)


def _kinds(flows: Sequence[Json]) -> tuple[str, ...]:
    pairs = _distinct(_memories(flow) for flow in flows)
    if len(pairs) <= MOST_KINDS:
        return pairs
    ends = [_distinct(flow[end]["memory"] for flow in flows if end in flow) for end in ("source", "destination")]
    return (" → ".join(", ".join(kinds) for kinds in ends if kinds),)


def _memories(flow: Json) -> str:
    if "members" in flow:
        return memory(flow["members"][0])
    return " → ".join(memory(flow[end]) for end in ("source", "destination") if end in flow)


def memory(end: Json) -> str:
    """Kind of memory of an end, such as "pinned", "managed (first touch: gpu, read-mostly)"."""
    touch = f"first touch: {_TOUCHERS[end['first_touch'].partition(':')[0]]}" if "first_touch" in end else ""
    more = ", ".join(part for part in (touch, end.get("advice", "")) if part)
    return f"{end['memory']} ({more})" if more else str(end["memory"])


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))

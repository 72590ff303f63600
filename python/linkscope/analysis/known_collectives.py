"""Known collectives: the bus bandwidth of large collectives by a library, held against what it is known to reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from linkscope.analysis.collective import Collective
from linkscope.analysis.conditions import conditions
from linkscope.analysis.ledger import NVSWITCH, designed_lanes, is_short
from linkscope.analysis.library_settings import has_no_nvls, may_have_nvls
from linkscope.machine.expected import ExpectedCollective, expected_collective
from linkscope.machine.paths import Path, Paths
from linkscope.results.row import Row, Stats
from linkscope.results.stats import scaled

Json = dict[str, Any]
_MEMORIES = {"device", "xccl"}
"""Of GPUs, also of the library's own allocator."""
_TYPE = "float32"
LEAST_GBPS = 1e-3
"""Of a line rate that means anything."""


@dataclass(frozen=True, eq=False)
class JudgedCollective:
    """One collective, equal to itself only; rates are bus bandwidths in GB/s.

    ``line_gbps``: of the links of each GPU, as they were built; ``short``: it is below what is expected by more than
    its interval, the node's noise and ``tolerance``. What can't be told: ``uncertain``, as its interval reaches that
    low; ``faster_known``, as it is as fast as known without reductions in the switch, which would make it faster and
    may have been on. ``conditions``: as in a ledger; ``tool``: whose figure it is, where the
    user may still say whether reductions in the switch were on.
    """

    id: str
    collective: str
    gpus: tuple[str, ...]
    method: str
    bytes: int
    measured: Stats
    line_gbps: float
    expected_gbps: float
    held_against: str
    tolerance: float
    conditions: dict[str, str]
    short: bool = False
    uncertain: bool = False
    faster_known: bool = False
    tool: str = ""

    @property
    def name(self) -> str:
        """Such as "all-reduce on 4 GPUs"."""
        return f"{self.collective} on {len(self.gpus)} GPUs"

    @property
    def open(self) -> bool:
        """Whether nobody can tell if it is as fast as it should be."""
        return self.uncertain or self.faster_known

    @property
    def missing(self) -> float:
        """Share of the expectation that is not there."""
        return 1 - self.measured.median / self.expected_gbps

    @property
    def told(self) -> str:
        """Measured and expected, with the interval, and below what it is short."""
        value, limit = self.measured, self.expected_gbps * (1 - self.tolerance)
        interval = f"95 %: {value.low:.1f} to {value.high:.1f}; short below {limit:.1f}"
        return f"{value.median:.1f} of {self.expected_gbps:.1f} GB/s bus bandwidth ({interval})"

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return {**asdict(self), "missing": self.missing}


def known_collectives(rows: Iterable[Row], paths: Paths) -> tuple[JudgedCollective, ...]:
    """Of every measured collective in plain conditions of which it is known what healthy nodes reach. A model is no
    witness, and what a case set in the environment is the user's."""
    return tuple(found for row in rows if (found := _of(row, paths)) is not None)


def known_from(rows: Iterable[Row], paths: Paths) -> int | None:
    """From how many bytes on it is known what any of these collectives reaches; None where nothing is."""
    plain = (one for row in rows if (one := _plain(row, paths)) is not None)
    known = [found for one in plain for nvls in (False, True) if (found := one.known(nvls)) is not None]
    return min((one.from_bytes for one in known), default=None)


@dataclass(frozen=True)
class _Plain:
    """A measured collective in plain conditions, over GPU links of a known rate."""

    row: Row
    collective: Collective
    device: str
    line_gbps: float
    link: str
    rate: Stats

    @property
    def flow(self) -> Json:
        flow: Json = self.row.case["flows"][0]
        return flow

    def known(self, nvls: bool) -> ExpectedCollective | None:
        """Of whatever size."""
        kind, members = self.collective.kind, len(self.collective.members)
        return expected_collective(self.device, self.link, self.flow["method"], kind, members, nvls)

    def known_here(self, nvls: bool) -> ExpectedCollective | None:
        """Of its size."""
        found = self.known(nvls)
        return found if found is not None and self.flow["bytes"] >= found.from_bytes else None


def _plain(row: Row, paths: Paths) -> _Plain | None:
    flows = row.case["flows"]
    flow, collective = flows[0], Collective.of(flows[0])
    if row.status != "ok" or row.modelled or row.between or len(flows) > 1 or collective is None:
        return None
    usual = str(flow.get("parameters", {}).get("type", _TYPE)) == _TYPE and row.load == "once" and not row.environment
    if not usual or not {end["memory"] for end in flow["members"]} <= _MEMORIES:
        return None
    rate, path = row.flows[0].gbps, _path(collective, paths)
    line, _, link = designed_lanes(paths, path) if path is not None else (None, None, "")
    if rate is None or not line or line < LEAST_GBPS:
        return None
    return _Plain(row, collective, paths.node.device(collective.members[0]).name, line, link, rate)


def _of(row: Row, paths: Paths) -> JudgedCollective | None:
    one = _plain(row, paths)
    if one is None:
        return None
    off = has_no_nvls(row.notes)
    by_links, by_switch = one.known_here(False), one.known_here(True)
    known = by_switch if by_switch is not None and may_have_nvls(row.notes) else by_links
    if known is None:
        return None
    measured, goal = scaled(one.rate, one.collective.bus_factor), known.share * one.line_gbps
    short = is_short(measured, row.noise, goal, known.tolerance)
    uncertain = not short and 1 - measured.low / goal > max(known.tolerance, row.noise)
    return JudgedCollective(
        id=row.id,
        collective=one.collective.kind,
        gpus=one.collective.members,
        method=one.flow["method"],
        bytes=one.flow["bytes"],
        measured=measured,
        line_gbps=one.line_gbps,
        expected_gbps=goal,
        held_against=known.source,
        tolerance=known.tolerance,
        conditions={**conditions(row), "memory": one.flow["members"][0]["memory"]},
        short=short,
        uncertain=uncertain,
        faster_known=not short and not uncertain and not off and known is by_links,
        tool="" if may_have_nvls(row.notes) else row.raw.get("origin", {}).get("tool", ""),
    )


def _path(collective: Collective, paths: Paths) -> Path | None:
    """Between the first two members, if all are GPUs of one GPU switch, each once."""
    first, *others = collective.members
    if len(set(collective.members)) < max(len(collective.members), 2):
        return None
    switched = {link.a if link.b == NVSWITCH else link.b for link in paths.node.links if NVSWITCH in (link.a, link.b)}
    return paths.between(first, others[0]) if {*collective.members} <= switched else None

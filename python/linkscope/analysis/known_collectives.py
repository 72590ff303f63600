"""Known collectives: the bus bandwidth of large collectives by a library, held against what it is known to reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from linkscope.analysis.collective import Collective
from linkscope.analysis.ledger import NVSWITCH
from linkscope.machine.expected import expected_collective
from linkscope.machine.paths import Paths
from linkscope.results.interval import scaled
from linkscope.results.row import Row, Stats

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class JudgedCollective:
    """One collective, equal to itself only; rates are bus bandwidths in GB/s.

    ``line_gbps``: the most that links allow; ``short``: it is below what is expected by more than its interval, the
    node's noise and ``tolerance``. ``settings``: how its calls are launched.
    """

    id: str
    collective: str
    gpus: tuple[str, ...]
    method: str
    bytes: int
    settings: str
    measured: Stats
    line_gbps: float
    expected_gbps: float
    held_against: str
    tolerance: float
    short: bool

    @property
    def name(self) -> str:
        """Such as "all-reduce on 4 GPUs"."""
        return f"{self.collective} on {len(self.gpus)} GPUs"

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
    """Of every measured collective of which it is known what healthy nodes reach: those that surely reach it, but for
    ``tolerance``, and those that surely do not; what an interval leaves open is not judged. A model is no witness."""
    return tuple(one for row in rows for one in _of(row, paths))


def _of(row: Row, paths: Paths) -> Iterator[JudgedCollective]:
    flows = row.case["flows"]
    collective = Collective.of(flows[0])
    if row.status != "ok" or row.modelled or row.between or len(flows) > 1 or collective is None:
        return
    rate, peak = row.flows[0].gbps, collective.bus_peak(paths)
    first, *others = collective.members
    if rate is None or peak is None or not others or not all(one.startswith("gpu:") for one in collective.members):
        return
    path = paths.between(first, others[0])
    switched = path is not None and NVSWITCH in {end for name in path.route for end in _ends(paths, name)}
    link = paths.links[path.route[0]].link.kind if path is not None and switched else ""
    known = expected_collective(
        paths.node.device(first).name, link, flows[0]["method"], collective.kind, len(collective.members)
    )
    if known is None or flows[0]["bytes"] < known.from_bytes:
        return
    measured, goal = scaled(rate, collective.bus_factor), known.share * peak[0]
    least = goal * (1 - max(known.tolerance, row.noise))
    if measured.low < least <= measured.high:
        return
    yield JudgedCollective(
        id=row.id,
        collective=collective.kind,
        gpus=collective.members,
        method=flows[0]["method"],
        bytes=flows[0]["bytes"],
        settings=_settings(row),
        measured=measured,
        line_gbps=peak[0],
        expected_gbps=goal,
        held_against=known.source,
        tolerance=known.tolerance,
        short=measured.high < least,
    )


def _ends(paths: Paths, name: str) -> tuple[str, str]:
    link = paths.links[name].link
    return link.a, link.b


def _settings(row: Row) -> str:
    parameters = row.case["flows"][0].get("parameters", {})
    told = [str(parameters[name]) for name in ("launch", "form") if name in parameters]
    told += ["in place"] if parameters.get("in_place") == "yes" else []
    return ", ".join([*told, f"{row.case['clock']} clock"])

"""Readings: the results of a paste as another tool printed them, with what they move."""

from __future__ import annotations

from dataclasses import dataclass

from linkscope.figures.collective import Collective
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.importers.peer_output import Movement
from linkscope.results.row import Row

_ONE_TO_ONE = ("send-receive", "broadcast", "reduce")
"""Collectives whose bus bandwidth is that of the algorithm, by however many ranks."""


@dataclass(frozen=True)
class PastedResult:
    """A result of a paste. ``rate``: GB/s of all that the tool counts, of a collective its bus bandwidth; None of a
    latency. ``seconds``: None of a rate. ``line_gbps``: what the links between the ends carry, both directions added
    where the result adds them; None where nothing says."""

    row: Row
    moves: Movement
    test: str
    size: int
    rate: float | None
    seconds: float | None
    line_gbps: float | None

    @property
    def path(self) -> str:
        """Return "gpu:0>gpu:1"; "" where the tool does not say."""
        ends = [self.row.case["flows"][0].get(end, {}).get("device", "") for end in ("source", "destination")]
        return ">".join(ends) if self.moves.kind in ("peer", "to-gpu", "to-host", "local") else ""

    @property
    def table(self) -> tuple[object, ...]:
        """Return what readings share that differ in devices or size alone."""
        moves = self.moves
        return self.test, moves.varies, moves.kind, moves.method, moves.both, moves.opposed, self.rate is None

    @property
    def series(self) -> tuple[object, ...]:
        """Return what readings share that differ in size alone."""
        return *self.table, self.moves.source, self.moves.destination


def readings_of(run: Run) -> list[PastedResult]:
    """Return the results of a run that another tool made, in the order of the paste."""
    found = []
    for row in run.file.rows:
        origin = row.imported
        if row.status != "ok" or origin is None or not isinstance(origin.moves, dict):
            continue
        moves = Movement(**{**origin.moves, "memories": tuple(origin.moves["memories"])})
        flow = row.case["flows"][0]
        value = float(origin.value) if isinstance(origin.value, (int, float)) else 0.0
        rated = origin.unit == RATE
        rate = value if rated else _bus(row, moves)
        reading = PastedResult(
            row,
            moves,
            str(origin.test or ""),
            flow["bytes"],
            rate,
            None if rated else value,
            _line_gbps(run, row, moves),
        )
        found.append(reading)
    return found


def _bus(row: Row, moves: Movement) -> float | None:
    """Return the bus bandwidth of a collective of which the tool prints the time; None where nothing names it."""
    rate = row.flows[0].gbps
    exchanged = moves.kind == "collective" and (
        moves.ranks > 1 or (not moves.ranks and moves.collective in _ONE_TO_ONE)
    )
    exchanged = exchanged and bool(moves.collective)
    collective = Collective.of(row.case["flows"][0]) if exchanged else None
    return rate.median * collective.bus_factor if rate is not None and collective is not None else None


def _line_gbps(run: Run, row: Row, moves: Movement) -> float | None:
    flow = row.case["flows"][0]
    if "source" not in flow or "destination" not in flow or flow["source"] == flow["destination"]:
        return None
    try:
        path = run.paths.between(flow["source"]["device"], flow["destination"]["device"])
    except KeyError:
        return None
    peak = path.peak_gbps if path is not None else None
    return peak * (2 if moves.both else 1) if peak else None

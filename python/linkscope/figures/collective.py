"""Collectives: what their sizes, bandwidths and passes mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkscope.machine.paths import Paths

Json = dict[str, Any]

PASSES = {"reduce": 1, "broadcast": 1, "all-reduce": 2, "reduce-scatter": 2, "all-gather": 2}
"""Communication passes as schieffer24, section VI, counts them; it has no word on the other kinds."""
_EVERY = {"all-gather": ("into",), "reduce-scatter": ("out of",), "all-to-all": ("into", "out of")}
"""Ways over which every member must move all blocks but one of its own."""
_ROOTED = {"broadcast": ("out of", "into"), "reduce": ("into", "out of")}
"""Ways over which the root, and everyone else, must move all of it."""


@dataclass(frozen=True)
class Collective:
    """A collective's kind (all-reduce, ...) and the devices of its members, in order, the root first."""

    kind: str
    members: tuple[str, ...]

    @staticmethod
    def of(flow: Json) -> Collective | None:
        """From a plan's flow (schema/plan.schema.json); None for a flow between two ends, and for a schedule."""
        if "members" not in flow or "schedule" in flow:
            return None
        kind = str(flow.get("parameters", {}).get("collective", "all-reduce"))
        return Collective(kind, tuple(end["device"] for end in flow["members"]))

    @property
    def bus_factor(self) -> float:
        """Bus bandwidth over algorithm bandwidth by nccl-tests (doc/PERFORMANCE.md); 1 for broadcast and reduce."""
        n = len(self.members)
        factors = {"all-reduce": 2.0, "reduce-scatter": 1.0, "all-gather": 1.0, "all-to-all": 1.0}
        return factors[self.kind] * (n - 1) / n if self.kind in factors else 1.0

    def bus_peak(self, paths: Paths) -> tuple[float, str] | None:
        """GB/s that no bus bandwidth can exceed by any algorithm, and the limit, "into:gpu:0"; None where unknown.

        A member must take in, or send, the blocks of all others (with a root: all of it), over its own links on the
        ways from and to them; the member with the least decides. In an all-reduce all members together move two such
        rounds, so their mean decides, or one member's links that one round alone fills. Reductions inside switches are
        not thought of. None where members share a device.
        """
        if len(set(self.members)) < len(self.members):
            return None
        if self.kind == "all-reduce":
            return self._all_reduce_peak(paths)
        wanted = [(member, way) for index, member in enumerate(self.members) for way in self._ways(index)]
        rates = [(self._rate(paths, member, way), _limit(way, member)) for member, way in wanted]
        return _least(rates)

    def _all_reduce_peak(self, paths: Paths) -> tuple[float, str] | None:
        bounds: list[tuple[float | None, str]] = []
        for way in ("into", "out of"):
            rates = [self._rate(paths, member, way) for member in self.members]
            known = [rate for rate in rates if rate is not None]
            mean = sum(known) / len(known) if len(known) == len(rates) else None
            bounds.append((mean, _limit(way, "members")))
            bounds += [
                (None if rate is None else rate * self.bus_factor, _limit(way, member))
                for member, rate in zip(self.members, rates, strict=True)
            ]
        return _least(bounds)

    def _ways(self, index: int) -> tuple[str, ...]:
        if self.kind in _ROOTED:
            return (_ROOTED[self.kind][min(index, 1)],)
        return _EVERY.get(self.kind, ())

    def _rate(self, paths: Paths, member: str, way: str) -> float | None:
        """GB/s of the member's links on its ways ``into`` or ``out of`` it, each once; None where one is unknown."""
        others = [other for other in self.members if other != member]
        pairs = [(other, member) if way == "into" else (member, other) for other in others]
        nearest = set()
        for pair in pairs:
            path = paths.between(*pair)
            if path is None or not path.route:
                return None
            nearest.add(path.route[-1 if way == "into" else 0])
        peaks = [paths.links[link].link.peak_gbps for link in nearest]
        known = [peak for peak in peaks if peak is not None]
        return sum(known) if len(known) == len(peaks) else None


def _limit(way: str, member: str) -> str:
    return f"{way.replace(' ', '-')}:{member}"


def _least(bounds: list[tuple[float | None, str]]) -> tuple[float, str] | None:
    known = [(rate, why) for rate, why in bounds if rate is not None]
    return min(known, key=lambda bound: bound[0]) if known and len(known) == len(bounds) else None

"""Link shares: how near to what is expected each link and memory of a node comes, by the accounts of its paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from linkscope.analysis.ledger import Ledger
from linkscope.machine.node import Link
from linkscope.machine.paths import Paths

Group = tuple[str, str, str]
"""Direction of a link (or a device), way and method: accounts of one group use the place alike."""


@dataclass(frozen=True)
class Reach:
    """Measured over expected, 0.98 for 2 % missing. ``short``: no path of its kind gets through as fast as expected."""

    share: float
    short: bool


@dataclass(frozen=True)
class LinkShares:
    """``links`` and ``devices`` (their own memory, by id) that any figure could be held against an expectation."""

    links: Mapping[Link, Reach]
    devices: Mapping[str, Reach]


def link_shares(accounts: Iterable[Ledger], paths: Paths) -> LinkShares:
    """What the accounts say of the links and memories that they use.

    A link can do what the best path through it does: of each direction, way and method that one counts, and of these
    the worst. So a slow path does not blame a link that serves another path well.
    """
    links: dict[Link, dict[Group, Reach]] = {}
    devices: dict[str, dict[Group, Reach]] = {}
    for one in accounts:
        if one.expected_gbps is None:
            continue
        found = Reach(1 - one.missing, one.short)
        if one.kind == "local":
            _keep_best(devices.setdefault(one.source, {}), (one.source, one.way, one.method), found)
            continue
        path = paths.between(one.source, one.destination)
        for name in path.route if path is not None else ():
            _keep_best(links.setdefault(paths.links[name].link, {}), (name, one.way, one.method), found)
    return LinkShares(
        {link: _worst(groups.values()) for link, groups in links.items()},
        {device: _worst(groups.values()) for device, groups in devices.items()},
    )


def _keep_best(groups: dict[Group, Reach], group: Group, found: Reach) -> None:
    if group not in groups or (found.short, -found.share) < (groups[group].short, -groups[group].share):
        groups[group] = found


def _worst(shares: Iterable[Reach]) -> Reach:
    return min(shares, key=lambda one: (not one.short, one.share))

"""Nominal links: a node's links as they were built, whatever of them is down now."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkscope.machine.node import Link, Node
from linkscope.machine.paths import tier_of

NVSWITCH = "switch:nvswitch"


@dataclass(frozen=True)
class LinksDown:
    """A GPU with fewer links to the GPU switch than others have: ``down`` of ``built``."""

    gpu: str
    kind: str
    down: int
    built: int


def links_down(node: Node) -> tuple[LinksDown, ...]:
    """Return the GPUs that have fewer links to the GPU switch than the best of their kind on the node.

    Fewer than a model could have on all GPUs (12 of 18 on some clouds) is the builder's choice.
    """
    most = _most_lanes(node)
    return tuple(
        LinksDown(link.b if link.a == NVSWITCH else link.a, link.kind, most[link.kind] - link.lanes, most[link.kind])
        for link in node.links
        if NVSWITCH in (link.a, link.b) and link.lanes and link.lanes < most[link.kind]
    )


def nominal(node: Node) -> Node:
    """Return the node with all links to its GPU switch as they were built, with their peaks and tiers."""
    most = _most_lanes(node)
    return replace(node, links=tuple(_whole(link, most.get(link.kind, 0)) for link in node.links))


def nominal_tiers(node: Node) -> dict[str, str]:
    """Return the tiers that links would not have as they were built, and those that they would: 17 -> 18 links."""
    pairs = zip(node.links, nominal(node).links, strict=True)
    return {tier_of(link): tier_of(whole) for link, whole in pairs if tier_of(link) != tier_of(whole)}


def _most_lanes(node: Node) -> dict[str, int]:
    most: dict[str, int] = {}
    for link in node.links:
        if NVSWITCH in (link.a, link.b):
            most[link.kind] = max(most.get(link.kind, 0), link.lanes or 0)
    return most


def _whole(link: Link, lanes: int) -> Link:
    if NVSWITCH not in (link.a, link.b) or not link.lanes or link.lanes >= lanes:
        return link
    gbps = link.peak_gbps * lanes / link.lanes if link.peak_gbps else link.peak_gbps
    return replace(link, lanes=lanes, peak_gbps=gbps, tier=link.tier.replace(f"-{link.lanes}", f"-{lanes}"))

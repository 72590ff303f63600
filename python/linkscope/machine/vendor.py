"""Vendor: whose GPUs a node has."""

from __future__ import annotations

from linkscope.machine.node import Node

VENDORS = {"amd": "AMD", "nvidia": "NVIDIA"}
_OF_ENGINE = {"cuda": "nvidia", "hip": "amd"}


def vendor_of(node: Node, engine: str) -> str | None:
    """Return whose GPUs the engine drives, or the machine model names: a key of ``VENDORS``; None where unknown."""
    if not node.modelled:
        return _OF_ENGINE.get(engine)
    return named_vendor(node)


def named_vendor(node: Node) -> str | None:
    """Return the vendor in the names of a node's GPUs; None where there is none."""
    names = " ".join(gpu.name for gpu in node.of_kind("gpu")).lower()
    return next((vendor for vendor in VENDORS if vendor in names), None)

"""Vendor: whose GPUs a node has, and which settings of the environment mean something to them."""

from __future__ import annotations

from collections.abc import Sequence

from linkscope.machine.node import Node
from linkscope.plan.suite_row import Variant

VENDORS = {"amd": "AMD", "nvidia": "NVIDIA"}
_OF_ENGINE = {"cuda": "nvidia", "hip": "amd"}


def vendor_of(node: Node, engine: str) -> str | None:
    """Whose GPUs the engine drives, or the description names; None where neither says."""
    if not node.modelled:
        return _OF_ENGINE.get(engine)
    names = " ".join(gpu.name for gpu in node.of_kind("gpu")).lower()
    return next((vendor for vendor in VENDORS if vendor in names), None)


def own_variants(variants: Sequence[Variant], vendor: str | None) -> tuple[Variant, ...]:
    """Those without settings for another vendor's GPUs; none where no settings are left."""
    own = tuple(one for one in variants if vendor is None or one.vendor in (vendor, None))
    return own if any(one.settings for one in own) else ()

"""Model inputs: which figures of a model are the description's own, and which follow from more than one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkscope.analysis.latencies import JudgedLatency
from linkscope.analysis.ledger import Ledger

_RATES = ("efficiency", "ceiling_gbps")


def is_predicted(
    one: Ledger | JudgedLatency, flow: Mapping[str, Any], methods: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Whether a model was not given this figure. ``flow``: as planned; ``methods``: what its node's description has of
    each.

    What a flow reaches alone is given where the description has an efficiency or a ceiling for it, else it follows from
    the links; what a load takes is its latency. What two opposite flows reach together is found by the model, unless a
    rule for such flows may have given it. ``fits`` does not count.
    """
    if isinstance(one, JudgedLatency) or one.method not in methods:
        return False
    if not one.both:
        return not any(name in flow.get("figures", {}) for name in _RATES)
    return not any(_is_for_both(rule["when"], one) for rule in methods[one.method].get("rules", ()))


def _is_for_both(when: Mapping[str, Any], one: Ledger) -> bool:
    """Whether a rule may be for such traffic: nothing of it says that it is not."""
    about_traffic = when.get("opposite") == "busy" or 2 in when.get("flows", ())
    ends = {one.source.partition(":")[0], one.destination.partition(":")[0]}
    return about_traffic and {when[end] for end in ("source", "destination") if end in when} <= ends

"""Extent of a machine model: what its file has data for, and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.modelled_methods import modelled_methods
from linkscope.machine.node import Node
from linkscope.machine.traits import assumed_method
from linkscope.plan.modelled import with_meaning

_MESSAGES = {"host messages": ("numa", "cpu"), "GPU messages": ("gpu", "gpu")}
"""The devices whose memory messages are of, and what sends them."""
NONE = "none"
_PLAIN = {
    ("source", "numa"): "from host memory",
    ("destination", "numa"): "into host memory",
    ("executor", "numa"): "by a CPU",
    ("source", "gpu"): "from a GPU's memory",
    ("destination", "gpu"): "into a GPU's memory",
    ("executor", "gpu"): "by a GPU",
}
"""Meaning of a rule's word and its value."""
_BY_SIZE = {"from_bytes", "below_bytes"}
SAME = "latency, the same at every size"


def interfaces(machine: str) -> dict[str, str]:
    """Return the interfaces that are modelled: for messages of host memory, of GPU memory, for collectives. Raises
    LinkscopeError for an unknown name.
    """
    node = load_machine(machine)
    messages = {
        heading: [name for name in _senders(by) if node.of_kind(kind) and _sends(node.methods.get(name), kind)]
        for heading, (kind, by) in _MESSAGES.items()
    }
    collectives = [name.removesuffix("-collective") for name in _collectives() if name in node.methods]
    return {heading: ", ".join(found) or NONE for heading, found in {**messages, "collectives": collectives}.items()}


def _senders(by: str) -> list[str]:
    """Return the methods that send messages by "cpu" or "gpu"."""
    traits = {name: assumed_method(name) for name, one in modelled_methods().items() if one.driver in (by, "any")}
    copies = (name for name in traits if modelled_methods()[name].motion == "copy")
    return [name for name in copies if traits[name].answered or traits[name].by_xccl]


def _collectives() -> list[str]:
    return [name for name, one in modelled_methods().items() if one.motion == "collective"]


def _sends(method: Mapping[str, Any] | None, kind: str) -> bool:
    """Return whether there are figures for messages of the memory of devices of that kind."""
    every = ({"source": kind}, {"destination": kind})
    return method is not None and not any("unknown" in one and one["when"] in every for one in method.get("rules", ()))


def model_extent(machine: str) -> dict[str, Mapping[str, str] | str]:
    """Return what is modelled, what lacks data, and what has one latency at every size: by heading a sentence, or
    terms with their meanings. Raises LinkscopeError for an unknown name.
    """
    node = load_machine(machine)
    methods = node.methods
    elsewhere = dict.fromkeys(method for name in machine_names() for method in load_machine(name).methods)
    elsewhere |= dict.fromkeys(name for _, by in _MESSAGES.values() for name in _senders(by))
    alike = ((name, one.like) for name, one in modelled_methods().items() if assumed_method(name).maps_members)
    mapped = [f"{name} (as {like})" for name, like in alike if like in methods]
    told: dict[str, Mapping[str, str] | str] = {
        "models": ", ".join(map(with_meaning, methods)),
        "GPU messages, mapped memory": ", ".join(mapped),
        "not modelled": ", ".join(with_meaning(name) for name in elsewhere if name not in methods)
        or "nothing that other machine models have",
        "no data for": {
            f"{name} {_flows(rule['when'])}": rule["unknown"]
            for name, one in methods.items()
            for rule in one.get("rules", ())
            if "unknown" in rule
        },
        SAME: _same_at_every_size(node) or "none",
    }
    return {heading: content for heading, content in told.items() if content}


def _same_at_every_size(node: Node) -> dict[str, str]:
    """Return the latency of each flow by group of methods, without those whose latency changes with size."""
    alike: dict[str, list[str]] = {}
    for name, method in node.methods.items():
        ruled = _ruled(name, method)
        if "latency_us" in method and not any(_BY_SIZE & when.keys() for when, _ in ruled):
            rules = "".join(f"{latency} ({_flows(when)}); " for when, latency in ruled)
            own = _latency(name, method, {})
            alike.setdefault(f"first that fits: {rules}else {own}" if rules else own, []).append(name)
    told = {", ".join(names): latency for latency, names in alike.items()}
    links = {"all": "plus the latency of the links on the path, of a collective at each step"}
    return told | links if told and any(link.latency_ns for link in node.links) else told


def _ruled(name: str, method: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], str]]:
    """(When, latency) by each rule in order, as the first that fits counts, also where it gives no latency; without
    the last ones, if they change nothing.
    """
    rules = (rule for rule in method.get("rules", ()) if "unknown" not in rule)
    found = [(rule["when"], _latency(name, method, rule)) for rule in rules]
    while found and found[-1][1] == _latency(name, method, {}):
        found.pop()
    return found


def _latency(name: str, method: Mapping[str, Any], rule: Mapping[str, Any]) -> str:
    """ "8.7 us, assumed": of the flows that a rule is for; empty ``rule``: of those without one."""
    giving = rule if "latency_us" in rule else method
    step_us = rule.get("step_us", method.get("step_us", 0)) if name in _collectives() else 0
    steps = f" and {step_us:g} us a step" if step_us else ""
    assumed = ", assumed" if "latency_us" in giving.get("assumed", ()) else ""
    return f"{giving.get('latency_us', 0):g} us{steps}{assumed}"


def _flows(when: Mapping[str, Any]) -> str:
    """ "from host memory": the flows that a rule is for."""
    return ", ".join(_PLAIN.get((name, str(value))) or _words(name, value) for name, value in when.items())


def _words(name: str, value: object) -> str:
    """ "between gpu:0 and gpu:1", "with form=eager", "tier single or dual"."""
    if isinstance(value, Mapping):
        return f"with {' '.join(f'{key}={one}' for key, one in value.items())}"
    if name == "pairs" and isinstance(value, list):
        return " or ".join(f"between {a} and {b}" for a, b in value)
    return f"{name} {_either(value)}"


def _either(value: object) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)

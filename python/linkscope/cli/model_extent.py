"""What the model of a described node has figures for, and what it lacks, as its file says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkscope.listed import listed
from linkscope.machine.described import load_machine, machine_names

_MESSAGES = {
    "host messages": ("numa", ("mpi", "shm-copy")),
    "GPU messages": ("gpu", ("mpi", "xccl")),
}
"""By what processes can send each other host memory and GPUs' memory."""
_COLLECTIVES = {"mpi-collective": "mpi", "xccl-collective": "xccl", "direct-collective": "direct"}
NONE = "none"
_PLAIN = {
    ("source", "numa"): "from host memory",
    ("destination", "numa"): "into host memory",
    ("executor", "numa"): "by a CPU",
    ("source", "gpu"): "from a GPU's memory",
    ("destination", "gpu"): "into a GPU's memory",
    ("executor", "gpu"): "by a GPU",
}
"""What a rule's word and its value mean."""
_BY_SIZE = {"from_bytes", "below_bytes"}


def interfaces(machine: str) -> dict[str, str]:
    """By what messages of host memory and of GPUs' memory, and collectives, are modelled. Raises LinkscopeError for a
    name that there is not.
    """
    node = load_machine(machine)
    messages = {
        heading: [method for method in methods if node.of_kind(kind) and _sends(node.methods.get(method), kind)]
        for heading, (kind, methods) in _MESSAGES.items()
    }
    collectives = [short for method, short in _COLLECTIVES.items() if method in node.methods]
    return {heading: ", ".join(found) or NONE for heading, found in {**messages, "collectives": collectives}.items()}


def _sends(method: Mapping[str, Any] | None, kind: str) -> bool:
    """Whether there are figures for messages of the memory of devices of that kind."""
    every = ({"source": kind}, {"destination": kind})
    return method is not None and not any("unknown" in one and one["when"] in every for one in method.get("rules", ()))


def model_extent(machine: str) -> dict[str, Mapping[str, str] | str]:
    """What is modelled, what is skipped since no figures are known, and what has the same latency at every size: by
    heading a sentence, or terms and what each means. Raises LinkscopeError for a name that there is not.
    """
    methods = load_machine(machine).methods
    elsewhere = dict.fromkeys(method for name in machine_names() for method in load_machine(name).methods)
    flat = [f"{name} ({_latency(one)})" for name, one in methods.items() if _is_flat(one)]
    told: dict[str, Mapping[str, str] | str] = {
        "models": ", ".join(methods),
        "lacks, so skips": ", ".join(name for name in elsewhere if name not in methods) or "no method of other nodes",
        "has no figures for": {
            f"{name} {_flows(rule['when'])}": rule["unknown"]
            for name, one in methods.items()
            for rule in one.get("rules", ())
            if "unknown" in rule
        },
        "latency, the same at every size": ", ".join(flat) or "none",
    }
    return {heading: content for heading, content in told.items() if content}


def _latency(method: Mapping[str, Any]) -> str:
    return f"{method['latency_us']:g} us{', assumed' if 'latency_us' in method.get('assumed', ()) else ''}"


def _is_flat(method: Mapping[str, Any]) -> bool:
    """Whether no rule gives another latency by size."""
    by_size = (rule for rule in method.get("rules", ()) if _BY_SIZE & rule["when"].keys())
    return "latency_us" in method and not any("latency_us" in rule for rule in by_size)


def _flows(when: Mapping[str, Any]) -> str:
    """ "from host memory": the flows that a rule is for."""
    return ", ".join(_PLAIN.get((name, str(value))) or f"{name} {_either(value)}" for name, value in when.items())


def _either(value: object) -> str:
    return listed(map(str, value), "or") if isinstance(value, list) else str(value)

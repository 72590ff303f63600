"""Ways: how bytes can be moved, and the names by which a user knows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FORM = "form"
"""A parameter that means the same of every method: its name tells all ways apart, where it tells any."""
_SCHEDULE = "-schedule"
"""Follows a workload's interface in the name of its method."""
_STAGED = ("staging", "full")
"""The workload copies through the host itself."""


@dataclass(frozen=True)
class OldWay:
    """How bytes are moved, apart from where: what a user chooses. ``memory`` only where that is open, too. Of a
    ``workload`` what else is open, with its name: the memory that it packs from, processes, the order of ranks."""

    method: str
    role: str
    parameters: tuple[tuple[str, str], ...]
    environment: str
    memory: str = ""
    workload: tuple[tuple[str, str], ...] = ()

    @property
    def attributes(self) -> dict[str, str]:
        """Every choice by its name, the method apart."""
        named = {**dict(self.parameters), **dict(self.workload)}
        return {"role": self.role, **named, "environment": self.environment}


def interface(rival: str) -> str:
    """The method of a rival, by which its name begins: "copy-engine" of "copy-engine push"."""
    return rival.split(maxsplit=1)[0].rstrip(",")


def names(ways: Sequence[OldWay]) -> list[str]:
    """Each by its method and whatever else tells it from the others: "memcpy threads=4", "copy-engine from pinned",
    "mpi staged, pinned"."""
    kinds = {way.memory for way in ways}
    forms = [FORM] if len({way.attributes[FORM] for way in ways if FORM in way.attributes}) > 1 else []
    told_apart = []
    for way in ways:
        alike = [other.attributes for other in ways if other.method == way.method]
        told = [
            word if name in ("role", "environment") else f"{name}={word}"
            for name, word in way.attributes.items()
            if word and (name in forms or any(other.get(name) != word for other in alike))
        ]
        memory = [_memory(way.memory, kinds)] if len(kinds) > 1 else []
        told_apart.append(_workload_name(way, told, memory) if way.workload else " ".join([way.method, *told, *memory]))
    return told_apart


def shared_form(ways: Sequence[OldWay]) -> str:
    """How calls are launched where the names do not say it, as it is the same for all: "form=graph"; else empty."""
    forms = {way.attributes[FORM] for way in ways if FORM in way.attributes}
    return f"{FORM}={forms.pop()}" if len(forms) == 1 else ""


def _workload_name(way: OldWay, told: Sequence[str], memory: Sequence[str]) -> str:
    """As a workload's own table has it: "mpi staged, pinned"."""
    sent_by = way.method.removesuffix(_SCHEDULE) + (" staged" if _STAGED in way.parameters else "")
    others = [word for word in told if word != "=".join(_STAGED)]
    return ", ".join([sent_by, *(word.removeprefix("in ") for word in memory), *others])


def _memory(memory: str, kinds: Iterable[str]) -> str:
    """What tells it from the other ``kinds``: "from pinned" where they go to the same kind, "to managed", "in xccl"."""
    source, arrow, destination = memory.partition(" > ")
    if not arrow:
        return f"in {memory}"
    others = [kind.partition(" > ") for kind in kinds]
    words = [f"from {source}"] if any(other[0] != source for other in others) else []
    return " ".join([*words, *([f"to {destination}"] if any(other[2] != destination for other in others) else [])])


Way = OldWay

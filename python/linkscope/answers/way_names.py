"""Ways: a user's choices of how bytes are moved, and what to call each among others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

IN_PLACE = "in_place"
_FORM = "form"
"""A parameter that means the same of every method: where it tells any ways apart, all names have it."""
_USUAL = "device"
"""Memory of a collective that names need not tell."""
_SCHEDULE = "-schedule"
_STAGED = ("staging", "full")
"""The workload copies through the host itself."""


@dataclass(frozen=True)
class Way:
    """Name a user's choice of how bytes are moved. ``memory`` only where that is open, too; ``workload``: whether it
    is of an application's messages."""

    method: str
    role: str
    settings: tuple[tuple[str, str], ...]
    environment: str
    memory: str = ""
    workload: bool = False

    @property
    def attributes(self) -> dict[str, str]:
        """Return every choice by its name, the method apart."""
        settings = dict(self.settings)
        return {"role": self.role, **settings, "environment": self.environment}


def way_names(ways: Sequence[Way]) -> tuple[list[str], tuple[str, ...]]:
    """Return what to call each way: its method and what tells it from the others of that method, such as
    "memcpy threads=4", "copy-engine from pinned" or "mpi staged, pinned"; and what all share, "form=graph"."""
    kinds = {way.memory for way in ways}
    apart = {way.method for way in ways for other in ways if _differ_in_memory(way, other)}
    forms = {way.attributes[_FORM] for way in ways if _FORM in way.attributes}
    names = []
    for way in ways:
        alike = [other.attributes for other in ways if other.method == way.method]
        told = [
            word if name in ("role", "environment") else f"{name}={word}"
            for name, word in way.attributes.items()
            if word and ((name == _FORM and len(forms) > 1) or any(other.get(name) != word for other in alike))
        ]
        unusual = way.memory != _USUAL and all(word.startswith(_FORM) for word in told)
        needed = way.workload or unusual or ">" in way.memory or way.method in apart
        memory = [_memory(way.memory, kinds)] if len(kinds) > 1 and needed else []
        names.append(_of_workload(way, told, memory) if way.workload else " ".join([way.method, *told, *memory]))
    in_place = [f"{IN_PLACE}=yes"] if all(IN_PLACE in way.attributes for way in ways) else []
    return names, (*(f"{_FORM}={form}" for form in forms if len(forms) == 1), *in_place)


def _differ_in_memory(way: Way, other: Way) -> bool:
    """Return whether two ways differ in their memory alone."""
    return way.memory != other.memory and replace(way, memory=other.memory) == other


def _of_workload(way: Way, told: Sequence[str], memory: Sequence[str]) -> str:
    sent_by = way.method.removesuffix(_SCHEDULE) + (" staged" if _STAGED in way.settings else "")
    others = [word for word in told if word != "=".join(_STAGED)]
    return ", ".join([sent_by, *(word.removeprefix("in ") for word in memory), *others])


def _memory(memory: str, kinds: Iterable[str]) -> str:
    """Return what tells a way from those of other memories: "from pinned" where they go to the same kind, "in xccl"."""
    source, arrow, destination = memory.partition(">")
    if not arrow:
        return f"in {memory}"
    others = [kind.partition(">") for kind in kinds]
    words = [f"from {source}"] if any(other[0] != source for other in others) else []
    return " ".join([*words, *([f"to {destination}"] if any(other[2] != destination for other in others) else [])])

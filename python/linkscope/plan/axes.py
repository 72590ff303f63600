"""Axes: a row's lists multiplied into points, each named by the values that differ within the row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from linkscope.documents.sizes import format_bytes, parse_counts
from linkscope.machine.node import Node
from linkscope.machine.traits import MemoryTraits, assumed_memory
from linkscope.plan.suite_row import Allocation, End, SuiteRow, Variant

Json = dict[str, Any]

_DRIVES = {"source": "push", "destination": "pull", "gpu": "gpu-driven", "numa": "cpu-driven"}
_KINDS = {"gpu": "gpu", "numa": "numa", "nearest-numa": "numa", "peer-numa": "numa"}
_NARROWED = ("method", "clock", "size")
"""Axes of which a request may select some values."""
_ENDS = {"source": "from", "destination": "to"}
_END_AXES = ("memory", "first touch", "advice")
_INTERFACE = (
    "method",
    "processes",
    "call",
    "window",
    "staging",
    "form",
    "recorded",
    "launch",
    "backend",
    "algorithm",
    "registered",
    "policy",
    "in_place",
    "clock",
)
"""Axes that tell one interface from another, or what a figure of it is of."""
_SAID = {
    ("processes", "one"): "one process",
    ("processes", "each"): "a process each",
    ("in_place", "yes"): "in place",
    ("in_place", "no"): "out of place",
    ("staging", "none"): "no own staging",
    ("staging", "host"): "own staging",
    ("registered", "yes"): "registered",
    ("registered", "no"): "not registered",
}
"""Values that do not speak for themselves."""
SPARED = ((8, 2), (4, 1))
"""From so many CPUs on, so many are spared: one for the thread that waits, one for what supervises the run."""


@dataclass(frozen=True)
class Varied:
    """An axis that has several values, and its value here: as it reads alone (``word``), and below the axis's name."""

    axis: str
    word: str
    value: str


@dataclass(frozen=True)
class AxisPoint:
    """One value of every axis of a row; ``varied``: the axes that have several values there, or are named all the same.

    ``collective``: its kind, None for flows between two ends. ``processes``: one, each, or of a collective how many.
    ``named``: words that tell it from the other points of the row as its suite declares it, whatever a request left.
    """

    method: str
    executor: str
    source: Allocation | None
    destination: Allocation | None
    parameters: Json
    size: int
    flows: int
    clock: str | None
    cache: str
    variant: Variant
    varied: tuple[Varied, ...]
    collective: str | None = None
    processes: str = "one"
    named: tuple[str, ...] = ()


def points(row: SuiteRow, node: Node, traits_of: Callable[[str], MemoryTraits] = assumed_memory) -> Iterator[AxisPoint]:
    """Every point of ``row``. ``max`` in a parameter's range stands for the CPUs of the largest NUMA node, of
    which one is left for the thread that starts and waits where there are no others.

    ``traits_of`` a memory say whether who touches first is an axis, and places it.
    A machine model is played by one process on one clock: where these tell interfaces apart, they do not there.
    """
    axes = _axes(row, node)
    named = [axis for axis, values in axes.items() if len(values) > 1 or _named_anyway(axis, row, node)]
    before = axes if row.declared is None else _axes(row.declared, node)
    declared = {axis: before[axis] if axis in _NARROWED else values for axis, values in axes.items()}
    for values in product(*axes.values()):
        value = dict(zip(axes, values, strict=True))
        if not all(_touched_by_driver(end, value, axes, traits_of) for end in _ENDS):
            continue
        yield AxisPoint(
            method=value["method"],
            executor=value["executor"],
            source=_allocation(row.source, "source", value, traits_of),
            destination=_allocation(row.destination, "destination", value, traits_of),
            parameters={name: value[name] for name in row.parameters},
            size=region_bytes(value["region"]) if row.by_region else value["size"],
            flows=value["flows"],
            clock=value["clock"],
            cache=value["cache"],
            variant=value["environment"],
            collective=value["collective"],
            processes=value["processes"],
            varied=_in_pieces(tuple(_varied(axis, value[axis], named, row) for axis in named), value, row),
            named=tuple(
                _varied(axis, value[axis], named, row).word
                for axis in axes
                if _tells(axis, value[axis], declared[axis]) or _named_anyway(axis, row, node)
            ),
        )


def point_count(row: SuiteRow, node: Node) -> int:
    """Return how many points ``points`` makes at most."""
    return prod(len(values) for values in _axes(row, node).values())


def _axes(row: SuiteRow, node: Node) -> dict[str, Sequence[Any]]:
    return {
        "environment": row.variants or (Variant(),),
        "collective": row.collectives or (None,),
        "method": row.methods,
        "processes": ("one",) if node.modelled else row.processes,
        "executor": row.executors,
        **_end_axes("source", row.source),
        **_end_axes("destination", row.destination),
        **{name: _values(value, node) for name, value in row.parameters.items()},
        "clock": (row.clocks[:1] if node.modelled and row.names_all else row.clocks) or (None,),
        "cache": row.caches,
        "flows": row.flows,
        "size": row.sizes or (0,),
    }


def _tells(axis: str, value: Any, declared: Sequence[Any]) -> bool:
    """Return whether a value of an axis distinguishes a point from others of its row, or from the declared value.
    ``case_id`` knows the usual clock of a row without one."""
    other = axis in ("size", "clock") and None not in declared and value not in declared
    return len(declared) > 1 or other


def _named_anyway(axis: str, row: SuiteRow, node: Node) -> bool:
    if axis in ("processes", "clock") and node.modelled:
        return False
    return (axis == "environment" and bool(row.variants)) or (row.names_all and axis in _INTERFACE)


def region_bytes(region: object) -> int:
    """Payload of a region WIDTHxROWSxPLANES: the product of its three numbers."""
    return prod(int(part) for part in str(region).split("x"))


def _end_axes(name: str, end: End) -> dict[str, Sequence[str | None]]:
    values = (end.memories, end.first_touches, end.advices)
    return {f"{name} {axis}": several or (None,) for axis, several in zip(_END_AXES, values, strict=True)}


def _touched_by_driver(
    end: str, value: Json, axes: Mapping[str, Sequence[Any]], traits_of: Callable[[str], MemoryTraits]
) -> bool:
    """Puts the driver in the place of who touches memory of its own first; False for all but the first of those."""
    toucher = value[f"{end} first touch"]
    if toucher is None or not traits_of(value[f"{end} memory"]).touched_by_driver:
        return True
    value[f"{end} first touch"] = "driver"
    return bool(toucher == axes[f"{end} first touch"][0])


def _allocation(end: End, name: str, value: Json, traits_of: Callable[[str], MemoryTraits]) -> Allocation | None:
    memory, first_touch, advice = (value[f"{name} {axis}"] for axis in _END_AXES)
    if memory is None:
        return None
    placement = end.placement if traits_of(memory).placed_by_touch else None
    return Allocation(memory, placement, None if first_touch == "driver" else first_touch, advice, end.at)


def _values(value: Any, node: Node) -> tuple[int | str, ...]:
    """A parameter's axis: a list as it is, a range such as "1:max:2x" counted out (max: CPUs of a NUMA node)."""
    if isinstance(value, list):
        return tuple(dict.fromkeys(one for item in value for one in _values(item, node)))
    if isinstance(value, str) and (":" in value or value == "max"):
        return tuple(parse_counts(value, _most_threads(node)))
    return (value,)


def _most_threads(node: Node) -> int:
    """CPUs of the largest NUMA node, less those SPARED where it has every CPU of the machine: threads that wait awake
    on all of them keep out what they wait for, for milliseconds."""
    cpus = [len(device.cpus) for device in node.of_kind("numa")]
    most = max(cpus, default=1)
    spare = next((spared for least, spared in SPARED if most >= least), 0) if most == sum(cpus) else 0
    return max(most - spare, 1)


def _in_pieces(varied: tuple[Varied, ...], value: Json, row: SuiteRow) -> tuple[Varied, ...]:
    """Return a list's axes with the count and size of buffers as one: "1000 x 4 KiB"."""
    count, size = value.get("count"), value["size"]
    said = {one.axis for one in varied} & {"count", "size"}
    if not said or not isinstance(count, int) or row.show != "list" or size % count or not size:
        return varied
    pieces = f"{count} x {format_bytes(size // count)}"
    return (*(one for one in varied if one.axis not in said), Varied("pieces", pieces, pieces))


def _varied(axis: str, value: Any, named: Sequence[str], row: SuiteRow) -> Varied:
    """In a word or two; where the other end varies in the same way, with the end it belongs to."""
    text = str(value)
    if (axis, text) in _SAID:
        return Varied(axis, _SAID[axis, text], _SAID[axis, text])
    if axis == "environment":
        return Varied(axis, value.name, value.name)
    if axis == "processes":
        return Varied(axis, f"{text} processes", f"{text} processes")
    if axis == "size":
        return Varied(axis, format_bytes(value), format_bytes(value))
    if axis == "executor":
        word = _driver(value, row)
        return Varied(axis, word, word)
    if axis == "clock":
        return Varied(axis, f"{value} clock", text)
    if axis == "flows":
        return Varied(axis, "1 flow" if value == 1 else f"{value} flows", text)
    end, _, kind = axis.partition(" ")
    if kind not in _END_AXES:
        bare = isinstance(value, int) or text in ("on", "off")
        return Varied(axis, f"{axis.replace('_', ' ')} {text}" if bare else text, text)
    words = {"first touch": f"{value}-touched", "advice": "no advice" if value == "none" else text}
    word = words.get(kind, text)
    both = all(f"{either} {kind}" in named for either in _ENDS)
    return Varied(axis, f"{_ENDS[end]} {word}" if both else word, text)


def _driver(executor: str, row: SuiteRow) -> str:
    """A copy is pushed or pulled; what has memory at one end alone is done by one kind of device or the other."""
    kinds = {"source": _KINDS[row.source.on], "destination": _KINDS[row.destination.on]}
    one_ended = not (row.source.memories and row.destination.memories)
    if executor in kinds and one_ended and kinds["source"] != kinds["destination"]:
        return _DRIVES[kinds[executor]]
    return _DRIVES[executor]

"""GPU models: what is nominal of a GPU by its name, from machines/expected/gpus.yaml, and the links that it has.

The links are those of the usual board of a model, or those that a topology names. Where the boards of a model differ
and nothing tells which one it is, GPUs are joined by a link of unknown rate: nothing is expected of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from linkscope.machine.expected import read_expected
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.nominal import NVSWITCH
from linkscope.machine.sysfs import pcie_gbps

PCIE_SWITCH = "switch:pcie"
"""Vertex at which GPUs without other links meet: the host's bridges, or a PCIe switch."""
_FOUR = 4
_MOST_NVLINKS = 18
"""NVLinks of a GPU of any generation: more than these to all others is one set of links to the GPU switch."""
_LANES = re.compile(r"NV(\d{1,2})")
_OTHER_BOARD = re.compile(r"\bMIG\b|\bLaptop\b|\bMobile\b")
_NEAR = ("PIX", "PXB", "PSB")
"""Words of nvidia-smi for two devices that meet before the host's bridge."""
Positive = Annotated[float, Meta(gt=0)]
Natural = Annotated[int, Meta(ge=1)]
Pair = tuple[int, int]


class Pcie(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The link to the host."""

    generation: Natural
    lanes: Natural

    @property
    def gbps(self) -> float | None:
        """The payload peak per direction."""
        return pcie_gbps(self.generation, self.lanes)

    @property
    def tier(self) -> str:
        return f"pcie{self.generation}-x{self.lanes}"


class GpuLinks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A GPU's links to others; the head of machines/expected/gpus.yaml says what each field means."""

    kind: Literal["nvlink", "xgmi"]
    count: Natural
    gbps: Positive
    to: Literal["switch", "peers", "pair", "package", "topology"]
    of_four: int = 0
    usual: bool = False
    hive: int = 0


class GpuModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the nominal figures of a GPU. ``device``: the expression that its name matches."""

    device: str
    memory_gbps: Positive
    source: str
    pcie: Pcie | None = None
    c2c_gbps: Positive | None = None
    on_package: bool = False
    links: GpuLinks | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: list[GpuModel]


class Joined(Protocol):
    """Hold what `nvidia-smi topo -m` says: an importer's Topology."""

    @property
    def pairs(self) -> Mapping[tuple[str, str], str]:
        """Return how two devices are joined, by their ids."""


@cache
def gpu_model(name: str) -> GpuModel | None:
    """Return what is nominal of a GPU of that name; None where nothing is known of it, as of a part of one (MIG) and of
    laptops', which have other memory and fewer lanes."""
    if not name or _OTHER_BOARD.search(name):
        return None
    return next((model for model in _models() if re.search(model.device, name)), None)


def links_of(
    names: Sequence[str], topology: Joined | None = None, peer_gbps: float | None = None
) -> tuple[tuple[Device, ...], tuple[Link, ...]]:
    """Return the devices and links of a node of GPUs of these names ("": unknown), gpu:0 first.

    ``topology`` names the links between GPUs, if given. ``peer_gbps``: the fastest copy seen between two GPUs, one
    direction; it tells the boards of a model apart.
    """
    models = [gpu_model(name) for name in names]
    words = _words(topology, len(names))
    between = list(_told(models, words) if words else _as_built(models, peer_gbps))
    apart = any(model and model.on_package for model in models)
    host = [*_host_links(models, _groups(words) if _some_meet_over_pcie(models, between) else None)]
    numa = [Device(f"numa:{i}", "numa") for i in range(len(names) if apart else 1)]
    gpus = [
        Device(f"gpu:{i}", "gpu", name, memory_gbps=model.memory_gbps if model else None, numa=i if apart else 0)
        for i, (name, model) in enumerate(zip(names, models, strict=True))
    ]
    links = (*between, *host)
    ends = dict.fromkeys(end for link in links for end in (link.a, link.b) if end.startswith("switch:"))
    switches = [Device(end, "switch", "NVSwitch" if end == NVSWITCH else "PCIe") for end in ends]
    return (*numa, *gpus, *switches), links


def links_gbps(node: Node, members: Sequence[str]) -> tuple[str, float] | None:
    """Return the kind and the rate of all links that a GPU has to the GPU switch or directly to other members, of the
    GPU that has least; None where a GPU has none, or one of unknown rate."""
    found = []
    for gpu in members:
        others = {NVSWITCH, *members} - {gpu}
        own = [link for link in node.links if gpu in (link.a, link.b) and {link.a, link.b} & others]
        peaks = [link.peak_gbps for link in own if not link.kind.startswith("pcie")]
        rates = [peak for peak in peaks if peak]
        if not rates or len(rates) < len(peaks):
            return None
        found.append((own[0].kind, sum(rates)))
    return min(found, key=lambda one: one[1]) if len(set(members)) > 1 else None


def _words(topology: Joined | None, count: int) -> dict[Pair, str]:
    """Return how each two GPUs are joined, in the tool's words, where a topology says it."""
    pairs = topology.pairs if topology else {}
    told = {(i, j): pairs.get((f"gpu:{i}", f"gpu:{j}"), "") for i, j in combinations(range(count), 2)}
    return {pair: word for pair, word in told.items() if word}


def _told(models: Sequence[GpuModel | None], words: Mapping[Pair, str]) -> Iterator[Link]:
    """Yield the links that a topology names: its NV18 are 18 links to a GPU switch, or to each other GPU."""
    counts = {pair: int(match[1]) for pair, word in words.items() if (match := _LANES.fullmatch(word))}
    most = [max((count for pair, count in counts.items() if i in pair), default=0) for i in range(len(models))]
    total = [sum(count for pair, count in counts.items() if i in pair) for i in range(len(models))]
    switched = [_is_switched(model, most[i], total[i]) for i, model in enumerate(models)]
    for i, count in enumerate(most):
        if count and switched[i]:
            yield _link(f"gpu:{i}", NVSWITCH, "nvlink", count, _rate(models[i], "nvlink"))
    for (i, j), word in words.items():
        if (i, j) in counts and not (switched[i] and switched[j]):
            yield _link(f"gpu:{i}", f"gpu:{j}", "nvlink", counts[i, j], _rate(models[i], "nvlink"))
        elif word == "XGMI":
            links = _links_of_both(models, i, j)
            direct = links is not None and (links.to == "peers" or (links.to == "package" and i // 2 == j // 2))
            yield _direct(i, j, links if direct else None, "xgmi")


def _is_switched(model: GpuModel | None, most: int, total: int) -> bool:
    """Return whether NVLinks lead to a GPU switch. ``most``: that a topology gives a GPU to any other; ``total``: to
    all others together."""
    links = model.links if model else None
    return total > _MOST_NVLINKS if links is None else links.to == "switch" and most > links.of_four


def _as_built(models: Sequence[GpuModel | None], peer_gbps: float | None) -> Iterator[Link]:
    """Yield the links between GPUs of the boards that a model has."""
    board = _board(models, peer_gbps)
    if board == "switch":
        for i, model in enumerate(models):
            if model and model.links:
                yield _link(f"gpu:{i}", NVSWITCH, model.links.kind, model.links.count, model.links.gbps)
        return
    for i, j in combinations(range(len(models)), 2):
        links = _links_of_both(models, i, j) if board != "none" else None
        if links is not None and (not links.hive or i // links.hive == j // links.hive):
            yield _direct(i, j, _of_board(links, board, i, j), links.kind)


def _of_board(links: GpuLinks, board: str, i: int, j: int) -> GpuLinks | None:
    """Return the links between two GPUs of such a board; None where they are unknown."""
    if board == "four":
        return msgspec.structs.replace(links, count=links.of_four)
    known = board in ("peers", "pair") or (board == "package" and i // 2 == j // 2)
    return links if known else None


def _board(models: Sequence[GpuModel | None], peer_gbps: float | None) -> str:
    """Return how a node's GPUs are joined: a word of ``GpuLinks.to``, "four" (a board of four), "none", "unknown"."""
    first = next((model for model in models if model and model.links), None)
    if first is None or first.links is None or len(models) < 2:
        return "none"
    if any(one != first for one in models):
        return "unknown"
    links, pcie = first.links, (first.pcie.gbps if first.pcie else None) or 0.0
    if links.to == "pair":
        bridged = links.usual and len(models) == 2 if peer_gbps is None else peer_gbps > pcie
        lone = peer_gbps is not None and not bridged
        return "none" if lone else "pair" if bridged and len(models) == 2 else "unknown"
    if links.of_four and len(models) <= _FOUR:
        if links.to == "topology":
            return "four" if len(models) == _FOUR and links.usual else "unknown"
        if peer_gbps is not None:
            return "four" if peer_gbps <= links.of_four * links.gbps else "switch"
        return "unknown" if len(models) == _FOUR and links.usual else "switch"
    return "unknown" if links.to == "topology" else links.to


def _links_of_both(models: Sequence[GpuModel | None], i: int, j: int) -> GpuLinks | None:
    """Return the links of two GPUs of one model."""
    model = models[i]
    return model.links if model is not None and model == models[j] else None


def _direct(i: int, j: int, links: GpuLinks | None, kind: str) -> Link:
    return _link(f"gpu:{i}", f"gpu:{j}", kind, links.count if links else None, links.gbps if links else None)


def _link(a: str, b: str, kind: str, count: int | None, gbps: float | None) -> Link:
    peak = count * gbps if count and gbps else None
    return Link(a, b, kind, peak, count, f"{kind}-{count}" if count else kind, "nominal" if peak else "")


def _rate(model: GpuModel | None, kind: str) -> float | None:
    return model.links.gbps if model and model.links and model.links.kind == kind else None


def _some_meet_over_pcie(models: Sequence[GpuModel | None], between: Sequence[Link]) -> bool:
    """Return whether two GPUs of known models have neither a link nor the GPU switch in common."""
    joined = {frozenset((link.a, link.b)) for link in between}
    switched = {link.a for link in between if link.b == NVSWITCH}
    known = [f"gpu:{i}" for i, model in enumerate(models) if model and model.pcie]
    return any(frozenset(two) not in joined and not set(two) <= switched for two in combinations(known, 2))


def _groups(words: Mapping[Pair, str]) -> dict[int, int]:
    """Return a number for each set of GPUs that meet before the host's bridge, by GPU."""
    group: dict[int, int] = {}
    for (i, j), word in sorted(words.items()):
        if word in _NEAR:
            one, other = group.get(i, i), group.get(j, j)
            group |= {i: one, j: one} | {gpu: one for gpu, old in group.items() if old == other}
    numbers = {first: number for number, first in enumerate(sorted(set(group.values())))}
    return {gpu: numbers[first] for gpu, first in group.items()}


def _host_links(models: Sequence[GpuModel | None], groups: Mapping[int, int] | None) -> Iterator[Link]:
    """Yield each GPU's link to the host. ``groups``: GPUs meet over PCIe, those of a group before the host's bridge."""
    uplinks: dict[str, Pcie] = {}
    for i, model in enumerate(models):
        if model is None:
            continue
        if model.on_package:
            yield Link(f"gpu:{i}", f"numa:{i}", "on-package", model.memory_gbps, tier="on-package")
        elif model.c2c_gbps:
            yield Link(f"gpu:{i}", "numa:0", "c2c", model.c2c_gbps, tier="c2c", detail="nominal")
        elif model.pcie:
            far = "numa:0" if groups is None else f"{PCIE_SWITCH}-{groups[i]}" if i in groups else PCIE_SWITCH
            yield _pcie(f"gpu:{i}", far, model.pcie)
            uplinks |= {far: model.pcie} if far != "numa:0" else {}
    for switch, pcie in uplinks.items():
        if switch != PCIE_SWITCH:
            yield _pcie(switch, PCIE_SWITCH, pcie)
    if uplinks:
        yield Link(PCIE_SWITCH, "numa:0", "pcie", tier="pcie")


def _pcie(a: str, b: str, pcie: Pcie) -> Link:
    return Link(a, b, "pcie", pcie.gbps, pcie.lanes, pcie.tier, "nominal")


@cache
def _models() -> tuple[GpuModel, ...]:
    return tuple(read_expected("gpus.yaml").typed(_File).models)

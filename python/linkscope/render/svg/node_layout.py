"""Node layout: where the boxes of a node stand in its picture, in pixels; node.py draws them.

There are two layouts. Rows have NUMA nodes above the GPUs and a GPU switch below them; links between GPUs are arcs. A
ring has GPUs that are all linked, if need be over others, on an ellipse, with the NUMA nodes above and below. Its order
keeps strong links short and links uncrossed. It is taken where the GPUs of every NUMA node fit into one half.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from linkscope.machine.node import Device, Link, Node

GPU_WIDTH, GPU_HEIGHT = 124, 60
GAP = 28
NUMA_HEIGHT = 64
SWITCH_HEIGHT = 34
MARGIN = 40
HEADER = 96
_MOST_ORDERS = 3000


@dataclass(frozen=True)
class Box:
    """The rectangle of a device, by its middle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2

    def moved(self, dx: float, dy: float) -> Box:
        """Return the box somewhere else."""
        return Box(self.x + dx, self.y + dy, self.width, self.height)


@dataclass(frozen=True)
class NodeLayout:
    """Boxes by device id; ``bottom``: where the legend may start; ``arcs``: GPU links hang below the row."""

    boxes: dict[str, Box]
    width: float
    bottom: float
    arcs: bool


def lay_out(node: Node) -> NodeLayout:
    """Return a box for every device of the node; none overlap."""
    gpus = node.of_kind("gpu")
    mesh = [link for link in node.links if link.a.startswith("gpu:") and link.b.startswith("gpu:")]
    boxes = _ring(node, gpus, mesh) if len(gpus) > 2 and _is_connected(gpus, mesh) else None
    arcs = boxes is None and bool(mesh)
    if boxes is None:
        boxes = _rows(node, gpus)
    left, top = min(box.left for box in boxes.values()), min(box.top for box in boxes.values())
    boxes = {i: box.moved(MARGIN - left, HEADER - top) for i, box in boxes.items()}
    reach = _arc_depth(boxes, mesh) if arcs else 0.0
    return NodeLayout(
        boxes,
        width=max(box.right for box in boxes.values()) + MARGIN,
        bottom=max(box.bottom for box in boxes.values()) + reach,
        arcs=arcs,
    )


def pcie_switches(node: Node) -> set[str]:
    """Return the switches between GPUs and the host, without those between GPUs."""
    return {end for link in node.links if link.kind == "pcie" for end in (link.a, link.b) if end.startswith("switch:")}


def host_of(node: Node, device_id: str) -> str | None:
    """Return the NUMA node of a GPU or switch: by its links, else by what it says of itself."""
    pcie = pcie_switches(node)
    seen = [device_id]
    for here in seen:  # grows while it is read
        for far in _neighbours(node, here):
            if far.startswith("numa:"):
                return far
            seen += [far] if far in pcie and far not in seen else []
    named = f"numa:{node.device(device_id).numa}"
    return named if any(device.id == named for device in node.devices) else None


def _neighbours(node: Node, device_id: str) -> list[str]:
    return [link.b if link.a == device_id else link.a for link in node.links if device_id in (link.a, link.b)]


def _rows(node: Node, gpus: Sequence[Device]) -> dict[str, Box]:
    """Return NUMA nodes over PCIe switches over GPUs over the GPU switch."""
    host = {gpu.id: host_of(node, gpu.id) for gpu in gpus}
    numa = node.of_kind("numa")
    boxes: dict[str, Box] = {}
    x = 0.0
    for home in [*(n.id for n in numa), None]:
        mine = [gpu for gpu in gpus if host[gpu.id] == home]
        if home is None and not mine:
            continue
        start = x
        for gpu in mine:
            boxes[gpu.id] = Box(x + GPU_WIDTH / 2, 0, GPU_WIDTH, GPU_HEIGHT)
            x += GPU_WIDTH + GAP
        x = max(x, start + 210 + GAP)
        shift = (x - GAP - start - (len(mine) * (GPU_WIDTH + GAP) - GAP)) / 2 if mine else 0
        for gpu in mine:
            boxes[gpu.id] = boxes[gpu.id].moved(shift, 0)
        if home is not None:
            boxes[home] = Box((start + x - GAP) / 2, -180, x - GAP - start, NUMA_HEIGHT)
        x += GAP
    if gpus:
        _place_switches(node, boxes)
    return boxes


def _ring(node: Node, gpus: Sequence[Device], mesh: Sequence[Link]) -> dict[str, Box] | None:
    """Return the ring; None where the GPUs of a NUMA node are in both halves."""
    host = {gpu.id: host_of(node, gpu.id) for gpu in gpus}
    stems = {gpu.id: (host[gpu.id], _switch_of(node, gpu.id)) for gpu in gpus}
    order = _ring_order(stems, mesh)
    count, half = len(order), (len(order) + 1) // 2
    upper, lower = order[:half], order[half:]
    if any(host[i] is not None and host[i] in {host[j] for j in lower} for i in upper):
        return None
    radius_x = max(250.0, count * (GPU_WIDTH + GAP + 14) / 4 / math.cos(math.pi / count))
    radius_y = max(150.0, radius_x * 0.5)
    boxes: dict[str, Box] = {}
    for place, gpu in enumerate(order):
        angle = math.pi + 2 * math.pi * (place + 0.5) / count
        boxes[gpu] = Box(radius_x * math.cos(angle), radius_y * math.sin(angle), GPU_WIDTH, GPU_HEIGHT)
    reach = radius_y + (220 if pcie_switches(node) else 130)
    for side, members in ((-1, upper), (1, lower)):
        for home in dict.fromkeys(host[i] for i in members if host[i] is not None):
            mine = [boxes[i] for i in members if host[i] == home]
            left, right = min(b.left for b in mine), max(b.right for b in mine)
            boxes[str(home)] = Box((left + right) / 2, side * reach, max(right - left, 150), NUMA_HEIGHT)
    spare = [d.id for d in node.of_kind("numa") if d.id not in boxes]
    for place, home in enumerate(spare):  # memory or CPUs without a GPU
        boxes[home] = Box(radius_x + 260, (place - (len(spare) - 1) / 2) * 100, 190, NUMA_HEIGHT)
    _place_switches(node, boxes)
    return boxes


def _is_connected(gpus: Sequence[Device], mesh: Sequence[Link]) -> bool:
    """Return whether the links between GPUs join all of them."""
    reached = {gpus[0].id}
    for _ in gpus:
        reached |= {end for link in mesh if reached & {link.a, link.b} for end in (link.a, link.b)}
    return len(reached) == len(gpus)


def _place_switches(node: Node, boxes: dict[str, Box]) -> None:
    """Put switches between what they join: PCIe switches on the host's side, a GPU switch below all GPUs."""
    for switch in node.of_kind("switch"):
        ends = _neighbours(node, switch.id)
        mine = [boxes[end] for end in ends if end.startswith("gpu:")] or list(boxes.values())
        left, right = min(b.left for b in mine), max(b.right for b in mine)
        hosts = [boxes[end] for end in ends if end in boxes and end.startswith("numa:")]
        y = max(b.y for b in mine) + 120
        if hosts:
            y = hosts[0].y - math.copysign(92, hosts[0].y)
        boxes[switch.id] = Box((left + right) / 2, y, right - left, SWITCH_HEIGHT)


def _switch_of(node: Node, gpu: str) -> str | None:
    pcie = pcie_switches(node)
    return next((end for end in _neighbours(node, gpu) if end in pcie), None)


def _ring_order(stems: dict[str, tuple[str | None, str | None]], mesh: Sequence[Link]) -> list[str]:
    """Return the tidiest order that keeps GPUs of one NUMA node and PCIe switch together."""
    groups: dict[tuple[str | None, str | None], list[str]] = {}
    for gpu, stem in stems.items():
        groups.setdefault(stem, []).append(gpu)
    first, *others = groups.values()
    tries = math.factorial(len(others)) * math.prod(math.factorial(len(group)) for group in groups.values())
    if tries > _MOST_ORDERS:
        return [gpu for group in groups.values() for gpu in group]
    orders = (
        list(itertools.chain(*arranged))
        for rest in itertools.permutations(others)
        for arranged in itertools.product(*(itertools.permutations(group) for group in (first, *rest)))
    )
    return min(orders, key=lambda order: _ring_cost(order, stems, mesh))


def _ring_cost(
    order: Sequence[str], stems: dict[str, tuple[str | None, str | None]], mesh: Sequence[Link]
) -> tuple[int, float]:
    """Return what an order costs: NUMA nodes torn apart first, then long strong links and crossings."""
    homes = [stems[gpu][0] for gpu in order]
    changes = sum(a != b for a, b in itertools.pairwise(homes))
    place = {gpu: i for i, gpu in enumerate(order)}
    chords = [(*sorted((place[link.a], place[link.b])), link.peak_gbps or 1.0) for link in mesh]
    length = sum(min(b - a, len(order) - b + a) * peak for a, b, peak in chords)
    crossings = sum(
        (a < c < b) != (a < d < b) and len({a, b, c, d}) == 4
        for (a, b, _), (c, d, _) in itertools.combinations(chords, 2)
    )
    return changes, length + crossings * max(peak for *_, peak in chords) / 8


def arc_drop(a: Box, b: Box) -> float:
    """Return how far below the row the arc between two boxes reaches."""
    return 26 + 0.2 * abs(a.x - b.x)


def _arc_depth(boxes: dict[str, Box], mesh: Sequence[Link]) -> float:
    return max(arc_drop(boxes[link.a], boxes[link.b]) for link in mesh)

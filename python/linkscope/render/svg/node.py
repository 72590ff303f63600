"""A node as a picture: NUMA nodes, GPUs and switches, links as wide as their peak, and a legend."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from linkscope.displayed import Picture
from linkscope.machine.node import Device, Link, Node
from linkscope.messages import numbers
from linkscope.render.svg.drawing import EDGE, document, element, text, titled
from linkscope.render.svg.node_colours import MOST_LABELS, LinkStyles, Reached, is_host_fabric
from linkscope.render.svg.node_layout import HEADER, Box, NodeLayout, arc_drop, lay_out

MARK = "machine model, not measured"


@dataclass(frozen=True)
class _Line:
    """A drawn link: its curve as SVG path data, and points along it for its label."""

    link: Link
    path: str
    points: tuple[tuple[float, float], ...]


def draw(node: Node, found: Reached | None = None, *, titled: bool = True) -> Picture:
    """Return the picture; links by their peak, or by what they reach of what is expected where ``found`` says so."""
    layout = lay_out(node)
    styles = LinkStyles(node.links, found)
    lines = [line for link in node.links if (line := _line(link, layout, node)) is not None]
    legend, height, legend_width = _legend(styles, layout.bottom + 44)
    edge = max(box.right for box in layout.boxes.values())
    bracket = any(x > edge for line in lines for x, _ in line.points)
    width = max(layout.width + (46 if bracket else 0), legend_width)
    width = max(width, _header_width(node)) if titled else width
    cut = 0 if titled else HEADER - EDGE
    body = [
        f'<g transform="translate(0 {-cut})">',
        *(_header(node, width) if titled else ()),
        f'<g transform="translate({(width - layout.width) / 2:.1f} 0)">',
        *(_draw_line(line, styles) for line in sorted(lines, key=lambda line: styles.width(line.link))),
        *(_draw_box(one, layout.boxes[one.id], styles) for one in node.devices if one.id in layout.boxes),
        *_labels(lines, layout, styles),
        "</g>",
        *legend,
        "</g>",
    ]
    title, height = f"{node.name}: {_summary(node)}", layout.bottom + (height + 60 if legend else EDGE) - cut
    return Picture(node.name, document(title, _description(node, styles), "".join(body), width, height))


def _line(link: Link, layout: NodeLayout, node: Node) -> _Line | None:
    """Return the drawn link; None for NUMA nodes that are not neighbours, whose link only the legend mentions."""
    a, b = layout.boxes[link.a], layout.boxes[link.b]
    if is_host_fabric(link):
        return _host_line(link, layout, node)
    between_gpus = link.a.startswith("gpu:") and link.b.startswith("gpu:")
    if layout.arcs and between_gpus:
        return _arc(link, a, b)
    if not between_gpus:
        narrow, wide = sorted((a, b), key=lambda box: box.width)
        x = min(max(narrow.x, wide.left + 12), wide.right - 12)
        upper, lower = (narrow, wide) if narrow.y < wide.y else (wide, narrow)
        return _straight(link, x, upper.bottom, x, lower.top)
    return _straight(link, a.x, a.y, b.x, b.y)


def _straight(link: Link, x1: float, y1: float, x2: float, y2: float) -> _Line:
    shares = (0.5, 0.42, 0.58, 0.35, 0.65, 0.3, 0.7, 0.26, 0.74)
    points = tuple((x1 + (x2 - x1) * t, y1 + (y2 - y1) * t) for t in shares)
    return _Line(link, f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}", points)


def _arc(link: Link, a: Box, b: Box) -> _Line:
    left, right = (a, b) if a.x < b.x else (b, a)
    y, drop = left.bottom, arc_drop(a, b)
    control = y + drop * 4 / 3
    x1, x2 = left.x + 14, right.x - 14
    path = f"M{x1:.1f} {y:.1f}C{x1:.1f} {control:.1f} {x2:.1f} {control:.1f} {x2:.1f} {y:.1f}"
    return _Line(link, path, (((left.x + right.x) / 2, y + drop),))


def _host_line(link: Link, layout: NodeLayout, node: Node) -> _Line | None:
    """Return a straight line of neighbours; a bracket on the right where NUMA nodes stand above and below the GPUs."""
    a, b = layout.boxes[link.a], layout.boxes[link.b]
    homes = [layout.boxes[device.id] for device in node.of_kind("numa")]
    if abs(a.y - b.y) < 1:
        left, right = (a, b) if a.x < b.x else (b, a)
        if any(left.x < home.x < right.x for home in homes if abs(home.y - a.y) < 1):
            return None
        x1, x2 = left.right, right.left
        middle = ((x1 + x2) / 2, a.y - (20 if x2 - x1 < 44 else 0))
        return _Line(link, f"M{x1:.1f} {a.y:.1f}L{x2:.1f} {a.y:.1f}", (middle,))
    if any(abs(home.y - box.y) < 1 and home.right > box.right for box in (a, b) for home in homes):
        return None
    out = max(box.right for box in layout.boxes.values()) + 24
    bend = math.copysign(14, b.y - a.y)
    path = f"M{a.right:.1f} {a.y:.1f}H{out - 14:.1f}Q{out:.1f} {a.y:.1f} {out:.1f} {a.y + bend:.1f}"
    path += f"V{b.y - bend:.1f}Q{out:.1f} {b.y:.1f} {out - 14:.1f} {b.y:.1f}H{b.right:.1f}"
    return _Line(link, path, ((out, (a.y + b.y) / 2),))


def _draw_line(line: _Line, styles: LinkStyles) -> str:
    link = line.link
    halo = element("path", d=line.path, fill="none", stroke="card", stroke_width=styles.width(link) + 4)
    return halo + element("path", titled(styles.spoken(link)), d=line.path, fill="none", **_stroke(link, styles))


def _stroke(link: Link, styles: LinkStyles) -> dict[str, object]:
    return {"stroke": styles.colour(link), "stroke_width": styles.width(link), "stroke_dasharray": styles.dash(link)}


def _draw_box(device: Device, box: Box, styles: LinkStyles) -> str:
    frame = styles.frame(device)
    look = {"fill": "box", "stroke": frame or "edge", "stroke_width": 3.6 if frame else 1.4}
    parts = [titled(f"{device.id}: {device.name}"), _rect(box, 9, **look)]
    details = [*_details(device), *filter(None, [styles.memory(device)])]
    dy = 5.0 if not details else -4.0 if len(details) == 1 else -10.0
    parts.append(text(box.x, box.y + dy, _title(device), 15, "ink", 600, "middle"))
    parts += [
        text(box.x, box.y + dy + 18 + 15 * place, detail, 11.5, "dim", 400, "middle")
        for place, detail in enumerate(details)
    ]
    return element("g", *parts)


def _rect(box: Box, radius: int, **look: object) -> str:
    return element("rect", x=box.left, y=box.top, width=box.width, height=box.height, rx=radius, **look)


def _title(device: Device) -> str:
    kind, _, rest = device.id.partition(":")
    return device.name or rest if kind == "switch" else f"{kind.upper()} {rest}"


def _details(device: Device) -> list[str]:
    """Return what fits under the name: memory and its rate, a NUMA node's CPUs."""
    if device.kind == "switch":
        return []
    memory = []
    if device.whole_memory_bytes:
        memory.append(f"{device.whole_memory_bytes / (1 << 30):.0f} GiB")
    if device.memory_gbps:
        fast = device.memory_gbps >= 1000
        memory.append(f"{device.memory_gbps / 1000:.1f} TB/s" if fast else f"{device.memory_gbps:.0f} GB/s")
    cpus = [numbers.count(len(device.cpus), "CPU")] if device.kind == "numa" and device.cpus else []
    return [*cpus, *filter(None, [" · ".join(memory)])]


def _labels(lines: Sequence[_Line], layout: NodeLayout, styles: LinkStyles) -> list[str]:
    """Return a number for each link where there is room; of many equal links the legend alone has it."""
    crowded = {kind for kind, count in Counter(line.link.kind for line in lines).items() if count > MOST_LABELS}
    taken: list[Box] = list(layout.boxes.values())
    drawn = []
    for line in lines:
        label = styles.label(line.link)
        if not label or (line.link.kind in crowded and not styles.stands_out(line.link)):
            continue
        width = 7.2 * len(label) + 10
        spot = min((Box(x, y, width, 18) for x, y in line.points), key=lambda box: _clutter(box, taken, line, lines))
        taken.append(spot)
        pill = _rect(spot, 9, fill="card", stroke=styles.colour(line.link), stroke_width=1.2)
        drawn.append(pill + text(spot.x, spot.y + 4.2, label, 12, "ink", 600, "middle"))
    return drawn


def _clutter(spot: Box, taken: Sequence[Box], mine: _Line, lines: Sequence[_Line]) -> int:
    """Return a count of overlaps with boxes and labels, and of links that pass under the spot."""
    overlaps = sum(
        abs(spot.x - box.x) < (spot.width + box.width) / 2 + 3
        and abs(spot.y - box.y) < (spot.height + box.height) / 2 + 3
        for box in taken
    )
    near = sum(
        _distance(spot, other.points[-2], other.points[-1]) < 16
        for other in lines
        if other is not mine and len(other.points) > 1
    )
    return 100 * overlaps + near


def _distance(spot: Box, a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return how far the spot's middle is from the segment a to b."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    square = dx * dx + dy * dy
    t = 0.0 if square == 0 else max(0.0, min(1.0, ((spot.x - a[0]) * dx + (spot.y - a[1]) * dy) / square))
    return math.hypot(spot.x - a[0] - t * dx, spot.y - a[1] - t * dy)


def _header(node: Node, width: float) -> list[str]:
    parts = [text(40, 42, node.name, 20, "ink", 700), text(40, 64, _summary(node), 13, "dim")]
    if node.modelled:
        wide = 7.0 * len(MARK) + 26
        badge = Box(width - 40 - wide / 2, 31, wide, 26)
        parts.append(_rect(badge, 13, fill="warnbg", stroke="pcie"))
        parts.append(text(badge.x, 35.5, MARK, 13, "warn", 600, "middle"))
    return parts


def _header_width(node: Node) -> float:
    title = 11.5 * len(node.name) + (7.0 * len(MARK) + 60 if node.modelled else 0)
    return max(title, 6.8 * len(_summary(node))) + 80


def _description(node: Node, styles: LinkStyles) -> str:
    """Return the picture in words, kind by kind."""
    entries = [words for _, words in styles.legend()]
    return ". ".join([", ".join(device.id for device in node.devices), *entries, *([styles.note] if entries else [])])


def _summary(node: Node) -> str:
    """Return "8 x AMD Instinct MI250X, 4 NUMA nodes (AMD EPYC 7A53)", without what the node's name says."""
    gpus = Counter(device.name or "GPU" for device in node.of_kind("gpu")).items()
    parts = [f"{count} x {name}" for name, count in gpus if name not in node.name]
    numa = node.of_kind("numa")
    if numa:
        names = " + ".join(dict.fromkeys(device.name for device in numa if device.name not in ("", node.name)))
        parts.append(numbers.count(len(numa), "NUMA node") + (f" ({names})" if names else ""))
    return ", ".join(parts)


def _legend(styles: LinkStyles, top: float) -> tuple[list[str], float, float]:
    """Return elements, height and width of a line per kind of link, widest first."""
    entries = styles.legend()
    if not entries:
        return [], 0.0, 0.0
    elements = []
    for place, (link, words) in enumerate(entries):
        y = top + 24 * place
        elements.append(element("line", x1=40, x2=82, y1=y, y2=y, **_stroke(link, styles)))
        elements.append(text(94, y + 4.2, words, 12.5))
    elements.append(text(40, top + 24 * len(entries) + 8, styles.note, 12, "dim"))
    wide = max(132 + 6.7 * max(len(words) for _, words in entries), 80 + 6.4 * len(styles.note))
    return elements, 24 * len(entries) + 12.0, wide

"""The node's diagram as SVG: NUMA nodes, GPUs, switches; links as thick as their peak, with a legend."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from linkscope.machine.node import Device, Link, Node
from linkscope.report import wording
from linkscope.report.link_styles import MOST_LABELS, LinkStyles, is_host_fabric
from linkscope.report.topology_layout import Box, TopologyLayout, arc_drop, lay_out

MARK = "described, not measured"
_FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
_INK, _SOFT, _FAINT = "#1b2733", "#5b6b7b", "#d5dce3"
_FILL = {"numa": ("#f3f5f7", "#aab6c2"), "gpu": ("#e8f1f8", "#5b93bd"), "switch": ("#e6f3ee", "#5aa68c")}


@dataclass(frozen=True)
class _Line:
    """A drawn link: its curve as SVG path data, and points along it for its label."""

    link: Link
    path: str
    points: tuple[tuple[float, float], ...]


def draw(node: Node, judged: LinkStyles | None = None) -> str:
    """A self-contained SVG document (no script, no external font or style); links by their peak unless ``judged``."""
    layout = lay_out(node)
    styles = judged or LinkStyles(node.links)
    lines = [line for link in node.links if (line := _line(link, layout, node)) is not None]
    legend, legend_height, legend_width = _legend(styles, layout.bottom + 44)
    width = max(layout.width + (46 if _has_bracket(lines, layout) else 0), legend_width, _header_width(node))
    height = layout.bottom + 44 + legend_height + 24
    indent = (width - layout.width) / 2
    body = [
        *(_draw_line(line, styles) for line in sorted(lines, key=lambda line: styles.width(line.link))),
        *(_draw_box(device, layout.boxes[device.id], styles) for device in node.devices),
        *_labels(lines, layout, styles),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" font-family="{_FONT}" role="img">',
            f"<title>{escape(node.name)}: {escape(_summary(node))}</title>",
            f"<desc>{escape(_description(node, styles))}</desc>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *_header(node, width),
            f'<g transform="translate({indent:.1f} 0)">',
            *body,
            "</g>",
            *legend,
            "</svg>",
            "",
        ]
    )


def _line(link: Link, layout: TopologyLayout, node: Node) -> _Line | None:
    """None for links that the picture only mentions: NUMA nodes that are not neighbours."""
    a, b = layout.boxes[link.a], layout.boxes[link.b]
    if is_host_fabric(link):
        return _host_line(link, layout, node)
    if layout.arcs and link.a.startswith("gpu:") and link.b.startswith("gpu:"):
        return _arc(link, a, b)
    if not (link.a.startswith("gpu:") and link.b.startswith("gpu:")):
        narrow, wide = sorted((a, b), key=lambda box: box.width)
        x = min(max(narrow.x, wide.left + 12), wide.right - 12)
        return _straight(link, (x, narrow.y), (x, wide.y), _edges(narrow, wide))
    return _straight(link, (a.x, a.y), (b.x, b.y))


def _edges(a: Box, b: Box) -> tuple[float, float]:
    """Heights of the facing edges of two boxes, one above the other."""
    upper, lower = (a, b) if a.y < b.y else (b, a)
    return upper.bottom, lower.top


def _straight(
    link: Link, start: tuple[float, float], end: tuple[float, float], visible: tuple[float, float] | None = None
) -> _Line:
    (x1, y1), (x2, y2) = start, end
    if visible is not None:
        y1, y2 = visible
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


def _host_line(link: Link, layout: TopologyLayout, node: Node) -> _Line | None:
    """Neighbours in a row: a straight line; one bracket on the right where nodes stand above and below the GPUs."""
    a, b = layout.boxes[link.a], layout.boxes[link.b]
    homes = [layout.boxes[d.id] for d in node.of_kind("numa")]
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


def _has_bracket(lines: Sequence[_Line], layout: TopologyLayout) -> bool:
    edge = max(box.right for box in layout.boxes.values())
    return any(x > edge for line in lines for x, _ in line.points)


def _draw_line(line: _Line, styles: LinkStyles) -> str:
    link = line.link
    return (
        f'<path d="{line.path}" fill="none" stroke="#ffffff" stroke-width="{styles.width(link) + 4:.1f}"/>'
        f'<path d="{line.path}" fill="none" stroke="{styles.color(link)}" stroke-width="{styles.width(link):.1f}"'
        f"{styles.dash(link)}><title>{escape(styles.spoken(link))}</title></path>"
    )


def _draw_box(device: Device, box: Box, styles: LinkStyles) -> str:
    fill, edge = _FILL[device.kind]
    edge, width = (edge, 1.4) if (blamed := styles.edge(device)) is None else (blamed, 3.6)
    lines = [
        f'<g><title>{escape(device.id)}: {escape(device.name)}</title><rect x="{box.left:.1f}" y="{box.top:.1f}" '
        f'width="{box.width:.1f}" height="{box.height:.1f}" rx="9" fill="{fill}" stroke="{edge}" '
        f'stroke-width="{width}"/>'
    ]
    details = [*_details(device), *styles.notes(device)]
    dy = 5.0 if not details else -4.0 if len(details) == 1 else -10.0
    lines.append(_text(box.x, box.y + dy, _title(device), 15, _INK, weight=600))
    for place, detail in enumerate(details):
        lines.append(_text(box.x, box.y + dy + 18 + 15 * place, detail, 11.5, _SOFT))
    return "".join([*lines, "</g>"])


def _title(device: Device) -> str:
    kind, _, rest = device.id.partition(":")
    return device.name or rest if kind == "switch" else f"{kind.upper()} {rest}"


def _details(device: Device) -> list[str]:
    """What fits under the name: memory and its rate; a NUMA node's CPUs too."""
    if device.kind == "switch":
        return []
    memory = []
    if device.whole_memory_bytes:
        memory.append(f"{device.whole_memory_bytes / (1 << 30):.0f} GiB")
    if device.memory_gbps:
        memory.append(
            f"{device.memory_gbps / 1000:.1f} TB/s" if device.memory_gbps >= 1000 else f"{device.memory_gbps:.0f} GB/s"
        )
    lines = [" · ".join(memory)] if memory else []
    if device.kind == "numa" and device.cpus:
        lines.insert(0, f"{len(device.cpus)} CPUs" if len(device.cpus) > 1 else "1 CPU")
    return lines


def _labels(lines: Sequence[_Line], layout: TopologyLayout, styles: LinkStyles) -> list[str]:
    """A number on each link where there is room; with many equal links the legend alone says it."""
    crowded = {kind for kind, count in Counter(line.link.kind for line in lines).items() if count > MOST_LABELS}
    taken: list[Box] = list(layout.boxes.values())
    drawn = []
    for line in lines:
        text = styles.label(line.link)
        if not text or (line.link.kind in crowded and not styles.odd(line.link)):
            continue
        width = 7.2 * len(text) + 10
        spots = [Box(x, y, width, 18) for x, y in line.points]
        spot = min(spots, key=lambda box: _clutter(box, taken, line, lines))
        taken.append(spot)
        drawn.append(
            f'<rect x="{spot.left:.1f}" y="{spot.top:.1f}" width="{width:.1f}" height="18" rx="9" fill="#ffffff" '
            f'stroke="{styles.color(line.link)}" stroke-width="1.2"/>'
            + _text(spot.x, spot.y + 4.2, text, 12, _INK, 600)
        )
    return drawn


def _clutter(spot: Box, taken: Sequence[Box], own: _Line, lines: Sequence[_Line]) -> int:
    """Overlaps with boxes and labels, and links passing under the spot."""
    overlaps = sum(
        abs(spot.x - box.x) < (spot.width + box.width) / 2 + 3
        and abs(spot.y - box.y) < (spot.height + box.height) / 2 + 3
        for box in taken
    )
    near = sum(
        _distance(spot, other.points[-2], other.points[-1]) < 16
        for other in lines
        if other is not own and len(other.points) > 1
    )
    return 100 * overlaps + near


def _distance(spot: Box, a: tuple[float, float], b: tuple[float, float]) -> float:
    """From the spot's middle to the segment a to b."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    square = dx * dx + dy * dy
    t = 0.0 if square == 0 else max(0.0, min(1.0, ((spot.x - a[0]) * dx + (spot.y - a[1]) * dy) / square))
    return math.hypot(spot.x - a[0] - t * dx, spot.y - a[1] - t * dy)


def _header(node: Node, width: float) -> list[str]:
    parts = [_text(40, 42, node.name, 20, _INK, 700, "start"), _text(40, 64, _summary(node), 13, _SOFT, anchor="start")]
    if node.modelled:
        badge = 7.0 * len(MARK) + 26
        parts.append(
            f'<rect x="{width - 40 - badge:.1f}" y="18" width="{badge:.1f}" height="26" rx="13" fill="#fff4d6" '
            f'stroke="#d98a00"/>' + _text(width - 40 - badge / 2, 35.5, MARK, 13, "#7a4b00", 600)
        )
    return parts


def _description(node: Node, styles: LinkStyles) -> str:
    """The picture in words, kind by kind."""
    devices = ", ".join(device.id for device in node.devices)
    entries = [text for _, text in styles.entries()]
    return ". ".join([devices, *entries, *([styles.note] if entries else [])])


def _header_width(node: Node) -> float:
    title = 11.5 * len(node.name) + (7.0 * len(MARK) + 60 if node.modelled else 0)
    return max(title, 6.8 * len(_summary(node))) + 80


def _summary(node: Node) -> str:
    """Such as "8 × AMD Instinct MI250X, 4 NUMA nodes (AMD EPYC 7A53)", without what the node's name says already."""
    gpus = Counter(d.name or "GPU" for d in node.of_kind("gpu")).items()
    parts = [f"{count} × {name}" for name, count in gpus if name not in node.name]
    numa = node.of_kind("numa")
    if numa:
        names = " + ".join(dict.fromkeys(d.name for d in numa if d.name not in ("", node.name)))
        parts.append(wording.count(len(numa), "NUMA node") + (f" ({names})" if names else ""))
    return ", ".join(parts)


def _legend(styles: LinkStyles, top: float) -> tuple[list[str], float, float]:
    """One line per kind of link, widest first. Returns elements, height, width."""
    entries = styles.entries()
    wide = 92 + 6.7 * max((len(text) for _, text in entries), default=0)
    elements = []
    for place, (link, text) in enumerate(entries):
        y = top + 24 * place
        elements.append(
            f'<line x1="40" x2="82" y1="{y:.1f}" y2="{y:.1f}" stroke="{styles.color(link)}" '
            f'stroke-width="{styles.width(link):.1f}"{styles.dash(link)}/>'
            + _text(94, y + 4.2, text, 12.5, _INK, anchor="start")
        )
    y = top + 24 * len(entries)
    if entries:
        elements.append(_text(40, y + 8, styles.note, 12, _SOFT, anchor="start"))
    return (
        elements,
        24 * len(entries) + (12 if entries else 0),
        max(wide + 40, 80 + 6.4 * len(styles.note) if entries else 0),
    )


def _text(x: float, y: float, text: str, size: float, fill: str, weight: int = 400, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{fill}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )

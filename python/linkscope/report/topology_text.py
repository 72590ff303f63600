"""The node's topology as terminal tables and as JSON: devices, links, and every pair's hops and widest path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscope.machine.node import Device, Node
from linkscope.machine.paths import Path, Paths, tier_of
from linkscope.report.grid import chunks_of, empty_grid
from linkscope.report.label_lines import LabelColumn, print_label_lines
from linkscope.report.topology_svg import MARK

CORNER = "from \\ to"
_MOST_PAIRS_LISTED = 24


def show(node: Node, console: Console) -> None:
    """Prints the tables. Peaks are payload GB/s per direction; hops do not count switches."""
    paths = Paths(node)
    places = [device for device in node.devices if device.kind != "switch"]
    title = Text(node.name, style="bold")
    if node.modelled:
        title.append(f"  {MARK}", style="bold yellow")
    console.print(title)
    _print_title("Devices", console)
    _print_devices(node, console)
    if node.links:
        _print_title("Links", console)
        _print_links(node, console)
    if len(places) > 1:
        for name, cell in (("Hops of the shortest path", _hops), ("Peak of the widest path, GB/s", _peak)):
            _print_title(name, console)
            for table in _matrix(places, paths, cell, console.width):
                console.print(table)
    console.print()
    for line in _remarks(node, places, paths):
        console.print(Text(line, style="dim"))


def to_json(node: Node) -> dict[str, Any]:
    """The node (see Node.to_json) with ``paths``: one entry per ordered pair of distinct devices.

    An entry holds source, destination, hops, shortest and widest (device ids, switches included), widest_hops,
    peak_gbps, route (directed link ids), tier and unknown (links of the route whose peak is not known).
    """
    paths = Paths(node)
    places = [device.id for device in node.devices if device.kind != "switch"]
    found = [path for a in places for b in places if a != b and (path := paths.between(a, b)) is not None]
    return {**node.to_json(), "paths": [_path_json(path) for path in found]}


def _path_json(path: Path) -> dict[str, Any]:
    return {
        "source": path.source,
        "destination": path.destination,
        "hops": path.hops,
        "shortest": list(path.shortest),
        "widest": list(path.widest),
        "widest_hops": path.widest_hops,
        "peak_gbps": path.peak_gbps,
        "route": list(path.route),
        "tier": path.tier,
        "unknown": list(path.unknown),
    }


def _print_title(title: str, console: Console) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _print_devices(node: Node, console: Console) -> None:
    columns = (
        LabelColumn("name", tuple(device.name for device in node.devices), "words"),
        LabelColumn("NUMA", tuple("" if device.numa is None else str(device.numa) for device in node.devices)),
        LabelColumn("PCI", tuple(device.pci or "" for device in node.devices), "words"),
        LabelColumn(
            "memory, GiB", tuple(_or_nothing(device.whole_memory_bytes, 1 << 30, ".0f") for device in node.devices)
        ),
        LabelColumn("memory, GB/s", tuple(_or_nothing(device.memory_gbps, 1, "g") for device in node.devices)),
        LabelColumn("CPUs", tuple(ranges(device.cpus) for device in node.devices), "words"),
    )
    print_label_lines("device", [d.id for d in node.devices], [one for one in columns if any(one.cells)], console)


def _print_links(node: Node, console: Console) -> None:
    columns = [
        LabelColumn("and", tuple(link.b for link in node.links), "words"),
        LabelColumn("kind", tuple(link.kind for link in node.links), "words"),
        LabelColumn("tier", tuple(map(tier_of, node.links)), "words"),
        LabelColumn("lanes", tuple("" if link.lanes is None else str(link.lanes) for link in node.links)),
        LabelColumn(
            "peak, GB/s",
            tuple("unknown" if link.peak_gbps is None else f"{link.peak_gbps:g}" for link in node.links),
            "numbers",
        ),
    ]
    told = [("one way" if link.directed else "", link.detail) for link in node.links]
    remarks = LabelColumn("remark", tuple("; ".join(filter(None, parts)) for parts in told), "words")
    if not node.modelled and any(remarks.cells):
        columns.append(remarks)
    print_label_lines("between", [link.a for link in node.links], columns, console)


def _or_nothing(number: float | None, unit: int, digits: str) -> str:
    return "" if number is None else format(number / unit, digits)


def _matrix(places: Sequence[Device], paths: Paths, cell: Callable[[Path], str], width: int) -> list[Table]:
    """One table, or several that each hold some of the columns where it is wider than ``width``."""
    texts = [[_cell(paths, row.id, column.id, cell) for row in places] for column in places]
    label_width = max(len(CORNER), *(len(place.id) for place in places))
    widths = [max(len(text) for text in (place.id, *column)) for place, column in zip(places, texts, strict=True)]
    tables = []
    for chunk in chunks_of(widths, width - label_width):
        table = empty_grid(CORNER, label_width)
        for j in chunk:
            table.add_column(places[j].id, justify="right", no_wrap=True, min_width=widths[j])
        for i, row in enumerate(places):
            table.add_row(row.id, *(texts[j][i] for j in chunk))
        tables.append(table)
    return tables


def _cell(paths: Paths, row: str, column: str, cell: Callable[[Path], str]) -> str:
    path = paths.between(row, column) if row != column else None
    return "" if path is None else cell(path)


def _hops(path: Path) -> str:
    """The widest path's hops behind it where they are more: "2 (3)"."""
    return f"{path.hops} ({path.widest_hops})" if path.is_detour else str(path.hops)


def _peak(path: Path) -> str:
    if path.peak_gbps is None:
        return "?"
    return f"≤{path.peak_gbps:.1f}" if path.unknown else f"{path.peak_gbps:.1f}"


def _remarks(node: Node, places: Sequence[Device], paths: Paths) -> list[str]:
    found = [path for a in places for b in places if a.id < b.id and (path := paths.between(a.id, b.id)) is not None]
    lines = [
        f"{' - '.join((path.source, path.destination))}: shortest {' > '.join(path.shortest)}, "
        f"widest {' > '.join(path.widest)} (in brackets: its hops)"
        for path in found
        if path.is_detour
    ]
    lines = lines[:_MOST_PAIRS_LISTED]
    if any(path.unknown for path in found):
        lines.append("≤ and ?: a link on the way has no known peak")
    if any(d.kind == "switch" for d in node.devices):
        lines.append("a switch on the way counts as no hop")
    how = f"linkscope run --machine {node.name}  models it" if node.modelled else "linkscope run  measures it"
    return [*lines, *node.notes, how]


def ranges(numbers: Sequence[int]) -> str:
    """0, 1, 2, 8 is "0-2,8"."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)

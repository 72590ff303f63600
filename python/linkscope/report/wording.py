"""Numbers and names for lines of progress."""

from __future__ import annotations

from linkscope.machine.node import Node
from linkscope.messages.numbers import count, duration, size
from linkscope.messages.numbers import number as value

__all__ = ["cases_on", "count", "duration", "shortened", "value", "x_title", "x_value"]


def shortened(text: str, room: int) -> str:
    """Return at most ``room`` characters: of a longer text the end stays, which tells titles apart."""
    if len(text) <= room:
        return text
    tail = min(room * 3 // 5, len(text.rpartition(", ")[2]) + 2)
    return f"{text[: max(room - tail - 1, 0)]}…{text[-tail:]}"


def cases_on(number: int, node: Node) -> str:
    """Return "1 case on host-a", "12 modelled cases on frontier"."""
    return f"{count(number, 'modelled case' if node.modelled else 'case')} on {node.name}"


def x_value(x: float | None, x_name: str) -> str:
    """Return a curve's x: a size where it counts bytes, a plain number otherwise."""
    if x is None:
        return "?"
    if x_name.endswith("bytes") or x_name == "locality":
        return size(x)
    return f"{x:.0f}" if x == int(x) else f"{x:g}"


def x_title(x_name: str) -> str:
    """Return what stands at a curve's x axis: "bytes", "threads", "GPUs"."""
    return "GPUs" if x_name == "gpus" else x_name.replace("_", " ")

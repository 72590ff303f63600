"""ChakraNode: an operation of a Chakra execution trace, from its protobuf (et_def.proto) or from its JSON.

Of JSON there are two forms: what chakra_jsonizer writes, an object after another; and a workload_graph, a list of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from linkscope.documents.escaped import escaped
from linkscope.workload.protobuf import delimited, signed, wire_fields

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
"""NodeType."""
_KINDS = {"COMP_NODE": COMPUTE, "COMM_SEND_NODE": SEND, "COMM_RECV_NODE": RECEIVE, "COMM_COLL_NODE": COLLECTIVE}
_NAME, _TYPE, _DURATION, _ATTRIBUTE = 2, 3, 7, 10
_ATTRIBUTE_NAME, _BOOL, _STRING = 1, 27, 29
_NUMBERS = (7, 9, 11, 13, _BOOL)
"""Fields of an attribute: int32, int64, uint32, uint64, bool."""
_JSON_VALUES = ("int32Val", "int64Val", "uint32Val", "uint64Val", "boolVal", "stringVal")
_MICROS = 1e-6


@dataclass(frozen=True)
class ChakraNode:
    """``kind``: a NodeType. ``numbers`` and ``texts``: its attributes by name."""

    kind: int
    name: str
    seconds: float
    numbers: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def is_chakra(data: bytes) -> bool:
    """Return whether it begins with GlobalMetadata, or is JSON of nodes."""
    if data.lstrip()[:1] == b"{":
        return b'"workload_graph"' in data or b'_NODE"' in data
    try:
        fields = list(wire_fields(next(delimited(data), b"")))
    except ValueError:
        return False
    return bool(fields) and all(number in (1, 2) and isinstance(value, bytes) for number, value in fields)


def chakra_nodes(data: bytes) -> Iterator[ChakraNode]:
    """Raises ValueError, RecursionError."""
    if data.lstrip()[:1] == b"{":
        for one in _objects(data.decode()):
            for node in _listed(one):
                yield _of_json(node)
        return
    messages = delimited(data)
    next(messages, None)  # GlobalMetadata
    for message in messages:
        yield _of_wire(message)


def _of_wire(message: bytes) -> ChakraNode:
    name, kind, duration = "", 0, 0
    numbers: dict[str, int] = {}
    texts: dict[str, str] = {}
    for number, value in wire_fields(message):
        if number == _NAME and isinstance(value, bytes):
            name = value.decode()
        elif number == _TYPE and isinstance(value, int):
            kind = value
        elif number == _DURATION and isinstance(value, int):
            duration = value
        elif number == _ATTRIBUTE and isinstance(value, bytes):
            _read_attribute(value, numbers, texts)
    return ChakraNode(kind, escaped(name)[:80], duration * _MICROS, numbers, texts)


def _read_attribute(message: bytes, numbers: dict[str, int], texts: dict[str, str]) -> None:
    values = dict(wire_fields(message))
    name = values.get(_ATTRIBUTE_NAME)
    if not isinstance(name, bytes):
        return
    for number in _NUMBERS:
        if isinstance(value := values.get(number), int):
            numbers[name.decode()] = signed(value)
    if isinstance(text := values.get(_STRING), bytes):
        texts[name.decode()] = text.decode()


def _objects(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        one, at = decoder.raw_decode(text, at)
        yield one


def _listed(one: Any) -> list[dict[str, Any]]:
    """The nodes of an object, which is one itself or holds them; GlobalMetadata holds none."""
    if not isinstance(one, dict):
        raise ValueError("a value that is no node")
    nodes = one.get("workload_graph", [one] if "type" in one else [])
    if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
        raise ValueError("workload_graph is no list of nodes")
    return nodes


def _of_json(node: dict[str, Any]) -> ChakraNode:
    values = dict(node)
    for attribute in _list_of(node.get("attr")):
        value = next((attribute[one] for one in _JSON_VALUES if one in attribute), None)
        values[str(attribute.get("name"))] = value
    kind = node.get("type", node.get("NodeType", 0))
    name = str(node.get("name", node.get("Name", "")))
    duration = _whole(node.get("durationMicros", node.get("runtime", 0)))
    numbers = {key: whole for key, value in values.items() if (whole := _whole(value)) is not None}
    texts = {key: value for key, value in values.items() if isinstance(value, str)}
    known = kind if isinstance(kind, int) else _KINDS.get(str(kind), 0)
    return ChakraNode(known, escaped(name)[:80], max(0, duration or 0) * _MICROS, numbers, texts)


def _list_of(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _whole(value: Any) -> int | None:
    """Return a whole number, also one in quotes as JSON has those of 64 bits; None where it has more bits."""
    if isinstance(value, str) and 0 < len(value) < 20 and value.lstrip("-").isdecimal():
        value = int(value) if value.lstrip("-").isascii() and value.count("-") <= 1 else None
    return int(value) if isinstance(value, int) and abs(value) < 1 << 64 else None

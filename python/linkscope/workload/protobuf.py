"""Protobuf: the fields of a message in Google's wire format, as far as its own types need no schema."""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}


def delimited(data: bytes) -> Iterator[bytes]:
    """Messages that each follow their length, to the end. Raises ValueError."""
    at = 0
    while at < len(data):
        size, at = _varint(data, at)
        if size > len(data) - at:
            raise ValueError(f"a message of {size} bytes, of which {len(data) - at} are there")
        yield data[at : at + size]
        at += size


def wire_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field: bytes of a text, list or message, else a number without sign (a negative one
    stands for itself plus 2^64). Raises ValueError."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise ValueError("a field with the number 0")
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        size = _WIDTHS.get(wire, -1)
        if wire == _BYTES:
            size, at = _varint(message, at)
        if size < 0:
            raise ValueError(f"field {number} has the unknown wire type {wire}")
        part = message[at : at + size]
        if len(part) != size:
            raise ValueError(f"field {number} ends too soon")
        yield number, part if wire == _BYTES else int.from_bytes(part, "little")
        at += size


def signed(value: int) -> int:
    """Return the signed value of a number of 64 bits."""
    return value - (1 << 64) if value >> 63 else value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the value, of at most 64 bits, and the offset behind it."""
    value = 0
    for index in range(10):
        if at + index >= len(data):
            raise ValueError("a number ends too soon")
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & ((1 << 64) - 1), at + index + 1
    raise ValueError("a number has more than ten bytes")

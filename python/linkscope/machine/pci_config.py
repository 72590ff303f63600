"""PCI configuration space: extended capabilities, and the access control (ACS) of bridges."""

from __future__ import annotations

from collections.abc import Iterator

_EXTENDED = 0x100
_FULL = 4096
_ACS = 0x000D
_ACS_BYTES = 8
_ACS_REDIRECTS = 0x04 | 0x08  # P2P request redirect, P2P completion redirect


def redirects_peers(config: bytes | None) -> bool | None:
    """Return whether a bridge sends peer traffic to the root; None where the space is not readable (needs root)."""
    if config is None or len(config) < _FULL:
        return None
    for capability, offset in _capabilities(config):
        if capability == _ACS:
            return bool(int.from_bytes(config[offset + 6 : offset + 8], "little") & _ACS_REDIRECTS)
    return False


def without_identity(config: bytes) -> bytes:
    """The same space with nothing but the capabilities' headers and ACS: no serial numbers."""
    kept = bytearray(len(config))
    for capability, offset in _capabilities(config):
        end = offset + (_ACS_BYTES if capability == _ACS else 4)
        kept[offset:end] = config[offset:end]
    return bytes(kept)


def _capabilities(config: bytes) -> Iterator[tuple[int, int]]:
    """(id, offset) along the list; ends at a cycle or outside the space."""
    offset = _EXTENDED
    visited: set[int] = set()
    while _EXTENDED <= offset <= len(config) - _ACS_BYTES and offset not in visited:
        visited.add(offset)
        header = int.from_bytes(config[offset : offset + 4], "little")
        yield header & 0xFFFF, offset
        offset = header >> 20

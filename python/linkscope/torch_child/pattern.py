"""Pattern: the data that transfers carry, as tensor operations: words by position, and numbers that add up exactly.

The same as engine/model/pattern.hpp and engine/model/elements.hpp. 64-bit arithmetic wraps, as tensors of int64 do.
"""

from __future__ import annotations

from typing import Any

import torch

Tensor = Any

POISON = 0xA5
"""Byte that destinations hold before a transfer."""
ELEMENT_TYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int32": torch.int32,
}


def _signed(number: int) -> int:
    """The number modulo 2^64, as an int64 holds it."""
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number


def _shifted(words: Tensor, bits: int) -> Tensor:
    """Shifted to the right without the sign."""
    return (words >> bits) & ((1 << (64 - bits)) - 1)


def pattern_words(seed: int, first: int, count: int, device: Tensor) -> Tensor:
    """The words ``first`` to ``first + count`` of a buffer filled in round ``seed``: int64 of shape (count,)."""
    index = torch.arange(first, first + count, dtype=torch.int64, device=device)
    words = (index + _signed(seed * 0xD1B54A32D192ED03)) * _signed(0x9E3779B97F4A7C15)
    return words ^ _shifted(words, 29)


def input_elements(seed: int, member: int, first: int, count: int, device: Tensor) -> Tensor:
    """Elements ``first`` to ``first + count`` of a member's input: from -3 to 3, int64 of shape (count,)."""
    index = torch.arange(first, first + count, dtype=torch.int64, device=device)
    offset = _signed(seed * 0xD1B54A32D192ED03 + member * 0xA0761D6478BD642F)
    words = (index + offset) * _signed(0x9E3779B97F4A7C15)
    words = words ^ _shifted(words, 32)
    return _shifted(words * _signed(0xE7037ED1A0B428DB), 40) % 7 - 3


def balanced_elements(seed: int, member: int, members: int, first: int, count: int, device: Tensor) -> Tensor:
    """As input_elements, but all members' add up to zero at every index."""
    after = 0 if member + 1 == members else member + 1
    own, following = (
        input_elements(seed, m, first, count, device) if m else torch.zeros(count, dtype=torch.int64, device=device)
        for m in (member, after)
    )
    return following - own


def summed_elements(seed: int, members: int, first: int, count: int, device: Tensor) -> Tensor:
    """The sum of all members' inputs."""
    total = input_elements(seed, 0, first, count, device)
    for member in range(1, members):
        total += input_elements(seed, member, first, count, device)
    return total

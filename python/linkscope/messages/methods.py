"""Methods: what a way of moving bytes is called on a screen: "kernel-copy (push)", "NCCL (graph)", "64 threads".

A way is written as results have it: the method's identifier, then words and NAME=VALUE, as in "memcpy threads=64".
"""

from __future__ import annotations

import re

from linkscope.messages.names import named
from linkscope.messages.numbers import count

NCCL, RCCL = "NCCL", "RCCL"
_KINDS = ("-collective", "-schedule")
"""Endings of identifiers that the test's name says already."""
_MEMORY = re.compile(r"(.*?)(?: ?\b(from |to |in )(.*))?$")
"""Settings, and the memory that a way is told by: "from pinned to managed"."""
_OWN = re.compile(r"\bxccl\b")
_SAID = ("form", "launch", "algorithm", "call", "variant")
"""Settings whose value says enough."""


def library(vendor: str | None) -> str:
    """Return which library `xccl` is on GPUs of a vendor, "nvidia" or "amd"."""
    return RCCL if vendor == "amd" else NCCL


def method_name(way: str, xccl: str = NCCL) -> str:
    """Return the method with its settings in parentheses; ``xccl``: the library that ran."""
    method, _, _ = way.partition(" ")
    if "," in way:  # of an application's messages: "mpi staged, pinned"
        return _OWN.sub(xccl, way)
    for kind in _KINDS:
        method = method.removesuffix(kind)
    settings = setting_name(way, xccl)
    name = f"{xccl}{method.removeprefix('xccl')}" if method.split("-")[0] == "xccl" else method
    return f"{name} ({settings})" if settings else name


def setting_name(way: str, xccl: str = NCCL) -> str:
    """Return the settings of a way without its method: "64 threads, streaming"; "" where it has none."""
    settings, kind, memory = _MEMORY.match(way.partition(" ")[2]).groups()  # type: ignore[union-attr]
    words = [_setting(word) for word in settings.split()]
    return ", ".join([*words, *([f"{'to ' if kind == 'to ' else ''}{memory_name(memory, xccl)}"] if memory else [])])


def memory_name(memory: str, xccl: str = NCCL) -> str:
    """Return what a kind of memory is called: its identifier, "NCCL memory" for that of the library's allocator."""
    return _OWN.sub(f"{xccl} memory", memory)


def _setting(word: str) -> str:
    name, _, value = word.partition("=")
    if name == "threads" and value.isdecimal():
        return count(int(value), "thread")
    known = named("setting", word)
    return value if known == word and name in _SAID else known

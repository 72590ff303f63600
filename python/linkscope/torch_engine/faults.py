"""Fault: what an error means to whoever catches it, as in the compiled engines (engine/base/error.hpp)."""

from __future__ import annotations

from enum import Enum

from linkscope.errors import LinkscopeError


class Fault(Enum):
    """The kinds of error, and what becomes of the case."""

    BAD_INPUT = "the plan or the command line is wrong: exit code 2"
    UNSUPPORTED = "this machine cannot do it: a skipped row"
    NO_MEMORY = "not enough memory: a skipped row"
    MISMATCH = "data arrived wrong: a failed row"
    BROKEN = "a call failed: a failed row"
    FATAL = "the process can no longer be trusted: a failed row, and the engine leaves"


class EngineError(LinkscopeError):
    """One line saying what is wrong. ``shared``: every process has this very error already, and it names the one."""

    def __init__(self, fault: Fault, what: str, shared: bool = False) -> None:
        super().__init__(" ".join(what.split()))
        self.fault = fault
        self.shared = shared


def context_lost(words: str) -> bool:
    """Whether PyTorch's words say that a GPU's context is lost: every later call would fail alike."""
    return "CUDA error" in words or "HIP error" in words


def refused(words: str) -> bool:
    """Whether they say that a library does not do what it was asked, for no fault of anybody's."""
    return any(sign in words for sign in ("not support", "not implemented", "Duplicate GPU"))


def unsupported(reason: str) -> EngineError:
    """What makes a case a skipped row."""
    return EngineError(Fault.UNSUPPORTED, reason)

"""Fault: what an error means to the engine that is told of it (engine/base/error.hpp)."""

from __future__ import annotations

from enum import Enum

from linkscope.errors import LinkscopeError


class Fault(Enum):
    """Name faults by the words that the engine reads (engine/backend/python/child.cpp)."""

    BAD_INPUT = "bad-input"
    UNSUPPORTED = "unsupported"
    NO_MEMORY = "no-memory"
    MISMATCH = "mismatch"
    BROKEN = "broken"
    FATAL = "fatal"


class ChildError(LinkscopeError):
    """One line saying what is wrong."""

    def __init__(self, fault: Fault, what: str) -> None:
        super().__init__(" ".join(what.split()))
        self.fault = fault


def fault_of(error: Exception) -> ChildError:
    """Return what whatever PyTorch throws is to the engine: this case's failure, or this process's end."""
    if isinstance(error, ChildError):
        return error
    words = f"{type(error).__name__}: {error}"
    return ChildError(Fault.FATAL if _context_lost(words) else Fault.BROKEN, words)


def _context_lost(words: str) -> bool:
    """Return whether PyTorch's words say that a GPU's context is lost: every later call would fail alike."""
    return "CUDA error" in words or "HIP error" in words


def refused(words: str) -> bool:
    """Return whether they say that a library does not do what it was asked, for no fault of anybody's."""
    return any(sign in words for sign in ("not support", "not implemented", "Duplicate GPU"))


def unsupported(reason: str) -> ChildError:
    """Return what makes a case a skipped row."""
    return ChildError(Fault.UNSUPPORTED, reason)

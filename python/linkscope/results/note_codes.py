"""Note codes: what decisions need of an engine's notes and reasons. Each ends with its code: "... [nvls-off]"."""

from __future__ import annotations

from collections.abc import Iterable

NVLS_FREE, NVLS_NONE, NVLS_OFF = "nvls-free", "nvls-none", "nvls-off"
"""NCCL was free to reduce in the GPU switch, could not, was told not to."""
NO_PEER_ACCESS, LAUNCH_INSIDE = "no-peer-access", "launch-inside"
HUGE_PAGES, FEW_SAMPLES, WRONG_DATA = "huge-pages", "few-samples", "wrong-data"
_BEFORE = {
    NVLS_FREE: "NVLink SHARP as it chooses",
    NVLS_NONE: "no NVLink SHARP",
    NVLS_OFF: "NCCL_NVLS_ENABLE=0",
    NO_PEER_ACCESS: "no peer access",
    LAUNCH_INSIDE: "launch cost is inside",
    HUGE_PAGES: "in transparent huge",
    FEW_SAMPLES: "the interval is their range",
    WRONG_DATA: "arrived wrong",
}
"""Words of older runs, whose texts have no codes."""


def says(code: str, texts: Iterable[str]) -> bool:
    """Return whether one of an engine's texts has the code."""
    return any(f"[{code}]" in text or _BEFORE[code] in text for text in texts)

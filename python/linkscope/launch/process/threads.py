"""Threads: what those of a process on this host do, for the reason of a row whose engine hung."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

_MOST_KINDS = 6
_PROC = Path("/proc")


def thread_states(pid: int, proc: Path = _PROC) -> str:
    """``threads: 2 linkscope-engin in futex_do_wait``: how many, by name and by where the kernel holds them.

    ``running``: it holds them nowhere. Empty where the process is gone or may not be looked at (proc(5): comm, wchan).
    """
    kinds = Counter(filter(None, (_kind(task) for task in sorted(proc.glob(f"{pid}/task/*")))))
    told = [f"{count} {kind}" if count > 1 else kind for kind, count in kinds.most_common(_MOST_KINDS)]
    more = sum(kinds.values()) - sum(count for _, count in kinds.most_common(_MOST_KINDS))
    told += [f"{more} more"] if more else []
    return f"threads: {', '.join(told)}" if told else ""


def _kind(task: Path) -> str | None:
    try:
        name = (task / "comm").read_text(errors="replace").strip()
        held = (task / "wchan").read_text(errors="replace").strip()
        state = (task / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return None
    if held in ("", "0"):
        return f"{name} running" if state == "R" else f"{name} in state {state}"
    return f"{name} in {held}"

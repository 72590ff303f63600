"""LauncherProcesses: processes that another program started (mpiexec, srun), and what that prints of them."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import shorten

from linkscope.errors import LinkscopeError
from linkscope.launch.launcher.launcher import ExitStatus
from linkscope.launch.process.child import Child, ShutdownDeadline

_CLOSE_S = 5.0
"""Seconds that a launcher has to end its processes before it is killed."""
_VERSION_S = 30.0
_MOST_WORDS = 300
_BOX = r"^[-=]{8,}\s*$"
_BAD_END = re.compile("BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES")
_OF_ENGINES = "linkscope-engine"


@dataclass(frozen=True)
class LauncherProcesses:
    """Processes that another program started, which tells on its standard error how they ended: by rank (``endings``),
    or without saying which (``anonymous``). What the processes say there is mixed; ``label`` matches what a launcher
    puts before each line to say whose it is, where it does. ``complaint``: what it says itself, of all its text.
    """

    name: str
    launcher: Child
    endings: tuple[re.Pattern[str], ...]
    anonymous: tuple[re.Pattern[str], ...] = ()
    label: re.Pattern[str] | None = None
    complaint: Callable[[str], str] = lambda text: gist(text)

    def settle(self) -> None:
        """Nothing was needed."""

    def ended(self) -> bool:
        return self.launcher.status() is not None

    def absence(self) -> str | None:
        status = self.launcher.status()
        if status is None:
            return None
        return f"{self.name} {ExitStatus(status, self.complaint(self.launcher.text()))}"

    def ending(self, rank: int) -> ExitStatus | None:
        text = " ".join(self.launcher.text().split())
        for pattern in self.endings:
            for match in pattern.finditer(text):
                found = match.groupdict()
                if rank in numbers(found.get("rank") or ""):
                    return ExitStatus(_status_of(found), self._last_words(rank))
        return None

    def first_ending(self) -> ExitStatus | None:
        text = " ".join(self.launcher.text().split())
        match = next(filter(None, (pattern.search(text) for pattern in self.anonymous)), None)
        return ExitStatus(_status_of(match.groupdict())) if match else None

    def overheard(self) -> str:
        """The first box, or stretch without one, that tells of more than an end: of what MPI complains, say."""
        if self.label is not None:
            return ""
        told = (*self.endings, *self.anonymous, _BAD_END)
        lines = (line for line in self.launcher.text().splitlines() if not line.startswith(_OF_ENGINES))
        for box in re.split(_BOX, "\n".join(lines), flags=re.MULTILINE):
            words = " ".join(box.split())
            if words and not any(pattern.search(words) for pattern in told):
                return f"{self.name} printed: {_shortened(words)}"
        return ""

    def close(self, shutdown: ShutdownDeadline | None = None) -> None:
        self.launcher.dismiss(_CLOSE_S, shutdown)

    def _last_words(self, rank: int) -> str:
        """The last line that is known to be of that one."""
        if self.label is None:
            return ""
        found = (self.label.match(line) for line in reversed(self.launcher.text().splitlines()))
        return next(
            (words for one in found if one and one["rank"] == str(rank) and (words := one["words"].strip())), ""
        )


def numbers(listed: str) -> frozenset[int]:
    """The ranks in a list as launchers write them: "0", "1,3", "0-3,7"."""
    found: set[int] = set()
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def gist(text: str) -> str:
    """The first sentence or so of the last box, or of all, that a launcher printed; one line."""
    boxes = [box.strip() for box in re.split(_BOX, text, flags=re.MULTILINE)]
    last = next((box for box in reversed(boxes) if box), "")
    first, _, second = last.partition("\n\n")
    return _shortened(f"{first} {second}" if first.endswith(":") else first)


def _shortened(words: str) -> str:
    """In one line of at most ``_MOST_WORDS`` characters."""
    return shorten(words, _MOST_WORDS, placeholder=" ...")


@cache
def version_of(program: str) -> str:
    """Return what it says to --version. Raises LinkscopeError where it cannot be started or does not answer."""
    try:
        command, quiet = [program, "--version"], subprocess.DEVNULL
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_VERSION_S, check=False, stdin=quiet)
    except subprocess.TimeoutExpired as error:
        raise LinkscopeError(f"{program} --version did not answer within {_VERSION_S:.0f} s") from error
    except OSError as error:
        raise LinkscopeError(f"cannot start {program}: {error.strerror or error}; see --launcher-command") from error
    return answer.stdout + answer.stderr


def _status_of(found: Mapping[str, str | None]) -> int:
    if found.get("signal"):
        return -int(found["signal"] or 0)
    if found.get("code"):
        return int(found["code"] or 0)
    named = {signal.strsignal(number): number for number in signal.valid_signals()}
    return -int(named.get(found.get("name"), 0))

"""Files: the machine's sysfs and procfs, live or from a recording, behind one small interface."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from linkscope.machine.pci_config import without_identity


class Files(Protocol):
    """Read-only files by absolute path. What is missing or forbidden is None or empty, never an error."""

    def read(self, path: str) -> str | None:
        """The text without surrounding white space."""

    def read_bytes(self, path: str) -> bytes | None:
        """The raw content (of PCI configuration spaces; a recording keeps their capabilities only)."""

    def entries(self, path: str) -> tuple[str, ...]:
        """Sorted names in a directory."""

    def resolve(self, path: str) -> str | None:
        """The path with every symbolic link followed."""


@dataclass(frozen=True)
class LiveFiles:
    """The file system below ``root``."""

    root: Path = Path("/")

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str | None:
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", "replace").strip()

    def read_bytes(self, path: str) -> bytes | None:
        try:
            return self._at(path).read_bytes()
        except OSError:
            return None

    def entries(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(entry.name for entry in self._at(path).iterdir()))
        except OSError:
            return ()

    def resolve(self, path: str) -> str | None:
        try:
            resolved = self._at(path).resolve(strict=True)
            return "/" + str(resolved.relative_to(self.root.resolve()))
        except (OSError, ValueError):
            return None


@dataclass
class RecordedFiles:
    """Answers kept from a machine, in JSON form: what was read, and only that."""

    texts: dict[str, str] = field(default_factory=dict)
    blobs: dict[str, str] = field(default_factory=dict)  # zlib, then base64
    listings: dict[str, list[str]] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)

    def read(self, path: str) -> str | None:
        return self.texts.get(path)

    def read_bytes(self, path: str) -> bytes | None:
        packed = self.blobs.get(path)
        return None if packed is None else zlib.decompress(base64.b64decode(packed))

    def entries(self, path: str) -> tuple[str, ...]:
        """Return the names below a path, as listed; of a path that was never listed the names of the texts below it."""
        if path in self.listings:
            return tuple(self.listings[path])
        prefix = path.rstrip("/") + "/"
        return tuple(sorted({text[len(prefix) :].split("/")[0] for text in self.texts if text.startswith(prefix)}))

    def resolve(self, path: str) -> str | None:
        return self.targets.get(path)

    def to_json(self) -> dict[str, Any]:
        """``from_json`` reads it back."""
        return {"texts": self.texts, "blobs": self.blobs, "listings": self.listings, "targets": self.targets}

    @staticmethod
    def from_json(data: dict[str, Any]) -> RecordedFiles:
        """Raises TypeError on foreign data."""
        return RecordedFiles(**data)


class RecordingFiles:
    """Passes on another Files' answers and keeps them, trimmed to what says something about the hardware."""

    def __init__(self, inner: Files) -> None:
        self._inner = inner
        self.kept = RecordedFiles()

    def read(self, path: str) -> str | None:
        text = self._inner.read(path)
        if text is not None:
            self.kept.texts[path] = _trimmed(path, text)
        return text

    def read_bytes(self, path: str) -> bytes | None:
        data = self._inner.read_bytes(path)
        if data is not None:
            self.kept.blobs[path] = base64.b64encode(zlib.compress(without_identity(data), 9)).decode()
        return data

    def entries(self, path: str) -> tuple[str, ...]:
        names = self._inner.entries(path)
        if names:
            self.kept.listings[path] = list(names)
        return names

    def resolve(self, path: str) -> str | None:
        target = self._inner.resolve(path)
        if target is not None:
            self.kept.targets[path] = target
        return target


_BOOT_OPTIONS = re.compile(
    r"(\w+_)?iommu|swiotlb|pci|pcie_\w+|numa\w*|mitigations|isolcpus|irqaffinity|nohz\w*|rcu_nocb\w*|\w*hugepage\w*|nosmt|"
    r"idle|[\w.]*max_cstate|\w+_pstate|cpufreq\.\w+|cpuidle\.\w+|clocksource|tsc|preempt|maxcpus|mem|"
    r"nvidia[\w-]*\.\w+|amdgpu\.\w+"
)


def boot_options(command_line: str) -> tuple[str, ...]:
    """The kernel's options that move transfers. Others (where the system is, what it talks to) name the machine."""
    return tuple(word for word in command_line.split() if _BOOT_OPTIONS.fullmatch(word.partition("=")[0]))


def _trimmed(path: str, text: str) -> str:
    """One processor's block, known boot options, the plain kernel version, masks: nothing that names the machine."""
    if path == "/proc/sys/kernel/osrelease":
        return text.split("-")[0]
    if path == "/proc/cpuinfo":
        return text.split("\n\n")[0]
    if path == "/proc/cmdline":
        return " ".join(boot_options(text))
    if path == "/proc/self/status":
        return "\n".join(line for line in text.splitlines() if line.startswith(("Cpus_allowed_list", "Mems_allowed")))
    return text

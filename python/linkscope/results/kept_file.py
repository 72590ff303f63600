"""Files that linkscope keeps of a node from one run to the next, in the user's own folders, as JSON."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkscope.documents.whole_file import put_whole


@dataclass(frozen=True)
class KeptFolder:
    """A folder below the one that ``variable`` names, or where it names none, below ``usual`` in the user's home.

    ``indent``: of its files; None: they are for programs alone. Larger files than ``most_bytes`` are no use.
    """

    variable: str
    usual: str
    name: str
    most_bytes: int
    indent: int | None = None

    def path(self, name: str, environment: Mapping[str, str] = os.environ) -> Path:
        """Return the path of the file of that name, present or not. Any name is safe: a host may have chosen it."""
        named = Path(environment.get(self.variable, ""))
        home = named if named.is_absolute() else Path(environment.get("HOME", "/")) / self.usual
        return home / "linkscope" / self.name / (_safe(name) + ".json")

    def read(self, path: Path) -> Any:
        """Return what is in the file. Raises OSError, and ValueError or RecursionError where that is no JSON."""
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("not a file")
        with path.open("rb") as stream:
            data = stream.read(self.most_bytes + 1)
        if len(data) > self.most_bytes:
            raise ValueError(f"larger than {self.most_bytes} bytes")
        return json.loads(data, parse_constant=_refuse)

    def write(self, path: Path, data: Any) -> None:
        """Puts ``data`` there in place of what was, whole or not at all. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        put_whole(path, json.dumps(data, indent=self.indent, allow_nan=False).encode())


def _safe(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name).strip(".-")[:200] or "node"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no figure")

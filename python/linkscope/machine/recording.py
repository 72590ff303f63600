"""Recording: all that discover() and read_state() need of a machine in one JSON file, so that it can be a test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.machine import nvml
from linkscope.machine.discover import build_node
from linkscope.machine.files import LiveFiles, RecordedFiles, RecordingFiles
from linkscope.machine.node import Node
from linkscope.machine.state import MachineState, build_state

FORMAT = "linkscope-machine-recording"
VERSION = 1


@dataclass(frozen=True)
class Recording:
    """``origin`` says where the data comes from: "recorded on the machine" or "constructed from ..."."""

    origin: str
    description: dict[str, Any]
    files: RecordedFiles
    nvml: dict[str, Any]

    def node(self) -> Node:
        """Return what discover() finds on that machine."""
        return build_node(self.description, self.files, self.nvml)

    def state(self) -> MachineState:
        """Return what read_state() finds on that machine."""
        return build_state(self.description, self.files, self.nvml)

    def save(self, destination: str | Path) -> None:
        """Writes the one JSON file."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "origin": self.origin,
            "description": self.description,
            "nvml": self.nvml,
            "files": self.files.to_json(),
        }
        Path(destination).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def record(destination: str | Path, description: dict[str, Any], origin: str = "recorded on the machine") -> Recording:
    """Captures this machine into one JSON file. Serial numbers, UUIDs and host names are never read."""
    files = RecordingFiles(LiveFiles())
    answers = nvml.read()
    build_node(description, files, answers)
    build_state(description, files, answers)
    recording = Recording(origin, description, files.kept, answers)
    recording.save(destination)
    return recording


def load_recording(path: str | Path) -> Recording:
    """Raises LinkscopeError for a file that is no recording."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise LinkscopeError(f"cannot read the machine recording {path}: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        raise LinkscopeError(
            f"{path} is not a machine recording of version {VERSION}; linkscope.machine.recording.record makes one"
        )
    return Recording(data["origin"], data["description"], RecordedFiles.from_json(data["files"]), data["nvml"])


def from_recording(path: str | Path) -> Node:
    """The recorded machine's Node. Raises LinkscopeError for a file that is no recording."""
    return load_recording(path).node()

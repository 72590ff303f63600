"""Shared memory that killed processes leave: removed where it is theirs, and nobody else's is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscope.launch.process.shared_memory import FOLDER, SharedMemory, remove_noted

MAPPER = """
import mmap, sys
with open(sys.argv[1], "r+b") as segment:
    mapped = mmap.mmap(segment.fileno(), mmap.PAGESIZE)
    print("mapped", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def segment() -> Iterator[Path]:
    path = FOLDER / f"linkscope-test-{os.getpid()}"
    yield path
    path.unlink(missing_ok=True)


def map_it(path: Path) -> subprocess.Popen[str]:
    """A process that has mapped the segment."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAPPER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "mapped\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_what_a_killed_process_mapped_is_removed(segment: Path) -> None:
    memory = SharedMemory()
    segment.write_bytes(bytes(1 << 16))
    process = map_it(segment)
    memory.look([process.pid])
    end(process)
    memory.sweep()
    assert not segment.exists()


def test_what_another_process_still_maps_stays(segment: Path) -> None:
    memory = SharedMemory()
    segment.write_bytes(bytes(1 << 16))
    process, other = map_it(segment), map_it(segment)
    memory.look([process.pid])
    end(process)
    memory.sweep()
    assert segment.exists()
    end(other)


def test_what_was_there_before_stays(segment: Path) -> None:
    segment.write_bytes(bytes(1 << 16))
    memory = SharedMemory()
    process = map_it(segment)
    memory.look([process.pid])
    end(process)
    memory.sweep()
    assert segment.exists()


def test_processes_are_looked_at_once_a_second_or_when_there_is_reason_to(segment: Path) -> None:
    memory = SharedMemory()
    memory.look([])
    segment.write_bytes(bytes(1 << 16))
    process = map_it(segment)
    memory.hurry()
    memory.look([process.pid])
    end(process)
    memory.sweep()
    assert not segment.exists()


def test_a_segment_that_comes_up_is_looked_at_at_once_while_processes_set_themselves_up(segment: Path) -> None:
    memory = SharedMemory()
    memory.watch([])
    segment.write_bytes(bytes(1 << 16))
    memory.watch([])  # nobody has mapped it yet
    process = map_it(segment)
    memory.watch([process.pid])
    end(process)
    memory.sweep()
    assert not segment.exists()


def noted_and_killed(segment: Path, noted: Path) -> None:
    """A segment that was seen by a linkscope which is gone, as is the process that mapped it."""
    memory = SharedMemory(noted)
    segment.write_bytes(bytes(1 << 16))
    process = map_it(segment)
    memory.look([process.pid])
    end(process)


def test_what_was_noted_is_removed_by_whoever_comes_after(segment: Path, tmp_path: Path) -> None:
    noted_and_killed(segment, tmp_path / "noted")
    assert remove_noted(tmp_path / "noted")
    assert not segment.exists()
    assert remove_noted(tmp_path / "noted")
    assert remove_noted(tmp_path / "nothing was ever noted")


def test_what_was_noted_and_is_mapped_stays_for_later(segment: Path, tmp_path: Path) -> None:
    noted_and_killed(segment, tmp_path / "noted")
    other = map_it(segment)
    assert not remove_noted(tmp_path / "noted")
    assert segment.exists()
    end(other)
    assert remove_noted(tmp_path / "noted")
    assert not segment.exists()


def test_another_segment_of_the_same_name_stays(segment: Path, tmp_path: Path) -> None:
    noted_and_killed(segment, tmp_path / "noted")
    again = segment.with_name(f"{segment.name}-again")
    again.write_bytes(b"somebody else's")
    again.replace(segment)
    assert remove_noted(tmp_path / "noted")
    assert segment.exists()


@pytest.mark.parametrize("note", ["", "no JSON", "[]", '["../tmp/something", "", 0, 0]', '{"name": 1}', "[1]"])
def test_what_is_no_note_removes_nothing(segment: Path, tmp_path: Path, note: str) -> None:
    segment.write_bytes(b"")
    (tmp_path / "noted").write_text(note)
    assert remove_noted(tmp_path / "noted")
    assert segment.exists()

"""Pastes: what another tool printed is read however it was pasted, and no figure is one that is not in the text."""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.importers.imported_run import pasted
from linkscope.importers.importers import IMPORTERS, read
from linkscope.importers.pasted_text import cleaned, decoded
from linkscope.importers.peer_output import Source

FOLDER = Path(__file__).parents[1] / "fixtures" / "importers"
SAMPLES = sorted(path for path in FOLDER.iterdir() if path.suffix != ".md")
MUTATIONS = 100
SCALES = (1e3, 1.0, 1e-3, 1e-6, 1e-9, 2**20 * 1e-9, 2**30 * 1e-9, 2**20 * 1e-6, 1 / 8, 1e-3 / 8)
"""What turns a printed number into GB/s or seconds."""
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

Lines = Sequence[str]


def tagged(lines: Lines, draw: random.Random) -> list[str]:
    rank = draw.randrange(8)
    return [f"[1,{rank}]<stdout>:{line}" for line in lines]


def labelled(lines: Lines, draw: random.Random) -> list[str]:
    return [f"{draw.randrange(2)}: {line}" for line in lines]


def logged(lines: Lines, draw: random.Random) -> list[str]:
    return [f"2026-11-27 10:{draw.randrange(60):02}:01,123 - INFO - {line}" for line in lines]


def indented(lines: Lines, draw: random.Random) -> list[str]:
    return [f"    {line}" for line in logged(lines, draw)]


def quoted(lines: Lines, draw: random.Random) -> list[str]:
    return [f"{'> ' * draw.randint(1, 2)}{line}" for line in lines]


def coloured(lines: Lines, draw: random.Random) -> list[str]:
    return [f"\x1b[{draw.randint(30, 37)}m{line}\x1b[0m\r" for line in lines]


def cut(lines: Lines, draw: random.Random) -> list[str]:
    first, last = sorted(draw.sample(range(len(lines) + 1), 2))
    return list(lines[first:last])


def elided(lines: Lines, draw: random.Random) -> list[str]:
    first, last = sorted(draw.sample(range(len(lines) + 1), 2))
    return [*lines[:first], draw.choice(["...", "---", "", "[...]"]), *lines[last:]]


def interleaved(lines: Lines, draw: random.Random) -> list[str]:
    noise = ["node-1:25:66 [0] NCCL INFO Channel 00/02 : 0 1", "Warning: something 1 2 3", "", "+ set -x"]
    return [one for line in lines for one in ([draw.choice(noise), line] if draw.random() < 0.3 else [line])]


def reordered(lines: Lines, draw: random.Random) -> list[str]:
    at = draw.randrange(len(lines) + 1)
    return [*lines[at:], *lines[:at]]


def shuffled(lines: Lines, draw: random.Random) -> list[str]:
    found = list(lines)
    for _ in range(draw.randint(1, 5)):
        a, b = draw.randrange(len(found)), draw.randrange(len(found))
        found[a], found[b] = found[b], found[a]
    return found


def clipped(lines: Lines, draw: random.Random) -> list[str]:
    width = draw.randint(10, 80)
    return [line[:width] for line in lines]


WRAPPERS = (tagged, labelled, logged, indented, quoted, coloured)
CHANGES: tuple[Callable[[Lines, random.Random], list[str]], ...] = (
    *WRAPPERS,
    *(cut, elided, interleaved, reordered, shuffled, clipped),
)


def numbers(text: str) -> list[float]:
    return sorted({float(word) * scale for word in NUMBER.findall(text) for scale in SCALES})


def is_in(value: float, known: list[float]) -> bool:
    at = bisect_left(known, value)
    return any(abs(one - value) <= 1e-9 * value for one in known[max(at - 1, 0) : at + 2])


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_paste_however_changed_gives_only_numbers_that_it_holds(path: Path) -> None:
    draw, figures = random.Random(path.name), 0
    lines = decoded(path.read_bytes(), path.name).split("\n")
    most = 60  # changes of JSON are seldom readable: few of them are enough
    for number in range(MUTATIONS if not path.name.endswith(".json") else most):
        changed = lines
        for change in draw.sample(CHANGES, draw.randint(1, 2)):
            changed = change(changed, draw) or [""]
        text = "\n".join(changed)
        try:
            paste = read(Source(path, decoded(text.encode(), path.name), processes=2))
        except LinkscopeError:
            continue
        known = numbers(paste.source.text)
        for output in paste.outputs:
            figures += len(output.figures)
            for figure in output.figures:
                printed = figure.parts or (figure.value,)
                ends = [end for one in printed for end in ([one.min, one.max] if one.n > 1 else [one.median])]
                assert all(is_in(one, known) for one in ends), (number, output.tool, figure)
    assert figures > 0 or path.name.endswith((".json", ".jsonl")), "nothing was read of any changed paste"


@pytest.mark.parametrize("path", [path for path in SAMPLES if path.suffix == ".txt"], ids=lambda path: path.name)
@pytest.mark.parametrize("wrapper", WRAPPERS, ids=lambda one: one.__name__)
def test_what_a_launcher_or_logger_puts_before_lines_changes_nothing(
    path: Path, wrapper: Callable[[Lines, random.Random], list[str]]
) -> None:
    text = decoded(path.read_bytes(), path.name)
    plain = read(Source(path, text, processes=2))
    lines = wrapper(text.split("\n"), random.Random(1))
    wrapped = read(Source(path, decoded("\n".join(lines).encode(), path.name), processes=2))
    assert [output.figures for output in wrapped.outputs] == [output.figures for output in plain.outputs]


def test_as_many_lines_come_out_as_go_in() -> None:
    text = decoded(b"a\r\n\x1b[1mb\n> > c\n\n50%\r100%\n", "")
    assert cleaned(text) == ["a", "b", "c", "", "100%", ""]


def test_ten_thousand_lines_are_read_at_once(tmp_path: Path) -> None:
    """The work is linear: ten times the lines of a table give ten times the figures. A test asserts no time."""
    path = FOLDER / "nccl-tests-2.19.txt"
    text = path.read_text()
    rows = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    long = tmp_path / "long.txt"
    long.write_text(text + "\n".join(rows * (10_000 // len(rows))))
    assert len(pasted([long]).rows) >= 1000


def test_every_reader_is_found_by_its_own_samples() -> None:
    assert all(any(one.recognises("\n".join(cleaned(p.read_text()))) for one in IMPORTERS.values()) for p in SAMPLES)

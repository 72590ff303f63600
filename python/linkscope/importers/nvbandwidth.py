"""nvbandwidth 0.8 to 0.10, as text and as JSON (-j). Formats: output.cpp, json_output.cpp and inline_common.h there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, TypedDict

from msgspec import Meta

from linkscope.importers.peer_output import (
    GBPS,
    MOST_GPUS,
    SECONDS,
    Figure,
    Gpu,
    NotRun,
    PeerOutput,
    Source,
    single,
    version_of,
)

TOOL = "nvbandwidth"
VERSIONS = ("0.8", "0.9", "0.10")
SUITES = ("nvbandwidth",)
_BUFFER = 512 << 20
"""Bytes of a copy, unless -b says otherwise, which nothing that it prints tells."""
_CHASED = 2 << 20
"""Of its latency tests, always."""
_ASSUMED = "nvbandwidth does not print its buffer's size: its default, 512 MiB, is taken"
_DEVICE = re.compile(r"(?:Device )?(\d{1,6}): (.{0,200}?) \(([0-9a-fA-F:.]{1,20})\)(?:: \((.{0,200})\))?")
_RUNNING = re.compile(r"Running (\w{1,100})\.")
_MATRIX = re.compile(r" +0(?: +\d+)*")
_FACTS = ("CUDA Runtime Version", "CUDA Driver Version", "Driver Version")
_OUTCOMES = {"Waived": "skipped"}
Matrix = list[list[str]]


class _Test(TypedDict):
    name: Annotated[str, Meta(max_length=200)]
    status: Annotated[str, Meta(max_length=1024)]


class _WithMatrix(_Test, total=False):
    bandwidth_matrix: list[list[str]]
    error: Annotated[str, Meta(max_length=4096)]


_Root = TypedDict(
    "_Root",
    {
        "version": str,
        "testcases": list[_WithMatrix],
        "CUDA Runtime Version": int,
        "Driver Version": str,
        "GPU Device list": list[str],
        "error": str,
    },
    total=False,
)


class _Document(TypedDict):
    nvbandwidth: _Root


def recognises(text: str) -> bool:
    """Whether a text looks like nvbandwidth's."""
    start = text[:4096]
    return "nvbandwidth Version:" in start or re.search(r'\A\s*\{\s*"nvbandwidth"\s*:', start) is not None


def read(source: Source) -> PeerOutput:
    """Raises LinkscopeError."""
    return _json(source) if source.text.lstrip().startswith("{") else _text(source)


def _json(source: Source) -> PeerOutput:
    root = source.json(_Document)["nvbandwidth"]
    version = version_of(source, root.get("version", "?"), 0, VERSIONS, TOOL)
    devices = [_device(source, 0, text) for text in root.get("GPU Device list", ())]
    gpus = [gpu for gpu, _ in devices]
    figures: list[Figure] = []
    not_run: list[NotRun] = []
    for number, test in enumerate(root.get("testcases", ())):
        name, matrix = test["name"], test.get("bandwidth_matrix")
        if matrix:
            figures += _figures(source, 0, name, matrix, len(gpus))
        elif test["status"] not in ("Passed", "Running") or "error" in test:
            not_run.append(_refusal(name, test["status"], test.get("error", "")))
        else:
            raise source.wrong(0, f"nvbandwidth.testcases[{number}]: {name} has no results (cut short?)")
    said = {name: str(value) for name, value in root.items() if name in _FACTS}
    host = next((host for _, host in devices if host), "")
    return _output(source, version, gpus, figures, not_run, said, host)


def _text(source: Source) -> PeerOutput:
    version, test, host = "", "", ""
    gpus: list[Gpu] = []
    said: dict[str, str] = {}
    not_run: list[NotRun] = []
    matrices: dict[str, tuple[int, Matrix]] = {}
    lines = iter(enumerate(source.lines, 1))
    before = ""
    for number, line in lines:
        word, _, rest = line.partition(": ")
        if word == "nvbandwidth Version":
            version = version_of(source, rest.strip(), number, VERSIONS, TOOL)
        elif word in _FACTS:
            said[word] = rest.strip()[:100]
        elif line.startswith("Device ") and not test:
            gpus.append(_device(source, number, line)[0])
            host = host or (before if re.fullmatch(r"[\w.-]{1,255}", before) else "")
        elif match := _RUNNING.fullmatch(line):
            test = match[1]
        elif _MATRIX.fullmatch(line) and test:
            matrix = list(_rows(source, lines, len(line.split())))
            matrices[test] = (number, matrices.get(test, (0, []))[1] + matrix)
        elif word == "Error" and test:  # that it waived a test it says without its name
            not_run.append(_refusal(test, word, rest))
        before = line.strip()
    figures = [
        one for name, (number, matrix) in matrices.items() for one in _figures(source, number, name, matrix, len(gpus))
    ]
    if not version:
        raise source.wrong(0, "no version of nvbandwidth: the line `nvbandwidth Version: v0.8` is missing")
    return _output(source, version, gpus, figures, not_run, said, host)


def _rows(source: Source, lines: Iterator[tuple[int, str]], columns: int) -> Iterator[list[str]]:
    """A matrix's rows, up to the blank line that ends it."""
    for number, line in lines:
        words = line.split()
        if not words:
            return
        if len(words) != columns + 1:
            raise source.wrong(number, f"{len(words) - 1} results in a row of {columns} (cut short?)")
        yield words[1:]


def _device(source: Source, line: int, text: str) -> tuple[Gpu, str]:
    """The GPU and the host that it names."""
    match = _DEVICE.fullmatch(text)
    if match is None:
        raise source.wrong(line, f"{text[:80]!r} names no GPU as nvbandwidth does")
    return Gpu(match[2], match[3].lower()), match[4] or ""


def _refusal(test: str, status: str, why: str) -> NotRun:
    reason = f"nvbandwidth says {status}" + (f": {' '.join(why.split())[:200]}" if why.strip() else "")
    return NotRun(f"{TOOL} {test}", _OUTCOMES.get(status, "failed"), reason)


def _figures(source: Source, line: int, test: str, matrix: Matrix, gpus: int) -> Iterator[Figure]:
    """Of a test's matrices, one below the other. Of several the last is the total, and those before it its parts."""
    widths = {len(row) for row in matrix}
    if len(widths) != 1 or not 0 < min(widths) <= MOST_GPUS:
        raise source.wrong(line, f"{test}: its rows are no matrix (cut short?)")
    gpus = gpus or min(widths)
    height = gpus if len(matrix) >= gpus > 1 else 1
    blocks = [matrix[at : at + height] for at in range(0, len(matrix), height)]
    if len(blocks) not in (1, 3) or len(blocks[-1]) != height:
        raise source.wrong(line, f"{test}: {len(matrix)} rows of {gpus} GPUs (cut short?)")
    latency = "latency" in test
    for i, row in enumerate(blocks[-1]):
        for j, word in enumerate(row):
            if word == "N/A" or word in ("0.00", "0"):
                continue
            values = [source.number(block[i][j], line, f"{test}, row {i}, column {j}") for block in blocks]
            yield Figure(
                f"{TOOL} {test}",
                single(values[-1] * (1e-9 if latency else 1)),
                SECONDS if latency else GBPS,
                f"gpu:{i}" if height > 1 else "",
                f"gpu:{j}",
                _CHASED if latency else _BUFFER,
                parts=tuple(single(value) for value in values[:-1]),
                notes=() if latency else (_ASSUMED,),
            )


def _output(
    source: Source,
    version: str,
    gpus: Sequence[Gpu],
    figures: Sequence[Figure],
    not_run: Sequence[NotRun],
    said: Mapping[str, str],
    host: str,
) -> PeerOutput:
    if not figures and not not_run:
        raise source.wrong(0, "nvbandwidth printed no results")
    columns = [int(figure.column.removeprefix("gpu:")) + 1 for figure in figures]
    listed = tuple(gpus) or (Gpu(),) * max(columns, default=1)
    return PeerOutput(TOOL, version, SUITES, tuple(figures), listed, tuple(not_run), said, host)

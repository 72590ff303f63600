"""Damaged run files: mutations of a good one, and what every reader makes of them."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from workload_rows import HALO, line, pattern_rows, workload_case

from linkscope.answers.calibrate import answer as calibrate
from linkscope.answers.check import limits_of
from linkscope.answers.compare import answer as compare
from linkscope.answers.questions import ask
from linkscope.codecs.tuner import formats
from linkscope.errors import LinkscopeError
from linkscope.figures.export import export
from linkscope.figures.run import Run
from linkscope.notebook import displays
from linkscope.render import render as as_form
from linkscope.render.page import page
from linkscope.results.limits import Limits
from linkscope.results.run_file import RunFile

assert displays.html, "what runs show is registered"
GOOD = Path(__file__).parents[1] / "fixtures" / "turns" / "h200x2-1.jsonl"
ODD: tuple[Any, ...] = (
    *(None, True, False, "", "x", "\x1b[31mred\x1b[0m", "\ud800", "gpu:99999", "numa:-1", "a" * 70_000, -1, 0, 1, 0.5),
    *(2**31, 2**63, 10**40, -1e308, 1e308, 5e-324, float("nan"), float("inf"), [], {}, [[]], [None], {"": None}, [{}]),
)


def good_lines(most: int = 14) -> list[Any]:
    """Of a real run: its header, a few rows, a state."""
    lines = [json.loads(line) for line in GOOD.read_text(encoding="utf-8").splitlines()]
    kept = [lines[0], *[line for line in lines if line["record"] == "row"][: most - 2], lines[-1]]
    ids = {line["id"] for line in kept if line["record"] == "row"}
    kept[0]["plan"]["ids"] = [name for name in lines[0]["plan"]["ids"] if name in ids]
    return kept


def with_workloads(lines: list[Any]) -> list[Any]:
    """The same with rows of workloads."""
    rows = [line(workload_case(HALO, "halo"), 0.01), *(row.raw for row in pattern_rows())]
    lines[0]["plan"]["ids"] += [row["id"] for row in rows]
    return [*lines[:-1], *rows, lines[-1]]


def mutations(seed: int) -> Iterator[bytes]:
    """Without end: one to three faults each, in a value, a key or the bytes."""
    rng, good = random.Random(seed), with_workloads(good_lines(8))
    while True:
        lines = copy.deepcopy(good)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            spoil(rng, rng.choice(lines))
        data = b"".join(json.dumps(line).encode("utf-8", "surrogatepass") + b"\n" for line in lines)
        yield bytes_spoilt(rng, data) if rng.random() < 0.15 else data


def spoil(rng: random.Random, tree: Any) -> None:
    """One value somewhere in the tree becomes another, goes, or stands there twice."""
    place = tree
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        way = rng.random()
        if way < 0.75:
            place[key] = copy.deepcopy(rng.choice(ODD))
        elif way < 0.9:
            del place[key]
        elif isinstance(place, list):
            place.append(copy.deepcopy(place[key]))
        else:
            place[f"{key}x"] = place[key]
        return


def bytes_spoilt(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: data[:at],
        lambda: data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
        lambda: data[:at] + b"[" * 100_000 + data[at:],
        lambda: data[:at] + data[at // 2 :],
    )
    return rng.choice(ways)()


def outcome(path: Path, good: RunFile) -> str:
    """ "read" where every reader made something of the file, "refused" where it says in one line why not.

    Whatever else happens is raised.
    """
    try:
        run = RunFile.read(path)
    except LinkscopeError as error:
        if len(str(error).splitlines()) != 1:
            raise
        return "refused"
    for use in (_shown, _explained, lambda one: page([Run.of(one)]), _chosen, _analyzed, _checked, _displayed):
        use(run)
    for suffix in (".csv", ".parquet"):
        export([Run.of(run)], path.with_suffix(suffix))
    sides = Run.of(good), Run.of(run)
    for pair in (sides, sides[::-1], (sides[1], sides[1])):
        with contextlib.suppress(LinkscopeError):
            answer = compare(*pair)
            assert "\x1b[31mred" not in as_form(answer, full=True)
            as_form(answer, "json")
    with contextlib.suppress(LinkscopeError):
        as_form(calibrate(*sides), "json")
    return "read"


def _shown(run: RunFile) -> None:
    found = ask("show", run)
    json.loads(as_form(found, "json"))
    text = as_form(found, full=True)
    assert text
    assert "\x1b" not in text


def _explained(run: RunFile) -> None:
    found = ask("explain", run)
    json.loads(as_form(found, "json"))
    assert as_form(found, full=True)


def _chosen(run: RunFile) -> None:
    found = ask("choose", run)
    json.loads(as_form(found, "json"))
    assert as_form(found, full=True)


def _analyzed(run: RunFile) -> None:
    found = ask("analyze", run)
    json.loads(as_form(found, "json"))
    assert as_form(found, full=True)


def _checked(run: RunFile) -> None:
    found = ask("check", run, limits=good_limits())
    json.loads(as_form(found, "json"))
    assert as_form(found, full=True)
    ElementTree.fromstring(as_form(found, "junit"))
    assert "\x1b" not in as_form(found, "prometheus")
    for form in ("json-line", "dcgm"):
        json.loads(as_form(found, form))
    with contextlib.suppress(LinkscopeError):  # no figure that a limit could be of
        limits_of([Run.of(run), Run.of(run)], "2026-01-01").text()
    for name in formats.FORMATS:
        with contextlib.suppress(LinkscopeError):  # not what that system needs
            formats.export(name, Run.of(run))


def _displayed(run: RunFile) -> None:
    assert "\x1b" not in str(run._repr_html_())
    assert len(repr(run).splitlines()) == 1
    with contextlib.suppress(LinkscopeError):  # nothing to draw
        ElementTree.fromstring(run.plot().svg)


@cache
def good_limits() -> Limits:
    """Return what good runs of that node suggest."""
    return limits_of([Run.of(path) for path in sorted(GOOD.parent.glob("h200x2-*.jsonl"))], "2026-01-01")


def run_outcome(path: Path) -> str:
    """``outcome`` beside the good run."""
    return outcome(path, RunFile.read(GOOD))


def tally(damaged: Iterator[bytes], count: int, path: Path, judge: Callable[[Path], str]) -> Counter[str]:
    """Of so many damaged files at ``path``: how many were read, how many refused, and what else happened, by where."""
    counts: Counter[str] = Counter()
    for data in islice(damaged, count):
        path.write_bytes(data)
        try:
            counts[judge(path)] += 1
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            counts[f"{type(error).__name__}: {str(error)[:80]} ({Path(last.filename).name}:{last.lineno})"] += 1
    return counts


if __name__ == "__main__":  # python tests/python/hostile_runs.py COUNT SEED: what the suite does, at length
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "run.jsonl"
        for what, number in tally(mutations(int(sys.argv[2])), int(sys.argv[1]), file, run_outcome).most_common():
            sys.stdout.write(f"{number} {what}\n")

"""Damaged suites, machine files, limits and calibrations: mutations of good ones, and what becomes of them."""

from __future__ import annotations

import copy
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml
from hostile_runs import GOOD, bytes_spoilt, good_limits, spoil, tally
from suite_text import OFFER

from linkscope.answers.calibrate import calibration as calibrated
from linkscope.answers.questions import ask
from linkscope.answers.topology import to_json, topology
from linkscope.documents.yaml_file import SuiteLoader
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.machine.described import load_machine
from linkscope.machine.paths import Paths
from linkscope.modelled.machine import ModelledMachine
from linkscope.plan.expand import expand
from linkscope.plan.select import Selection
from linkscope.plan.suites import load_suite
from linkscope.render import render
from linkscope.render.svg.node import draw
from linkscope.results import calibration
from linkscope.results.limits import load_limits
from linkscope.results.run_file import RunFile
from linkscope.suites import SUITES

MACHINES = Path(__file__).resolve().parents[2] / "machines"


def mutations(good: list[Any], seed: int) -> Iterator[bytes]:
    """Without end, as JSON, which is YAML: one to three faults each, in a value, a key or the bytes."""
    rng = random.Random(seed)
    while True:
        data = copy.deepcopy(rng.choice(good))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            spoil(rng, data)
        text = json.dumps(data, ensure_ascii=False, indent=1)
        text = text.replace("NaN", ".nan").replace("Infinity", ".inf")
        spoilt = text.encode("utf-8", "surrogatepass")
        yield bytes_spoilt(rng, spoilt) if rng.random() < 0.15 else spoilt


def _suites() -> list[Any]:
    whole = [yaml.load(path.read_text(), SuiteLoader) for path in sorted(SUITES.glob("*.yaml"))]
    return [{**one, "rows": [row]} for one in whole for row in one.get("rows", ())[:4]]


def _suite(path: Path) -> str:
    return _judged(lambda: expand([load_suite(str(path))], load_machine("h200x4"), OFFER, Selection()))


def _machines() -> list[Any]:
    return [yaml.safe_load((MACHINES / f"{name}.yaml").read_text()) for name in ("h200x4", "s822lc", "mi300a")]


def _machine(path: Path) -> str:
    def use() -> None:
        node = load_machine(str(path))
        render(topology(node), full=True)
        draw(node)
        json.dumps([to_json(node), ModelledMachine(Paths(node)).capacities], allow_nan=False)

    return _judged(use)


def _limits() -> list[Any]:
    whole = msgspec.to_builtins(good_limits())
    return [{**whole, "limits": whole["limits"][:3]}]


def _limit(path: Path) -> str:
    return _judged(lambda: ask("check", GOOD, limits=load_limits(path)))


def _calibrations() -> list[Any]:
    runs = [RunFile.read(path) for path in sorted(GOOD.parent.glob("h200x2-*.jsonl"))]
    found = json.loads(json.dumps(calibrated([Run.of(run) for run in runs]).noise.to_json()))
    short = {name: dict(list(found[name].items())[:3]) for name in ("runs", "replicates")}
    return [{"schema": calibration.SCHEMA, "calibrations": [{**found, **short}]}]


def _calibration(path: Path) -> str:
    def use() -> None:
        try:
            kept = calibration._read(path)
        except (ValueError, RecursionError) as error:  # as load() tells it
            raise LinkscopeError(" ".join(str(error).split())[:200]) from error
        json.dumps(calibration.noise_of(kept, ["a", *kept[0].runs]), allow_nan=False)

    return _judged(use)


def _judged(use: Callable[[], object]) -> str:
    try:
        use()
    except LinkscopeError as error:
        if len(str(error).splitlines()) != 1:
            raise
        return "refused"
    return "read"


KINDS: dict[str, tuple[Callable[[], list[Any]], Callable[[Path], str]]] = {
    "suite": (_suites, _suite),
    "machine": (_machines, _machine),
    "limits": (_limits, _limit),
    "calibration": (_calibrations, _calibration),
}

if __name__ == "__main__":  # python tests/python/hostile_files.py KIND COUNT SEED
    good, judge = KINDS[sys.argv[1]]
    with tempfile.TemporaryDirectory() as scratch:
        found = tally(mutations(good(), int(sys.argv[3])), int(sys.argv[2]), Path(scratch) / "file.yaml", judge)
    for what, number in found.most_common():
        sys.stdout.write(f"{number} {what}\n")

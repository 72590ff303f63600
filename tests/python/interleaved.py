"""Interleaved: sides of a comparison in turns as run files, made of a recorded run with planted noise and changes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from linkscope.answers.ab import answer
from linkscope.answers.answer import Answer
from linkscope.figures.run import Run
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
Noise = Callable[[random.Random], float]


def quiet(draw: random.Random) -> float:
    """Return a logarithm of GPUs that nobody disturbs: 0.2%."""
    return draw.gauss(0.0, 0.002)


def heavy(draw: random.Random) -> float:
    """Return a logarithm with heavy tails: Student's t of three degrees of freedom, and one in thirty 20% slow."""
    scale = math.sqrt(sum(draw.gauss(0.0, 1.0) ** 2 for _ in range(3)) / 3)
    return 0.003 * draw.gauss(0.0, 1.0) / max(scale, 1e-3) - 0.2 * (draw.random() < 1 / 30)


def two_speeds(draw: random.Random) -> float:
    """Return a logarithm of what half of all processes do 10% slower."""
    return draw.gauss(0.0, 0.001) - 0.1 * (draw.random() < 0.5)


def sides(
    recorded: Path,
    seed: int,
    slower: Callable[[Json], float] = lambda case: 0.0,
    noise: Noise = quiet,
    rounds: int = 10,
    drift: float = 0.0,
    names: Sequence[str] = ("a", "b"),
) -> list[Run]:
    """Return the sides of a comparison whose last side is slower by ``slower`` of a case (a share of its time).

    ``drift``: standard deviation of a turn's step, which all cases of the turn and the turns after it share.
    """
    draw = random.Random(seed)
    before = RunFile.read(recorded)
    rows = [row for row in before.rows if row.status == "ok"]
    level, levels = 0.0, {}
    order = list(names)
    for number in range(rounds):
        if number % 2 == 0:
            draw.shuffle(order)
        for side in order if number % 2 == 0 else reversed(order):
            level += drift * draw.gauss(0.0, 1.0)
            levels[side, number] = level
    found = []
    for side in names:
        lines = []
        for row in rows:
            line = (row.replicates or (row,))[0].raw
            for number in range(rounds):
                speed = noise(draw) + levels[side, number]
                speed -= math.log1p(slower(line["case"])) if side == names[-1] else 0.0
                lines.append(_at({**line, "replicate": number}, math.exp(speed)))
        interleaved = {"group": "planted", "side": side, "sides": list(names), "settings": ["as-is"]}
        header = {**before.header, "interleaved": interleaved}
        header["plan"] = {**header["plan"], "ids": [row.id for row in rows]}
        found.append(Run(_file(Path(f"{side}.jsonl"), [header, *lines])))
    return found


def _file(path: Path, records: Sequence[Json]) -> RunFile:
    return RunFile.of_lines(path, (json.dumps(record).encode() for record in records))


def _at(line: Json, speed: float) -> Json:
    """Return the row with all speeds times ``speed``."""
    flows = [
        {
            **flow,
            "seconds": _times(flow["seconds"], 1 / speed),
            **({"gbps": _times(flow["gbps"], speed)} if flow.get("gbps") else {}),
            "samples_s": [],
        }
        for flow in line["flows"]
    ]
    together = line.get("aggregate")
    more = {"aggregate": {**together, "gbps": _times(together["gbps"], speed)}} if together else {}
    return {**line, "flows": flows, **more}


def _times(stats: Json, factor: float) -> Json:
    return {name: value if name == "n" else value * factor for name, value in stats.items()}


def claims(found: Answer) -> list[str]:
    """Return the codes of what an answer says to differ."""
    said = (found.headline, *found.findings, *found.details)
    return [one.code for one in said if one.code.startswith(("ab.slower", "ab.faster", "ab.other", "ab.mixed"))]


def ask(runs: Sequence[Run]) -> Answer:
    """Return the answer of sides."""
    return answer(*runs)

"""Question: what a choice is about, in the words that programs look it up by; they never change within a version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from linkscope.answers.best import ANY, Choice

Json = dict[str, Any]

_ONE_RUN = "in part of one run"
_CLOCKS = {"model": "the model's clock", "device": "device clock", "host": "host clock"}
_TOGETHER = {
    "both": "both ways",
    "one-path": "{flows} flows on one path",
    "one-to-many": "1 to {flows}",
    "many-to-one": "{flows} to 1",
    "many": "{flows} flows",
    "many-both": "{flows} flows, both ways",
}
_CACHES = ("flushed", "warm")


@dataclass(frozen=True)
class Question:
    """``movement`` such as "GPU to GPU" or "all-reduce on 4 GPUs"; ``tier``: speed class of the path, "" within a
    device; ``memory``: "pinned > device" or "any memory"; ``conditions``: first the clock."""

    movement: str
    tier: str
    memory: str
    conditions: tuple[str, ...]

    @staticmethod
    def of(choice: Choice, apart: bool) -> Question:
        """Return the question of a choice; ``apart``: other choices have results of every run."""
        memory = "any memory" if choice.task.memories == ANY else choice.task.memories.replace(">", " > ")
        told = [*_conditions(choice), *([_ONE_RUN] if choice.part and apart else [])]
        return Question(_movement(choice), str(choice.task.line["tier"]), memory, tuple(told))

    @property
    def words(self) -> tuple[str, ...]:
        """Return movement, tier, memory and conditions, each as one text."""
        return self.movement, self.tier, self.memory, ", ".join(self.conditions)

    def to_json(self) -> Json:
        """Return a JSON-ready dict."""
        return {**asdict(self), "conditions": list(self.conditions)}


def _movement(choice: Choice) -> str:
    line, first = choice.task.line, choice.first
    code, _, where = choice.task.movement.partition("/")
    if line["workload"]:
        deck = str(line["deck"]).removeprefix(line["workload"]).removeprefix(", ")
        return f"{' '.join(filter(None, (line['workload'], deck)))} on {len(first['members'].split())} ranks"
    if where not in ("", "processes"):
        count, kind = where.partition("/")[0].removesuffix("s"), "ranks" if "rank" in where else "GPUs"
        apart = f" in {line['processes']} processes" if where.endswith("/processes") else ""
        return f"{code} on {count.removesuffix('gpu').removesuffix('rank')} {kind}{apart}"
    return _copy(code, first) + (", between processes" if where else "")


def _copy(code: str, first: Mapping[str, Any]) -> str:
    if code in ("gpu", "host"):
        return f"within a {'GPU' if code == 'gpu' else 'NUMA node'}"
    if "-" in code:
        who, verb, whose = code.split("-")
        memory = {"own": "its own", "peer": "another GPU's", "host": "host"}[whose]
        return f"{who.upper()} {verb} {memory} memory"
    source, destination = ("GPU" if first[end].startswith("gpu:") else "host" for end in ("source", "destination"))
    return f"{source} to {destination}"


def _conditions(choice: Choice) -> Iterator[str]:
    line = choice.task.line
    clock = [_CLOCKS[line["clock"]], *(["calls included"] if line["calls_included"] else [])]
    yield ", ".join([*clock, *(["both ways"] if line["both_ways"] else []), *filter(None, [line["call"]])])
    if line["together"]:
        yield _TOGETHER[line["together"]].format(flows=line["flows"]) + " at once"
    if line["load"] != "once":
        yield str(line["load"])
    if line["cache"] in _CACHES and not line["workload"]:
        yield f"{line['cache']} caches"
    graphs = [word for word in choice.task.asked if word.startswith("recorded=")]
    for word in choice.task.asked:
        yield f"graph of {word.partition('=')[2]}" if word in graphs else word.replace("=", " ", 1)
    if line["hosts"]:
        yield f"between {line['hosts']}"
    if choice.form and not graphs:
        yield choice.form

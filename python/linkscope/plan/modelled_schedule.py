"""Modelled schedules: the cost of each step on a machine model, by pair of ranks and size, for packs and copies."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from linkscope.machine.modelled_methods import Steps, modelled_methods
from linkscope.machine.node import Node
from linkscope.plan.candidates import nearest_numa

Json = dict[str, Any]
Ranks = tuple[int, int]
Choose = Callable[[list[Json], Json], str | None]
"""Gives the first of these flows, which are under way together in the case, its figures, or says why there are none."""


def give_schedule_figures(case: Json, flow: Json, node: Node, choose: Choose) -> str | None:
    """Gives a schedule's flow of ``case`` its ``schedule_figures``, or says why the description has none."""
    steps = _Steps(case, flow, node, choose)
    figures = steps.all()
    if steps.reason is not None:
        return steps.reason
    flow["schedule_figures"] = {name: value for name, value in figures.items() if value}
    return None


class _Steps:
    """The steps of one flow. ``reason``: why one of them has no figures."""

    def __init__(self, case: Json, flow: Json, node: Node, choose: Choose) -> None:
        self.case, self.flow, self.node, self.choose = case, flow, node, choose
        steps = modelled_methods()[flow["method"]].steps
        assert steps is not None
        self.steps: Steps = steps
        self.members: list[Json] = flow["members"]
        self.state: list[Json] = flow.get("state", [])
        self.staged = flow.get("parameters", {}).get("staging", "none") != "none"
        self.phases: list[Json] = [phase for loop in flow["schedule"]["loops"] for phase in loop["phases"]]
        self.reason: str | None = None

    def all(self) -> Json:
        """Return the figures of each kind of step."""
        found: Json = {}
        if self.staged:
            found |= self._staging()
        found["messages"] = self._figures(self._sizes(), self._message)
        if self.state:
            found["packs"] = self._figures(self._own(self._sizes()), self._pack)
        found["collectives"] = {kind: self._collective(kind) for kind in self._kinds()}
        return found

    def _staging(self) -> Json:
        on_host = next((one["device"] for one in self.members if one["device"].startswith("numa:")), None)
        if on_host is not None:
            self.reason = self.reason or f"messages in the memory of {on_host} need no staging"
            return {}
        full = self._own(self._full())
        return {
            "staged_on": [self._host(rank)["device"] for rank in range(len(self.members))],
            "copies_out": self._figures(full, self._copy_out),
            "copies_in": self._figures(full, self._copy_in),
        }

    def _sizes(self) -> dict[Ranks, set[int]]:
        """Return the sizes of the messages between every two ranks."""
        found: dict[Ranks, set[int]] = {}
        for phase in self.phases:
            for source, destination, size in phase["messages"]:
                found.setdefault((source, destination), set()).add(size)
        return found

    def _full(self) -> dict[Ranks, set[int]]:
        """The buffer between two ranks: as large as what any phase has under way between them at once."""
        most: Counter[Ranks] = Counter()
        for phase in self.phases:
            at_once: Counter[Ranks] = Counter()
            for source, destination, size in phase["messages"]:
                at_once[source, destination] += size
            most |= at_once
        return {pair: {size} for pair, size in most.items()}

    def _own(self, sizes: dict[Ranks, set[int]]) -> dict[Ranks, set[int]]:
        """Return what each rank has to do by itself of messages of these sizes, under the rank twice."""
        found: dict[Ranks, set[int]] = {}
        for pair, of_pair in sizes.items():
            for rank in pair:
                found.setdefault((rank, rank), set()).update(of_pair)
        return found

    def _figures(self, sizes: dict[Ranks, set[int]], step: Callable[[Ranks, int], list[Json]]) -> list[Json]:
        """Return step_figures (schema/plan.schema.json); pairs with equal figures share an entry."""
        grouped: dict[str, Json] = {}
        for pair in sorted(sizes):
            for low, high, size in _classes(sizes[pair], self._bounds(step(pair, 1)[0]["method"])):
                figures = self._chosen(step(pair, size))
                bounds = {"from_bytes": low} if low else {}
                bounds |= {} if high is None else {"below_bytes": high}
                key = json.dumps([bounds, figures], sort_keys=True)
                grouped.setdefault(key, {"pairs": [], **bounds, "figures": figures})["pairs"].append(list(pair))
        return list(grouped.values())

    def _chosen(self, flows: list[Json]) -> Json:
        """The figures of the first flow, which nobody waits for by itself; the first reason against it is kept."""
        asked = {"environment": self._settings(flows[0]["method"]), "clock": "device"}
        self.reason = self.reason or self.choose(flows, self.case | asked)
        figures: Json = flows[0].get("figures", {})
        return figures

    def _settings(self, method: str) -> dict[str, str]:
        """The case's variables are for its messages and their copies: they change a pack, or a collective of a few
        numbers, only where the description says so."""
        asked: dict[str, str] = self.case.get("environment", {})
        if method in (self.steps.messages, self.steps.staging.method):
            return asked
        rules = self.node.methods.get(method, {}).get("rules", [])
        known = {(name, str(value)) for rule in rules for name, value in rule["when"].get("environment", {}).items()}
        return {name: value for name, value in asked.items() if (name, value) in known}

    def _bounds(self, method: str) -> list[int]:
        """Sizes at which the description's rules for the method change, rising."""
        rules = self.node.methods.get(method, {}).get("rules", [])
        named = (rule["when"].get(name) for rule in rules for name in ("from_bytes", "below_bytes"))
        return sorted({size for size in named if size})

    def _kinds(self) -> Iterator[str]:
        asked = [one for phase in self.phases for one in phase.get("collectives", ())]
        ends = any(phase.get("termination", "none") != "none" for phase in self.phases)
        if ends or any(one["collective"] == "all-reduce" for one in asked):
            yield "all-reduce"
        if any(one["collective"] == "barrier" for one in asked):
            yield "barrier"

    def _message(self, ranks: Ranks, size: int) -> list[Json]:
        """And the one that comes back, where one does."""
        found = [self._one_message(ranks, size)]
        back = ranks[::-1]
        if any({ranks, back} <= {(a, b) for a, b, _ in phase["messages"]} for phase in self.phases):
            found.append(self._one_message(back, size))
        return found

    def _one_message(self, ranks: Ranks, size: int) -> Json:
        source, destination = (self._host(rank) if self.staged else self.members[rank] for rank in ranks)
        if self.steps.stores and self.state:
            source = self.state[ranks[0]]
        return _copy(self.steps.messages, source, destination, source["device"], size)

    def _pack(self, ranks: Ranks, size: int) -> list[Json]:
        """Return the figures of packing by the device that has the fields or particles."""
        state = self.state[ranks[0]]
        method = self.steps.packs[state["device"].partition(":")[0]]
        return [_copy(method, state, self.members[ranks[0]], state["device"], size)]

    def _copy_out(self, ranks: Ranks, size: int) -> list[Json]:
        member = self.members[ranks[0]]
        return [_copy(self.steps.staging.method, member, self._host(ranks[0]), member["device"], size)]

    def _copy_in(self, ranks: Ranks, size: int) -> list[Json]:
        member = self.members[ranks[0]]
        return [_copy(self.steps.staging.method, self._host(ranks[0]), member, member["device"], size)]

    def _host(self, rank: int) -> Json:
        return {"device": nearest_numa(self.node, self.members[rank]["device"]), "memory": self.steps.staging.memory}

    def _collective(self, kind: str) -> Json:
        devices = [one["device"] for one in self.members]
        memories = [self.steps.numbers[device.partition(":")[0]] for device in devices]
        flow: Json = {
            "method": self.steps.collectives,
            "executor": devices[0],
            "bytes": 0 if kind == "barrier" else 8,
            "members": [{"device": a, "memory": b} for a, b in zip(devices, memories, strict=True)],
            "parameters": {"collective": kind},
        }
        return self._chosen([flow])


def _copy(method: str, source: Json, destination: Json, executor: str, size: int) -> Json:
    return {"method": method, "executor": executor, "bytes": size, "source": source, "destination": destination}


def _classes(sizes: set[int], bounds: list[int]) -> Iterator[tuple[int, int | None, int]]:
    """Return the range in which the figures may change: from, below, and the smallest of ``sizes`` there."""
    found: dict[int, int] = {}
    for size in sorted(sizes):
        found.setdefault(bisect_right(bounds, size), size)
    for place, size in found.items():
        yield bounds[place - 1] if place else 0, bounds[place] if place < len(bounds) else None, size

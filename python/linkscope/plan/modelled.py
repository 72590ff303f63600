"""Modelled plans: the figures of each flow on a machine model, or why it has none."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

from linkscope.machine.modelled_methods import ModelledMethod, modelled_methods
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.machine.vendor import VENDORS, vendor_of
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.modelled_schedule import give_schedule_figures
from linkscope.plan.planned_case import PlannedCase

Json = dict[str, Any]

NOT_MODELLED = "not_modelled"
"""The label of a case that is skipped because the description lacks a figure."""
_FIGURES = ("latency_us", "step_us", "ceiling_gbps", "efficiency", "cached_gbps", "load_ns")


def modelled_case(case: Json, paths: Paths, catalog: EngineCatalog) -> PlannedCase:
    """``case`` with what the description has for its flows; one of which it has nothing is skipped, and labelled so."""
    reason = give_figures(case, paths, catalog)
    if reason is not None:
        case["labels"] = {**case.get("labels", {}), NOT_MODELLED: "yes"}
    return PlannedCase(case, reason)


def give_figures(case: Json, paths: Paths, catalog: EngineCatalog) -> str | None:
    """Gives each flow of ``case`` the figures that the description has for it, or says why it has none.

    Those are its method's, with what the first rule that is for the flow replaces.
    """
    for flow in case["flows"]:
        if _model_of(flow["method"]).motion == "schedule":
            reason = give_schedule_figures(case, flow, paths.node, partial(_step, paths=paths, catalog=catalog))
        else:
            reason = _settle(case, flow, paths, catalog)
        if reason is not None:
            return reason
    return None


def with_meaning(method: str) -> str:
    """Return a method's name, with what it is where another thing has that name."""
    means = _model_of(method).means
    return method if means is None else f"{method} ({means})"


def _model_of(method: str) -> ModelledMethod:
    """Return how models play a method; one that they do not play has nothing to say."""
    return modelled_methods().get(method, ModelledMethod("copy"))


def _settle(case: Json, flow: Json, paths: Paths, catalog: EngineCatalog) -> str | None:
    """Gives a flow its figures, or says why it has none."""
    reason = _out_of_reach(flow, paths.node, catalog)
    if reason is not None:
        return reason
    own = _model_of(flow["method"]).vendor
    if own is not None and vendor_of(paths.node, catalog.engine) not in (own, None):
        return f"{flow['method']} is for {VENDORS[own]} GPUs"
    described = _described(flow, paths.node)
    if described is None:
        return f"no data for {with_meaning(flow['method'])}"
    return _Choice(case, flow, described, paths).settle(catalog)


def _step(steps: list[Json], case: Json, paths: Paths, catalog: EngineCatalog) -> str | None:
    """The same for the first of these steps of a schedule, which are under way together."""
    return _settle({**case, "flows": steps, "labels": {}}, steps[0], paths, catalog)


def _described(flow: Json, node: Node) -> Json | None:
    name: str = flow["method"]
    return node.methods.get(name if name in node.methods else _model_of(name).like or name)


class _Choice:
    """Which of a method's figures are for one flow."""

    def __init__(self, case: Json, flow: Json, described: Json, paths: Paths) -> None:
        self.flow, self.described, self.node = flow, described, paths.node
        self.first, self.labels = case["flows"][0], case["labels"]
        self.asked: dict[str, str] = case.get("environment", {})
        self.environment = _worded(described.get("environment", {})) | self.asked
        self.parameters = _worded(described.get("parameters", {})) | _worded(flow.get("parameters", {}))
        self.clock = case["clock"]
        self.rules: list[Json] = described.get("rules", [])
        self.ends = [flow[end] for end in ("source", "destination") if end in flow] or flow.get("members", [])
        self.between = _between(flow)
        self.others = [_between(other) for other in case["flows"] if other is not flow]
        path = paths.between(*self.between)
        self.tier = "" if path is None else path.tier

    def settle(self, catalog: EngineCatalog) -> str | None:
        """Puts the figures into the flow, or says why there are none."""
        rule: Json = next((rule for rule in self.rules if self._fits(rule["when"])), {"when": {}})
        reason: str | None = rule.get("unknown") or self._memory(rule["when"], catalog) or self._environment()
        reason = reason or self._parameters(rule["when"], catalog)
        if reason is None:
            self.flow["figures"] = _figures(self.described | rule)
            settled = [name for name in self.flow.get("parameters", ()) if name in self._settled(rule["when"])]
            self.flow["figures"] |= {"settled": settled} if settled else {}
            self._label(rule)
        return reason

    def _label(self, rule: Json) -> None:
        """Names in the labels what no source gives of the case's first flow, and what stands in; a rule's figures are
        as the rule says."""
        own = {name: origin for name, origin in self.described.get("assumed", {}).items() if name not in rule}
        assumed = own | rule.get("assumed", {})
        if "clock" in rule["when"] and self.flow is self.first:
            self.labels |= {"by_clock": True}
        if assumed and self.flow is self.first:
            self.labels |= {"assumed": list(assumed), "stand_in": "; ".join(dict.fromkeys(assumed.values()))}

    @cached_property
    def _here(self) -> Json:
        """Return what the flow and its case are, by the names that rules have for it."""
        source, destination = self.flow.get("source", {}), self.flow.get("destination", {})
        return {
            "source": _kind(source.get("device")),
            "destination": _kind(destination.get("device")),
            "source_memory": source.get("memory"),
            "destination_memory": destination.get("memory"),
            "executor": _kind(self.flow["executor"]),
            "ends": "together" if source.get("device") == destination.get("device") else "apart",
            "tier": self.tier,
            "opposite": "busy" if self.between[::-1] in self.others else "idle",
            "flows": 1 + len(self.others),
            "members": len(self.flow.get("members", ())),
            "collective": self.parameters.get("collective"),
            "clock": self.clock,
        }

    def _fits(self, when: Json) -> bool:
        here = self._here
        for name, wanted in when.items():
            if name in here and here[name] not in (wanted if isinstance(wanted, list) else [wanted]):
                return False
        return (
            when.get("from_bytes", 0) <= self.flow["bytes"] < when.get("below_bytes", float("inf"))
            and self._fits_ends(when)
            and ("pairs" not in when or any(set(pair) == set(self.between) for pair in when["pairs"]))
            and _worded(when.get("parameters", {})).items() <= self.parameters.items()
            and _worded(when.get("environment", {})).items() <= self.environment.items()
        )

    def _fits_ends(self, when: Json) -> bool:
        """Return whether an end has the memory that the rule is for, and one of those is touched by whom it is for."""
        named = [end for end in self.ends if "memory" not in when or end["memory"] in when["memory"]]
        if "first_touch" in when and when["first_touch"] not in {
            _kind(end.get("first_touch", end["device"])) for end in named
        }:
            return False
        return bool(named) or "memory" not in when

    def _memory(self, when: Json, catalog: EngineCatalog) -> str | None:
        """Pages that a driver must stage or may move are as the figures have them only where a rule names them."""
        traits = catalog.method(self.flow["method"])
        if traits.migrates or not (self.flow["executor"].startswith("gpu:") or traits.by_mpi):
            return None
        named = [name for field in ("memory", "source_memory", "destination_memory") for name in when.get(field, ())]
        for end in self.ends:
            memory = catalog.memory(end["memory"])
            if memory.placed_by_touch and not memory.registered and end["memory"] not in named:
                return f"no data for {self.flow['method']} in {end['memory']} memory"
        return None

    def _environment(self) -> str | None:
        known = [_worded(rule["when"].get("environment", {})) for rule in self.rules]
        known.append(_worded(self.described.get("environment", {})))
        for name, value in self.asked.items():
            if not any(settings.get(name) == value for settings in known):
                return f"no data for {self.flow['method']} with {name}={value}"
        return None

    def _settled(self, when: Json) -> dict[str, str]:
        """Parameters, with the values that the figures are for."""
        return _worded(self.described.get("parameters", {})) | _worded(when.get("parameters", {}))

    def _parameters(self, when: Json, catalog: EngineCatalog) -> str | None:
        """Each must have the value that the figures are for, or be one that the engine knows."""
        settled, asked = self._settled(when), self.flow.get("parameters", {})
        for name, value in asked.items():
            known = name in (*catalog.methods[self.flow["method"]], "collective")
            if settled.get(name, str(value)) != str(value) or not (known or name in settled):
                named = {key for rule in self.rules for key in rule["when"].get("parameters", {})} & set(asked) - {name}
                beside = "".join(f" with {key}={asked[key]}" for key in sorted(named))
                return f"no data for {name}={value}{beside}"
        return None


def _out_of_reach(flow: Json, node: Node, catalog: EngineCatalog) -> str | None:
    """Explain why the executor cannot take part: a GPU without either end, a CPU that cannot load from GPU memory."""
    if "members" in flow or catalog.method(flow["method"]).migrates:
        return None
    executor = flow["executor"]
    ends = {flow[end]["device"] for end in ("source", "destination") if end in flow}
    shared = {frozenset((link.a, link.b)) for link in node.links if link.kind == "on-package"}
    if executor.startswith("gpu:"):
        if executor in ends or len(ends) < 2 or any(frozenset((executor, end)) in shared for end in ends):
            return None
        return f"no data for {executor} as a third device"
    gpus = {end for end in ends if end.startswith("gpu:")}
    alone = sorted(gpu for gpu in gpus if not any(gpu in pair for pair in shared))
    if alone and not catalog.method(flow["method"]).by_mpi:
        return f"{executor} cannot load from the memory of {alone[0]}"
    return None


def _between(flow: Json) -> tuple[str, str]:
    """The two devices that the bytes go between."""
    source = flow.get("source", {}).get("device", flow["executor"])
    destination = flow.get("destination", {}).get("device", flow["executor"])
    return source, flow["executor"] if source == destination else destination


def _figures(method: Json) -> Json:
    return {name: method[name] for name in _FIGURES if name in method}


def _worded(values: Json) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def _kind(device: str | None) -> str | None:
    return None if device is None else device.partition(":")[0]

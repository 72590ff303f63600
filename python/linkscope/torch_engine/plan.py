"""Plan: what an engine is asked to run (schema/plan.schema.json), read strictly: nothing is guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from linkscope.torch_engine.faults import EngineError, Fault

Json = dict[str, Any]
Value = TypeVar("Value")

SCHEMA = 1
_DEVICE = re.compile(r"(numa|gpu):(\d+)")


@dataclass(frozen=True)
class Device:
    """A place that owns memory or computes: ``kind`` is numa or gpu."""

    kind: str
    index: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.index}"


@dataclass(frozen=True)
class Endpoint:
    """Where one end's memory lives, and the process that allocates it."""

    device: Device
    memory: str
    placement: str
    first_touch: Device
    advice: str
    rank: int


@dataclass(frozen=True)
class Flow:
    """One stream of bytes; a collective has ``members`` in place of two ends. ``bytes``: payload of one operation."""

    method: str
    source: Endpoint | None
    destination: Endpoint | None
    members: tuple[Endpoint, ...]
    executor: Device
    rank: int
    bytes: int
    role: str
    parameters: Mapping[str, int | str]

    @property
    def ends(self) -> tuple[Endpoint, ...]:
        """All memory that the flow names."""
        return (*(end for end in (self.source, self.destination) if end is not None), *self.members)

    def word(self, name: str, allowed: Sequence[str], otherwise: str) -> str:
        """A parameter that is one of ``allowed``. Raises EngineError."""
        value = str(self.parameters.get(name, otherwise))
        if value not in allowed:
            raise EngineError(Fault.BAD_INPUT, f"parameter {name}: '{value}' is none of {', '.join(allowed)}")
        return value

    def number(self, name: str, least: int, most: int, otherwise: int) -> int:
        """A parameter that is a whole number from ``least`` to ``most``. Raises EngineError."""
        value = self.parameters.get(name, otherwise)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise EngineError(Fault.BAD_INPUT, f"parameter {name}: {least} to {most}")
        return value


@dataclass(frozen=True)
class Case:
    """Flows that run at the same time, and how they are timed. ``json``: the case as the plan has it, for its row."""

    id: str
    clock: str
    cache: str
    load: str
    min_sample_s: float
    point_budget_s: float
    flows: tuple[Flow, ...]
    json: Json


@dataclass(frozen=True)
class Options:
    """What a plan asks of the sampling. ``memory_limit_bytes`` 0: what the machine has available."""

    precision: float
    min_samples: int
    max_samples: int
    point_budget_s: float
    min_sample_s: float
    memory_limit_bytes: int


@dataclass(frozen=True)
class Plan:
    """Cases in order, and how to sample them."""

    options: Options
    cases: tuple[Case, ...]


class _Fields:
    """One JSON object being read; what nobody asked for is an error. ``place`` begins every message."""

    def __init__(self, json_object: object, place: str) -> None:
        if not isinstance(json_object, dict):
            raise EngineError(Fault.BAD_INPUT, f"{place}: must be an object")
        self.json: Json = json_object
        self.place = place
        self._left = dict(json_object)

    def take(self, name: str, kind: type[Value] | tuple[type, ...], otherwise: Any = None) -> Any:
        """The member, of that type; ``otherwise`` where it is missing. None for it means that it must be there."""
        value = self._left.pop(name, otherwise)
        if value is None:
            self.reject(name, "is missing")
        if not isinstance(value, kind) or isinstance(value, bool):
            self.reject(name, f"'{value}' is of the wrong type")
        return value

    def has(self, name: str) -> bool:
        return name in self._left

    def word(self, name: str, allowed: Sequence[str], otherwise: str | None = None) -> str:
        value = str(self.take(name, str, otherwise))
        if value not in allowed:
            self.reject(name, f"'{value}' is none of {', '.join(allowed)}")
        return value

    def count(self, name: str, least: int, otherwise: int | None = None) -> int:
        value = int(self.take(name, int, otherwise))
        if value < least:
            self.reject(name, f"must be a whole number of at least {least}")
        return value

    def number(self, name: str, above: float, otherwise: float) -> float:
        """More than ``above``."""
        value = float(self.take(name, (int, float), otherwise))
        if not value > above:
            self.reject(name, f"must be more than {above:g}")
        return value

    def device(self, name: str, otherwise: Device | None = None) -> Device:
        if otherwise is not None and not self.has(name):
            return otherwise
        text = str(self.take(name, str))
        match = _DEVICE.fullmatch(text)
        if match is None:
            self.reject(name, f"'{text}' is no device: numa:N or gpu:N")
        return Device(match[1], int(match[2]))

    def each(self, name: str, read: Callable[[_Fields], Value]) -> tuple[Value, ...]:
        """The members of an array of objects."""
        items = self.take(name, list)
        return tuple(read(_Fields(item, f"{self.place}: {name}[{i}]")) for i, item in enumerate(items))

    def ignore(self, *names: str) -> None:
        """Members that others read."""
        for name in names:
            self._left.pop(name, None)

    def finish(self) -> None:
        for name in self._left:
            self.reject(name, "is no field of the plan's schema")

    def reject(self, name: str, what: str) -> NoReturn:
        raise EngineError(Fault.BAD_INPUT, f"{self.place}: {name}: {what}")


def read_plan(data: object) -> Plan:
    """A plan out of parsed JSON. Raises EngineError naming the place of what is wrong."""
    fields = _Fields(data, "plan")
    schema = fields.take("schema", int)
    if schema != SCHEMA:
        mend = "plan and engine are of different versions: install one linkscope"
        fields.reject("schema", f"is {schema}, this engine reads {SCHEMA}: {mend}")
    if fields.word("backend", ("measured", "modelled"), "measured") == "modelled":
        fields.reject("backend", "the torch engine models nothing")
    fields.ignore("machine")
    options = _options(_Fields(fields.take("options", dict), "options"))
    cases = fields.each("cases", _case)
    fields.finish()
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise EngineError(Fault.BAD_INPUT, f"case '{case.id}': id: stands in the plan twice")
        seen.add(case.id)
    return Plan(options, cases)


def parse_plan(text: str) -> Plan:
    """The same out of text."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise EngineError(Fault.BAD_INPUT, f"plan: not JSON: {error}") from error
    return read_plan(data)


def _options(fields: _Fields) -> Options:
    options = Options(
        precision=fields.number("precision", 0, 0.01),
        min_samples=fields.count("min_samples", 6, 6),
        max_samples=fields.count("max_samples", 6, 500),
        point_budget_s=fields.number("point_budget_s", 0, 2.0),
        min_sample_s=fields.number("min_sample_s", -1e-300, 0.0001),
        memory_limit_bytes=fields.count("memory_limit_bytes", 0, 0),
    )
    if options.precision >= 1:
        fields.reject("precision", "must be below 1 (0.01 is 1 %)")
    if options.max_samples < options.min_samples:
        fields.reject("max_samples", "must not be below min_samples")
    fields.finish()
    return options


def _case(fields: _Fields) -> Case:
    case_id = str(fields.take("id", str))
    fields.place = f"case '{case_id}'"
    case = Case(
        id=case_id,
        clock=fields.word("clock", ("device", "host", "batch")),
        cache=fields.word("cache", ("warm", "rotated", "flushed"), "rotated"),
        load=fields.word("load", ("once", "sustained"), "once"),
        min_sample_s=fields.number("min_sample_s", -1e-300, 0.0),
        point_budget_s=fields.number("point_budget_s", 0, float("inf")),
        flows=fields.each("flows", _flow),
        json=fields.json,
    )
    if not any(flow.role == "measured" for flow in case.flows):
        fields.reject("flows", "must hold at least one measured flow")
    fields.ignore("suite", "name", "timeout_s", "processes", "labels", "environment")  # read by the supervisor alone
    fields.finish()
    return case


def _flow(fields: _Fields) -> Flow:
    flow = Flow(
        method=fields.take("method", str),
        source=_end(fields, "source"),
        destination=_end(fields, "destination"),
        members=fields.each("members", _endpoint) if fields.has("members") else (),
        executor=fields.device("executor"),
        rank=fields.count("rank", 0, 0),
        bytes=fields.count("bytes", 0),
        role=fields.word("role", ("measured", "background"), "measured"),
        parameters=_parameters(fields),
    )
    if flow.members and (flow.source or flow.destination):
        fields.reject("members", "exclude source and destination")
    fields.ignore("tuning_group", "route")
    fields.finish()
    return flow


def _end(fields: _Fields, name: str) -> Endpoint | None:
    return _endpoint(_Fields(fields.take(name, dict), f"{fields.place}.{name}")) if fields.has(name) else None


def _endpoint(fields: _Fields) -> Endpoint:
    device = fields.device("device")
    endpoint = Endpoint(
        device=device,
        memory=fields.take("memory", str),
        placement=fields.word("placement", ("bound", "first-touch"), "bound"),
        first_touch=fields.device("first_touch", device),
        advice=fields.take("advice", str, ""),
        rank=fields.count("rank", 0, 0),
    )
    fields.finish()
    return endpoint


def _parameters(fields: _Fields) -> Mapping[str, int | str]:
    values: Json = fields.take("parameters", dict, {})
    for name, value in values.items():
        if not isinstance(value, int | str) or isinstance(value, bool):
            fields.reject(f"parameters.{name}", "must be a whole number or a text")
    return values

"""MachineFile: what a machine file may hold, field by field; schema/machine.schema.json says the same to editors."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Positive = Annotated[float, Meta(gt=0, le=1e18)]
NotNegative = Annotated[float, Meta(ge=0, le=1e18)]
Natural = Annotated[int, Meta(ge=1)]
Index = Annotated[int, Meta(ge=0)]
Vertex = Annotated[str, Meta(pattern=r"^((numa|gpu):[0-9]+|switch:[a-z0-9-]+)$")]
Pair = Annotated[list[Vertex], Meta(min_length=2, max_length=2)]


class DeviceFields(msgspec.Struct, forbid_unknown_fields=True):
    """Like devices; a list gives one value for each, in order."""

    of: Annotated[str, Meta(pattern=r"^(numa|gpu):[0-9]+(-[0-9]+)?$")]
    name: str
    memory_gbps: Positive
    source: str
    cores: Natural | UnsetType = UNSET
    memory: Annotated[str, Meta(pattern=r"^[0-9]{1,12} (GiB|GB)$")] | UnsetType = UNSET
    memory_latency_ns: Positive | UnsetType = UNSET
    numa: list[Index] | UnsetType = UNSET
    package: list[Index] | UnsetType = UNSET


class LinkFields(msgspec.Struct, forbid_unknown_fields=True):
    """Like links; each is symmetric and named once."""

    kind: Literal["xgmi", "xgmi-cpu", "nvlink", "pcie", "xbus", "upi", "on-die", "on-package"]
    tier: str
    peak_gbps: Positive
    source: str
    lanes: Natural | UnsetType = UNSET
    latency_ns: NotNegative | UnsetType = UNSET
    between: Annotated[list[Pair], Meta(min_length=1)] | UnsetType = UNSET
    every_pair_of: Literal["gpu", "numa"] | UnsetType = UNSET


Size = Annotated[str, Meta(pattern=r"^[0-9]{1,12} (B|KiB|MiB|GiB)$")]
Names = Annotated[list[str], Meta(min_length=1)]
Words = dict[str, str | int]
Origin = Annotated[str, Meta(min_length=1, max_length=200)]
"""Source of a stand-in."""


class WhenFields(msgspec.Struct, forbid_unknown_fields=True):
    """Which flows a rule is for: those that every field given here fits."""

    source: Literal["numa", "gpu"] | UnsetType = UNSET
    destination: Literal["numa", "gpu"] | UnsetType = UNSET
    source_memory: Names | UnsetType = UNSET
    destination_memory: Names | UnsetType = UNSET
    memory: Names | UnsetType = UNSET
    first_touch: Literal["numa", "gpu"] | UnsetType = UNSET
    executor: Literal["numa", "gpu"] | UnsetType = UNSET
    ends: Literal["together", "apart"] | UnsetType = UNSET
    opposite: Literal["busy", "idle"] | UnsetType = UNSET
    flows: Annotated[list[Natural], Meta(min_length=1)] | UnsetType = UNSET
    tier: Names | UnsetType = UNSET
    pairs: Annotated[list[Pair], Meta(min_length=1)] | UnsetType = UNSET
    from_bytes: Size | UnsetType = UNSET
    below_bytes: Size | UnsetType = UNSET
    members: Annotated[list[Natural], Meta(min_length=1)] | UnsetType = UNSET
    collective: Names | UnsetType = UNSET
    clock: Names | UnsetType = UNSET
    parameters: Words | UnsetType = UNSET
    environment: Words | UnsetType = UNSET


class FigureFields(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Hold what a method costs and reaches on the model."""

    source: str
    fits: str | UnsetType = UNSET
    latency_us: NotNegative | UnsetType = UNSET
    step_us: NotNegative | UnsetType = UNSET
    ceiling_gbps: Positive | UnsetType = UNSET
    efficiency: Annotated[float, Meta(gt=0, le=1)] | UnsetType = UNSET
    cached_gbps: Positive | UnsetType = UNSET
    load_ns: Positive | UnsetType = UNSET
    assumed: Annotated[dict[Literal["latency_us"], Origin], Meta(min_length=1)] | UnsetType = UNSET


class RuleFields(FigureFields, forbid_unknown_fields=True, kw_only=True):
    """Other figures for some flows; or why there are none."""

    when: WhenFields
    unknown: str | UnsetType = UNSET


class MethodFields(FigureFields, forbid_unknown_fields=True, kw_only=True):
    """A method's figures; of ``rules`` the first that is for a flow replaces some of them."""

    parameters: Words | UnsetType = UNSET
    environment: Words | UnsetType = UNSET
    rules: Annotated[list[RuleFields], Meta(min_length=1)] | UnsetType = UNSET


class MachineFile(msgspec.Struct, forbid_unknown_fields=True):
    """A machine model as people write it."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: str
    sources: Annotated[dict[str, str], Meta(min_length=1)]
    devices: Annotated[list[DeviceFields], Meta(min_length=1)]
    links: list[LinkFields]
    methods: dict[str, MethodFields]
    switches: dict[Annotated[str, Meta(pattern=r"^switch:[a-z0-9-]+$")], str] | UnsetType = UNSET
    peer_access: list[Pair] | UnsetType = UNSET
    assumptions: list[str] | UnsetType = UNSET
    notes: list[str] | UnsetType = UNSET

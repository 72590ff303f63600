"""SuiteFile: what a suite may hold, field by field; schema/suite.schema.json says the same to editors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from linkscope.machine.traits import MemoryTraits

Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
Seconds = Annotated[float, Meta(gt=0, le=1e9)]
Words = str | Annotated[list[str], Meta(min_length=1)]
Flag = Literal["yes", "no", "any"]
Value = int | str
Toucher = Literal["cpu", "gpu"]
Placement = Literal["bound", "first-touch"]
_WORD = "(preferred-location|accessed-by|read-mostly|coarse-grained)"
ADVICE = rf"^(none|{_WORD}(\+{_WORD})*)$"
Advice = Annotated[str, Meta(pattern=ADVICE)]
Executor = Literal["source", "destination", "gpu", "numa"]
Clock = Literal["device", "host", "batch"]
Cache = Literal["warm", "rotated", "flushed"]
Figure = Literal["first", "half", "sum", "aggregate", "latency", "touched", "algorithm", "bus"]
Collective = Literal["all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all", "barrier"]
Vendor = Literal["amd", "nvidia"]
Count = Annotated[int, Meta(ge=1, le=64)]
MemberCount = Annotated[int, Meta(ge=2)] | Literal["slots"]
Interface = Literal["mpi", "xccl", "direct"]
Staging = Literal["none", "full"]
Steps = Annotated[int, Meta(ge=1, le=1_000_000)]
DeviceName = Annotated[str, Meta(pattern=r"^(gpu|numa):[0-9]{1,6}$")]
OneOrEach = Literal["one", "each"]
Processes = OneOrEach | Annotated[int, Meta(ge=2, le=64)]


class MemorySet(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Every memory that can lie there and has these traits (machine/traits.py); "any": either way."""

    lies_on: Literal["host", "gpu"]
    placed_by_touch: Flag = "any"
    system_pages: Flag = "any"
    huge_pages: Flag = "any"
    migrates: Flag = "any"
    registered: Flag = "any"
    uncached: Flag = "any"
    plain_allocation: Flag = "any"
    shareable: Flag = "no"
    grained: Flag = "no"
    by_library: Flag = "no"
    collective_allocation: Flag = "no"

    def of(self, names: Iterable[str], traits_of: Callable[[str], MemoryTraits]) -> tuple[str, ...]:
        """Return those of ``names`` that belong to it."""
        return tuple(name for name in names if self._has(traits_of(name)))

    def _has(self, traits: MemoryTraits) -> bool:
        flags = {name: getattr(self, name) for name in self.__struct_fields__ if name != "lies_on"}
        here = traits.lies_on in (self.lies_on, "anywhere")
        return here and all(flag in ("any", "yes" if getattr(traits, name) else "no") for name, flag in flags.items())


def listed(value: Any) -> list[Any]:
    """Return what stands alone or in a list, as a list."""
    return value if isinstance(value, list) else [value]


class EndFields(msgspec.Struct, forbid_unknown_fields=True):
    """One end of a row."""

    on: Literal["gpu", "numa", "nearest-numa", "peer-numa"]
    memory: Words | MemorySet | UnsetType = UNSET
    placement: Placement | UnsetType = UNSET
    first_touch: Toucher | Annotated[list[Toucher], Meta(min_length=1)] | UnsetType = UNSET
    advice: Words | UnsetType = UNSET  # each an Advice; msgspec 0.22 frees a pattern beside a list twice
    at: Literal["own", "other"] | UnsetType = UNSET


class BackgroundEnd(msgspec.Struct, forbid_unknown_fields=True):
    """An end of a background flow."""

    memory: str
    placement: Placement | UnsetType = UNSET
    first_touch: Toucher | UnsetType = UNSET
    advice: Advice | UnsetType = UNSET


class MemberFields(msgspec.Struct, forbid_unknown_fields=True):
    """Describe the members of a collective and their number."""

    on: Literal["gpu", "numa"]
    memory: Words | MemorySet
    placement: Placement | UnsetType = UNSET
    first_touch: Toucher | UnsetType = UNSET
    advice: Advice | UnsetType = UNSET
    count: Value | Annotated[list[MemberCount], Meta(min_length=1)] | UnsetType = UNSET


class BackgroundFields(msgspec.Struct, forbid_unknown_fields=True):
    """A flow beside the measured ones."""

    beside: Literal["same", "opposite", "others", "source", "destination", "peer", "members"]
    method: str
    executor: Executor
    source: BackgroundEnd | UnsetType = UNSET
    destination: BackgroundEnd | UnsetType = UNSET
    size: Value | UnsetType = UNSET
    parameters: dict[str, Value] | UnsetType = UNSET


class VariantFields(msgspec.Struct, forbid_unknown_fields=True):
    """Settings of the engine's process."""

    name: Name
    set: dict[Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], Value] | UnsetType = UNSET
    vendor: Vendor | UnsetType = UNSET


class PeerCase(msgspec.Struct, forbid_unknown_fields=True):
    """Name the same case of another tool."""

    tool: str
    case: str


class RowFields(msgspec.Struct, forbid_unknown_fields=True):
    """A row of a suite. A collective has ``members`` in the place of ``source``, ``destination`` and ``executor``."""

    name: Name
    title: str
    pattern: str
    method: Words
    show: Literal["matrix", "curve", "list"]
    table: Name | UnsetType = UNSET
    collective: Collective | Annotated[list[Collective], Meta(min_length=1)] | UnsetType = UNSET
    members: MemberFields | UnsetType = UNSET
    processes: Processes | Annotated[list[Processes], Meta(min_length=1)] | UnsetType = UNSET
    source: EndFields | UnsetType = UNSET
    destination: EndFields | UnsetType = UNSET
    executor: Executor | Annotated[list[Executor], Meta(min_length=1)] | UnsetType = UNSET
    sizes: Value | UnsetType = UNSET
    parameters: dict[str, Value | Annotated[list[Value], Meta(min_length=1)]] | UnsetType = UNSET
    flows: Count | str | Annotated[list[Count], Meta(min_length=1)] | UnsetType = UNSET
    background: Annotated[list[BackgroundFields], Meta(min_length=1)] | UnsetType = UNSET
    alongside: Annotated[list[BackgroundFields], Meta(min_length=1)] | UnsetType = UNSET
    environment: Annotated[list[VariantFields], Meta(min_length=1)] | UnsetType = UNSET
    vendor: Vendor | UnsetType = UNSET
    covers: Annotated[list[str], Meta(min_length=1)] | UnsetType = UNSET
    clock: Clock | Annotated[list[Clock], Meta(min_length=1)] | UnsetType = UNSET
    cache: Cache | Annotated[list[Cache], Meta(min_length=1)] | UnsetType = UNSET
    min_sample_s: Seconds | UnsetType = UNSET
    point_budget_s: Seconds | UnsetType = UNSET
    x: str | UnsetType = UNSET
    figure: Figure | Annotated[list[Figure], Meta(min_length=1)] | UnsetType = UNSET
    rows: Literal["source", "destination"] | UnsetType = UNSET
    peer: PeerCase | UnsetType = UNSET


class HaloFields(msgspec.Struct, forbid_unknown_fields=True, tag_field="application", tag="halo"):
    """CloverLeaf's halo exchange: a deck by name (also ``usual`` or ``largest``), or cells such as 960x960."""

    deck: str | UnsetType = UNSET
    cells: Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,8}x[1-9][0-9]{0,8}$")] | UnsetType = UNSET
    steps: Steps | UnsetType = UNSET


class ParticleFields(msgspec.Struct, forbid_unknown_fields=True, tag_field="application", tag="particles"):
    """Quicksilver's particle exchange. ``grid``: of ranks, such as 2x2x1."""

    deck: str | UnsetType = UNSET
    particles: Annotated[int, Meta(ge=1, le=10**12)] | UnsetType = UNSET
    grid: Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,3}x[1-9][0-9]{0,3}x[1-9][0-9]{0,3}$")] | UnsetType = UNSET
    cycles: Steps | UnsetType = UNSET
    termination: Literal["blocking", "non-blocking"] | UnsetType = UNSET


class MoeFields(msgspec.Struct, forbid_unknown_fields=True, tag_field="application", tag="moe"):
    """Expert parallelism's dispatch and combine (workload/moe.py). ``tokens``: of each rank."""

    tokens: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    hidden: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    topk: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    experts: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    skew: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    dtype: Literal["fp8", "bf16"] | UnsetType = UNSET


class BaselineFields(msgspec.Struct, forbid_unknown_fields=True):
    """The combination that others are compared with. ``memory``: the first of them that is there."""

    interface: Interface
    memory: Words
    staging: Staging | UnsetType = UNSET
    environment: Name | UnsetType = UNSET


class WorkloadFields(msgspec.Struct, forbid_unknown_fields=True):
    """A row that runs an application's communication."""

    name: Name
    title: str
    workload: HaloFields | ParticleFields | MoeFields
    interface: Interface | Annotated[list[Interface], Meta(min_length=1)]
    memory: Words
    state: Words | UnsetType = UNSET
    ranks: Value | Annotated[list[Annotated[int, Meta(ge=2)]], Meta(min_length=1)] | UnsetType = UNSET
    staging: Staging | Annotated[list[Staging], Meta(min_length=1)] | UnsetType = UNSET
    processes: OneOrEach | Annotated[list[OneOrEach], Meta(min_length=1)] | UnsetType = UNSET
    order: Annotated[list[DeviceName], Meta(min_length=2)] | UnsetType = UNSET
    environment: Annotated[list[VariantFields], Meta(min_length=1)] | UnsetType = UNSET
    baseline: BaselineFields | UnsetType = UNSET
    covers: Annotated[list[str], Meta(min_length=1)] | UnsetType = UNSET
    point_budget_s: Seconds | UnsetType = UNSET


ListedUnder = Literal["start", "question", "processes", "reference"]
"""Heading of `linkscope list suites`: to start with, by question, between processes and applications, or as a
study or another tool has it."""


class SuiteFile(msgspec.Struct, forbid_unknown_fields=True):
    """A suite as people write it. ``includes``: packaged suites whose rows follow.

    ``brief``: what it measures, in so few words that a list has it on a line of 80 characters.
    """

    name: Name
    answers: str
    brief: Annotated[str, Meta(min_length=1, max_length=44)] | UnsetType = UNSET
    listed_under: ListedUnder = "question"
    point_budget_s: Seconds | UnsetType = UNSET
    rows: Annotated[list[RowFields], Meta(min_length=1)] | UnsetType = UNSET
    workloads: Annotated[list[WorkloadFields], Meta(min_length=1)] | UnsetType = UNSET
    includes: Annotated[list[Name], Meta(min_length=1)] | UnsetType = UNSET

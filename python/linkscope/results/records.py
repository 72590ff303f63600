"""Records: what a run file's lines must be, field by field; whatever is read passes here first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct
from msgspec import UnsetType as Unset

from linkscope.documents.escaped import escaped
from linkscope.documents.typed import MisfitError, typed
from linkscope.machine.identity import Identity
from linkscope.machine.node import Node
from linkscope.machine.state import MachineState
from linkscope.results.stats import LARGEST, Natural, Number

Json = dict[str, Any]

MOST_TEXT = 64 << 10
MOST_LINE = 64 << 20
"""Bytes; the longest seen, a header of 10^5 cases, has 6 MiB."""

Text = Annotated[str, Meta(max_length=MOST_TEXT)]
Id = Annotated[str, Meta(min_length=1, max_length=MOST_TEXT)]
Word = Annotated[str, Meta(max_length=1024)]
Place = Annotated[str, Meta(pattern=r"^(numa|gpu|rank):[0-9]{1,6}$")]
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Share = Annotated[float, Meta(ge=0, le=1e3)]
FigureWord = Literal["first", "sum", "aggregate", "half", "latency", "touched", "algorithm", "bus"]


class EndRecord(Struct):
    """One end of a flow, or a member of a collective."""

    device: Place
    memory: Word
    placement: Literal["bound", "first-touch"] | Unset = UNSET
    first_touch: Place | Unset = UNSET
    rank: Count | Unset = UNSET
    advice: Word | Unset = UNSET


class PhaseRecord(Struct):
    """Hold messages of a schedule that go at the same time: source rank, destination rank and bytes of each."""

    messages: list[tuple[Count, Count, Count]]
    name: Text | Unset = UNSET
    every: Natural | Unset = UNSET
    gap_s: Number | Unset = UNSET
    halo: Json | Unset = UNSET
    termination: Word | Unset = UNSET
    collectives: list[Json] | Unset = UNSET


class LoopRecord(Struct):
    """Repeat phases of a schedule, one after another, so many times."""

    phases: list[PhaseRecord]
    repeats: Natural | Unset = UNSET


class ScheduleRecord(Struct):
    """Hold what the ranks of an application send one another."""

    loops: list[LoopRecord]
    grid: Json | Unset = UNSET
    particles: Json | Unset = UNSET


class FlowRecord(Struct):
    """One flow of a case, as planned."""

    method: Word
    executor: Place
    bytes: Count
    source: EndRecord | Unset = UNSET
    destination: EndRecord | Unset = UNSET
    members: Annotated[list[EndRecord], Meta(min_length=1)] | Unset = UNSET
    state: list[EndRecord] | Unset = UNSET
    schedule: ScheduleRecord | Unset = UNSET
    rank: Count | Unset = UNSET
    role: Literal["measured", "background", "alongside"] | Unset = UNSET
    parameters: dict[Word, int | Word] | Unset = UNSET
    figures: dict[Word, Number | list[Word]] | Unset = UNSET
    tuning_group: Text | Unset = UNSET


class CellRecord(Struct):
    """Place one figure of a case in its table."""

    row: Text | Unset = UNSET
    column: Text | Unset = UNSET


class Traits(Struct):
    """Hold the traits of a case's methods and memories."""

    methods: dict[Word, dict[Word, bool | Number | Word]] | Unset = UNSET
    memories: dict[Word, dict[Word, bool | Number | Word]] | Unset = UNSET


class WorkloadLabel(Struct):
    """Label a case that carries out a schedule: whose communication it is, and how it is carried out.

    ``memory``: of the buffers of messages; ``state``: of what they are packed from. ``order``: device of each rank.
    ``baseline``: the combination that the study began with. ``isolated``: every message has a phase of its own.
    ``own_bytes``: by phase and rank, what a rank would send itself. ``notes``: what to know of it besides.
    """

    application: Word
    deck: Text
    ranks: Natural
    interface: Word
    staging: Word | Unset = UNSET
    memory: Word | Unset = UNSET
    state: Word | Unset | None = UNSET
    order: list[Word] | Unset = UNSET
    baseline: bool | Unset = UNSET
    isolated: bool | Unset = UNSET
    messages: Count | Unset = UNSET
    bytes: Count | Unset = UNSET
    own_bytes: list[list[Count]] | Unset = UNSET
    notes: list[Text] | Unset = UNSET


class Labels(CellRecord):
    """Hold what tables need of a case."""

    title: Text | Unset = UNSET
    show: Word | Unset = UNSET
    figure: FigureWord | Unset = UNSET
    figures: list[FigureWord] | Unset = UNSET
    series: Text | Unset = UNSET
    x: int | float | Unset | None = UNSET
    x_name: Word | Unset = UNSET
    tier: Word | Unset = UNSET
    table: Word | Unset = UNSET
    environment: Word | Unset = UNSET
    variant: dict[Word, int | float | Text] | Unset = UNSET
    cells: list[CellRecord] | Unset = UNSET
    peer: dict[Word, Text] | Unset | None = UNSET
    workload: WorkloadLabel | Unset = UNSET
    traits: Traits | Unset = UNSET
    assumed: list[Word] | Unset = UNSET
    stand_in: Text | Unset = UNSET
    by_clock: bool | Unset = UNSET


class Case(Struct):
    """A plan's case."""

    id: Id
    clock: Word
    flows: Annotated[list[FlowRecord], Meta(min_length=1)]
    suite: Word | Unset = UNSET
    name: Word | Unset = UNSET
    cache: Word | Unset = UNSET
    load: Literal["once", "sustained"] | Unset = UNSET
    min_sample_s: Number | Unset = UNSET
    point_budget_s: Number | Unset = UNSET
    labels: Labels | Unset = UNSET
    timeout_s: Number | Unset = UNSET
    processes: Annotated[int, Meta(ge=1, le=1 << 20)] | Unset = UNSET
    environment: dict[Word, Text] | Unset = UNSET


class FindingRecord(Struct):
    """Hold what a tool printed besides results, as messages/finding.Finding."""

    code: Word
    level: Literal["error", "warning", "note"]
    facts: dict[Word, Any]


class TopologyRecord(Struct):
    """A pasted topology, as importers/peer_output.Topology; each pair of devices with the tool's word."""

    pairs: list[tuple[Word, Word, Word]]
    numa: dict[Word, Count]
    vendor: Word


class OriginRecord(Struct):
    """Another tool whose output a figure was imported from. ``test``: its own name of what it measured. ``versions``:
    of libraries and drivers. ``moves``: of a result, what it moves (importers/peer_output.Movement), with ``value`` in
    ``unit`` as the tool printed it. ``findings``: of a file, what the tools printed besides. ``topology``: of a file,
    how it says that devices are joined."""

    tool: Word
    version: Word
    test: Text | Unset = UNSET
    file: Word | Unset = UNSET
    versions: dict[Word, Word] | Unset = UNSET
    moves: dict[Word, Any] | Unset = UNSET
    value: Number | Unset = UNSET
    unit: Literal["GB/s", "s"] | Unset = UNSET
    findings: list[FindingRecord] | Unset = UNSET
    topology: TopologyRecord | Unset = UNSET


class Options(Struct):
    """Hold the options of every point of the run."""

    precision: Share | Unset = UNSET
    point_budget_s: Number | Unset = UNSET


class RoundsRecord(Struct):
    """Hold how often each case was to be visited."""

    least: Count | Unset = UNSET
    most: Count | Unset = UNSET


class Plan(Struct):
    """Hold what was to be run."""

    ids: list[Id]
    suites: list[Word] | Unset = UNSET
    options: Options | Unset = UNSET
    rounds: RoundsRecord | Unset = UNSET
    request: dict[Word, Any] | Unset | None = UNSET


class BetweenRuns(Struct):
    """The node's noise between runs, relative half widths."""

    classes: dict[Word, Share] | Unset = UNSET
    cases: dict[Text, Share] | Unset = UNSET


class NoiseRecord(Struct):
    """Name the calibration by which intervals are widened."""

    calibrated: Word | Unset = UNSET
    turns: Annotated[int, Meta(ge=2, le=LARGEST)] | Unset = UNSET
    freedom: Annotated[int, Meta(ge=1, le=LARGEST)] | Unset = UNSET
    suites: list[Word] | Unset = UNSET
    between_runs: BetweenRuns | Unset = UNSET
    one_replicate: BetweenRuns | Unset = UNSET


class MethodRecord(Struct):
    """A line of an engine's catalog."""

    name: Word | Unset = UNSET
    reason: Text | Unset = UNSET


class EngineRecord(Struct):
    """Hold what an engine said about itself."""

    backend: Word | Unset = UNSET
    version: Word | Unset = UNSET
    problem: Text | Unset = UNSET
    versions: dict[Word, Word] | Unset = UNSET
    methods: list[MethodRecord] | Unset = UNSET


class InterleavedRecord(Struct):
    """Say of which comparison a run is one side (``linkscope ab``): ``group`` is that of all its ``sides``, whose base
    comes first; ``settings``: what this side was measured with."""

    group: Id
    side: Word
    sides: Annotated[list[Word], Meta(min_length=2)]
    settings: list[Text]


class HeaderRecord(Struct):
    """A run file's first line."""

    version: Word
    started: Word
    host: Word
    plan: Plan
    node: Node
    command: list[Text] | Unset = UNSET
    origin: OriginRecord | Unset = UNSET
    engine: EngineRecord | Unset = UNSET
    further_engines: list[EngineRecord] | Unset = UNSET
    state: MachineState | Unset = UNSET
    identity: Identity | Unset = UNSET
    noise: NoiseRecord | Unset | None = UNSET
    interleaved: InterleavedRecord | Unset = UNSET


class Process(Struct):
    """A process that joined."""

    host: Word | Unset = UNSET


class StateRecord(Struct):
    """The machine at a moment of the run."""

    when: Word | Unset = UNSET
    state: MachineState | Unset = UNSET
    processes: list[Process] | Unset = UNSET


_DECODER = msgspec.json.Decoder()


def may_control(line: bytes) -> bool:
    """Return whether a line of JSON may hold characters that must be escaped."""
    return b"\\" in line or b"\x7f" in line or b"\xc2" in line or b"\xe2" in line


def decoded(line: bytes) -> Json | None:
    """The object of one line; None where it is no JSON object: cut short, nested too deep, NaN, no UTF-8."""
    try:
        found = _DECODER.decode(line)
        shown = escaped(found) if may_control(line) else found
    except (ValueError, RecursionError):
        return None
    return shown if isinstance(shown, dict) else None


def checked_header(record: Json) -> None:
    """Raise ValueError that names the field, in one line, where a record is no header."""
    header = typed(record, HeaderRecord)
    if len(set(header.plan.ids)) < len(header.plan.ids):
        raise ValueError("plan.ids: an id stands there twice")
    if header.node.problem:
        raise ValueError(f"node: {header.node.problem}")


def checked_case(case: Json) -> None:
    """Raise ValueError that names the field, in one line, where a plan's case is not as it should be."""
    try:
        found = typed(case, Case)
    except MisfitError as error:
        raise MisfitError(("case", *error.steps), error.what) from error
    measured = sum(flow.role in ("measured", UNSET) for flow in found.flows)
    if not measured:
        raise ValueError("case.flows: none is measured")
    cells = found.labels.cells if found.labels else UNSET
    if cells and len(cells) != measured:
        raise ValueError(f"case.labels.cells: not one for each of {measured} flows")
    for index, flow in enumerate(found.flows):
        ranks = len(flow.members) if flow.members else 0
        if flow.schedule and max(_ranks(flow.schedule), default=0) >= ranks:
            raise ValueError(f"case.flows[{index}].schedule: a message of a rank beyond its {ranks} members")


def _ranks(schedule: ScheduleRecord) -> Iterator[int]:
    """Yield the ranks that send or receive a message."""
    for phase in (phase for loop in schedule.loops for phase in loop.phases):
        yield from (rank for message in phase.messages for rank in message[:2])


def checked_state(record: Json) -> None:
    """Raise ValueError that names the field where a record is no state."""
    typed(record, StateRecord)

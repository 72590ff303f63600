"""Records: what a run file's lines must be, field by field; whatever is read passes here first."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

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
Place = Annotated[str, Meta(pattern=r"^(numa|gpu):[0-9]{1,6}$")]
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Share = Annotated[float, Meta(ge=0, le=1e3)]
FigureWord = Literal["first", "sum", "aggregate", "half", "latency", "touched", "algorithm", "bus"]


class _End(TypedDict):
    device: Place
    memory: Word


class EndRecord(_End, total=False):
    """One end of a flow, or a member of a collective."""

    placement: Literal["bound", "first-touch"]
    first_touch: Place
    rank: Count
    advice: Word


class _Phase(TypedDict):
    messages: list[tuple[Count, Count, Count]]


class PhaseRecord(_Phase, total=False):
    """Of a schedule: messages that are under way at the same time, each source rank, destination rank and bytes."""

    name: Text
    every: Natural
    gap_s: Number
    halo: Json
    termination: Word
    collectives: list[Json]


class _Loop(TypedDict):
    phases: list[PhaseRecord]


class LoopRecord(_Loop, total=False):
    """Of a schedule: phases one after another, so many times."""

    repeats: Natural


class _Schedule(TypedDict):
    loops: list[LoopRecord]


class ScheduleRecord(_Schedule, total=False):
    """What the ranks of an application send one another."""

    grid: Json
    particles: Json


class _Flow(TypedDict):
    method: Word
    executor: Place
    bytes: Count


class FlowRecord(_Flow, total=False):
    """One flow of a case, as planned."""

    source: EndRecord
    destination: EndRecord
    members: Annotated[list[EndRecord], Meta(min_length=1)]
    state: list[EndRecord]
    schedule: ScheduleRecord
    rank: Count
    role: Literal["measured", "background"]
    parameters: dict[Word, int | Word]
    figures: dict[Word, Number | list[Word]]
    tuning_group: Text


class CellRecord(TypedDict, total=False):
    """Where one figure of a case stands in its table."""

    row: Text
    column: Text


class Traits(TypedDict, total=False):
    """What a case's methods and memories state of themselves."""

    methods: dict[Word, dict[Word, bool | Number | Word]]
    memories: dict[Word, dict[Word, bool | Number | Word]]


class _Workload(TypedDict):
    application: Word
    deck: Text
    ranks: Natural
    interface: Word


class WorkloadLabel(_Workload, total=False):
    """Of a case that carries out a schedule: whose communication it is, and how it is carried out.

    ``memory``: of the buffers of messages; ``state``: of what they are packed from. ``order``: device of each rank.
    ``baseline``: the combination that the study began with. ``isolated``: every message has a phase of its own.
    ``notes``: what to know of it besides.
    """

    staging: Word
    memory: Word
    state: Word | None
    order: list[Word]
    baseline: bool
    isolated: bool
    messages: Count
    bytes: Count
    notes: list[Text]


class Labels(CellRecord, total=False):
    """What tables need of a case."""

    title: Text
    show: Word
    figure: FigureWord
    figures: list[FigureWord]
    series: Text
    x: int | float | None
    x_name: Word
    tier: Word
    table: Word
    environment: Word
    variant: dict[Word, int | float | Text]
    cells: list[CellRecord]
    peer: dict[Word, Text] | None
    workload: WorkloadLabel
    traits: Traits
    assumed: list[Word]
    stand_in: Text
    by_clock: bool


class _Case(TypedDict):
    id: Id
    clock: Word
    flows: Annotated[list[FlowRecord], Meta(min_length=1)]


class Case(_Case, total=False):
    """A plan's case."""

    suite: Word
    name: Word
    cache: Word
    load: Literal["once", "sustained"]
    min_sample_s: Number
    point_budget_s: Number
    labels: Labels
    timeout_s: Number
    processes: Annotated[int, Meta(ge=1, le=1 << 20)]
    environment: dict[Word, Text]


class _Origin(TypedDict):
    tool: Word
    version: Word


class OriginRecord(_Origin, total=False):
    """Another tool whose output a figure was imported from. ``test``: its own name of what it measured. ``versions``:
    of libraries and drivers."""

    test: Text
    file: Word
    versions: dict[Word, Word]


class _Plan(TypedDict):
    ids: list[Id]


class Options(TypedDict, total=False):
    """What the run asked of every point."""

    precision: Share
    point_budget_s: Number


class RoundsRecord(TypedDict, total=False):
    """How often each case was to be visited."""

    least: Count
    most: Count


class Plan(_Plan, total=False):
    """What was to be run."""

    suites: list[Word]
    options: Options
    rounds: RoundsRecord
    request: dict[Word, Any] | None


class BetweenRuns(TypedDict, total=False):
    """The node's noise between runs, relative half widths."""

    classes: dict[Word, Share]
    cases: dict[Text, Share]


class NoiseRecord(TypedDict, total=False):
    """By which calibration intervals are widened."""

    calibrated: Word
    turns: Annotated[int, Meta(ge=2, le=LARGEST)]
    freedom: Annotated[int, Meta(ge=1, le=LARGEST)]
    suites: list[Word]
    between_runs: BetweenRuns
    one_replicate: BetweenRuns


class MethodRecord(TypedDict, total=False):
    """A line of an engine's catalog."""

    name: Word
    reason: Text


class EngineRecord(TypedDict, total=False):
    """What an engine said of itself."""

    backend: Word
    version: Word
    problem: Text
    versions: dict[Word, Word]
    methods: list[MethodRecord]


class _HeaderRecord(TypedDict):
    version: Word
    started: Word
    host: Word
    plan: Plan
    node: Node


class HeaderRecord(_HeaderRecord, total=False):
    """A run file's first line."""

    command: list[Text]
    origin: OriginRecord
    engine: EngineRecord
    further_engines: list[EngineRecord]
    state: MachineState
    identity: Identity
    noise: NoiseRecord | None


class Process(TypedDict, total=False):
    """A process that joined."""

    host: Word


class StateRecord(TypedDict, total=False):
    """The machine at a moment of the run."""

    when: Word
    state: MachineState
    processes: list[Process]


_DECODER = msgspec.json.Decoder()


def may_control(line: bytes) -> bool:
    """Whether a line of JSON may hold characters that must be escaped."""
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
    """Raises ValueError that names the field, in one line, where the record is no header."""
    header = typed(record, HeaderRecord)
    ids = header["plan"]["ids"]
    if len(set(ids)) < len(ids):
        raise ValueError("plan.ids: an id stands there twice")
    problem = header["node"].problem
    if problem:
        raise ValueError(f"node: {problem}")


def checked_case(case: Json) -> None:
    """Raise ValueError that names the field, in one line, where a plan's case is not as it should be."""
    try:
        found = typed(case, Case)
    except MisfitError as error:
        raise MisfitError(("case", *error.steps), error.what) from error
    measured = sum(flow.get("role", "measured") == "measured" for flow in found["flows"])
    if not measured:
        raise ValueError("case.flows: none is measured")
    if len(found.get("labels", {}).get("cells", [])) not in (0, measured):
        raise ValueError(f"case.labels.cells: not one for each of {measured} flows")
    for index, flow in enumerate(found["flows"]):
        if "schedule" in flow:
            _check_schedule(f"case.flows[{index}]", flow)


def _check_schedule(field: str, flow: FlowRecord) -> None:
    """Raises ValueError where a message's rank has no member."""
    ranks = len(flow.get("members", ()))
    phases = (phase for loop in flow["schedule"]["loops"] for phase in loop["phases"])
    last = max((max(message[:2]) for phase in phases for message in phase["messages"]), default=0)
    if last >= ranks:
        raise ValueError(f"{field}.schedule: a message of rank {last}, but {ranks} members")


def checked_state(record: Json) -> None:
    """Likewise of a state."""
    typed(record, StateRecord)

"""Calls of PyTorch's that are captured into a graph and replayed. PyTorch and its GPU are stood in for."""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from torch_engine_plans import case, plan
from torch_stood_in import engine

__all__ = ["engine"]  # a fixture

Json = dict[str, Any]

CALL_S, START_S = 1e-3, 1e-2


class Gpu:
    """What is called while it captures is not done but kept in the graph. ``clock``: its time in seconds."""

    def __init__(self) -> None:
        self.capturing: Graph | None = None
        self.clock = 0.0
        self.graphs: list[Graph] = []
        self.refuses = self.breaks = ""
        self.events: list[str] = []
        self.replaying = False

    def do(self, work: Callable[[], None]) -> None:
        if self.capturing is None:
            work()
        elif self.refuses:
            raise RuntimeError(self.refuses)
        else:
            self.capturing.work.append(work)

    def capture(self, graph: Graph, stream: Any, capture_error_mode: str) -> Capture:
        assert capture_error_mode == "thread_local"
        return Capture(self, graph)


class Graph:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.work: list[Callable[[], None]] = []
        self.replays = 0
        gpu.graphs.append(self)

    def replay(self) -> None:
        if self.gpu.breaks:
            raise RuntimeError(self.gpu.breaks)
        self.replays += 1
        self.gpu.clock += START_S
        self.gpu.replaying = True
        for work in self.work:
            work()
        self.gpu.replaying = False

    def reset(self) -> None:
        self.gpu.events.append("reset")
        self.work = []


class Event:
    """A moment of the GPU's clock, which has not come before somebody waits for it."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.moment = 0.0

    def record(self) -> None:
        self.moment = self.gpu.clock

    def query(self) -> bool:
        return False

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: Event) -> float:
        return (end.moment - self.moment) * 1e3


class Capture:
    def __init__(self, gpu: Gpu, graph: Graph) -> None:
        self.gpu = gpu
        self.graph = graph

    def __enter__(self) -> None:
        self.gpu.capturing = self.graph

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self.gpu.capturing = None
        if kind is not None:
            raise RuntimeError("operation failed due to a previous error during capture")


@pytest.fixture
def gpu(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = Gpu()
    cuda = sys.modules["torch"].cuda
    cuda.CUDAGraph = lambda: Graph(made)
    cuda.graph = made.capture
    cuda.Event = lambda enable_timing: Event(made)
    cuda.get_device_properties.return_value.clock_rate = 1
    cuda.device_count.return_value = 2
    monkeypatch.setattr("time.perf_counter", lambda: made.clock)
    return made


def copies(engine: Any, gpu: Gpu, accumulates: bool = False, wrong: bool = False) -> Any:
    """A transfer of one number; one that accumulates adds it up. ``wrong``: replays lose it."""

    class Copies(engine("transfer").Transfer):  # type: ignore[misc]
        def __init__(self) -> None:
            self.accumulates = accumulates
            self.source = self.destination = self.calls = self.counted = 0
            self.verified: list[int] = []

        def arm(self, seed: int) -> None:
            self.source, self.destination = seed, 0

        def _work(self) -> None:
            gpu.clock += CALL_S
            self.calls += 1
            if not (wrong and gpu.replaying):
                self.destination = self.source + (self.destination if accumulates else 0)

        def call(self) -> None:
            gpu.do(self._work)

        def count_as_run(self, calls: int) -> None:
            self.counted = calls

        def verify(self, seed: int) -> str | None:
            self.verified.append(seed)
            return None if self.destination == seed else f"{self.destination} for {seed}"

        def verified_bytes(self) -> int:
            return 8

        def settle(self) -> None:
            gpu.events.append("settle")

    return Copies()


def flow(
    engine: Any, method: str = "torch-collective", device: str = "gpu", clock: str = "batch", **parameters: Any
) -> Any:
    ends = [{"device": f"{device}:{i}", "memory": "device", "rank": i} for i in range(2)]
    ways = {"members": ends} if method == "torch-collective" else {"source": ends[0], "destination": ends[1]}
    parts = {"method": method, "executor": f"{device}:0", "bytes": 64, "parameters": parameters, **ways}
    return engine("plan").parse_plan(json.dumps(plan(case("a", parts, clock=clock)))).cases[0]


def measured(engine: Any, transfer: Any, recorded: int, world: Any = None, clock: str = "batch") -> Json:
    """The row's members of a case of one process, or of one of ``world``."""
    plan_case = flow(engine, clock=clock, form="graph", recorded=recorded)
    own = engine("recorded").in_its_form(transfer, plan_case.flows[0], plan_case, 0)
    options = engine("plan").Options(0.01, 6, 6, 0.05, 0.0, 0)
    world = world or engine("world").Alone()
    parts = tuple(engine("transfer").Part(rank) for rank in range(world.size))
    operations, accumulates = own.transfer.operations, own.transfer.accumulates
    subject = engine("measurement").Subject(plan_case.flows[0], parts, False, operations, accumulates, own)
    found: Json = engine("measurement").Measurement(world, plan_case, options, subject, itertools.count(3)).run()
    return found


@pytest.mark.parametrize("recorded", [1, 20])
def test_a_figure_of_a_graph_is_the_time_of_one_of_its_calls(engine: Any, gpu: Gpu, recorded: int) -> None:
    found = measured(engine, copies(engine, gpu), recorded)
    (graph,) = gpu.graphs
    assert len(graph.work) == recorded
    assert found["flows"][0]["operations"] == recorded
    assert found["flows"][0]["seconds"]["median"] == pytest.approx(CALL_S + START_S / recorded)
    assert found["flows"][0]["gbps"]["median"] == pytest.approx(64 / (CALL_S + START_S / recorded) / 1e9)


def test_calls_are_made_before_they_are_recorded_and_replayed_ever_after(engine: Any, gpu: Gpu) -> None:
    transfer = copies(engine, gpu)
    measured(engine, transfer, 4)
    (graph,) = gpu.graphs
    assert transfer.calls - 4 * graph.replays >= 10, "the library frees what old graphs held in every tenth call"
    assert transfer.counted % 4 == 0
    assert 0 < transfer.counted < 4 * graph.replays, "those since the last arming"


@pytest.mark.parametrize("clock", ["batch", "device"])
@pytest.mark.parametrize("led_in_by_a_call", [False, True])
def test_what_is_verified_came_out_of_replays(engine: Any, gpu: Gpu, clock: str, led_in_by_a_call: bool) -> None:
    transfer = copies(engine, gpu, wrong=True)
    transfer.led_in_by_a_call = led_in_by_a_call
    with pytest.raises(engine("faults").EngineError, match=r"^0 for 4$") as caught:
        measured(engine, transfer, 2, clock=clock)
    assert transfer.verified == [4], "armed with 3 for the first calls, and with 4 for replays alone"
    assert caught.value.fault is engine("faults").Fault.MISMATCH


def test_of_what_adds_up_one_replay_is_checked(engine: Any, gpu: Gpu) -> None:
    assert measured(engine, copies(engine, gpu, accumulates=True), 1)["verified"]["rounds"] == 2
    with pytest.raises(engine("faults").EngineError):
        measured(engine, copies(engine, gpu, accumulates=True, wrong=True), 1)


def test_the_error_of_the_call_is_told_and_not_that_of_the_spoilt_capture(engine: Any, gpu: Gpu) -> None:
    gpu.refuses = "NCCL error:\nunhandled cuda error"
    words = "^its calls cannot be captured into a graph: RuntimeError: NCCL error: unhandled cuda error$"
    with pytest.raises(engine("faults").EngineError, match=words) as caught:
        measured(engine, copies(engine, gpu), 2)
    assert caught.value.fault is engine("faults").Fault.FATAL


class Pair:
    """A world of two threads."""

    size, host, limit_s = 2, "127.0.0.1", 10.0

    def __init__(self, rank: int, meeting: threading.Barrier, words: dict[int, Any]) -> None:
        self.rank = rank
        self._meeting = meeting
        self._words = words

    def name(self, rank: int) -> str:
        return f"rank {rank}"

    def exchange(self, own: Any) -> list[Any]:
        self._words[self.rank] = own
        self._meeting.wait(10)
        said = [self._words[rank] for rank in range(2)]
        self._meeting.wait(10)
        return said

    def exchange_failure(self, own: Any, reason: str, after_s: float) -> list[Any]:
        return self.exchange(own)


def test_where_one_process_cannot_capture_none_replays_and_all_hear_of_it(engine: Any, gpu: Gpu) -> None:
    able, unable = Gpu(), Gpu()
    unable.refuses = "no such call"
    gpus = {0: able, 1: unable}
    here = threading.local()
    cuda = sys.modules["torch"].cuda
    cuda.CUDAGraph = lambda: Graph(gpus[here.rank])
    cuda.graph = lambda graph, **how: graph.gpu.capture(graph, **how)
    meeting, words = threading.Barrier(2), dict[int, Any]()
    errors: dict[int, Any] = {}
    engine("recorded")
    engine("measurement")

    def run(rank: int) -> None:
        here.rank = rank
        try:
            measured(engine, copies(engine, gpus[rank]), 2, Pair(rank, meeting, words))
        except Exception as error:
            errors[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    reason = "rank 1: its calls cannot be captured into a graph: RuntimeError: no such call"
    assert [str(errors.get(rank)) for rank in range(2)] == [reason, reason]
    assert {error.fault for error in errors.values()} == {engine("faults").Fault.FATAL}, "nobody goes on with the group"
    assert [graph.replays for graph in able.graphs] == [0]


# What an executor does with graphs.


class Calls:
    """A method whose transfer is recorded."""

    def __init__(self, engine: Any, transfer: Any) -> None:
        self._engine = engine
        self._transfer = transfer

    def check(self, flow: Any, case: Any) -> None:
        pass

    def parts(self, flow: Any) -> Any:
        return (self._engine("transfer").Part(0),)

    def latency(self, flow: Any) -> bool:
        return False

    def assemble(self, flow: Any, case: Any, site: Any) -> Any:
        return self._engine("recorded").in_its_form(self._transfer, flow, case, 0)


def executed(engine: Any, gpu: Gpu, transfer: Any, cases: int = 2) -> tuple[bool, list[Json]]:
    """Whether the engine came to its end, and the rows."""
    said: list[Json] = []
    ends = [{"device": f"gpu:{i}", "memory": "device"} for i in range(2)]
    parts = {"method": "torch-collective", "executor": "gpu:0", "bytes": 64, "members": ends}
    parts["parameters"] = {"form": "graph", "recorded": 2}
    asked = plan(*(case(f"{number}", parts, clock="batch") for number in range(cases)))
    executor = engine("executor").Executor(
        engine("plan").parse_plan(json.dumps(asked)), engine("world").Alone(), said.append
    )
    close = lambda: gpu.events.append("close")  # noqa: E731
    executor._methods = SimpleNamespace(by_name={"torch-collective": Calls(engine, transfer)}, close=close)
    sound = executor.run()
    return sound, [record for record in said if record["record"] == "row"]


@pytest.mark.parametrize("wrong", [False, True])
def test_graphs_are_given_back_idle_before_the_communicators_go(engine: Any, gpu: Gpu, wrong: bool) -> None:
    sound, rows = executed(engine, gpu, copies(engine, gpu, wrong=wrong))
    assert sound
    assert [row["status"] for row in rows] == ["failed" if wrong else "ok"] * 2
    assert gpu.events.count("reset") == 2
    assert gpu.events[-3:] == ["settle", "reset", "close"]


def test_a_graph_is_given_back_when_nothing_is_under_way(engine: Any, gpu: Gpu) -> None:
    replayed = engine("recorded").Recorded(copies(engine, gpu), 2, 0)
    replayed.record()
    replayed.call()
    replayed.release()
    assert gpu.events == ["settle", "reset"]


@pytest.mark.parametrize("when", ["captured", "replayed"])
def test_a_process_that_can_go_on_no_more_leaves_with_its_graph(engine: Any, gpu: Gpu, when: str) -> None:
    words = "CUDA error: no such call"
    setattr(gpu, "refuses" if when == "captured" else "breaks", words)
    sound, (row,) = executed(engine, gpu, copies(engine, gpu))
    assert not sound
    assert (row["status"], words in row["reason"]) == ("failed", True)
    assert not {"reset", "close"} & set(gpu.events)


# What can be recorded.


def refusal(engine: Any, method: str, clock: str = "batch", **asked: Any) -> str:
    module, name = {
        "torch-collective": ("collective", "TorchCollective"),
        "torch-send": ("messages", "TorchSend"),
    }[method]
    plan_case = flow(engine, method, **asked)
    with pytest.raises(engine("faults").EngineError) as caught:
        getattr(engine(module), name)(None).check(plan_case.flows[0], plan_case)
    return f"{caught.value.fault.name} {caught.value}"


GLOO = "UNSUPPORTED Gloo's calls cannot be recorded in a graph: NCCL's on memory of GPUs can"


@pytest.mark.parametrize(
    ("method", "asked", "reason"),
    [
        ("torch-collective", {"backend": "gloo", "in_place": "yes"}, GLOO),
        ("torch-collective", {"device": "numa", "in_place": "yes"}, GLOO),
        ("torch-send", {"device": "numa"}, GLOO),
        ("torch-collective", {"collective": "barrier"}, "UNSUPPORTED a barrier keeps its caller"),
        ("torch-collective", {"collective": "reduce", "in_place": "yes", "recorded": 2}, "UNSUPPORTED reduce in place"),
        ("torch-collective", {"collective": "all-gather", "recorded": 65}, "BAD_INPUT parameter recorded: 1 to 64"),
        ("torch-collective", {"collective": "all-gather", "recorded": 0}, "BAD_INPUT parameter recorded: 1 to 64"),
        ("torch-send", {"recorded": "many"}, "BAD_INPUT parameter recorded: 1 to 64"),
        ("torch-send", {"form": "in-kernel"}, "BAD_INPUT parameter form: 'in-kernel' is none of eager, graph"),
    ],
)
def test_what_cannot_be_recorded_is_refused_with_the_reason(engine: Any, method: str, asked: Json, reason: str) -> None:
    assert refusal(engine, method, **{"form": "graph", **asked}).startswith(reason)


def test_graphs_of_nccls_calls_are_taken_and_eager_calls_need_no_graph(engine: Any) -> None:
    check = engine("collective").TorchCollective(None).check
    kinds = {"all-reduce": 20, "broadcast": 20, "reduce": 1, "all-gather": 20, "reduce-scatter": 20, "all-to-all": 20}
    for (kind, recorded), form in itertools.product(kinds.items(), ("eager", "graph")):
        place = "yes" if kind in ("all-reduce", "broadcast", "reduce") else "no"
        plan_case = flow(engine, collective=kind, in_place=place, form=form, recorded=recorded)
        check(plan_case.flows[0], plan_case)
        assert engine("recorded").recorded_calls(plan_case.flows[0]) == (recorded if form == "graph" else 0)


@pytest.mark.parametrize(("recorded", "held"), [(1, 15), (4, 9), (20, 1), (21, 1), (64, 1)])
def test_no_more_graphs_are_held_back_than_the_driver_queues(engine: Any, gpu: Gpu, recorded: int, held: int) -> None:
    plan_case = flow(engine, clock="device", form="graph", recorded=recorded)
    own = engine("recorded").in_its_form(engine("transfer").Transfer, plan_case.flows[0], plan_case, 0)
    assert own.watch.most_repeats == held
    assert bool(own.watch.notes()) == (recorded > 20), "what cannot be held back says so, and is not tried"


@pytest.mark.parametrize(("form", "slots"), [("eager", 8), ("graph", 1)])
def test_recorded_messages_have_one_slot_and_say_so(
    engine: Any, monkeypatch: pytest.MonkeyPatch, form: str, slots: int
) -> None:
    messages = engine("messages")
    arenas: list[int] = []

    def arena(end: Any, size: int, count: int, limit: int) -> Any:
        arenas.append(count)
        return SimpleNamespace(pieces=("piece",), compare=lambda seed, calls: f"compared {calls}")

    monkeypatch.setattr(messages, "Arena", arena)
    monkeypatch.setattr(messages.rotation, "slots", lambda *of: (8, []))
    monkeypatch.setattr(messages.memory, "supports", lambda end: None)
    method = messages.TorchSend(SimpleNamespace(of=lambda *of: None))
    site = SimpleNamespace(world=SimpleNamespace(rank=1), memory_limit_bytes=0)
    plan_case = flow(engine, "torch-send", form=form, recorded=2)
    own = method.assemble(plan_case.flows[0], plan_case, site)
    assert arenas == [slots]
    assert own.transfer.notes() == ([messages.rotation.ONE_SLOT] if form == "graph" else [])


def test_replayed_messages_are_compared_though_no_call_was_made(engine: Any, gpu: Gpu) -> None:
    class Arena:
        pieces = ("piece",)

        def poison(self) -> None:
            pass

        def compare(self, seed: int, calls: int) -> str:
            return f"compared {calls}"

    carrier = SimpleNamespace(receive=lambda piece: gpu.do(lambda: None))
    side = engine("messages").ReceivingSide(carrier, Arena(), None, [], "send")
    replayed = engine("recorded").Recorded(side, 5, 0)
    replayed.arm(1)
    replayed.call()
    assert replayed.record()
    replayed.arm(2)
    assert replayed.verify(2) == "compared 0"
    for _ in range(3):
        replayed.call()
    assert replayed.verify(2) == "compared 15"


def test_the_catalog_words_the_form_as_the_compiled_engines_do(engine: Any) -> None:
    catalog = engine("catalog")
    for entry in catalog.METHODS:
        assert ({"form", "recorded"} <= set(entry.parameters)) == (entry.name in ("torch-send", "torch-collective"))
    assert catalog.METHODS[1].parameters["form"].startswith("eager (default): a call each time; graph: calls recorded")
    assert catalog.METHODS[1].parameters["recorded"] == "calls that one graph holds, 1 (default) to 64"

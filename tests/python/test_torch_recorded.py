"""Calls of PyTorch's that are captured into a graph and replayed. PyTorch and its GPU are stood in for."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
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


def flow(engine: Any, method: str = "torch-collective", device: str = "gpu", **parameters: Any) -> Any:
    place = {"memory": "device", "advice": ""}
    ends = [{"device": f"{device}:{i}", "first_touch": f"{device}:{i}", "rank": i, **place} for i in range(2)]
    collective = method == "torch-collective"
    ways = {"members": ends} if collective else {"source": ends[0], "destination": ends[1], "members": []}
    told = {name: str(value) for name, value in parameters.items()}
    parts = {"method": method, "executor": f"{device}:0", "rank": 0, "bytes": 64, "parameters": told, **ways}
    return engine("flow").Flow.of(parts)


def part_of(engine: Any, transfer: Any, recorded: int, clock: str = "batch", vote: Any = int) -> Any:
    wanted, regime = flow(engine, form="graph", recorded=recorded), engine("flow").Regime(clock, "warm")
    return engine("recorded").in_its_form(transfer, wanted, regime, 0, vote)


def measured(part: Any, repeats: int = 3, seed: int = 4) -> Any:
    """What the engine has of a part that it sets up, arms, starts and checks: the last start, and what is wrong."""
    part.set_up()
    part.arm(seed)
    readings = [part.take(repeats) for _ in range(2)]
    return readings[-1], part.transfer.verify(seed)


@pytest.mark.parametrize("recorded", [1, 20])
def test_a_figure_of_a_graph_is_the_time_of_one_of_its_calls(engine: Any, gpu: Gpu, recorded: int) -> None:
    part = part_of(engine, copies(engine, gpu), recorded)
    reading, _ = measured(part, repeats=3)
    (graph,) = gpu.graphs
    assert len(graph.work) == recorded
    operations = part.facts()["operations"]
    assert operations == recorded
    assert reading.seconds / 3 / operations == pytest.approx(CALL_S + START_S / recorded)


def test_calls_are_made_before_they_are_recorded_and_replayed_ever_after(engine: Any, gpu: Gpu) -> None:
    transfer = copies(engine, gpu)
    measured(part_of(engine, transfer, 4))
    (graph,) = gpu.graphs
    assert transfer.calls - 4 * graph.replays >= 10, "the library frees what old graphs held in every tenth call"
    assert transfer.counted % 4 == 0
    assert 0 < transfer.counted < 4 * graph.replays, "those since the last arming"


@pytest.mark.parametrize("clock", ["batch", "device"])
@pytest.mark.parametrize("led_in_by_a_call", [False, True])
def test_what_is_verified_came_out_of_replays(engine: Any, gpu: Gpu, clock: str, led_in_by_a_call: bool) -> None:
    transfer = copies(engine, gpu, wrong=True)
    transfer.led_in_by_a_call = led_in_by_a_call
    assert measured(part_of(engine, transfer, 2, clock))[1] == "0 for 4"


@pytest.mark.parametrize("clock", ["batch", "device"])
@pytest.mark.parametrize("wrong", [False, True])
def test_of_what_adds_up_one_replay_is_checked(engine: Any, gpu: Gpu, clock: str, wrong: bool) -> None:
    transfer = copies(engine, gpu, accumulates=True, wrong=wrong)
    transfer.led_in_by_a_call = True
    part = part_of(engine, transfer, 1, clock)
    part.set_up()
    assert part.facts()["accumulates"]
    part.arm(4)
    part.take(1)  # by any clock that call alone
    assert transfer.verify(4) == ("0 for 4" if wrong else None)


def test_the_error_of_the_call_is_told_and_not_that_of_the_spoilt_capture(engine: Any, gpu: Gpu) -> None:
    gpu.refuses = "NCCL error:\nunhandled cuda error"
    words = "^its calls cannot be captured into a graph: RuntimeError: NCCL error: unhandled cuda error$"
    part = part_of(engine, copies(engine, gpu), 2)
    with pytest.raises(engine("faults").ChildError, match=words) as caught:
        part.set_up()
    assert caught.value.fault is engine("faults").Fault.FATAL


class Pair:
    """The vote of two threads."""

    def __init__(self) -> None:
        self.votes: dict[int, int] = {}
        self.barrier = threading.Barrier(2)

    def of(self, rank: int) -> Callable[[int], int]:
        def lowest(vote: int) -> int:
            self.votes[rank] = vote
            self.barrier.wait(10)
            found = min(self.votes.values())
            self.barrier.wait(10)
            return found

        return lowest


def both(work: Callable[[int], None]) -> dict[int, Exception]:
    """Does it as either of two processes at the same time; the errors."""
    errors: dict[int, Exception] = {}

    def live(rank: int) -> None:
        try:
            work(rank)
        except Exception as error:
            errors[rank] = error

    threads = [threading.Thread(target=live, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return errors


def test_where_one_process_cannot_capture_none_replays(engine: Any, gpu: Gpu) -> None:
    able, unable = Gpu(), Gpu()
    unable.refuses = "no such call"
    gpus = {0: able, 1: unable}
    here = threading.local()
    cuda = sys.modules["torch"].cuda
    cuda.CUDAGraph = lambda: Graph(gpus[here.rank])
    cuda.graph = lambda graph, **how: graph.gpu.capture(graph, **how)
    pair = Pair()
    parts = {rank: part_of(engine, copies(engine, gpus[rank]), 2, vote=pair.of(rank)) for rank in range(2)}

    def live(rank: int) -> None:
        here.rank = rank
        parts[rank].set_up()

    errors = both(live)
    assert {rank: str(error) for rank, error in errors.items()} == {
        1: "its calls cannot be captured into a graph: RuntimeError: no such call"
    }
    assert getattr(errors[1], "fault", None) == engine("faults").Fault.FATAL, "nobody goes on with the group"
    assert [graph.replays for graph in able.graphs] == [0]


def test_where_one_process_does_not_hold_its_work_back_all_start_again_and_hold_longer(engine: Any, gpu: Gpu) -> None:
    class Watch:
        holds, max_repeats = True, 8

        def __init__(self, held: list[bool]) -> None:
            self.held = held
            self.longer = 0

        def take(self, transfer: Any, repeats: int) -> Any:
            return engine("transfer").Reading(0.0, float(len(self.held)), self.held.pop(0))

        def hold_longer(self) -> None:
            self.longer += 1

    pair, part = Pair(), engine("part").Part
    watches = [Watch([True, True, True]), Watch([False, True, True])]
    parts = [part(copies(engine, gpu), watch, vote=pair.of(rank)) for rank, watch in enumerate(watches)]
    taken: dict[int, float] = {}
    assert both(lambda rank: taken.update({rank: parts[rank].take(2).seconds})) == {}
    assert taken == {0: 2.0, 1: 2.0}
    assert [watch.longer for watch in watches] == [1, 1]


def test_work_that_is_never_held_back_is_a_failure(engine: Any, gpu: Gpu) -> None:
    class Watch:
        holds, max_repeats = True, 8

        def take(self, transfer: Any, repeats: int) -> Any:
            return engine("transfer").Reading(0.0, 1.0, False)

        def hold_longer(self) -> None:
            pass

    with pytest.raises(engine("faults").ChildError, match="could not be held back"):
        engine("part").Part(copies(engine, gpu), Watch()).take(2)


# What a command server does with graphs.


class Calls:
    """A method whose transfer is recorded."""

    def __init__(self, engine: Any, transfer: Any) -> None:
        self._engine = engine
        self._transfer = transfer

    def hold(self, flow: Any, regime: Any, site: Any) -> None:
        pass

    def import_handles(self, flow: Any, exports: Any, site: Any) -> None:
        pass

    def assemble(self, flow: Any, regime: Any, site: Any, held: Any) -> Any:
        return self._engine("recorded").in_its_form(self._transfer, flow, regime, 0, int)


def commanded(engine: Any, gpu: Gpu, transfer: Any) -> list[Any]:
    """A server's answers to the commands of a case: the faults among them."""
    server = engine("command_server").CommandServer()
    close = lambda: gpu.events.append("close")  # noqa: E731
    server._methods = SimpleNamespace(by_name={"torch-collective": Calls(engine, transfer)}, close=close)
    ends = [{"device": f"gpu:{i}", "memory": "device", "first_touch": "gpu:0", "advice": "", "rank": 0} for i in (0, 1)]
    told = {"method": "torch-collective", "executor": "gpu:0", "rank": 0, "bytes": 64, "members": ends}
    of_flow = {"flow": told | {"parameters": {"form": "graph", "recorded": "2"}}, "exports": [{"versions": {}}]}
    regime = {"regime": {"clock": "batch", "cache": "warm"}}
    commands = ({"do": "prepare"}, {"do": "import_handles"}, {"do": "arm", "seed": 4}, {"do": "run", "repeats": 2})
    answers = []
    for command in (*commands, {"do": "verify", "seed": 4}):
        answers.append(server.carry_out({**command, "id": 7, **of_flow, **regime}))
        if "fault" in answers[-1]:
            return answers
    server.carry_out({"do": "release", "id": 7})
    server.carry_out({"do": "close"})
    return answers


@pytest.mark.parametrize("wrong", [False, True])
def test_graphs_are_given_back_idle_before_the_communicators_go(engine: Any, gpu: Gpu, wrong: bool) -> None:
    answers = commanded(engine, gpu, copies(engine, gpu, wrong=wrong))
    assert answers[-1] == {"value": {"wrong": "0 for 4" if wrong else None, "bytes": 0 if wrong else 8}}
    assert gpu.events[-3:] == ["settle", "reset", "close"]


def test_a_graph_is_given_back_when_nothing_is_under_way(engine: Any, gpu: Gpu) -> None:
    replayed = engine("recorded").RecordedTransfer(copies(engine, gpu), 2, 0)
    replayed.record()
    replayed.call()
    replayed.release()
    assert gpu.events == ["settle", "reset"]


@pytest.mark.parametrize("when", ["captured", "replayed"])
def test_a_process_that_can_go_on_no_more_leaves_with_its_graph(engine: Any, gpu: Gpu, when: str) -> None:
    words = "CUDA error: no such call"
    setattr(gpu, "refuses" if when == "captured" else "breaks", words)
    last = commanded(engine, gpu, copies(engine, gpu))[-1]
    assert (last["fault"], words in last["what"]) == ("fatal", True)
    assert not {"reset", "close"} & set(gpu.events)


# What can be recorded.


def refusal(engine: Any, method: str, clock: str = "batch", **asked: Any) -> str:
    module, name = {
        "torch-collective": ("collective", "TorchCollective"),
        "torch-send": ("messages", "TorchSend"),
    }[method]
    wanted, regime = flow(engine, method, **asked), engine("flow").Regime(clock, "warm")
    with pytest.raises(engine("faults").ChildError) as caught:
        getattr(engine(module), name)(None).check(wanted, regime)
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
        wanted = flow(engine, collective=kind, in_place=place, form=form, recorded=recorded)
        check(wanted, engine("flow").Regime("batch", "warm"))
        assert engine("recorded").recorded_calls(wanted) == (recorded if form == "graph" else 0)


@pytest.mark.parametrize(("recorded", "held"), [(1, 15), (4, 9), (20, 1), (21, 1), (64, 1)])
def test_no_more_graphs_are_held_back_than_the_driver_queues(engine: Any, gpu: Gpu, recorded: int, held: int) -> None:
    own = part_of(engine, copies(engine, gpu), recorded, "device")
    assert own.facts()["max_repeats"] == held
    assert bool(own.notes()) == (recorded > 20), "what cannot be held back says so, and is not tried"


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
    method = messages.TorchSend(SimpleNamespace(of=lambda *of: None, vote=lambda *of: int))
    site = engine("flow").Site(1, 2, "", 1.0, 0)
    wanted, regime = flow(engine, "torch-send", form=form, recorded=2), engine("flow").Regime("batch", "rotated")
    own = method.assemble(wanted, regime, site, method.hold(wanted, regime, site))
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
    replayed = engine("recorded").RecordedTransfer(side, 5, 0)
    replayed.arm(1)
    replayed.call()
    replayed.record()
    replayed.arm(2)
    assert replayed.verify(2) == "compared 0"
    for _ in range(3):
        replayed.call()
    assert replayed.verify(2) == "compared 15"


@pytest.mark.parametrize(("name", "device"), [("huge", "numa:0"), ("managed", "numa:0"), ("pool", "gpu:0")])
def test_memory_that_pytorch_does_not_allocate_is_refused(engine: Any, name: str, device: str) -> None:
    memory, flow, faults = (engine(module) for module in ("memory", "flow", "faults"))
    told = {"device": device, "memory": name, "first_touch": device, "advice": "", "rank": 0}
    with pytest.raises(faults.ChildError, match=f"no {name}"):
        memory.supports(flow.Endpoint.of(told))

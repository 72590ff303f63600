"""Catalog: the one list of the torch engine's methods and memories, and what is said of this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from linkscope import __version__
from linkscope.torch_engine import installation, system
from linkscope.torch_engine.faults import EngineError, Fault
from linkscope.torch_engine.plan import SCHEMA, Flow, Plan

Json = dict[str, Any]

_CALL = {
    "call": "send (default), which is answered by the host's clock each time, and so lasts until arrival; "
    "or ping-pong: there and back, told as the time of one way"
}
_FORM = {
    "form": "eager (default): a call each time; graph: calls recorded once, launched as a graph; nccl alone",
    "recorded": "calls that one graph holds, 1 (default) to 64",
}
_BACKEND = {"backend": "auto (default: nccl for memory of GPUs, else gloo), nccl or gloo"}


@dataclass(frozen=True)
class Entry:
    """A method or a memory. ``problem`` says why it is not there. ``kind``: of a method, what its figure is."""

    name: str
    summary: str
    problem: Callable[[], str | None]
    kind: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> Json:
        problem = self.problem()
        entry: Json = {"name": self.name, "summary": self.summary, "available": problem is None}
        if problem is not None:
            entry["reason"] = problem
        if self.kind is not None:
            entry["kind"] = self.kind
        if self.parameters:
            entry["parameters"] = dict(self.parameters)
        return entry


METHODS = (
    Entry(
        "torch-copy",
        "Tensor.copy_ between two devices of one process",
        installation.torch_problem,
        "bandwidth",
        {"non_blocking": "yes (default) or no, as Tensor.copy_ takes it"},
    ),
    Entry(
        "torch-send",
        "send and recv of torch.distributed between two processes",
        installation.distributed_problem,
        "bandwidth",
        _CALL | _BACKEND | _FORM,
    ),
    Entry(
        "torch-collective",
        "collectives of torch.distributed, one member in each process",
        installation.distributed_problem,
        "bandwidth",
        {
            "collective": "all-reduce (default), reduce, broadcast, reduce-scatter, all-gather, all-to-all, barrier",
            "type": "float32 (default), float16, bfloat16, int32",
            "in_place": "no (default) or yes; yes alone for all-reduce, reduce and broadcast, which have no other way",
            **_BACKEND,
            **_FORM,
        },
    ),
    Entry(
        "torch-mpi",
        "Send and Recv of mpi4py on tensors between two processes",
        installation.mpi_problem,
        "bandwidth",
        _CALL,
    ),
)
MEMORIES = (
    Entry("pageable", "a CPU tensor", installation.torch_problem),
    Entry("pinned", "a CPU tensor in page-locked memory", installation.gpu_problem),
    Entry("device", "a tensor on a GPU", installation.gpu_problem),
)


def description() -> Json:
    """What the engine says of itself (schema/result.schema.json)."""
    record: Json = {
        "record": "description",
        "schema": SCHEMA,
        "version": __version__,
        "backend": installation.backend(),
        "versions": installation.versions(),
        "devices": [_numa_node(index, cpus) for index, cpus in system.numa_nodes().items()] + installation.gpus(),
        "peer_access": installation.peer_access(),
        "methods": [entry.to_json() for entry in METHODS],
        "memories": [entry.to_json() for entry in MEMORIES],
    }
    problem = installation.gpu_problem()
    return {**record, "problem": problem} if problem else record


def check_names(plan: Plan) -> None:
    """Raises EngineError where the plan names what the catalog does not know."""
    for case in plan.cases:
        for index, flow in enumerate(case.flows):
            _check_flow(flow, f"case '{case.id}': flows[{index}]")


def problem_of(flow: Flow) -> str | None:
    """Why the flow's method or one of its memories is not there."""
    method = next(entry for entry in METHODS if entry.name == flow.method)
    problem = method.problem()
    if problem:
        return f"{flow.method}: {problem}"
    for end in flow.ends:
        problem = next(entry for entry in MEMORIES if entry.name == end.memory).problem()
        if problem:
            return f"{end.memory} memory: {problem}"
    return None


def _check_flow(flow: Flow, place: str) -> None:
    methods = {entry.name: entry for entry in METHODS}
    memories = [entry.name for entry in MEMORIES]
    if flow.method not in methods:
        known = ", ".join(methods)
        raise EngineError(Fault.BAD_INPUT, f"{place}: method: unknown '{flow.method}', this engine has {known}")
    for end in flow.ends:
        if end.memory not in memories:
            known = ", ".join(memories)
            raise EngineError(Fault.BAD_INPUT, f"{place}: memory: unknown '{end.memory}', this engine has {known}")
    for name in flow.parameters:
        if name not in methods[flow.method].parameters:
            what = f"{flow.method} has no such parameter"
            raise EngineError(Fault.BAD_INPUT, f"{place}: parameters.{name}: {what}")


def _numa_node(index: int, cpus: tuple[int, ...]) -> Json:
    node: Json = {"id": f"numa:{index}", "name": f"NUMA node {index}"}
    memory = system.node_memory_bytes(index)
    if memory:
        node["memory_bytes"] = memory
    if cpus:
        node["cpus"] = list(cpus)
    return node

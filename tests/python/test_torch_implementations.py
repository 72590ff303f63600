"""Collectives of PyTorch's symmetric memory and of packages beside it. All libraries are stood in for."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from torch_stood_in import engine

from linkscope.torch_child import installation

__all__ = ["engine"]  # a fixture

Json = dict[str, Any]

SYMMETRIC = "torch.distributed._symmetric_memory"
MULTICAST_OFF = "TORCH_SYMM_MEM_DISABLE_MULTICAST"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MULTICAST_OFF, "1")
    monkeypatch.setenv("TORCH_SYMMMEM_IMPLICIT_POOL", "0")


class Type:
    """Of elements, which take 4 bytes."""

    itemsize = 4


class Tensor:
    """What is moved: a name, and how it is looked at."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.shape: tuple[int, ...] = ()

    def view(self, *shape: int) -> Tensor:
        self.shape = shape
        return self

    def data_ptr(self) -> int:
        return sum(map(ord, self.name))


@pytest.fixture
def symmetric(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch's module of symmetric memory."""
    monkeypatch.setitem(sys.modules, SYMMETRIC, module := MagicMock())
    module._backend_streams = {0: "of another GPU"}
    return module


def flow(engine: Any, method: str, size: int = 4096, members: int = 2, **parameters: str) -> Any:
    ends = [
        {"device": f"gpu:{i}", "memory": "device", "first_touch": f"gpu:{i}", "advice": "", "rank": i}
        for i in range(members)
    ]
    parts = {"method": method, "executor": "gpu:0", "rank": 0, "bytes": size, "members": ends}
    return engine("flow").Flow.of({**parts, "parameters": parameters})


def method(engine: Any, name: str) -> Any:
    module, kind = {
        "torch-symm-mem": ("symmetric_memory", "TorchSymmMem"),
        "vllm-all-reduce": ("vllm_all_reduce", "VllmAllReduce"),
        "flashinfer-all-reduce": ("flashinfer_all_reduce", "FlashInferAllReduce"),
        "mscclpp-all-reduce": ("mscclpp_all_reduce", "MscclppAllReduce"),
    }[name]
    return getattr(engine(module), kind)(None)


def shape(engine: Any, kind: str = "all-reduce", size: int = 4096) -> Any:
    return engine("collective").Shape(kind, Type, False, 2, size, 1, 0)


def refusal(engine: Any, name: str, clock: str = "device", **asked: Any) -> str:
    with pytest.raises(engine("faults").ChildError) as caught:
        method(engine, name).check(flow(engine, name, **asked), engine("flow").Regime(clock, "warm"))
    return f"{caught.value.fault.name} {caught.value}"


SYMM, VLLM = "torch-symm-mem", "vllm-all-reduce"


@pytest.mark.parametrize(
    ("name", "asked", "reason"),
    [
        (SYMM, {"collective": "all-to-all"}, "one-shot has no all-to-all: PyTorch has all-reduce"),
        (
            SYMM,
            {"algorithm": "copy-engine"},
            "copy-engine has no all-reduce: PyTorch has all-gather and reduce-scatter",
        ),
        (SYMM, {"type": "float16"}, "all-reduce by one-shot takes float32, bfloat16, no float16"),
        (SYMM, {"in_place": "yes"}, "all-reduce by one-shot works otherwise: write in_place: no"),
        (SYMM, {"algorithm": "two-shot"}, "all-reduce by two-shot works otherwise: write in_place: yes"),
        (SYMM, {"size": 6}, "6 B is not a whole number of 4 B"),
        (SYMM, {"algorithm": "two-shot", "collective": "reduce-scatter", "members": 3, "size": 96}, "not 3"),
        (SYMM, {"algorithm": "two-shot", "collective": "reduce-scatter", "size": 48}, "whole number of 16 B for each"),
        (
            SYMM,
            {"algorithm": "copy-engine", "collective": "reduce-scatter", "type": "int32"},
            "reduce-scatter by copy-engine takes float32, float16, bfloat16, no int32",
        ),
        (VLLM, {"collective": "all-gather"}, "vllm-all-reduce has all-reduce alone, no all-gather"),
        (VLLM, {"members": 3}, "has 2, 4, 6, 8 members, not 3"),
        (VLLM, {"type": "int32"}, "takes float32, float16, bfloat16, no int32"),
        (VLLM, {"size": 128 << 20}, "takes whole 16 B to 64 MiB"),
        ("mscclpp-all-reduce", {"size": 16 << 20, "algorithm": "packet"}, "takes whole 16 B to 8 MiB"),
        ("flashinfer-all-reduce", {"algorithm": "two-shot", "size": 256}, "takes more rows than members"),
    ],
)
def test_what_a_library_has_not_is_refused_with_the_reason(
    engine: Any, symmetric: Any, name: str, asked: Json, reason: str
) -> None:
    told = refusal(engine, name, **asked)
    assert told.startswith("UNSUPPORTED ")
    assert reason in told


def test_host_memory_and_a_pytorch_without_the_operation_are_refused(engine: Any, symmetric: Any) -> None:
    asked = flow(engine, SYMM)
    regime = engine("flow").Regime("device", "warm")
    symm = method(engine, SYMM)
    symm.check(asked, regime)
    sys.modules["torch"].ops.symm_mem = SimpleNamespace()
    with pytest.raises(engine("faults").ChildError, match="one_shot_all_reduce_out"):
        symm.check(asked, regime)
    on_host = [
        {"device": "numa:0", "memory": "pageable", "first_touch": "numa:0", "advice": "", "rank": i} for i in (0, 1)
    ]
    told = {"method": SYMM, "executor": "numa:0", "rank": 0, "bytes": 64, "members": on_host, "parameters": {}}
    with pytest.raises(engine("faults").ChildError, match="device memory of GPUs alone"):
        symm.check(engine("flow").Flow.of(told), regime)


@pytest.mark.parametrize(
    ("algorithm", "kind", "operation", "arguments"),
    [
        ("one-shot", "all-reduce", "one_shot_all_reduce_out", ("sent", "sum", "group", "received")),
        ("two-shot", "all-reduce", "two_shot_all_reduce_", ("sent", "sum", "group")),
        ("two-shot", "reduce-scatter", "reduce_scatter_out", ("sent", "group", False, "received")),
        ("copy-engine", "all-gather", "_low_contention_all_gather", ("sent", "group")),
        ("copy-engine", "reduce-scatter", "_low_contention_reduce_scatter", ("sent", "sum", "group")),
    ],
)
def test_an_algorithm_is_one_operation_on_memory_that_all_have_mapped(
    engine: Any, symmetric: Any, algorithm: str, kind: str, operation: str, arguments: Any
) -> None:
    torch = sys.modules["torch"]
    torch.ops._c10d_functional.wait_tensor = lambda output: f"waited for {output}"
    getattr(torch.ops.symm_mem, operation).side_effect = lambda *given: "output"
    asked = flow(engine, SYMM, algorithm=algorithm, collective=kind)
    symm, group = method(engine, SYMM), SimpleNamespace(group_name="group")
    work = symm.work(asked, shape(engine, kind), group, ("sent", "received"), 1)
    symmetric.rendezvous.assert_called_once_with("sent", group)
    assert not symmetric._backend_streams, "a stream of another GPU is not waited for"
    transfer = engine("collective").CollectiveTransfer(shape(engine, kind), work, group, (None, None), 1, None, [])
    transfer.call()
    getattr(torch.ops.symm_mem, operation).assert_called_once_with(*arguments)
    assert transfer._received == ("waited for output" if algorithm == "copy-engine" else "output")
    assert len(symm.notes(asked)) == (2 if algorithm == "copy-engine" else 1)


class Output:
    """A tensor in a block that goes back to the ``free`` ones with it."""

    def __init__(self, free: list[list[str]], size: int = 1) -> None:
        self.free, self.size, self.block = free, size, free.pop(0)

    def __del__(self) -> None:
        self.free.insert(0, self.block)

    def view(self, _: Any) -> Output:
        return self

    def numel(self) -> int:
        return self.size

    def fill_(self, _: int) -> None:
        self.block[0] = "poison"


def test_outputs_that_calls_allocate_are_poisoned_before_their_calls(
    engine: Any, symmetric: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch, collective = sys.modules["torch"], engine("collective")
    monkeypatch.setattr(collective.memory, "fill_elements", lambda *_: None)
    torch.ops._c10d_functional.wait_tensor = lambda output: output
    blocks, writes = [[""] for _ in range(4)], True
    free = list(blocks)

    def gather(*_: Any) -> Output:
        output = Output(free)
        if writes:
            output.block[0] = "right"
        return output

    sent, received = Output(free), Output(free, 0)
    torch.ops.symm_mem._low_contention_all_gather.side_effect = gather
    asked = flow(engine, SYMM, algorithm="copy-engine", collective="all-gather")
    held = sent, received
    work = method(engine, SYMM).work(asked, shape(engine, "all-gather"), MagicMock(), held, 1)
    transfer = collective.CollectiveTransfer(shape(engine, "all-gather"), work, None, held, 1, None, [])
    transfer.arm(0)
    assert not torch.ops.symm_mem._low_contention_all_gather.called, "a first call may be refused, but not in arm()"
    for _ in range(3):
        transfer.call()
    assert sum(block == ["right"] for block in blocks) == 2, "blocks take turns"
    transfer.arm(1)
    writes = False
    for _ in range(2):
        transfer.call()
        assert transfer._received.block == ["poison"]


def test_multicast_is_off_before_memory_is_mapped_unless_the_user_says(
    engine: Any, symmetric: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MULTICAST_OFF, "0")
    own = flow(engine, SYMM).own_end(1)
    symm, asked = method(engine, SYMM), flow(engine, SYMM)
    symm.allocate(asked, shape(engine), own, 0)
    assert engine("symmetric_memory").os.environ[MULTICAST_OFF] == "0"
    monkeypatch.delenv(MULTICAST_OFF)
    symm.allocate(asked, shape(engine), own, 0)
    assert engine("symmetric_memory").os.environ[MULTICAST_OFF] == "1"
    assert symmetric.empty.call_args.args == (4096,)


# Packages.


@pytest.fixture
def vllm(engine: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was done with its communicators."""
    did: list[Any] = []

    class CustomAllreduce:
        disabled = True

        def __init__(self, group: Any, device: Any, max_size: int) -> None:
            did.append(("open", max_size))

        def finalize_p2p(self) -> None:
            self.disabled = "vllm-disabled" in did

        def all_reduce(self, sent: Any, *, out: Any, registered: bool) -> Any:
            did.append((sent.name, out.name, registered))
            return out

        @contextmanager
        def capture(self) -> Any:
            yield did.append("capture")
            did.append("handles exchanged")

    for name in ("vllm", "vllm.distributed", "vllm.distributed.device_communicators"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    module = SimpleNamespace(CustomAllreduce=CustomAllreduce)
    monkeypatch.setitem(sys.modules, "vllm.distributed.device_communicators.custom_all_reduce", module)
    return did


def summing(engine: Any, name: str, size: int = 4096, **parameters: str) -> tuple[Any, Any, Any]:
    """The method, its work, and what it puts the sum into."""
    own, held = method(engine, name), (Tensor("sent"), Tensor("received"))
    return own, own.work(flow(engine, name, size, **parameters), shape(engine, size=size), "group", held, 1), held[1]


def test_vllm_reads_a_graphs_input_where_it_lies_and_opens_once_for_all_sizes(engine: Any, vllm: list[Any]) -> None:
    cuda = sys.modules["torch"].cuda
    cuda.is_current_stream_capturing.return_value = False
    own, work, received = summing(engine, VLLM)
    assert work.call() is received
    with work.capturing():
        cuda.is_current_stream_capturing.return_value = True
        work.call()
    own.work(flow(engine, VLLM, 1 << 20), shape(engine, size=1 << 20), "group", (Tensor("sent"), Tensor("received")), 1)
    calls = [("sent", "received", False), "capture", ("sent", "received", True), "handles exchanged"]
    assert vllm == [("open", (64 << 20) + 1), *calls]
    assert own.notes(flow(engine, VLLM, form="eager"))
    assert not own.notes(flow(engine, VLLM, form="graph"))


def test_an_all_reduce_that_vllm_disables_is_a_skipped_row(engine: Any, vllm: list[Any]) -> None:
    vllm.append("vllm-disabled")
    with pytest.raises(engine("faults").ChildError) as caught:
        summing(engine, VLLM)
    assert caught.value.fault.name == "UNSUPPORTED"


@pytest.mark.parametrize(("size", "hidden"), [(256, 64), (4096, 1024), (1 << 20, 4096), (48 << 10, 4096)])
def test_flashinfer_is_given_rows_of_all_elements_and_nothing_to_fuse(
    engine: Any, monkeypatch: pytest.MonkeyPatch, size: int, hidden: int
) -> None:
    library = MagicMock()
    library.trtllm_create_ipc_workspace_for_all_reduce_fusion.return_value = ("handles", "workspace", "more")
    package = ModuleType("flashinfer")
    package.comm = library  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flashinfer", package)
    monkeypatch.setitem(sys.modules, "flashinfer.comm", library)
    summing(engine, "flashinfer-all-reduce", size)[1].call()
    given = library.trtllm_allreduce_fusion.call_args.kwargs
    assert (given["token_num"], given["hidden_dim"]) == (size // 4 // hidden, hidden)
    assert (given["workspace_ptrs"], given["world_rank"], given["world_size"]) == ("workspace", 1, 2)
    assert given["allreduce_in"].shape == given["allreduce_out"].shape == (-1, hidden)
    assert {given[name] for name in ("residual_in", "norm_out", "rms_gamma", "use_oneshot")} == {None}
    summing(engine, "flashinfer-all-reduce", size, algorithm="two-shot")[1].call()
    assert library.trtllm_allreduce_fusion.call_args.kwargs["use_oneshot"] is False
    opened = library.trtllm_create_ipc_workspace_for_all_reduce_fusion.call_args
    assert opened.args == (1, 2, 4096, 4096)
    assert opened.kwargs == {"use_fp32_lamport": True, "group": "group"}


@pytest.mark.parametrize(
    ("size", "asked", "name"),
    [
        (4096, {}, "default_allreduce_packet"),
        (1 << 20, {"algorithm": "auto"}, "default_allreduce_rsag_zero_copy"),
        (1 << 20, {"algorithm": "packet"}, "default_allreduce_packet"),
    ],
)
def test_mscclpp_takes_its_algorithm_for_the_size_and_none_with_multicast(
    engine: Any, monkeypatch: pytest.MonkeyPatch, size: int, asked: dict[str, str], name: str
) -> None:
    names = ("default_allreduce_nvls_packet", "default_allreduce_packet", "default_allreduce_rsag_zero_copy")
    built = [SimpleNamespace(name=one, collective="allreduce", execute=MagicMock(return_value=0)) for one in names]
    library = MagicMock()
    library.ext.AlgorithmCollectionBuilder().build_default_algorithms.return_value = built
    for module in ("mscclpp", "mscclpp.ext", "mscclpp.utils"):
        monkeypatch.setitem(sys.modules, module, library)
    _, work, _ = summing(engine, "mscclpp-all-reduce", size, **asked)
    assert work.call() is None
    ran = [one for one in built if one.execute.called]
    assert [one.name for one in ran] == [name]
    given = ran[0].execute.call_args.kwargs
    assert (given["input_size"], given["output_size"]) == (size, size)
    assert given["input_buffer"] != given["output_buffer"]
    ran[0].execute.return_value = 3
    with pytest.raises(engine("faults").ChildError, match="code 3"):
        work.call()


def test_a_package_that_is_not_there_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    there = SimpleNamespace(submodule_search_locations=[])
    missing = ("vllm", "mscclpp")
    monkeypatch.setattr(installation.importlib.util, "find_spec", lambda name: None if name in missing else there)
    found = installation.problems()
    assert found["vllm"] == "vLLM is not installed (pip install vllm)"
    assert "MSCCL++ is not installed" in str(found["mscclpp"])
    assert (found["flashinfer"], found["distributed"]) == (None, None)

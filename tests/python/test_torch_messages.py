"""What a message of the torch child is from begin to end, by each clock. PyTorch and MPI are stood in for."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from torch_stood_in import engine

from linkscope.torch_child.flow import FlowDevice

__all__ = ["engine"]  # a fixture


class Wire:
    """A carrier that notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *of: self.asked.append(name)


class Tensors:
    """An arena of one piece."""

    pieces = ("tensor",)


SENT = {
    "host": ["await_signal", "send", "await_signal"] * 2,  # the receiver is there, the message, the answer
    "batch": ["await_signal", "send", "send", "await_signal"],
}
THERE_AND_BACK = {
    "host": ["await_signal", "send", "receive"] * 2,
    "batch": ["await_signal", "send", "receive", "send", "receive"],
}
OTHER_SIDE = {"await_signal": "signal", "send": "receive", "receive": "send"}


@pytest.mark.parametrize("clock", ["host", "batch"])
@pytest.mark.parametrize("call", ["send", "ping-pong"])
def test_a_send_lasts_until_it_is_answered_and_a_ping_pong_needs_no_answer(engine: Any, clock: str, call: str) -> None:
    messages, watch = engine("messages"), engine("stopwatch").stopwatch(clock, None, None)
    wire, other = Wire(), Wire()
    echo = Tensors() if call == "ping-pong" else None
    watch.take(messages.SendingSide(wire, Tensors(), None, [], echo), 2)
    watch.take(messages.ReceivingSide(other, Tensors(), None, [], call), 2)
    expected = (SENT if call == "send" else THERE_AND_BACK)[clock]
    assert wire.asked == expected
    assert other.asked == [OTHER_SIDE[asked] for asked in expected]


def test_the_answer_is_inside_the_time_by_the_hosts_clock(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    messages, watch = engine("messages"), engine("stopwatch").HostStopwatch()
    wire = Wire()
    monkeypatch.setattr("time.perf_counter", lambda: float(len(wire.asked)))  # each call of the carrier takes a second
    side = messages.SendingSide(wire, Tensors(), None, [], None)
    assert watch.take(side, 3).seconds == 3 * 2.0


def test_mpi_answers_by_an_empty_message_of_the_hosts(engine: Any) -> None:
    library = MagicMock()
    carrier = engine("carriers").Mpi(library, 1)
    carrier.signal()
    carrier.await_signal()
    (sent, _), (received, _) = (
        call.args for call in (library.communicator.Send.call_args, library.communicator.Recv.call_args)
    )
    assert len(sent) == len(received) == 0


# What an MPI library says of GPU memory: the list and the order of engine/backend/mpi/gpu_awareness.cpp.

SAYS_NO = "int MPIX_Query_cuda_support(void) { return 0; }"
SAYS_HIP = "int MPIX_Query_hip_support(void) { return 1; }"
MPICH_HAS = "int MPIX_GPU_query_support(int kind, int *yes) { *yes = kind == %d; return 0; }"
BUILT = "#include <stdbool.h>\nbool opal_built_with_%s_support = %s;"


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[[str], ctypes.CDLL]:
    """A library of this C text. Skips where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")

    def build(text: str) -> ctypes.CDLL:
        source, library = tmp_path / "mpi.c", tmp_path / "mpi.so"
        source.write_text(text + "\nint something;\n")
        subprocess.run([str(compiler), "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        return ctypes.CDLL(str(library))

    return build


@pytest.mark.parametrize(
    ("kinds", "has", "problem"),
    [
        ("", [], "it offers no way to ask whether it takes GPU memory"),
        ("mpi,system", [], "it offers no way to ask whether it takes GPU memory"),
        ("system,cuda:device", [SAYS_NO], None),
        ("rocm", [], None),
        ("", [SAYS_NO], "it takes no GPU memory, says MPIX_Query_cuda_support"),
        ("", [SAYS_NO, SAYS_HIP], None),
        ("", [MPICH_HAS % 2], None),
        ("", [SAYS_NO, MPICH_HAS % 1], "it takes no GPU memory, says MPIX_Query_cuda_support, MPIX_GPU_query_support"),
        ("", [BUILT % ("cuda", "true")], None),
        ("", [BUILT % ("rocm", "true")], None),
        ("", [BUILT % ("cuda", "false")], "it takes no GPU memory, says opal_built_with_cuda_support"),
        ("", [SAYS_NO, BUILT % ("cuda", "true")], "it takes no GPU memory, says MPIX_Query_cuda_support"),
    ],
)
def test_gpu_memory_is_asked_about_as_the_engine_asks(
    engine: Any, compiled: Callable[[str], ctypes.CDLL], kinds: str, has: list[str], problem: str | None
) -> None:
    assert engine("carriers").gpu_problem(compiled("\n".join(has)), kinds) == problem


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("MPICH Version:      5.0.2\nMPICH Release date: Fri\n\0", "MPICH Version: 5.0.2"),
        ("Open MPI v5.0.11, package: Open MPI user@localhost Distribution\0", "Open MPI v5.0.11"),
    ],
)
def test_the_library_is_named_as_rows_by_mpi_itself_name_it(engine: Any, said: str, version: str) -> None:
    library = object.__new__(engine("carriers").Library)
    library._mpi = MagicMock(Get_library_version=lambda: said)
    assert library.version == version


def test_rows_by_mpi_name_the_library(engine: Any) -> None:
    method = engine("messages").TorchMpi()
    assert method._remarks() == []
    method._library = MagicMock(version="Open MPI v5.0.11", threads="")
    assert method._remarks() == ["by Open MPI v5.0.11"]
    method._library = MagicMock(version="Open MPI v5.0.11", threads="MPI_THREAD_MULTIPLE")
    assert method._remarks() == ["by Open MPI v5.0.11", "MPI_THREAD_MULTIPLE"]


def test_rows_by_mpi_say_where_the_process_called_it_with_another_gpu_before(engine: Any) -> None:
    method = engine("messages").TorchMpi()
    method._library = MagicMock(version="Open MPI v5.0.11", threads="")
    host, first, second = (FlowDevice(*place) for place in (("numa", 0), ("gpu", 1), ("gpu", 0)))
    kept = "an MPI may keep what it set up for that GPU and be slower with this one"
    away = f"this process called MPI with gpu:1 before: {kept}"
    for device, remarks in ((host, []), (first, []), (second, [away]), (host, []), (first, [])):
        method._visit(device)
        assert method._remarks() == ["by Open MPI v5.0.11", *remarks]


@pytest.mark.parametrize(("level", "said"), [(0, ""), (1, "MPI_THREAD_FUNNELED"), (3, "MPI_THREAD_MULTIPLE")])
def test_the_level_of_threads_is_said_where_it_may_cost(engine: Any, level: int, said: str) -> None:
    library = object.__new__(engine("carriers").Library)
    library._mpi = MagicMock(THREAD_FUNNELED=1, THREAD_SERIALIZED=2, THREAD_MULTIPLE=3, Query_thread=lambda: level)
    assert library.threads == said

"""Memory handles: a stand-in for the driver in, what was exported and opened out."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkscope.answers.answer import Outcome
from linkscope.answers.handles import handles
from linkscope.launch import handle_trial
from linkscope.launch.process.trial import Trial, trial
from linkscope.machine import memory_handles
from linkscope.machine.memory_handles import INTERFACES, MEMORIES, WORD, Driver, RefusedError, tried
from linkscope.render import render

NOT_SUPPORTED, NOT_PERMITTED = 801, 800
NAMES = {NOT_SUPPORTED: b"CUDA_ERROR_NOT_SUPPORTED", NOT_PERMITTED: b"CUDA_ERROR_NOT_PERMITTED"}


class StandIn:
    """Functions of a driver for two GPUs; ``refuses``: what one answers, where that is no success; ``word``: what is
    read of foreign memory."""

    def __init__(self, refuses: dict[str, int] | None = None, word: int = WORD, missing: str = "") -> None:
        self.refuses, self.word, self.missing = refuses or {}, word, missing
        self.called: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name == self.missing:
            raise AttributeError(name)

        def function(*arguments: Any) -> int:
            self.called.append(name)
            values = {"cuDeviceGetCount": 2, "cuMemcpyDtoH_v2": self.word, "cuMemExportToShareableHandle": 1}
            if name == "cuGetErrorName":
                arguments[1]._obj.value = NAMES.get(arguments[0])
            elif name in values and hasattr(arguments[0]._obj, "value"):
                arguments[0]._obj.value = values[name]
            return self.refuses.get(name, 0)

        return function


def outcome(
    memory: str, interface: str, library: StandIn, ask: Callable[[dict[str, Any], int | None], str] = lambda *_: ""
) -> Any:
    return tried(Driver("cuda", library), MEMORIES[memory], interface, ask)


def test_a_handle_is_opened_by_the_last_gpu_else_by_the_first() -> None:
    assert outcome("device", "ipc", StandIn()) == {"exported": "", "opened": "", "gpu": 1}
    near = outcome("device", "ipc", StandIn(), lambda asked, _: "invalid device" if asked["device"] else "")
    assert near == {"exported": "", "opened": "", "gpu": 0}
    assert outcome("device", "ipc", StandIn(), lambda *_: "no") == {"exported": "", "opened": "no"}


@pytest.mark.parametrize(
    ("memory", "interface", "refuses", "found"),
    [
        ("managed", "ipc", {"cuIpcGetMemHandle": NOT_SUPPORTED}, {"exported": "not supported"}),
        ("device", "posix-fd", {"cuMemRetainAllocationHandle": 1}, {"exported": "error 1"}),
        ("vmm", "fabric", {"cuMemCreate": NOT_PERMITTED}, {"allocated": "not permitted"}),
        ("pool", "fabric", {"cuMemPoolExportPointer": NOT_SUPPORTED}, {"exported": "not supported"}),
        ("device", "dma-buf", {}, {"exported": ""}),
    ],
)
def test_refusals_are_in_the_drivers_words(memory: str, interface: str, refuses: dict[str, int], found: Any) -> None:
    assert outcome(memory, interface, StandIn(refuses)) == found


def test_an_older_driver_lacks_functions() -> None:
    assert outcome("pool", "ipc", StandIn(missing="cuMemPoolCreate")) == {"allocated": "not in this driver"}


@pytest.mark.parametrize("memory", MEMORIES)
def test_every_kind_of_memory_is_allocated_and_written(memory: str) -> None:
    library = StandIn()
    for interface in INTERFACES:
        assert outcome(memory, interface, library)["exported"] == ""
    assert library.called.count("cuMemsetD32_v2") == len(INTERFACES)


def test_a_driver_without_a_gpu_says_so() -> None:
    with pytest.raises(RefusedError, match="not supported"):
        Driver("cuda", StandIn({"cuInit": NOT_SUPPORTED}))


@pytest.mark.parametrize(
    ("library", "interface", "of_pool", "answered"),
    [
        (StandIn(), "ipc", False, ""),
        (StandIn(), "posix-fd", False, ""),
        (StandIn(), "fabric", True, ""),
        (StandIn(word=7), "ipc", False, "wrong data"),
        (StandIn({"cuMemImportFromShareableHandle": NOT_PERMITTED}), "posix-fd", False, "not permitted"),
    ],
)
def test_the_other_process_opens_handles_and_reads_the_word(
    monkeypatch: pytest.MonkeyPatch, library: StandIn, interface: str, of_pool: bool, answered: str
) -> None:
    monkeypatch.setattr(memory_handles, "_loaded", lambda names: library)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    opener = threading.Thread(target=memory_handles.answer, args=("cuda", theirs))
    opener.start()
    asked = {"device": 1, "interface": interface, "of_pool": of_pool, "shared": "00" * 128}
    with Path(os.devnull).open("rb") as shared, ours, theirs:
        socket.send_fds(ours, [json.dumps(asked).encode()], [shared.fileno()] if interface == "posix-fd" else [])
        found = ours.recv(100).decode().strip()
        ours.shutdown(socket.SHUT_RDWR)
        opener.join()
    assert found == answered


def line(memory: str, interface: str, **found: Any) -> dict[str, Any]:
    return {"memory": memory, "interface": interface, **found}


TRIED = [
    line("device", "ipc", exported="", opened="", gpu=1),
    line("device", "posix-fd", exported="invalid value"),
    line("device", "fabric", exported="invalid value"),
    line("device", "dma-buf", exported=""),
    line("vmm", "ipc", exported="invalid value"),
    line("vmm", "posix-fd", exported="", opened="", gpu=0),
    line("vmm", "fabric", allocated="not permitted"),
    line("vmm", "dma-buf", exported="", opened="wrong data"),
]


def test_the_table_has_a_cell_for_each_memory_and_handle() -> None:
    found = handles("cuda", TRIED, 0, "")
    assert found.table("handles.table").frame.to_dicts() == [
        {"memory": "device", "ipc": "works", "posix-fd": "exported:invalid value"}
        | {"fabric": "exported:invalid value", "dma-buf": "exported"},
        {"memory": "vmm", "ipc": "exported:invalid value", "posix-fd": "same-gpu"}
        | {"fabric": "allocated:not permitted", "dma-buf": "opened:wrong data"},
    ]
    assert (found.headline.facts, found.exit_code) == ({"works": 2, "tried": 8}, 0)
    assert [one.code for one in found.findings] == ["handles.no-fabric"]
    assert max(map(len, render(found).splitlines())) <= 80
    refused = [line(name, one["interface"], exported="no") for name in ("managed", "pinned") for one in TRIED[:4]]
    names = [
        row["memory"] for row in handles("cuda", [*TRIED, *refused], 0, "").table("handles.table").frame.to_dicts()
    ]
    assert names == ["device", "vmm", "managed, pinned"]


@pytest.mark.parametrize(("status", "code"), [(None, "handles.hung"), (-11, "handles.died")])
def test_a_driver_that_hangs_or_crashes_leaves_what_was_tried(status: int | None, code: str) -> None:
    found = handles("cuda", TRIED[:3], status, "")
    assert found.findings[0].code == code
    assert "fabric" in found.findings[0].facts["last"]


@pytest.mark.parametrize(("status", "code"), [(1, "handles.no-driver"), (-11, "handles.nothing")])
def test_without_a_line_there_is_no_verdict(status: int, code: str) -> None:
    found = handles("hip", [], status, "no\x1b[0m library")
    assert (found.headline.code, found.outcome) == (code, Outcome.UNTESTED)
    assert "\x1b" not in found.headline.facts["reason"]


def test_lines_of_a_program_that_are_no_records_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = '{"memory": "device", "interface": "ipc", "exported": "no"}\nNCCL says hello\n[1]\n{"memory": 1}\n'
    monkeypatch.setattr(handle_trial, "trial", lambda *_: Trial(0, printed, ""))
    vendor, lines, _ = handle_trial.try_handles({})
    assert (vendor, [one["interface"] for one in lines]) == ("cuda", ["ipc"])


@pytest.mark.parametrize(
    ("program", "limit_s", "status"),
    [
        ("print('here')", 20, 0),
        ("import os; os.kill(os.getpid(), 11)", 20, -11),
        ("import time; time.sleep(60)", 0.1, None),
    ],
)
def test_a_trial_ends_however_its_program_does(program: str, limit_s: float, status: int | None) -> None:
    ended = trial([sys.executable, "-S", "-c", program], {}, limit_s)
    assert ended.status == status
    assert ended.printed == ("here\n" if status == 0 else "")

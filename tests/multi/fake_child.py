"""A stand-in for linkscope.torch_child: speaks its protocol without PyTorch, and misbehaves as it is told.

FAKE_CHILD holds {"RANK:COMMAND": "die" | "hang" | "mismatch" | "fault WORD REASON"}; "*" is any rank.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from typing import Any

Json = dict[str, Any]
RUN_S = 0.002  # of each repeat, by its own stamps
MIN_SAMPLE_S = 0.01
FACTS: Json = {"operations": 1, "accumulates": False, "max_repeats": 1000, "calls_in_a_row": 0, "notes": ["a remark"]}
FACTS["min_sample_s"] = MIN_SAMPLE_S


class FakeChild:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.rank = 0
        self.faults: dict[str, str] = json.loads(os.environ.get("FAKE_CHILD", "{}"))

    def serve(self) -> None:
        while True:
            command = json.loads(self.read(int.from_bytes(self.read(4), "little")))
            told = command["do"]
            if told == "release":
                continue
            fault = self.faults.get(f"{self.rank}:{told}") or self.faults.get(f"*:{told}", "")
            text = json.dumps(self.answer(told, command, fault)).encode()
            self.connection.sendall(len(text).to_bytes(4, "little") + text)
            if told == "close":
                return

    def answer(self, told: str, command: Json, fault: str) -> Json:
        if fault == "die":
            sys.stderr.write("no memory for a ring\n")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "hang":
            sys.stderr.write("waiting for a ring\n")
            sys.stderr.flush()
            signal.pause()
        if fault.startswith("fault "):
            _, word, reason = fault.split(" ", 2)
            return {"fault": word, "what": reason}
        return {"value": getattr(self, told)(command, fault)}

    def begin(self, command: Json, fault: str) -> None:
        self.rank, self.size = command["rank"], command["size"]

    def describe(self, command: Json, fault: str) -> Json:
        without = {name: f"no {name}" for name in ("vllm", "flashinfer", "mscclpp", "nixl", "nvshmem")}
        problems = {"torch": None, "distributed": None, "mpi": "no mpi4py", **without}
        return {"problems": problems, "versions": {"PyTorch": "0.0"}}

    def check(self, command: Json, fault: str) -> None:
        assert command["regime"]["clock"] == "host"

    def prepare(self, command: Json, fault: str) -> None:
        assert command["flow"]["bytes"] > 0

    def export_handles(self, command: Json, fault: str) -> Json:
        return {"rank": self.rank}

    def import_handles(self, command: Json, fault: str) -> Json:
        assert [one["rank"] for one in command["exports"]] == list(range(self.size))
        return FACTS

    def arm(self, command: Json, fault: str) -> None:
        self.seed = command["seed"]

    def run(self, command: Json, fault: str) -> Json:
        seconds = RUN_S * command["repeats"]
        return {"start_s": time.monotonic() - seconds, "seconds": seconds, "notes": [*FACTS["notes"], "another"]}  # type: ignore[misc]

    def verify(self, command: Json, fault: str) -> Json:
        assert command["seed"] == self.seed
        wrong = "byte 3 of 64 arrived wrong" if fault == "mismatch" else None
        return {"wrong": wrong, "bytes": 64}

    def close(self, command: Json, fault: str) -> None:
        pass

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.connection.recv(count - len(data))
            if not piece:
                sys.exit(0)
            data += piece
        return data


if __name__ == "__main__":
    assert "linkscope.torch_child" in sys.argv[2]
    FakeChild(socket.socket(fileno=int(sys.argv[3]))).serve()

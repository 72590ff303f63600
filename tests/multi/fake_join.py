"""An engine of a few lines that joins others over the real protocol, and misbehaves where FAKE_JOIN says so.

FAKE_JOIN is a JSON object: "RANK:PART" -> fault. PART is part of a case's id, or one of
  hello   before it introduces itself: leave (exit code 1), absent (never comes), version, schema (of another one),
          slow (it takes half a second), brief (it leaves half a second after)
  plan    when it has the plan: refuse (exit code 2)
  done    when it has said that it is done: linger (it leaves half a second later)
and a fault within a case is kill (SIGKILL to itself), stop (SIGSTOP), exit (code 4), garbage, lost (it says why it
cannot go on), fail (it says that it could not do its part, and waits), hang (this rank alone does not end the case),
tell (where another is gone, it says that it could not do its part), broken (it ends the case as failed and pauses),
lag (it does not even begin it). FAKE_LOG is a file: a line of JSON for each process that has its plan. FAKE_HOSTS: the
hosts that they say they are on, by rank ("a,b"). FAKE_NO_MPI: there is no MPI but the one that LINKSCOPE_MPI names.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

FAULTS: dict[str, str] = json.loads(os.environ.get("FAKE_JOIN", "{}"))
RANKS = ("LINKSCOPE_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
VERSION = "0"


class Connection:
    """Lines of JSON over a socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # what is said first shall be heard first
        self.stream = sock.makefile("rwb")

    def say(self, **record: Any) -> None:
        self.stream.write(json.dumps(record).encode() + b"\n")
        self.stream.flush()

    def hear(self) -> dict[str, Any] | None:
        try:
            line = self.stream.readline()
        except OSError:
            return None
        return dict(json.loads(line)) if line else None


class Star:
    """Every exchange goes through rank 0, which finds out who is gone or late."""

    def __init__(self, rank: int, size: int, listener: socket.socket | None, root: str, limit_s: float) -> None:
        self.rank = rank
        self.leaves: dict[int, Connection] = {}
        if listener is not None:
            while len(self.leaves) < size - 1:
                leaf = Connection(listener.accept()[0])
                leaf.sock.settimeout(limit_s)
                self.leaves[(leaf.hear() or {})["rank"]] = leaf
        else:
            host, _, port = root.rpartition(":")
            self.root = Connection(socket.create_connection((host, int(port))))
            self.root.say(rank=rank)

    def meet(self, control: Connection) -> int | None:
        """Waits for all; the rank that did not come, as rank 0 sees it. The others leave where the root is gone."""
        for rank, leaf in sorted(self.leaves.items()):
            if leaf.hear() is None:
                return rank
        for leaf in self.leaves.values():
            leaf.say()
        if self.rank > 0:
            self.root.say()
            if self.root.hear() is None:
                control.say(record="error", fault="lost", **blame("gone", 0, "rank 0 is gone"))
                leave("rank 0 is gone", 3)
        return None


def main() -> None:
    if sys.argv[1] == "describe":
        describe()
    else:
        join()


def describe() -> None:
    catalog = {"available": True, "summary": "fake"}
    devices = [{"id": "numa:0", "name": "CPU", "memory_bytes": 1 << 34, "cpus": [0]}]
    methods: list[dict[str, Any]] = [{"name": name, **catalog} for name in ("memcpy", "mpi")]
    methods[1]["parameters"] = dict.fromkeys(("call", "window", "staging"), "fake")
    if "FAKE_NO_MPI" in os.environ and "LINKSCOPE_MPI" not in os.environ:
        methods[1] |= {"available": False, "reason": "no MPI library"}
    memories = [{"name": name, **catalog} for name in ("pageable", "pinned")]
    record: dict[str, Any] = {"record": "description", "schema": 1, "version": VERSION, "backend": "host"}
    sys.stdout.write(json.dumps({**record, "devices": devices, "methods": methods, "memories": memories}) + "\n")


def join() -> None:
    rank = next(int(os.environ[name]) for name in RANKS if name in os.environ)
    fault = FAULTS.get(f"{rank}:hello", "")
    if fault == "leave":
        leave("no driver here", 1)
    if fault == "absent":
        signal.pause()
    if fault == "slow":
        time.sleep(0.5)
    listener = socket.create_server(("", 0)) if rank == 0 else None
    control = introduce(rank, listener, fault)
    if fault == "brief":
        time.sleep(0.5)
        leave("no driver here", 1)
    word = control.hear()
    if word is None:
        leave("the supervisor is gone", 2)
    threading.Thread(target=watch, args=(control,), daemon=True).start()
    note(rank, word)
    if FAULTS.get(f"{rank}:plan") == "refuse":
        control.say(record="error", fault="bad-input", reason="case 1 is wrong")
        leave("case 1 is wrong", 2)
    work(control, Star(rank, word["size"], listener, word["root"], word["limit_s"]), word["plan"])


def introduce(rank: int, listener: socket.socket | None, fault: str) -> Connection:
    host, _, port = os.environ["LINKSCOPE_CONTROL"].rpartition(":")
    control = Connection(socket.create_connection((host, int(port))))
    control.say(
        record="hello",
        schema=7 if fault == "schema" else 1,
        version="0.0.9" if fault == "version" else VERSION,
        backend="host",
        token=os.environ["LINKSCOPE_TOKEN"],
        rank=rank,
        host=os.environ.get("FAKE_HOSTS", "").split(",")[rank] if "FAKE_HOSTS" in os.environ else socket.gethostname(),
        pid=os.getpid(),
        root_port=listener.getsockname()[1] if listener else 0,
        cpus=sorted(os.sched_getaffinity(0)),
    )
    return control


def watch(control: Connection) -> None:
    """No supervisor, no engine."""
    if control.hear() is None:
        os._exit(3)


def note(rank: int, word: dict[str, Any]) -> None:
    """One line, written at once: processes share the file."""
    if log := os.environ.get("FAKE_LOG"):
        facts = {"rank": rank, "pid": os.getpid(), "size": word["size"], "cpus": word.get("cpus")}
        facts |= {"allowed": sorted(os.sched_getaffinity(0)), "seed": os.environ.get("LINKSCOPE_SEED")}
        facts |= {"mpi": os.environ.get("LINKSCOPE_MPI")}
        with Path(log).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(facts) + "\n")


def work(control: Connection, star: Star, plan: dict[str, Any]) -> None:
    for case in plan["cases"]:
        fault = next((what for part, what in FAULTS.items() if applies(part, star.rank, case["id"])), "")
        if fault == "lag":
            signal.pause()
        control.say(record="start", id=case["id"])
        if fault == "fail":
            control.say(record="failure", reason="no room for a communicator")
        missing = star.meet(control) if fault != "hang" else None
        misbehave(fault, control)
        missing = star.meet(control) if missing is None and fault != "hang" else missing
        if fault == "hang":
            signal.pause()
        if star.rank > 0:
            control.say(record="end", id=case["id"])
        elif fault == "broken":
            control.say(**row(case, status="failed", reason="the driver is broken"))
            time.sleep(1.5)
        elif missing is not None:
            if fault == "tell":
                control.say(record="failure", reason="connection closed by peer")
            reason = f"rank {missing} (host {socket.gethostname()}) is gone, or has not come"
            control.say(**row(case, status="failed", **blame("gone", missing, reason)))
            leave(reason, 3)
        else:
            control.say(**row(case, status="ok", flows=figures(case)))
    control.say(record="done", rows=len(plan["cases"]))
    if FAULTS.get(f"{star.rank}:done") == "linger":
        time.sleep(0.5)


def applies(part: str, rank: int, case_id: str) -> bool:
    whose, _, what = part.partition(":")
    return whose == str(rank) and what in case_id


def misbehave(fault: str, control: Connection) -> None:
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault == "lost":
        control.say(record="error", fault="lost", reason="the GPU fell off the bus")
        leave("the GPU fell off the bus", 3)
    elif fault == "exit":
        leave("about to fail", 4)
    elif fault == "garbage":
        control.sock.sendall(b"Segmentation fault (not JSON)\n")
        signal.pause()


def blame(how: str, rank: int, words: str) -> dict[str, Any]:
    return {"reason": words, "causes": [{"how": how, "ranks": [rank], "words": words}]}


def row(case: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"record": "row", "id": case["id"], "modelled": False, "backend": "host", **rest}


def figures(case: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("median", "low", "high", "mean", "min", "p5", "p95", "p99", "max")
    seconds = {"n": 9, **dict.fromkeys(names, 1e-3)}
    return [
        {
            "repeats": 1,
            "operations": 1,
            "seconds": seconds,
            "gbps": seconds | dict.fromkeys(("median", "low", "high"), 1.0),
        }
        for _ in case["flows"]
    ]


def leave(words: str, code: int) -> NoReturn:
    sys.stderr.write(f"linkscope-engine: {words}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()

"""Rows of workloads as a run file has them, made from their contract: no figure here was measured on anything."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import modelled_run as made

from linkscope.machine.traits import assumed_memory, assumed_method, label_of
from linkscope.results.member_time import PARTS
from linkscope.results.row import Row
from linkscope.workload.halo import halo
from linkscope.workload.schedule import Loop, Message, Particles, Phase, Schedule, SmallCollective

Json = dict[str, Any]
SHARES = {"pack": 0.2, "wait": 0.5, "unpack": 0.15, "collectives": 0.1, "synchronise": 0.05}
HALO = halo(4, (480, 240), 20)
PATTERN = Schedule(
    "ring.csv",
    4,
    (
        Loop(10, (Phase("ring", tuple(Message(i, (i + 1) % 4, 1 << 20) for i in range(4)), 10),)),
        Loop(5, (Phase("pair", (Message(0, 1, 4 << 20), Message(1, 0, 1 << 20)), 5),)),
    ),
)


def particles(ranks: int = 4, rounds: int = 3) -> Schedule:
    """A ring that hands on 100 particles in every round."""
    messages = tuple(Message(i, (i + 1) % ranks, 8 + 136 * 100) for i in range(ranks))
    phase = Phase("round", messages, rounds, termination="blocking", collectives=(SmallCollective("int64", count=2),))
    return Schedule("particles", ranks, (Loop(rounds, (phase,)),), particles=Particles((100,) * ranks, ((0,),), 100))


def workload_case(
    schedule: Schedule,
    application: str,
    interface: str = "mpi",
    memory: str = "device",
    *,
    staging: str = "none",
    state: str | None = "device",
    order: Sequence[int] = (),
    variant: str = "",
    environment: Json | None = None,
    deck: str = "480x240, 20 steps",
    processes: int = 4,
    name: str = "",
    **more: Any,
) -> Json:
    """A case as the plan has it. ``more``: of the workload's label, such as baseline=True."""
    devices = [f"gpu:{number}" for number in order or range(schedule.ranks)]
    ranks = range(schedule.ranks) if processes > 1 else [0] * schedule.ranks
    members = [{"device": d, "memory": memory, "rank": r} for d, r in zip(devices, ranks, strict=True)]
    flow: Json = {"method": f"{interface}-schedule", "executor": devices[0], "bytes": schedule.bytes, "rank": 0}
    flow |= {"members": members, "schedule": schedule.to_plan(), "parameters": {}}
    if staging != "none":
        flow["parameters"]["staging"] = staging
    if state is not None:
        flow["state"] = [{**end, "memory": state} for end in members]
    label = {"application": application, "deck": deck, "ranks": schedule.ranks, "interface": interface}
    label |= {"staging": staging, "memory": memory, "state": state, "order": devices, "bytes": schedule.bytes}
    label |= {"messages": schedule.messages().total(), **more}
    words = [interface, staging, memory, variant, *map(str, order), *(["isolated"] if more.get("isolated") else [])]
    labels = {"title": f"{application}, {deck}", "show": "list", "row": "", "column": f"{schedule.ranks} ranks"}
    labels |= {"figure": "latency", "tier": "mixed", "workload": label}
    labels |= {"variant": {"interface": interface, "staging": staging, "memory": memory}}
    method = flow["method"]
    labels["traits"] = label_of({method: assumed_method(method)}, {memory: assumed_memory(memory)})
    case: Json = {"id": f"synthetic/{name or application}/{'/'.join(word for word in words if word)}"}
    case |= {"suite": "synthetic", "name": name or f"app-{application}", "clock": "host", "cache": "warm"}
    case |= {"processes": processes, "flows": [flow], "labels": labels}
    return case | ({"environment": environment} if environment else {})


def timed(case: Json, seconds: float, *, noise: float = 0.001, modelled: bool = False, slow: int = 0) -> Row:
    """A row of three replicates' worth of samples about ``seconds``; member ``slow`` takes longest."""
    return Row.from_json(line(case, seconds, noise=noise, modelled=modelled, slow=slow))


def line(case: Json, seconds: float, *, noise: float = 0.001, modelled: bool = False, slow: int = 0) -> Json:
    """A line of a run file."""
    rng = random.Random(case["id"])
    samples = [seconds if modelled else seconds * (1 + rng.uniform(-noise, noise)) for _ in range(20)]
    flow = case["flows"][0]
    phases = [phase for loop in flow["schedule"]["loops"] for phase in loop["phases"]]
    found = made.result(flow["bytes"], samples)
    times = [seconds * (1.0 if rank == slow else 0.9) for rank in range(len(flow["members"]))]
    found["parts_s"] = times
    found["breakdown"] = [
        {
            "parts_s": {part: time * SHARES.get(part, 0.0) for part in PARTS},
            "phases_s": [time / len(phases)] * len(phases),
        }
        for time in times
    ]
    head = {"record": "row", "id": case["id"], "status": "ok", "modelled": modelled, "case": case}
    verified = {} if modelled else {"verified": {"passes": 2, "bytes": flow["bytes"]}}
    return {**head, "flows": [found], "stopped": "precision", **verified, "started": "x", "elapsed_s": 1.0}


def skipped(case: Json, reason: str, status: str = "skipped") -> Row:
    return Row.from_json(
        {"record": "row", "id": case["id"], "status": status, "modelled": False, "case": case, "reason": reason}
    )


def halo_rows(*, modelled: bool = False) -> list[Row]:
    """A study's baseline, three other ways of which one is not told from the fastest, and two that cannot run."""
    staged = workload_case(HALO, "halo", "mpi", "registered", staging="full", baseline=True)
    direct, peer = workload_case(HALO, "halo"), workload_case(HALO, "halo", "direct", processes=1)
    nccl = workload_case(HALO, "halo", "xccl", processes=1)
    rows = [timed(staged, 0.0246, modelled=modelled), timed(direct, 0.0200, modelled=modelled)]
    rows += [timed(peer, 0.0123, modelled=modelled), timed(nccl, 0.012304, modelled=modelled)]
    lost = [workload_case(HALO, "halo", "xccl", memory) for memory in ("managed", "pinned")]
    return rows + [skipped(case, "no NCCL library") for case in lost]


def pattern_rows() -> list[Row]:
    """A pattern by MPI, and the same with every message in a phase of its own: its pair takes 1.5 times as long."""
    sizes = dict.fromkeys((one.source, one.destination, one.size) for phase in PATTERN.phases for one in phase.messages)
    alone = Schedule("ring.csv", 4, tuple(Loop(2, (Phase(f"{a} > {b}", (Message(a, b, s),), 2),)) for a, b, s in sizes))
    shared: Json = {"state": None, "deck": ""}
    rows = [timed(workload_case(PATTERN, "ring.csv", **shared), 0.030)]
    single = line(workload_case(alone, "ring.csv", **shared, isolated=True), 0.012)
    for member in single["flows"][0]["breakdown"]:
        member["phases_s"] = [0.002] * len(sizes)
    return [*rows, Row.from_json(single)]

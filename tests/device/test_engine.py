"""The engine on real GPUs: every method with every memory it takes, odd sizes, both clocks, several flows at once."""

from __future__ import annotations

from typing import Any

import pytest

from linkscope.launch.engines import Engine

Json = dict[str, Any]
HOST_MEMORIES = ("pageable", "huge", "pinned", "registered", "write-combined", "managed")
ODD_SIZES = (1, 4099, (1 << 20) + 17)


def end(device: str, memory: str) -> Json:
    return {"device": device, "memory": memory}


def flow(method: str, source: Json | None, destination: Json | None, size: int, **parameters: Any) -> Json:
    """A flow carried by gpu:0."""
    made: Json = {"method": method, "executor": "gpu:0", "bytes": size, "parameters": parameters}
    if source:
        made["source"] = source
    if destination:
        made["destination"] = destination
    return made


def case(name: str, *flows: Json, clock: str = "device", cache: str = "rotated") -> Json:
    return {"id": name, "clock": clock, "cache": cache, "flows": list(flows)}


def unsupported(engine: Engine, memory: str, method: str) -> bool:
    """Whether this machine may rightly skip the memory or kernels that reach it."""
    entry = next(m for m in engine.description["memories"] if m["name"] == memory)
    if not entry["available"]:
        return True
    gpu = next(d for d in engine.description["devices"] if d["id"] == "gpu:0")
    return (
        method != "copy-engine"
        and memory in {"pageable", "huge"}
        and gpu["attributes"]["pageable_memory_access"] == "no"
    )


@pytest.mark.parametrize("method", ["copy-engine", "kernel-copy", "kernel-exchange"])
@pytest.mark.parametrize("memory", HOST_MEMORIES)
def test_copies_between_host_and_gpu_arrive_whole(engine: Engine, run: Any, method: str, memory: str) -> None:
    host, gpu = end("numa:0", memory), end("gpu:0", "device")
    cases = [
        case(f"{way}/{size}", flow(method, *ends, size), cache=cache)
        for size in ODD_SIZES
        for way, ends, cache in (("to", (host, gpu), "rotated"), ("from", (gpu, host), "warm"))
    ]
    for row in run(cases).values():
        allowed = {"ok", "skipped"} if unsupported(engine, memory, method) else {"ok"}
        assert row["status"] in allowed, row.get("reason")
        if row["status"] == "ok":
            assert row["verified"]["bytes"] > 0
            assert row["flows"][0]["gbps"]["median"] > 0
        else:
            assert row["reason"]


@pytest.mark.parametrize("clock", ["device", "host"])
@pytest.mark.parametrize("size", ODD_SIZES)
def test_gpu_memory_is_read_written_and_copied_locally(run: Any, size: int, clock: str) -> None:
    gpu = end("gpu:0", "device")
    rows = run(
        [
            case("copy-engine", flow("copy-engine", gpu, gpu, size), clock=clock),
            case("kernel-copy", flow("kernel-copy", gpu, gpu, size), clock=clock),
            case("kernel-read", flow("kernel-read", gpu, None, size), clock=clock),
            case("kernel-write", flow("kernel-write", None, gpu, size), clock=clock),
        ]
    )
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(rows, "ok"), rows


@pytest.mark.parametrize(("where", "memory"), [("gpu:0", "device"), ("numa:0", "pinned"), ("gpu:1", "device")])
@pytest.mark.parametrize("order", ["sequential", "random"])
def test_chase_walks_local_host_and_peer_memory(run: Any, gpus: int, where: str, memory: str, order: str) -> None:
    if where == "gpu:1" and gpus < 2:
        pytest.skip("one GPU")
    walk = flow("pointer-chase", end(where, memory), None, 2 << 20, order=order)
    row = run([case("chase", walk, cache="warm")])["chase"]
    assert row["status"] == "ok", row.get("reason")
    result = row["flows"][0]
    assert "gbps" not in result
    assert result["operations"] % result["setting"]["hops"] == 0
    assert result["seconds"]["median"] > 0


@pytest.mark.parametrize("method", ["copy-engine", "kernel-copy"])
def test_peer_copies_arrive_whole_pushed_and_pulled(run: Any, gpus: int, method: str) -> None:
    if gpus < 2:
        pytest.skip("one GPU")
    here, there = end("gpu:0", "device"), end("gpu:1", "device")
    push = flow(method, here, there, (4 << 20) + 5)
    pull = flow(method, there, here, (4 << 20) + 5)
    rows = run([case("push", push), case("pull", pull), case("both", push, pull)])
    assert {row["status"] for row in rows.values()} == {"ok"}, rows
    assert rows["both"]["aggregate"]["gbps"]["median"] > 0


def test_copies_with_peer_access_off_arrive_whole_and_it_comes_back_on(run: Any, gpus: int) -> None:
    if gpus < 2:
        pytest.skip("one GPU")
    here, there = end("gpu:0", "device"), end("gpu:1", "device")
    size = 32 << 20
    rows = run(
        [
            case("on", flow("copy-engine", here, there, size)),
            case("off", flow("copy-engine", here, there, size, peer_access="off")),
            case("on again", flow("copy-engine", here, there, size)),
            case("kernel", flow("kernel-copy", here, there, size)),
        ]
    )
    assert {row["status"] for row in rows.values()} == {"ok"}, rows
    assert any("launch cost" in note for note in rows["off"]["flows"][0]["notes"])


def test_ping_pong_counts_every_round_trip(run: Any, gpus: int) -> None:
    source, destination = end("gpu:0", "device"), end("gpu:1", "device")
    row = run([case("ping", flow("ping-pong", source, destination, 8), cache="warm")])["ping"]
    if gpus < 2:
        assert row["status"] == "skipped"
        assert "gpu:1" in row["reason"]
        return
    assert row["status"] == "ok", row.get("reason")
    assert row["flows"][0]["operations"] == 2 * row["flows"][0]["setting"]["round_trips"]


def test_what_cannot_be_is_skipped_for_a_reason(run: Any, gpus: int) -> None:
    here, absent = end("gpu:0", "device"), end(f"gpu:{gpus}", "device")
    rows = run(
        [
            case("absent", flow("copy-engine", here, absent, 4096)),
            case("alone", flow("copy-engine", here, here, 4096, peer_access="off")),
            case("huge", flow("kernel-write", None, here, 1 << 45)),
        ]
    )
    assert {row["status"] for row in rows.values()} == {"skipped"}, rows
    assert f"gpu:{gpus}" in rows["absent"]["reason"]
    assert "two GPUs" in rows["alone"]["reason"]
    assert "memory" in rows["huge"]["reason"]


def test_methods_that_time_calls_are_latencies(engine: Engine) -> None:
    kinds = {method["name"]: method["kind"] for method in engine.description["methods"]}
    calls = {"launch", "synchronize", "event-record", "graph-instantiate", "graph-launch", "register", "unregister"}
    assert {name for name, kind in kinds.items() if kind == "latency"} == {
        *calls,
        *("allocate", "free", "first-touch", "pointer-chase", "ping-pong", "fault-chase"),
    }

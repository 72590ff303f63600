"""Thresholds: what frameworks' defaults for an all-reduce cost, the best ones, and files that frameworks load."""

from __future__ import annotations

import json
import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import modelled_run as made
import pytest

from linkscope.answers.answer import Answer
from linkscope.answers.best import Choice, choices
from linkscope.answers.choose import answer
from linkscope.answers.thresholds import Default, defaults
from linkscope.codecs.tuner import formats
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.machine.framework_rules import framework_rules
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

KIB, MIB = 1 << 10, 1 << 20
SIZES = [256 << power for power in range(0, 21, 2)]
GRAPH = {"form": "graph", "recorded": 20}
NCCL = ("xccl-collective", 11.0, 350.0, {"registered": "no", "policy": "default"})
WINDOW = ("xccl-collective", 8.0, 390.0, {"registered": "window", "policy": "default"})
ONE_SHOT = ("torch-symm-mem", 6.0, 150.0, {"algorithm": "one-shot"})
TWO_SHOT = ("torch-symm-mem", 6.6, 300.0, {"algorithm": "two-shot", "in_place": "yes"})
Curve = tuple[str, float, float, dict[str, str]]
OWN: Curve = ("vllm-all-reduce", 5.0, 200.0, {})
OTHER: Curve = ("flashinfer-all-reduce", 4.0, 100.0, {})


def rows(curve: Curve, shared: dict[str, Any], gpus: int = 2) -> list[Row]:
    """Return an all-reduce between processes by size: microseconds, then GB/s over links."""
    method, alpha_us, gbps, parameters = curve
    memory = "xccl" if parameters.get("registered") == "window" else "device"
    found = []
    for size in SIZES:
        members = [{"device": f"gpu:{rank}", "memory": memory} for rank in range(gpus)]
        flow = {"method": method, "executor": "gpu:0", "bytes": size, "members": members}
        flow["parameters"] = {"collective": "all-reduce", **shared, **parameters}
        name = "/".join([method, *map(str, shared.values()), *parameters.values()])
        case = made.case(name, [flow], {"figure": "latency"}, "batch" if shared["form"] == "eager" else "device")
        seconds = alpha_us * 1e-6 + size / gbps * 1e-9
        row = made.ok(case | {"processes": gpus, "cache": "warm"}, [made.seconds(size, size / seconds * 1e-9, name)])
        found.append(Row.from_json({**row.raw, "modelled": False, "backend": "cuda"}))
    return found


def run(*curves: Curve, forms: tuple[dict[str, Any], ...] = (GRAPH,), gpus: int = 2) -> RunFile:
    """Return a run of H200 as if measured."""
    found: RunFile = made.run(gpus, [row for shared in forms for curve in curves for row in rows(curve, shared, gpus)])
    devices = [
        {**one, "name": "NVIDIA H200", "attributes": {"architecture": "sm_90"}} if one["kind"] == "gpu" else one
        for one in found.header["node"]["devices"]
    ]
    found.header["node"] = {**found.header["node"], "modelled": False, "devices": devices}
    return found


def crossing(first: Curve, then: Curve) -> float:
    """Return the bytes from which on ``then`` is faster."""
    return (then[1] - first[1]) * 1e-6 / (1 / first[2] - 1 / then[2]) * 1e9


def of(file: RunFile) -> dict[str, Default]:
    read = Run(file)
    return {one.rule.framework: one for one in defaults(choices(read.results), read.node)}


def chosen(*curves: Curve, forms: tuple[dict[str, Any], ...] = (GRAPH,)) -> list[Choice]:
    return choices(Run(run(*curves, forms=forms)).results)


def answered(*curves: Curve) -> Answer:
    return answer(Run(run(*curves)))


def test_in_place_and_out_of_place_are_rivals_but_graphs_of_one_and_of_twenty_are_not() -> None:
    forms = (GRAPH, {"form": "graph", "recorded": 1}, {"form": "eager"})
    found = chosen(ONE_SHOT, TWO_SHOT, NCCL, forms=forms)
    assert [(one.task.line["clock"], one.task.asked) for one in found] == [
        *(("device", ("recorded=20",)), ("device", ("recorded=1",)), ("batch", ())),
    ]
    assert all(len(one.rivals) == 3 for one in found)
    assert [span.best[0] for span in found[0].ranges] == [
        *("torch-symm-mem algorithm=one-shot", "torch-symm-mem algorithm=two-shot in_place=yes", "xccl-collective"),
    ]
    assert found[0].ranges[1].best != found[0].ranges[0].best
    assert "in_place=yes" in chosen(TWO_SHOT, ("torch-collective", 12, 350, {"in_place": "yes"}))[0].shared


def test_memory_is_told_where_a_method_has_several_with_one_setting() -> None:
    alike = ("xccl-collective", 11.0, 350.0, {"registered": "window"})
    *_, free = chosen(ONE_SHOT, NCCL, WINDOW)
    assert set(free.rivals) == {"torch-symm-mem", "xccl-collective", "xccl-collective registered=window"}
    *_, free = chosen(ONE_SHOT, alike)
    assert set(free.rivals) == {"torch-symm-mem", "xccl-collective in xccl"}


def test_a_default_costs_what_its_kernel_takes_more_than_the_best() -> None:
    vllm = of(run(NCCL, ONE_SHOT, TWO_SHOT))["vLLM 0.28"]
    at = {one.size: one for one in vllm.sizes}
    assert list(at) == SIZES
    assert at[256].way == "torch-symm-mem algorithm=one-shot"
    assert (at[256].extra, at[256].excess) == (0.0, 0.0)
    four = 4 * MIB
    taken, least = (alpha * 1e-6 + four / gbps * 1e-9 for _, alpha, gbps, _ in (ONE_SHOT, TWO_SHOT))
    assert at[four].extra == pytest.approx(taken / least - 1, rel=0.05)
    assert at[four].excess < at[four].extra, "two-shot is none of its kernels on two GPUs"
    assert at[16 * MIB].way == "xccl-collective"


def test_the_best_threshold_is_where_the_kernels_cross() -> None:
    found = of(run(NCCL, ONE_SHOT, TWO_SHOT))
    (custom,), (one_shot,) = found["vLLM 0.28"].limits, found["FlashInfer"].limits
    assert custom.default == 8 * MIB - 1
    assert custom.last == pytest.approx(crossing(ONE_SHOT, NCCL), rel=0.2)
    assert one_shot.last == pytest.approx(crossing(ONE_SHOT, TWO_SHOT), rel=0.2)
    (inductor,) = found["Inductor"].limits
    assert inductor.default == 128 * KIB < inductor.last


def test_a_default_that_no_other_threshold_beats_stays() -> None:
    always = ("torch-symm-mem", 1.0, 900.0, {"algorithm": "one-shot"})
    slow = ("xccl-collective", 90.0, 900.0, {"registered": "no"})
    equal = ("torch-symm-mem", 1.0, 900.0, {"algorithm": "two-shot", "in_place": "yes"})
    found = of(run(always, equal, slow))
    assert [limit.last for limit in found["FlashInfer"].limits] == [128 * MIB], "a tie is no reason"
    assert [limit.last for limit in found["vLLM 0.28"].limits] == [SIZES[-1]], "never NCCL"
    never = of(run(("torch-symm-mem", 50.0, 100.0, {"algorithm": "one-shot"}), NCCL))
    assert [limit.last for limit in never["vLLM 0.28"].limits] == [0]


def test_its_own_kernel_counts_before_what_stands_in() -> None:
    found = of(run(NCCL, OWN, ONE_SHOT))
    assert found["vLLM 0.28"].sizes[0].way == "vllm-all-reduce"
    assert {limit.kernel for limit in found["vLLM 0.29"].limits} == {"flashinfer-one-shot", "vllm-one-shot"}
    assert found["SGLang"].sizes[0].way.startswith("torch-symm-mem")


def test_a_window_is_not_what_a_framework_takes_by_default() -> None:
    found = of(run(NCCL, WINDOW, ONE_SHOT))
    assert {one.way for one in found["PyTorch"].sizes} == {"xccl-collective"}
    assert found["PyTorch"].sizes[0].extra > 0


def test_rules_depend_on_architecture_and_gpus() -> None:
    assert {rule.framework for rule, _ in framework_rules("", 2)} == {"Inductor", "PyTorch"}
    assert "SGLang" not in {rule.framework for rule, _ in framework_rules("sm_120", 2)}
    found = framework_rules("sm_90", 4)
    (four,) = (picks for rule, picks in found if (rule.framework, rule.form) == ("SGLang", "graph"))
    assert [pick.last for pick in four] == [384 * KIB, 16 * MIB, None]
    for arch in ("sm_80", "sm_90", "sm_100"):
        for gpus in (2, 3, 4, 8):
            assert all(picks[-1].last is None for _, picks in framework_rules(arch, gpus)), "every size has a kernel"


def test_the_first_screen_says_the_dearest_default_alone() -> None:
    found = answered(NCCL, OWN, OTHER)
    (note,) = [one for one in found.findings if one.code == "choose.default-cost"]
    assert note.facts["extra"] == max(found.table("choose.defaults").frame["excess"])
    assert found.table("choose.thresholds").detail
    assert found.table("choose.defaults").detail
    assert "choose.default-cost" not in {one.code for one in answered(NCCL, WINDOW).findings}


def test_what_stood_in_for_a_kernel_is_no_default_on_the_first_screen() -> None:
    found = answered(NCCL, ONE_SHOT, TWO_SHOT)
    (note,) = [one for one in found.findings if one.code == "choose.default-cost"]
    every = found.table("choose.defaults").frame
    inductor = every.filter(framework="Inductor")["excess"].to_list()
    assert (note.facts["framework"], note.facts["extra"]) == ("Inductor", max(inductor)), "its kernel is PyTorch's"
    assert max(every["excess"]) > max(inductor)


def test_sizes_that_one_method_has_are_named() -> None:
    file = run(NCCL, ONE_SHOT)
    kept = [row for row in file.rows if "torch" in row.id or row.case["flows"][0]["bytes"] <= MIB]
    found = answer(Run(RunFile(file.path, file.header, tuple(kept), ())))
    (note,) = [one for one in found.details if one.code == "choose.alone"]
    assert (note.facts["first"], note.facts["last"]) == (4 * MIB, SIZES[-1])


def test_vllm_runs_its_plug_in(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, flashinfer = {"9.0": {2: 64 * MIB, 4: 32 * MIB}}, {2: 64.0}
    utils = ModuleType("all_reduce_utils")
    utils.CUSTOM_ALL_REDUCE_MAX_SIZES = tables  # type: ignore[attr-defined]
    passes = ModuleType("compilation")
    passes.PassConfig = SimpleNamespace(default_fi_allreduce_fusion_max_size_mb=lambda: flashinfer)  # type: ignore[attr-defined]
    modules = {"vllm.config.compilation": passes, "vllm.distributed.device_communicators.all_reduce_utils": utils}
    for name in modules:
        for end in [match.start() for match in re.finditer(r"\.", name)]:
            monkeypatch.setitem(sys.modules, name[:end], ModuleType(name[:end]))
        monkeypatch.setitem(sys.modules, name, modules[name])
    held: dict[str, Any] = {}
    exec(formats.export("vllm", Run(run(NCCL, OWN, OTHER))), held)
    held["register"]()
    assert tables["9.0"][2] == pytest.approx(crossing(OWN, NCCL), rel=0.2)
    assert flashinfer[2] * MIB == pytest.approx(crossing(OTHER, OWN), rel=0.2)
    assert tables["9.0"][4] == 32 * MIB


def test_sglang_reads_kilobytes() -> None:
    text = formats.export("sglang", Run(run(NCCL, ONE_SHOT, TWO_SHOT, gpus=4)))
    held = dict(re.findall(r"^export (SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_\w+_SIZE_KB)=(\d+)$", text, re.MULTILINE))
    push, pull = (int(held[f"SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_{way}_SIZE_KB"]) * KIB for way in ("PUSH", "PULL"))
    assert push == pytest.approx(crossing(ONE_SHOT, TWO_SHOT), rel=0.2)
    assert pull == pytest.approx(crossing(TWO_SHOT, NCCL), rel=0.2)


def test_flashinfer_compares_its_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    shots: dict[int, float] = {2: 512}
    comm = ModuleType("flashinfer.comm")
    comm.trtllm_ar = SimpleNamespace(_use_oneshot_heuristics=shots)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flashinfer", ModuleType("flashinfer"))
    monkeypatch.setitem(sys.modules, "flashinfer.comm", comm)
    exec(formats.export("flashinfer", Run(run(NCCL, ONE_SHOT, TWO_SHOT))), {})
    assert shots[2] * MIB / 2 / 2 == pytest.approx(crossing(ONE_SHOT, TWO_SHOT), rel=0.2)


def test_mscclpp_takes_the_entry_at_or_below_a_size() -> None:
    packet = ("mscclpp-all-reduce", 4.0, 100.0, {"algorithm": "packet"})
    whole = ("mscclpp-all-reduce", 9.0, 300.0, {"algorithm": "rsag-zero-copy"})
    (profile,) = json.loads(formats.export("mscclpp", Run(run(NCCL, packet, whole))))["profiles"]
    assert (profile["sku"], profile["scale"]) == ("NVIDIA H200", 2)
    entries = profile["collectives"]["allreduce"]
    assert [one["message_size"] for one in entries] == SIZES
    names = [one["algorithm"] for one in entries]
    assert names == sorted(names), "packets first"
    assert {*names} == {"default_allreduce_packet", "default_allreduce_rsag_zero_copy"}


@pytest.mark.parametrize("name", ["vllm", "sglang", "flashinfer", "mscclpp"])
def test_a_run_without_two_of_its_kernels_is_refused(name: str) -> None:
    with pytest.raises(LinkscopeError, match="linkscope run implementations"):
        formats.export(name, Run(run(NCCL, WINDOW)))


def test_our_json_has_what_the_batch_clock_timed() -> None:
    held = json.loads(formats.export("json", Run(run(NCCL, ONE_SHOT, TWO_SHOT, forms=({"form": "eager"},)))))
    (one,) = held["choices"]
    assert one["conditions"][0] == "batch clock"
    assert [span["use"].partition(" ")[0] for span in one["ranges"]] == ["torch-symm-mem"] * 2 + ["xccl-collective"]

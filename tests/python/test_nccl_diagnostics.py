"""NCCL's own diagnostics: lines in the form of NCCL's source in, findings out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from launching import Bench, add_engine, bench
from schema_files import load_schema

from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.nccl import nccl
from linkscope.cli.doctor_questions import diagnostics_plan
from linkscope.machine.nccl_diagnostics import diagnosis, has_diagnostics
from linkscope.render import render

__all__ = ["bench"]

HEAD = "node7:24563 NCCL DIAG "
END = f"{HEAD}NCCL diagnostics completed in 245.3 ms across 8 ranks\n"
PASSED = f"{HEAD}[OK]   p2p: verified P2P access in both directions between every GPU pair (56 peer accesses)\n"
PASSED_2_31 = f"{HEAD}[OK]   p2p: all 56 directed GPU P2P edges verified\n"
INDIRECT_2_31 = f"{HEAD}[OK]   p2p: all 56 directed GPU P2P edges verified (skipped indirect=4)\n"
PARTIAL_2_31 = f"{HEAD}[INFO] p2p: 54/56 directed GPU P2P edges verified\n"
ACCESS = f"{HEAD}[INFO] p2p: temporarily enabled context-wide CUDA peer access rank=0 cudaDev=0; avoid concurrent use\n"
PARTIAL = f"{HEAD}[INFO] p2p: only 54/56 GPU-to-GPU peer accesses passed verification\n"
ADVICE = "check the affected pair with 'nvidia-smi topo -p2p p', then check Linux bare-metal IOMMU mode and PCIe ACS"


def pair(what: str, source: int, target: int, path: str = "PHB", rest: str = "") -> str:
    ends = f"srcRank={source} srcCudaDev={source} srcNvmlDev={source} dstRank={target} dstCudaDev={target}"
    return f"{HEAD}[INFO] p2p: {what} {ends} dstNvmlDev={target} path={path} handle=DIRECT{rest}; {ADVICE}\n"


WRONG = pair("write mismatch", 0, 1, rest=" expected=0x00d1 got=0xffffffffffffffff verify=0x00d1")
IMPORT = pair("peer-memory import failed", 2, 3, "NVL", " reason=import")
START = f"NCCL version 2.31.1+cuda13.0\n{HEAD}=== NCCL Diagnostics ===\n"


def answered(text: str) -> Answer:
    return nccl("NCCL", "2.31.1", diagnosis(text))


@pytest.mark.parametrize("line", [PASSED, PASSED_2_31, INDIRECT_2_31, ACCESS + PASSED])
def test_a_report_that_passed(line: str) -> None:
    found = answered(START + line + END)
    assert (found.headline.code, found.headline.facts["accesses"], found.exit_code) == ("nccl.passed", 56, 0)
    assert found.data["diagnostics"] == {"passed": 56, "tested": 56, "ranks": 8, "seconds": pytest.approx(0.2453)}
    assert found.findings == ()


@pytest.mark.parametrize("summary", [PARTIAL, PARTIAL_2_31])
def test_failed_accesses_are_errors_by_what_failed_and_the_path(summary: str) -> None:
    more = pair("write mismatch", 1, 0, rest=" expected=0x00d2 got=0xff verify=0x00d2")
    found = answered(START + summary + WRONG + more + IMPORT + END)
    assert (found.headline.code, found.headline.facts["passed"], found.exit_code) == ("nccl.failed", 54, 1)
    wrong, imported = found.findings
    assert (wrong.code, wrong.where) == ("nccl.over-pcie", ("gpu:0>gpu:1", "gpu:1>gpu:0"))
    assert wrong.facts == {"what": "write mismatch", "path": "PHB", "handle": "DIRECT"}
    assert (imported.code, imported.where) == ("nccl.over-links", ("gpu:2>gpu:3",))
    assert imported.facts["what"] == "peer-memory import failed"
    assert max(map(len, render(found).splitlines())) <= 80


def test_other_remarks_are_warnings() -> None:
    text = "p2p: resource cleanup failed rank=0 result=1; some temporary resources may remain"
    found = answered(f"{START}{PASSED}{HEAD}[INFO] {text}\n{END}")
    assert [(one.code, one.facts) for one in found.findings] == [("nccl.said", {"text": text})]
    assert found.outcome is Outcome.HOLDS


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("NCCL version 2.31.1\n", "silent"),
        (START, "unfinished"),
        (START + PASSED, "unfinished"),
        (START + END, "unfinished"),
    ],
)
def test_without_a_whole_report_there_is_no_verdict(text: str, code: str) -> None:
    found = answered(text)
    assert (found.headline.code, found.exit_code) == (f"nccl.{code}", 3)


@pytest.mark.parametrize(
    ("version", "has"),
    [("2.28.9", False), ("2.30.4", False), ("2.31.0", True), ("2.32", True), ("3.0.1", True), ("?", False)],
)
def test_versions(version: str, has: bool) -> None:
    assert has_diagnostics(version) is has


def test_the_plan_is_one_that_engines_take() -> None:
    plan = diagnostics_plan("xccl-collective", ["gpu:0", "gpu:1"])
    Draft202012Validator(load_schema("plan")).validate(plan)
    assert [member["device"] for member in plan["cases"][0]["flows"][0]["members"]] == ["gpu:0", "gpu:1"]


ENGINE = """
import json, os, sys
gpus = [{{"id": f"gpu:{{i}}", "name": "H200"}} for i in range(2)]
methods = [{{"name": "xccl-collective", "available": True, "summary": "", "traits": {{"by_xccl": True}},
             "parameters": {{"collective": ""}}}}]
if sys.argv[1] == "describe":
    print(json.dumps({{"record": "description", "schema": 1, "version": "0", "backend": "cuda", "devices": gpus,
                       "versions": {{"nccl": {version!r}}}, "methods": methods, "memories": []}}))
elif os.environ["NCCL_RUN_DIAGNOSTICS"] == "1" and json.load(open(sys.argv[2]))["cases"]:
    sys.stderr.write({report!r})
"""


@pytest.mark.parametrize(
    ("version", "report", "code", "exit_code"),
    [
        ("2.28.9", "", "nccl.older", 3),
        ("2.31.1", START + PARTIAL + WRONG + END, "nccl.failed", 1),
        ("2.31.1", "ncclCommInitRank: unhandled cuda error\n", "nccl.silent", 3),
    ],
)
def test_doctor_runs_the_diagnostics_where_the_library_has_them(
    bench: Bench, tmp_path: Path, version: str, report: str, code: str, exit_code: int
) -> None:
    source = tmp_path / "nccl_engine.py"
    source.write_text(ENGINE.format(version=version, report=report))
    add_engine(bench.engines, "cuda", source)
    ended = bench.cli("doctor", "--nccl", "--json")
    answer: dict[str, Any] = json.loads(ended.out)
    assert (answer["headline"]["code"], ended.code) == (code, exit_code)
    assert answer["headline"]["facts"]["version"] == version
    assert code != "nccl.silent" or answer["headline"]["facts"]["reason"] == report.strip()

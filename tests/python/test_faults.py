"""The whole pipeline over a real engine that fails as its plan asks (engine/backend/host/fake_copy.cpp)."""

from __future__ import annotations

import pytest
from launching import Bench, bench, use_built_engines

from linkscope.launch.engines import find_engines
from linkscope.results.run_file import RunFile

__all__ = ["bench"]
ROW = """
  - name: {name}
    title: Copies, {name}
    pattern: local
    source: {{on: numa, memory: pageable}}
    destination: {{on: numa, memory: pageable}}
    method: fake-copy
    executor: source
    sizes: 1M
    parameters: {{inject: {fault}}}
    show: list
"""
SUITE = "name: faulty\nanswers: What happens when cases break?\nrows:"
REASONS = {
    "crash": "the engine died of SIG",
    "hang": "the engine hung",
    "corrupt": "byte ",
    "error": "the flow asked for an error",
}


def offer_fake_engine(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the Bench start the built engine as one whose only method fails as it is asked."""
    with monkeypatch.context() as usual:
        use_built_engines(usual)
        built = find_engines()
    if "host" not in built:
        pytest.skip("no host engine is built")
    program = bench.engines / "linkscope-engine-host"
    program.write_text(f'#!/bin/sh\nexec {built["host"].resolve()} --fake "$@"\n')


@pytest.mark.parametrize("fault", REASONS)
def test_a_fault_fails_its_own_row_and_no_other(fault: str, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_fake_engine(bench, monkeypatch)
    monkeypatch.setattr("linkscope.plan.budget.timeout_s", lambda case, options: 2.0)
    rows = (("copy", "none"), ("broken", fault), ("after", "none"))
    suite = bench.folder / "faulty.yaml"
    suite.write_text(SUITE + "".join(ROW.format(name=name, fault=fault) for name, fault in rows))
    ended = bench.cli("run", suite, "-o", "a.jsonl", "--devices", "numa:0")
    assert ended.code == 1, ended.err
    found = RunFile.read(bench.folder / "a.jsonl")
    assert {row.name: row.status for row in found.rows} == {"copy": "ok", "broken": "failed", "after": "ok"}
    assert not found.modelled
    (broken,) = found.with_status("failed")
    assert broken.reason is not None
    assert broken.reason.startswith(REASONS[fault])

"""docs/coverage.md: every name has a row or a reason, every claim names something, and the page is up to date."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.plan.suites import load_suite, suite_names

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.coverage.evidence import Evidence, Shown  # noqa: E402
from tools.coverage.names import Group, covered, home_of, load_names, own_rows  # noqa: E402
from tools.coverage.page import command, page, state  # noqa: E402
from tools.coverage.points import points_of  # noqa: E402

EVIDENCE = ROOT / "tools" / "coverage" / "evidence.jsonl"
RECORDED = ROOT / "tests" / "fixtures" / "runs" / "h200x4-default.jsonl"
NODE = ROOT / "tests" / "fixtures" / "machines" / "h200x4-recorded.json"
NAMES = {name: reason for group in load_names() for name, reason in group.names.items()}


def test_every_name_has_a_row_or_a_reason_and_never_both() -> None:
    rows = covered()
    assert [name for name, reason in NAMES.items() if reason is None and name not in rows] == []
    assert [name for name, reason in NAMES.items() if reason is not None and name in rows] == []


def test_every_claim_of_a_suite_is_a_known_name() -> None:
    assert sorted(set(covered()) - set(NAMES)) == []


def test_evidence_is_of_rows_that_exist() -> None:
    rows = {f"{suite}/{row}" for suite in suite_names() for row in own_rows(suite)}
    assert Evidence.read(EVIDENCE).rows() <= rows


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    assert written == page(load_names(), Evidence.read(EVIDENCE)), "run: python tools/coverage"


def test_commscopes_own_names_are_those_of_its_suite() -> None:
    covers = [name for row in load_suite("commscope").rows for name in row.covers]
    claimed = {name for name in covers if name.startswith(("Comm_", "libc_"))}
    (group,) = [group for group in load_names() if group.title == "Comm|Scope"]
    assert claimed == set(group.names)


def test_an_included_row_counts_for_the_suite_whose_file_holds_it() -> None:
    assert home_of("default", "d2d") == "default/d2d"
    assert home_of("default", "chase-numa") == "host/chase-numa"
    assert home_of("default", "no-such-row") == ""


def test_a_measured_run_is_evidence_of_its_rows() -> None:
    evidence = Evidence({})
    evidence.take(RECORDED)
    (d2d,) = evidence.of("default/d2d")
    assert (d2d.node, d2d.date, d2d.ok, d2d.skipped, d2d.failed) == ("4 x NVIDIA H200", "2026-11-20", 24, 0, 0)
    assert evidence.of("host/chase-numa") != ()


def test_a_modelled_run_is_no_evidence(tmp_path: Path) -> None:
    text = RECORDED.read_text().replace('"backend":"cuda"', '"backend":"modelled"')
    path = tmp_path / "modelled.jsonl"
    path.write_text(re.sub(r'"modelled":\s*false', '"modelled":true', text))
    with pytest.raises(LinkscopeError, match="is modelled"):
        Evidence({}).take(path)


def test_the_newest_run_of_a_node_counts_and_nodes_stand_side_by_side(tmp_path: Path) -> None:
    def run(started: str, node: str) -> Path:
        header, *rows = RECORDED.read_text().splitlines()
        changed = json.loads(header)
        changed["started"], changed["node"]["name"] = started, node
        path = tmp_path / f"{started[:10]}.jsonl"
        path.write_text("\n".join([json.dumps(changed), *rows]) + "\n")
        return path

    evidence = Evidence({})
    for started, node in (("2026-11-20T00:00:00", "b"), ("2026-11-01T00:00:00", "b"), ("2026-11-02T00:00:00", "a")):
        evidence.take(run(started, node))
    assert [(one.node, one.date) for one in evidence.of("default/d2d")] == [("a", "2026-11-02"), ("b", "2026-11-20")]


def test_a_state_is_run_only_where_something_was_ok() -> None:
    ok, skipped = Shown("n", "2026-01-01", 3, 1, 0), Shown("n", "2026-01-01", 0, 4, 0, "no such memory")
    assert state(None, ("s/r",), Evidence({"s/r": (ok,)})) == "run"
    assert state(None, ("s/r",), Evidence({"s/r": (skipped,)})) == "compiled"
    assert state(None, ("s/r",), Evidence({})) == "compiled"
    assert state("not yet", (), Evidence({})) == "none"
    groups = (Group("Tool", "somewhere", "run nvbandwidth", {"nvbandwidth device_local_copy": None, "a|b": "not yet"}),)
    text = page(groups, Evidence({"nvbandwidth/local-copy-ce": (skipped,)}))
    assert "compiled (n: no such memory)" in text
    assert "| a\\|b |  | none: not yet |" in text
    assert "| `linkscope run nvbandwidth -k nvbandwidth/local-copy-ce/` | compiled" in text


def test_a_command_picks_the_rows_of_a_benchmark_and_no_others() -> None:
    assert command(("commscope/chunk-pull", "commscope/chunk-pull-uneven")).endswith(" -k commscope/chunk-pull`")
    assert command(("commscope/malloc",)).endswith(" -k commscope/malloc/`"), "there is malloc-memset, too"
    assert (
        command(("commscope/malloc", "commscope/d2h"))
        == "`linkscope run commscope`: `commscope/malloc` `commscope/d2h`"
    )
    assert command(("host/memcpy-numa", "peer/push")) == "`linkscope run host peer`: `host/memcpy-numa` `peer/push`"
    assert command(()) == ""


def test_commscope_would_take_half_a_day_for_its_suites_points() -> None:
    points = points_of("commscope", NODE)
    assert points.count > 8000
    assert points.peer_hours > 10

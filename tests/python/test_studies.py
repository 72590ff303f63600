"""Studies: every claim can be tested by rows that a suite has, each kind of claim holds and fails, pages and tables."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import polars
import pytest
from browser import needs_browser, visit
from launching import Ended

from linkscope import api
from linkscope.answers.answer import Answer
from linkscope.answers.claims import Grounds, judge, selected
from linkscope.answers.reproduce import fitted_places, wheres
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.figures.columns import SCHEMA
from linkscope.launch.job import Request
from linkscope.launch.run import run
from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.paths import Paths
from linkscope.plan.suites import load_suite, suite_names
from linkscope.render import render
from linkscope.results import study
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.study import Claim, load_study, study_names

KIB = 1 << 10
Linkscope = Callable[..., Ended]


@pytest.fixture
def linkscope(capsys: pytest.CaptureFixture[str]) -> Linkscope:
    """The command line."""

    def cli(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        captured = capsys.readouterr()
        return Ended(left.value.code if isinstance(left.value.code, int) else 0, captured.out, captured.err)

    return cli


@cache
def rows_of(study: str) -> set[str]:
    return {name for suite in load_study(study).suites for name in load_suite(suite).row_names}


@pytest.mark.parametrize("name", study_names())
def test_every_claim_says_where_it_stands_what_it_needs_and_expects(name: str) -> None:
    found = load_study(name)
    assert {one.node for one in found.machines} <= set(machine_names())
    assert set(found.suites) <= set(suite_names())
    nothing = polars.DataFrame(schema=SCHEMA)
    for one in found.claims:
        assert len(one.expects) == 1, one.says
        about_figures = bool(one.figure) or one.crossing is not None
        assert about_figures or one.widest is not None or one.needs, one.says
        assert one.of in ("", *(machine.node for machine in found.machines))
        assert set(one.each) <= {*SCHEMA, "members"}
    for where in wheres(found):
        selected(nothing, where)
        rows = where.get("row", [])
        assert {rows} <= rows_of(name) if isinstance(rows, str) else set(rows) <= rows_of(name), where
        assert "row" in where, where


@pytest.mark.parametrize("name", study_names())
def test_every_figure_that_a_suite_covers_is_shown_or_claimed(name: str) -> None:
    found = load_study(name)
    here = {one.name for one in found.exhibits} | {place for one in found.claims for place in one.where.split(", ")}
    suites = [load_suite(suite) for suite in found.suites]
    rows = [row for suite in suites for row in (*suite.rows, *suite.workloads)]
    covered = {place.removeprefix(name).strip() for row in rows for place in row.covers if place.startswith(name)}
    assert covered
    for place in covered:
        assert any(place.startswith(one) or one.startswith(place) for one in here), place


def test_a_studys_tables_are_claims() -> None:
    cells = [claim for claim in load_study("pearson23").claims if claim.cell]
    assert len(cells) == 12
    assert cells[0].says == "explicit, quad"
    assert cells[0].about == 0.25


def grounds(*lines: dict[str, Any], node: str = "frontier", studied: tuple[str, ...] = ()) -> Grounds:
    usual = {"status": "ok", "unit": "GB/s", "row": "copy", "method": "copy-engine"}
    frame = polars.DataFrame([usual | line for line in lines], schema=SCHEMA, orient="row")
    return Grounds(frame, Paths(load_machine(node)), studied)


def claim(**expected: Any) -> Claim:
    return msgspec.convert({"where": "1", "says": "so", "figure": {"row": "copy"}, **expected}, Claim)


RATES = grounds({"gbps": 50.0, "bytes": KIB, "tier": "single"}, {"gbps": 100.0, "bytes": 2 * KIB, "tier": "dual"})


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [
        ({"about": 75}, "holds"),
        ({"about": 90}, "fails"),
        ({"about": 100, "pick": "most"}, "holds"),
        ({"between": [70, 80], "within": 0}, "holds"),
        ({"between": [10, 40], "within": 0}, "fails"),
        ({"least": 45, "each": ["tier"], "within": 0}, "holds"),
        ({"least": 55, "each": ["tier"], "within": 0}, "fails"),
        ({"most": 110}, "holds"),
        ({"most": 40}, "fails"),
        ({"alike": 1.1, "each": ["bytes"]}, "holds"),
        ({"alike": 0.9, "each": ["bytes"]}, "fails"),
        ({"about": 2, "figure": {"row": "copy", "bytes": 2048}, "over": {"row": "copy", "bytes": 1024}}, "holds"),
        ({"about": 50, "figure": {"row": "copy", "bytes": 2048}, "minus": {"row": "copy", "bytes": 1024}}, "holds"),
        ({"reaching": {"value": 90, "at": [1400, 1600]}}, "holds"),
        ({"reaching": {"value": 90, "at": [1030, 1100]}}, "fails"),
        ({"reaching": {"value": 200, "at": [1400, 1600]}}, "fails"),
        ({"reaching": {"value": 90, "at": [8192, 8192]}}, "untested"),
        ({"about": 1, "figure": {"row": "other"}}, "untested"),
        ({"about": 1, "unit": "of peak"}, "untested"),
        ({"about": 1, "figure": {"row": "copy", "tier": "quad"}}, "untested"),
        ({"needs": "an application"}, "untested"),
        ({"widest": {"longest": 2}}, "holds"),
        ({"widest": {"longest": 3}}, "fails"),
        ({"widest": {"route": [1, 0, 6, 7]}}, "holds"),
        ({"widest": {"route": [1, 3, 7]}}, "fails"),
        ({"widest": {"route": [1, 9]}}, "untested"),
    ],
)
def test_a_claim_agrees_differs_or_cannot_be_tested(expected: dict[str, Any], outcome: str) -> None:
    found = judge(claim(**expected), RATES)
    assert found.outcome.value == outcome


def timed(name: str, seconds: list[float]) -> list[dict[str, Any]]:
    return [{"row": name, "bytes": KIB << power, "seconds": time, "gbps": 1.0} for power, time in enumerate(seconds)]


def test_where_two_ways_cross_is_found_between_sizes() -> None:
    ways = grounds(*timed("a", [1, 2, 4, 8, 16]), *timed("b", [3, 3, 3, 3, 3]))
    asked = {"figure": {}, "crossing": {"below": {"row": "a"}, "above": {"row": "b"}, "at": [3 * KIB, 3 * KIB]}}
    found = judge(claim(**asked), ways)
    assert found.outcome.value == "holds"
    assert found.here.code == "reproduce.at"
    assert found.here.facts["size"] == pytest.approx(3 * KIB)
    far = {"figure": {}, "crossing": {"below": {"row": "a"}, "above": {"row": "b"}, "at": [8 * KIB, 8 * KIB]}}
    assert judge(claim(**far), ways).outcome.value == "fails"
    turned = {"figure": {}, "crossing": {"below": {"row": "b"}, "above": {"row": "a"}, "at": [3 * KIB, 3 * KIB]}}
    never = judge(claim(**turned), ways)
    assert (never.outcome.value, never.here.code) == ("fails", "reproduce.first-faster")
    assert never.here.facts["sizes"] == [KIB, 16 * KIB]


def test_where_time_starts_to_grow_with_the_size() -> None:
    curve = grounds(*timed("copy", [1, 1, 1.1, 2.2, 4.4, 8.8]))
    assert judge(claim(linear_from=4 * KIB), curve).outcome.value == "holds"
    assert judge(claim(linear_from=20 * KIB), curve).outcome.value == "fails"


def test_the_pairs_below_a_limit_are_exactly_those() -> None:
    ends = [("gpu:0", "gpu:1", 5e-6), ("gpu:1", "gpu:0", 5e-6), ("gpu:0", "gpu:2", 9e-6)]
    pairs = grounds(*({"source": a, "destination": b, "seconds": time} for a, b, time in ends))
    assert judge(claim(unit="us", below={"value": 8, "pairs": [[0, 1]]}), pairs).outcome.value == "holds"
    assert judge(claim(unit="us", below={"value": 8, "pairs": [[0, 1], [0, 2]]}), pairs).outcome.value == "fails"
    assert judge(claim(unit="us", below={"value": 8, "pairs": [[0, 9]]}), pairs).outcome.value == "untested"


def test_what_is_said_of_one_machine_is_not_tested_on_another_of_the_study() -> None:
    lines = {"gbps": 72.0}
    said = claim(about=72, of="s822lc")
    own = grounds(lines, node="ac922", studied=("ac922", "s822lc"))
    assert judge(said, own).here.code == "reproduce.said-of"
    assert judge(said, grounds(lines, studied=("ac922", "s822lc"))).outcome.value == "holds"


def test_a_claim_of_several_things_is_not_tested_by_some_of_them() -> None:
    both = {"row": "copy", "tier": ["single", "dual"]}
    assert judge(claim(figure=both, each=["tier"], least=1), RATES).outcome.value == "holds"
    three = {"row": "copy", "tier": ["single", "dual", "quad"]}
    assert judge(claim(figure=three, each=["tier"], least=1), RATES).here.facts["group"] == "quad"
    narrow = {"row": "copy", "tier": "single"}
    assert judge(claim(figure=both, over=narrow, each=["tier"], least=0), RATES).here.code == "reproduce.no-other"


def test_of_groups_the_most_may_count_alone() -> None:
    found = judge(claim(each=["tier"], across="most", about=100), RATES)
    assert (found.outcome.value, found.here.facts["group"], found.value) == ("holds", "dual", 100)
    assert judge(claim(each=["tier"], across="least", about=100), RATES).outcome.value == "fails"


def test_what_is_not_measured_around_a_size_is_not_tested() -> None:
    ways = grounds(*timed("a", [1, 2, 4]), *timed("b", [3, 3, 3]))
    asked = {"figure": {}, "crossing": {"below": {"row": "a"}, "above": {"row": "b"}, "at": [64 * KIB, 64 * KIB]}}
    assert judge(claim(**asked), ways).here.facts == {"size": 64 * KIB}
    assert judge(claim(reaching={"value": 40, "at": [KIB, KIB]}), RATES).outcome.value == "untested"


def test_a_row_that_is_ok_counts_before_one_that_is_not(modelled: Path) -> None:
    run = RunFile.read(modelled)
    skipped = [Row.from_json({**row.raw, "status": "skipped", "reason": "budget used up"}) for row in run.rows]
    without = replace(run, rows=tuple(skipped))
    whole = claims(api.reproduce("pearson23", run))
    for runs in ([without, run], [run, without]):
        assert claims(api.reproduce("pearson23", *runs)).equals(whole)
    foreign = [replace(row, case={**row.case, "suite": "other"}) for row in run.rows]
    with pytest.raises(LinkscopeError, match="linkscope run pearson23"):
        api.reproduce("pearson23", replace(run, rows=tuple(foreign)))
    node = {**run.header["node"], "modelled": False}
    elsewhere = replace(run, header={**run.header, "node": node})
    with pytest.raises(LinkscopeError, match="of several machines"):
        api.reproduce("pearson23", run, elsewhere)


def claims(found: Answer) -> polars.DataFrame:
    return found.table("reproduce.claims").frame.select("says", "outcome", "value")


def test_a_reason_of_what_was_skipped_is_told() -> None:
    lines = [{"status": "skipped", "unit": None, "reason": reason} for reason in ("for NVIDIA GPUs", "no room")]
    assert judge(claim(about=1), grounds(*lines)).here.facts["why"] == "no room"


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pearson23 on the model of its machine."""
    path = tmp_path_factory.mktemp("study") / "pearson23.jsonl"
    run(Request(suites=("pearson23",), machine="frontier", sizes="1G"), path)
    return path


def test_a_study_is_laid_beside_its_model(linkscope: Linkscope, modelled: Path, tmp_path: Path) -> None:
    found = api.reproduce("pearson23", modelled)
    assert (found.exit_code, found.headline.facts["tested"], found.headline.facts["hold"]) == (1, 25, 24)
    assert len(render(found).splitlines()) <= 24
    (fitted,) = (one for one in found.findings if one.code == "reproduce.fitted")
    assert (fitted.facts["fitted"], fitted.facts["predicted"], fitted.facts["hold"]) == (24, 1, 1)
    assert found.table("reproduce.differing").frame["off"].to_list() == pytest.approx([48.1 / 1630 - 1], abs=0.01)
    titles = [table.facts["title"] for table in found.tables if table.key == "tables.curve"]
    assert titles[0].startswith("Fig. 2a: GPU to GPU")
    grid = found.table("reproduce.table").frame
    assert grid.row(1, named=True)["quad"] == pytest.approx(0.25, abs=0.01)
    linkscope("reproduce", "pearson23", str(modelled), "-o", str(tmp_path / "p.csv"))
    with (tmp_path / "p.csv").open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert sum(line["where"] == "Table III" for line in lines) == 12
    assert sum(line["title"].startswith("Fig. 2a") for line in lines) == 4


@needs_browser
def test_the_page_of_a_study_has_its_pictures(linkscope: Linkscope, modelled: Path, tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    linkscope("reproduce", "pearson23", str(modelled), "-o", str(page))
    script = """
        for (const one of document.querySelectorAll('details')) one.open = true;
        document.querySelector('svg.curves .mark').focus();
        return [document.querySelectorAll('svg.curves').length, document.getElementById('tip').innerText,
                document.documentElement.scrollWidth <= innerWidth];"""
    seen = visit(page.read_text(encoding="utf-8"), script, tmp_path)
    assert seen.errors == []
    pictures, tip, fits = seen.found
    assert pictures == 5
    assert "GB/s" in tip
    assert fits


def test_another_node_has_columns_of_its_own(linkscope: Linkscope, tmp_path: Path) -> None:
    path = str(tmp_path / "h200.jsonl")
    linkscope("run", "pearson23", "--machine", "h200x4", "--sizes", "1G", "-o", path)
    ended = linkscope("reproduce", "pearson23", path, "--json")
    told = msgspec.json.decode(ended.out)["tables"]
    assert told["reproduce.table"][1]["nvlink-18"] == pytest.approx(0.88, abs=0.05)
    assert (ended.code, "reproduce.no-tier" in {one["code"] for one in told["reproduce.claims"]}) == (1, True)


def test_what_a_model_was_given_is_told_from_what_it_predicts() -> None:
    fits = "schieffer24 Fig. 6b, Fig. 7; pearson23 III-C"
    node = replace(load_machine("frontier"), methods={"copy-engine": {"rules": [{"fits": fits}]}})
    assert fitted_places(node, "schieffer24") == {"Fig. 6b", "Fig. 7"}
    assert fitted_places(node, "pearson23") == {"III-C"}
    assert fitted_places(node, "schieffer25") == frozenset()


def test_studies_are_listed(linkscope: Linkscope) -> None:
    assert linkscope("reproduce", "--list").out == linkscope("list", "studies").out
    assert all(name in linkscope("reproduce", "--list").out for name in study_names())


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ((), "name a study"),
        (("pearson32",), "unknown study 'pearson32'"),
        (("pearson23", "RUN"), "has no test of pearson23"),
        (("pearson23", "RUN", "--machine", "frontier"), "--machine and --budget are for measuring"),
    ],
)
def test_what_cannot_be_reproduced_is_one_line(linkscope: Linkscope, asked: tuple[str, ...], complaint: str) -> None:
    run = str(Path(__file__).parents[1] / "fixtures" / "runs" / "h200x4-direct.jsonl")
    ended = linkscope("reproduce", *(run if word == "RUN" else word for word in asked))
    assert ended.code == 2
    assert complaint in ended.err


def test_a_damaged_study_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd.yaml").write_text("name: odd\ntitle: t\nclaims: 3\n", encoding="utf-8")
    monkeypatch.setattr(study, "STUDIES", tmp_path)
    with pytest.raises(LinkscopeError, match=r"odd\.yaml"):
        load_study("odd")

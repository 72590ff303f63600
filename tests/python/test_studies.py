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
from launching import Ended, real_engine

from linkscope import api
from linkscope.analysis import study
from linkscope.analysis.claims import Grounds, judge, selected
from linkscope.analysis.figures import SCHEMA
from linkscope.analysis.reproduce import fitted_places, reproduce, wheres
from linkscope.analysis.study import Claim, load_study, study_names
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.launch.job import Request
from linkscope.launch.run import run
from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.paths import Paths
from linkscope.plan.suite import load_suite, suite_names
from linkscope.report import reproduce_text
from linkscope.report.html_study import render_study
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

__all__ = ["real_engine"]
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
        ({"about": 75}, "agrees"),
        ({"about": 90}, "differs"),
        ({"about": 100, "pick": "most"}, "agrees"),
        ({"between": [70, 80], "within": 0}, "agrees"),
        ({"between": [10, 40], "within": 0}, "differs"),
        ({"least": 45, "each": ["tier"], "within": 0}, "agrees"),
        ({"least": 55, "each": ["tier"], "within": 0}, "differs"),
        ({"most": 110}, "agrees"),
        ({"most": 40}, "differs"),
        ({"alike": 1.1, "each": ["bytes"]}, "agrees"),
        ({"alike": 0.9, "each": ["bytes"]}, "differs"),
        ({"about": 2, "figure": {"row": "copy", "bytes": 2048}, "over": {"row": "copy", "bytes": 1024}}, "agrees"),
        ({"about": 50, "figure": {"row": "copy", "bytes": 2048}, "minus": {"row": "copy", "bytes": 1024}}, "agrees"),
        ({"reaching": {"value": 90, "at": [1400, 1600]}}, "agrees"),
        ({"reaching": {"value": 90, "at": [1030, 1100]}}, "differs"),
        ({"reaching": {"value": 200, "at": [1400, 1600]}}, "differs"),
        ({"reaching": {"value": 90, "at": [8192, 8192]}}, "untested"),
        ({"about": 1, "figure": {"row": "other"}}, "untested"),
        ({"about": 1, "unit": "of peak"}, "untested"),
        ({"about": 1, "figure": {"row": "copy", "tier": "quad"}}, "untested"),
        ({"needs": "an application"}, "untested"),
        ({"widest": {"longest": 2}}, "agrees"),
        ({"widest": {"longest": 3}}, "differs"),
        ({"widest": {"route": [1, 0, 6, 7]}}, "agrees"),
        ({"widest": {"route": [1, 3, 7]}}, "differs"),
        ({"widest": {"route": [1, 9]}}, "untested"),
    ],
)
def test_a_claim_agrees_differs_or_cannot_be_tested(expected: dict[str, Any], outcome: str) -> None:
    found = judge(claim(**expected), RATES)
    assert found.outcome == outcome
    assert found.why if outcome == "untested" else found.here


def timed(name: str, seconds: list[float]) -> list[dict[str, Any]]:
    return [{"row": name, "bytes": KIB << power, "seconds": time, "gbps": 1.0} for power, time in enumerate(seconds)]


def test_where_two_ways_cross_is_found_between_sizes() -> None:
    ways = grounds(*timed("a", [1, 2, 4, 8, 16]), *timed("b", [3, 3, 3, 3, 3]))
    asked = {"figure": {}, "crossing": {"below": {"row": "a"}, "above": {"row": "b"}, "at": [3 * KIB, 3 * KIB]}}
    found = judge(claim(**asked), ways)
    assert found.outcome == "agrees"
    assert found.here == "at 3 KiB"
    far = {"figure": {}, "crossing": {"below": {"row": "a"}, "above": {"row": "b"}, "at": [8 * KIB, 8 * KIB]}}
    assert judge(claim(**far), ways).outcome == "differs"
    turned = {"figure": {}, "crossing": {"below": {"row": "b"}, "above": {"row": "a"}, "at": [3 * KIB, 3 * KIB]}}
    never = judge(claim(**turned), ways)
    assert (never.outcome, never.here) == ("differs", "the first is faster from 1 KiB to 16 KiB")


def test_where_time_starts_to_grow_with_the_size() -> None:
    curve = grounds(*timed("copy", [1, 1, 1.1, 2.2, 4.4, 8.8]))
    assert judge(claim(linear_from=4 * KIB), curve).outcome == "agrees"
    assert judge(claim(linear_from=20 * KIB), curve).outcome == "differs"


def test_the_pairs_below_a_limit_are_exactly_those() -> None:
    ends = [("gpu:0", "gpu:1", 5e-6), ("gpu:1", "gpu:0", 5e-6), ("gpu:0", "gpu:2", 9e-6)]
    pairs = grounds(*({"source": a, "destination": b, "seconds": time} for a, b, time in ends))
    assert judge(claim(unit="us", below={"value": 8, "pairs": [[0, 1]]}), pairs).outcome == "agrees"
    assert judge(claim(unit="us", below={"value": 8, "pairs": [[0, 1], [0, 2]]}), pairs).outcome == "differs"
    assert judge(claim(unit="us", below={"value": 8, "pairs": [[0, 9]]}), pairs).outcome == "untested"


def test_what_is_said_of_one_machine_is_not_tested_on_another_of_the_study() -> None:
    lines = {"gbps": 72.0}
    said = claim(about=72, of="s822lc")
    own = grounds(lines, node="ac922", studied=("ac922", "s822lc"))
    assert judge(said, own).why == "said of s822lc"
    assert judge(said, grounds(lines, studied=("ac922", "s822lc"))).outcome == "agrees"


def test_a_claim_of_several_things_is_not_tested_by_some_of_them() -> None:
    both = {"row": "copy", "tier": ["single", "dual"]}
    assert judge(claim(figure=both, each=["tier"], least=1), RATES).outcome == "agrees"
    three = {"row": "copy", "tier": ["single", "dual", "quad"]}
    assert judge(claim(figure=three, each=["tier"], least=1), RATES).why == "there is no figure of quad"
    narrow = {"row": "copy", "tier": "single"}
    assert "to set beside" in judge(claim(figure=both, over=narrow, each=["tier"], least=0), RATES).why


def test_of_groups_the_most_may_count_alone() -> None:
    found = judge(claim(each=["tier"], across="most", about=100), RATES)
    assert (found.outcome, found.here) == ("agrees", "100 GB/s (dual)")
    assert judge(claim(each=["tier"], across="least", about=100), RATES).outcome == "differs"


def test_what_is_not_measured_around_a_size_is_not_tested() -> None:
    ways = grounds(*timed("a", [1, 2, 4]), *timed("b", [3, 3, 3]))
    asked = {"figure": {}, "crossing": {"below": {"row": "a"}, "above": {"row": "b"}, "at": [64 * KIB, 64 * KIB]}}
    assert judge(claim(**asked), ways).why == "not measured at sizes around 64 KiB"
    assert judge(claim(reaching={"value": 40, "at": [KIB, KIB]}), RATES).outcome == "untested"


def test_a_reproduction_shows_itself_and_writes_its_page(modelled: Path, tmp_path: Path) -> None:
    found = api.reproduce("pearson23", modelled)
    found.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == render_study(found)
    assert reproduce_text.verdict(found) in repr(found)
    assert found.study.title.split()[0] in str(found._repr_html_())


def test_a_row_that_is_ok_counts_before_one_that_is_not(modelled: Path) -> None:
    run = RunFile.read(modelled)
    skipped = [Row.from_json({**row.raw, "status": "skipped", "reason": "budget used up"}) for row in run.rows]
    without = replace(run, rows=tuple(skipped))
    whole = reproduce(load_study("pearson23"), [run]).counts
    for runs in ([without, run], [run, without]):
        assert reproduce(load_study("pearson23"), runs).counts == whole
    foreign = [replace(row, case={**row.case, "suite": "other"}) for row in run.rows]
    with pytest.raises(LinkscopeError, match="has nothing that pearson23 measures"):
        reproduce(load_study("pearson23"), [replace(run, rows=tuple(foreign))])
    node = {**run.header["node"], "modelled": False}
    elsewhere = replace(run, header={**run.header, "node": node})
    with pytest.raises(LinkscopeError, match="of several machines"):
        reproduce(load_study("pearson23"), [run, elsewhere])


def test_a_reason_of_what_was_skipped_is_told() -> None:
    lines = [{"status": "skipped", "unit": None, "reason": reason} for reason in ("for NVIDIA GPUs", "no room")]
    assert judge(claim(about=1), grounds(*lines)).why == "no room"


@pytest.fixture(scope="module")
def modelled(real_engine: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pearson23 on the model of its machine."""
    path = tmp_path_factory.mktemp("study") / "pearson23.jsonl"
    run(Request(suites=("pearson23",), machine="frontier", sizes="1G"), path)
    return path


@pytest.mark.usefixtures("real_engine")
def test_a_study_is_laid_beside_its_model(linkscope: Linkscope, modelled: Path, tmp_path: Path) -> None:
    shown = linkscope("reproduce", "pearson23", str(modelled))
    assert shown.code == 0
    assert "MODELLED" in shown.out
    assert "Table III" in shown.out
    assert "Fig. 2a: GPU to GPU" in linkscope("reproduce", "pearson23", str(modelled), "--full").out
    told = msgspec.json.decode(linkscope("reproduce", "pearson23", str(modelled), "--json").out)
    assert sum(one["outcome"] == "agrees" for one in told["claims"]) >= 10
    (table,) = (one for one in told["exhibits"] if one["name"] == "Table III")
    assert table["cells"][0][0]["here"] == pytest.approx(0.25, abs=0.01)
    linkscope("reproduce", "pearson23", str(modelled), "-o", str(tmp_path / "p.csv"))
    with (tmp_path / "p.csv").open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert {line["modelled"] for line in lines} == {"True"}
    assert sum(line["where"] == "Table III" for line in lines) == 12


@needs_browser
@pytest.mark.usefixtures("real_engine")
def test_the_page_of_a_study_has_its_pictures(linkscope: Linkscope, modelled: Path, tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    linkscope("reproduce", "pearson23", str(modelled), "-o", str(page))
    script = """
        document.querySelector('svg.curves [data-i]').focus();
        return [document.querySelectorAll('svg.curves').length, document.querySelectorAll('td.claim.agrees').length,
                document.getElementById('tip').innerText, document.documentElement.scrollWidth <= innerWidth];"""
    seen = visit(page.read_text(encoding="utf-8"), script, tmp_path)
    assert seen.errors == []
    pictures, agreed, tip, fits = seen.found
    assert pictures == 5
    assert agreed >= 20
    assert "95 % interval" in tip
    assert fits


@pytest.mark.usefixtures("real_engine")
def test_another_node_has_columns_of_its_own(linkscope: Linkscope, tmp_path: Path) -> None:
    path = str(tmp_path / "h200.jsonl")
    linkscope("run", "pearson23", "--machine", "h200x4", "--sizes", "1G", "-o", path)
    told = msgspec.json.decode(linkscope("reproduce", "pearson23", path, "--json").out)
    (table,) = (one for one in told["exhibits"] if one["name"] == "Table III")
    assert table["columns"] == ["quad", "dual", "single", "nvlink-18"]
    assert table["cells"][0][3]["here"] == pytest.approx(0.88, abs=0.05)
    assert "no path here is quad" in {one["why"] for one in told["claims"]}


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
        (("pearson23", "RUN"), "has nothing that pearson23 measures"),
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

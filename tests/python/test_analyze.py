"""linkscope analyze: which questions are answered, and by which codes; the share of peak."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import modelled_run as made
import pytest
import recorded

import linkscope
from linkscope.answers.analyze.comparing import usable
from linkscope.answers.analyze.peaks import peaks
from linkscope.answers.questions import QUESTIONS
from linkscope.cli import main
from linkscope.figures.run import Run
from linkscope.machine.fair_share import max_min
from linkscope.render import render
from linkscope.results.row import Row

NAMES = [name.partition("/")[2] for name in QUESTIONS if name.startswith("analyze/")]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["analyze", *arguments])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_a_run_answers_the_questions_that_it_has_results_for() -> None:
    found = linkscope.analyze(recorded.HEALTHY)
    assert (found.exit_code, found.headline.facts) == (0, {"answered": 8, "questions": len(NAMES)})
    lacking = ["numa", "interference", "collectives", "layers", "blocks", "queueing", "overlap"]
    assert found.findings[-1].facts["questions"] == lacking
    assert {one.code.split("-")[0] for one in found.findings[:-1]} == {
        f"analyze.{name}" for name in NAMES if name not in found.findings[-1].facts["questions"]
    }


def test_questions_that_are_named_show_their_tables() -> None:
    single = linkscope.analyze(recorded.HEALTHY, "peaks")
    several = linkscope.analyze(recorded.HEALTHY, "peaks", "tiers")
    assert [table.key for table in single.tables] == ["analyze.peaks"]
    assert [(table.key, table.detail) for table in several.tables] == [
        ("analyze.peaks", False),
        ("analyze.tiers", False),
    ]


def test_json_holds_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, str(recorded.HEALTHY), "peaks", "--json")
    answer = json.loads(out)
    assert (code, answer["headline"]["code"]) == (0, "analyze.peaks-reached")
    assert len(answer["tables"]["analyze.peaks"]) == 27


def test_help_names_the_questions(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, "--help")
    assert ", ".join(NAMES) in " ".join(word for word in out.split() if word != "│")


def test_a_question_that_is_none_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, str(recorded.HEALTHY), "beauty")
    assert (code, err.count("\n")) == (2, 1)
    assert all(word in err for word in ("beauty", *NAMES))


def test_a_run_without_results_has_no_answer() -> None:
    run = made.run(found=[made.not_ok(made.case("push", [made.flow("gpu:0", "gpu:1")], {}), "failed", "broken")])
    assert linkscope.analyze(run).exit_code == 3
    for name in NAMES:
        found = linkscope.analyze(run, name)
        assert (found.exit_code, found.headline.code) == (3, "analyze.lacking")


def test_a_run_cut_short_says_so(tmp_path: Path) -> None:
    found = linkscope.analyze(recorded.cut_short(tmp_path))
    assert found.findings[0].code == "run.cut-short"


def test_share_of_peak_is_that_of_the_best_size_and_caches_are_left_out() -> None:
    found = made.size_curves("by size", [("nvlink", "gpu:0", "gpu:1", 396.0), ("nvlink", "gpu:2", "gpu:1", 360.0)])
    size = 512 << 20
    cached = made.case("cached", [made.flow("gpu:3", "gpu:1", size)], {"figure": "first"})
    run = made.run(found=[*found, made.ok(cached, [made.seconds(size, 4500, "x")])])
    line = peaks(usable(Run(run))).row(0, named=True)
    assert (line["paths"], line["binds"]) == (2, "gpu>nvswitch, nvswitch>gpu")
    assert line["of_peak_max"] == pytest.approx(396 / made.LINK_GBPS, rel=0.005)
    assert line["of_peak_min"] == pytest.approx(360 / made.LINK_GBPS, rel=0.005)
    assert line["peak_gbps"] == made.LINK_GBPS
    both = [made.flow("gpu:0", "gpu:1", size), {**made.flow("gpu:1", "gpu:0", size), "role": "background"}]
    times = [made.seconds(size, 390, f"{i}") for i in range(2)]
    beside = made.ok(made.case("beside", both, {"figure": "first"}), times)
    assert peaks(usable(Run(made.run(found=[beside])))).is_empty(), "what has a load beside it is no peak"


@pytest.mark.parametrize("factor", [0.0, 1e-300, 1e-12, 1e12, 1e14])
def test_numbers_that_nothing_can_have_are_no_error(factor: float) -> None:
    rows = []
    for row in made.rows():
        line = copy.deepcopy(row.raw)
        for flow in line.get("flows", []):
            for name in {"seconds", "gbps"} & flow.keys():
                flow[name] |= {bound: value * factor for bound, value in flow[name].items() if bound != "n"}
            flow["samples_s"] = []
        rows.append(Row.from_json(line) if len(rows) % 3 else row)
    found = linkscope.analyze(made.run(found=rows), *NAMES)
    json.loads(render(found, "json"))
    assert render(found, full=True)


def test_capacities_that_rounding_never_quite_fills_end_the_sharing() -> None:
    assert max_min([{"a": 3.0}], {"a": 5e-324}).binding == ("a",)  # a step rounds to 0

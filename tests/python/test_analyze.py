"""linkscope analyze: which questions are answered, in sentences, tables and JSON; and the share of peak."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import modelled_run as made
import pytest

import linkscope
from linkscope.analysis.figures import figures
from linkscope.analysis.peaks import peaks
from linkscope.analysis.questions import QUESTIONS, analyze
from linkscope.cli import main
from linkscope.machine.fair_share import max_min
from linkscope.report.answers_text import ANSWERS, conclusion, to_json
from linkscope.results.row import Row

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
RECORDED = RUNS / "h200x4-default.jsonl"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["analyze", *arguments])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_every_question_has_its_words_and_every_run_its_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(ANSWERS) == list(QUESTIONS)
    run = linkscope.read(RECORDED)
    found = analyze(run)
    assert found
    assert all(len(table) for table in found.values())
    code, out, _ = said(capsys, str(RECORDED))
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for name, table in found.items():
        assert " ".join(conclusion(name, table).split())[:60] in " ".join(out.split())
        assert linkscope.analyze(RECORDED, name).equals(table)


def test_json_holds_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, str(RECORDED), "peaks", "--json")
    assert code == 0
    answer = json.loads(out)["peaks"]
    assert len(answer["lines"]) == len(linkscope.analyze(RECORDED, "peaks"))


def test_tables_are_printed_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    short, full, one = (said(capsys, str(RECORDED), *words)[1] for words in ((), ("--full",), ("peaks",)))
    rule = "─" * 20
    found = len(analyze(linkscope.read(RECORDED)))
    assert len(short.splitlines()) <= 40
    assert [text.count(f"\n{rule}") for text in (short, full, one)] == [0, found, 1]
    assert max(map(len, full.splitlines())) <= 80


def test_help_names_the_questions(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, "--help")
    assert ", ".join(QUESTIONS) in " ".join(word for word in out.split() if word != "│")


def test_a_question_that_is_none_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, str(RECORDED), "beauty")
    assert code == 2
    assert all(word in err for word in ("beauty", *QUESTIONS))
    assert err.count("\n") == 1


def test_a_run_without_figures_cannot_tell() -> None:
    run = made.run(found=[made.not_ok(made.case("push", [made.flow("gpu:0", "gpu:1")], {}), "failed", "broken")])
    assert analyze(run) == {}
    for name, table in analyze(run, tuple(QUESTIONS)).items():
        assert conclusion(name, table).startswith("Cannot tell")


def test_share_of_peak_is_that_of_the_best_size_and_caches_are_left_out() -> None:
    found = made.size_curves("by size", [("nvlink", "gpu:0", "gpu:1", 396.0), ("nvlink", "gpu:2", "gpu:1", 360.0)])
    size = 512 << 20
    cached = made.case("cached", [made.flow("gpu:3", "gpu:1", size)], {"figure": "first"})
    line = peaks(figures(made.run(found=[*found, made.ok(cached, [made.seconds(size, 4500, "x")])]))).row(0, named=True)
    assert (line["paths"], line["binds"]) == (2, "gpu>nvswitch, nvswitch>gpu")
    assert line["of_peak_max"] == pytest.approx(396 / made.LINK_GBPS, rel=0.005)
    assert line["of_peak_min"] == pytest.approx(360 / made.LINK_GBPS, rel=0.005)
    assert line["peak_gbps"] == made.LINK_GBPS


@pytest.mark.parametrize("factor", [0.0, 1e-300, 1e-12, 1e12, 1e15])
def test_numbers_that_nothing_can_have_are_no_error(factor: float) -> None:
    rows = []
    for row in made.rows():
        line = copy.deepcopy(row.raw)
        for flow in line.get("flows", []):
            for name in {"seconds", "gbps"} & flow.keys():
                flow[name] |= {bound: value * factor for bound, value in flow[name].items() if bound != "n"}
            flow["samples_s"] = []
        rows.append(Row.from_json(line) if len(rows) % 3 else row)
    found = analyze(made.run(found=rows), tuple(QUESTIONS))
    json.dumps(to_json(found), allow_nan=False)


def test_capacities_that_rounding_never_quite_fills_end_the_sharing() -> None:
    assert max_min([{"a": 3.0}], {"a": 5e-324}).binding == ("a",)  # a step rounds to 0

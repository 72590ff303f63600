"""Runs side by side on one page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import modelled_run as made
import planted_faults as planted
import pytest
from browser import needs_browser, visit
from markupsafe import Markup

from linkscope.analysis.cell import Cell
from linkscope.analysis.compare import compare
from linkscope.analysis.excerpt import Excerpt, all_of
from linkscope.analysis.explain import explain
from linkscope.analysis.figures import figures
from linkscope.analysis.overview import overview
from linkscope.analysis.shared_figures import shared_figures
from linkscope.cli.main import main
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Device, Node
from linkscope.report import compare_text, wording
from linkscope.report.curve_svg import styles
from linkscope.report.explain_text import headline
from linkscope.report.html import render_runs
from linkscope.report.html_answer import Opening
from linkscope.report.html_runs import MOST_RUNS, in_order_of, side_by_side
from linkscope.report.runs_curves import runs_curves
from linkscope.report.series_band import MOST_SERIES
from linkscope.results.run_file import RunFile

RECORDED = Path(__file__).parent.parent / "fixtures" / "runs" / "h200x4-default.jsonl"


@pytest.fixture(scope="module")
def runs() -> list[RunFile]:
    healthy = RunFile.read(RECORDED)
    broken = replace(planted.pcie_narrow("gpu:2")(healthy), path=Path("later/h200x4-default.jsonl"))
    return [healthy, broken]


def test_each_run_has_its_answer_and_the_page_says_what_changed(runs: list[RunFile]) -> None:
    found = side_by_side(list(map(all_of, runs)))
    assert [one.opening.verdict for one in found.runs] == [headline(explain(run)) for run in runs]
    assert [one.opening.tone for one in found.runs] == ["fine", "short"]
    assert found.verdict == compare_text.verdict(compare(runs[:1], runs[1:]))
    assert len({one.name for one in found.runs}) == 2


def test_a_table_stands_in_one_line_with_its_change(runs: list[RunFile]) -> None:
    lines = {line.title: line for line in side_by_side(list(map(all_of, runs))).lines}
    slower = next(line for title, line in lines.items() if title.startswith("Host to GPU, copy-engine"))
    same = next(line for title, line in lines.items() if title.startswith("GPU to GPU, driven by the source, copy"))
    assert slower.figures[1] is not None
    assert slower.figures[1].tone == "worse"
    assert slower.figures[1].change.startswith("-")
    assert [one.change for one in same.figures if one] == ["", ""]


def test_a_change_that_may_be_noise_has_no_tone(runs: list[RunFile]) -> None:
    slower = planted.slowed(runs[0], lambda flow: "pageable" in json.dumps(flow), 0.9)
    later = replace(slower, path=Path("later/h200x4-default.jsonl"))
    assert compare([runs[0]], [later]).findings == ()
    figures = [line.figures[1] for line in side_by_side([all_of(runs[0]), all_of(later)]).lines]
    assert {one.tone for one in figures if one and one.change} == {""}


def test_each_run_has_the_tone_of_its_own_comparison(runs: list[RunFile]) -> None:
    """Though another run is worse in the same table."""
    slower = planted.slowed(runs[0], lambda flow: flow["method"] == "copy-engine", 0.9)
    faster = planted.slowed(runs[0], lambda flow: flow["method"] == "copy-engine", 1.1)
    stranger = replace(slower, header=slower.header | {"host": "another"})
    every = [runs[0], *(replace(run, path=Path(f"{n}.jsonl")) for n, run in enumerate((slower, stranger, faster)))]
    page = side_by_side(list(map(all_of, every)))
    assert [text.split(": ")[0] for text in page.findings] == ["0", "2"]
    found = [
        line.figures for line in page.lines if line.title.startswith("GPU to GPU, driven by the source, copy-engine")
    ]
    assert found
    for of_line in found:
        assert all(one is not None and one.change for one in of_line[1:])
        assert [one.tone for one in of_line if one] == ["", "worse", "", "better"]


def test_what_an_excerpt_leaves_out_is_not_said_to_be_gone(runs: list[RunFile]) -> None:
    later = replace(runs[0], path=Path("later.jsonl"))
    ids = [row.id for row in later.rows[3:]]
    part = replace(later, rows=later.rows[3:], header=later.header | {"plan": later.header["plan"] | {"ids": ids}})
    assert "Not measured" in side_by_side([all_of(runs[0]), all_of(part)]).verdict
    assert "Not measured" not in side_by_side([all_of(runs[0]), Excerpt(part, figures(later))]).verdict


def test_a_change_of_one_size_is_no_tone_of_another() -> None:
    def copies(large_s: float, small_s: float) -> RunFile:
        ends = {"row": "gpu:0", "column": "gpu:1", "show": "matrix"}
        sizes = {256 << 20: large_s, 1 << 20: small_s}
        cases = {
            size: made.case("Copy", [made.flow("gpu:0", "gpu:1", size)], ends) | {"id": f"copy/{size}"}
            for size in sizes
        }
        return made.run(2, [made.ok(cases[size], [[time] * 8]) for size, time in sizes.items()])

    lines = side_by_side([all_of(copies(1e-3, 1e-5)), all_of(copies(1.2e-3, 1.02e-5))]).lines
    found = {line.title: line.figures[1] for line in lines}
    assert {title: one.tone for title, one in found.items() if one and one.change} == {
        "Copy, 256 MiB": "worse",
        "Copy, 1 MiB": "",
    }


def test_a_table_that_one_run_lacks_has_an_empty_place(runs: list[RunFile]) -> None:
    title = runs[0].rows[0].labels["title"]
    fewer = replace(runs[0], rows=tuple(row for row in runs[0].rows if row.labels["title"] != title))
    lines = side_by_side([all_of(runs[0]), all_of(fewer)]).lines
    assert [line.title.startswith(title) for line in lines if None in line.figures] == [True]


def test_tables_of_one_size_each_stand_in_one_line_though_the_sizes_differ() -> None:
    def copies(*sizes: int) -> RunFile:
        ends = {"row": "gpu:0", "column": "gpu:1", "show": "matrix"}
        cases = [
            made.case("Copy", [made.flow("gpu:0", "gpu:1", size)], ends) | {"id": f"copy/{number}"}
            for number, size in enumerate(sizes)
        ]
        return made.run(2, [made.ok(one, [[one["flows"][0]["bytes"] / 390e9] * 8]) for one in cases])

    def titles(*runs: RunFile) -> list[str]:
        return [line.title for line in side_by_side(list(map(all_of, runs))).lines]

    assert titles(copies(256 << 20), copies(512 << 20)) == ["Copy, 256 MiB or 512 MiB"]
    assert titles(copies(256 << 20, 1 << 20), copies(512 << 20)) == ["Copy, 256 MiB", "Copy, 1 MiB", "Copy, 512 MiB"]


def test_runs_of_other_nodes_are_shown_and_not_compared() -> None:
    found = side_by_side([all_of(made.run(4)), all_of(made.run(2))])
    assert "another node" in found.verdict
    assert found.modelled
    page = render_runs([made.run(4), made.run(4)])
    assert page.index(wording.MODELLED) < page.index("<header")


def test_serial_numbers_say_which_runs_are_of_one_node_and_hosts_where_there_are_none(runs: list[RunFile]) -> None:
    def of(board: str, name: str) -> RunFile:
        header = runs[0].header | {"host": name}
        return replace(
            runs[0], path=Path(f"{board}-{name}.jsonl"), header=header | {"identity": {"board_serial": board}}
        )

    base, unnumbered = of("B1", "node"), of("", "node")
    told = {
        (one.path.stem): "another node" not in side_by_side([all_of(base), all_of(one)]).verdict
        for one in (of("B1", "renamed"), of("B2", "node"), unnumbered, of("", "renamed"))
    }
    assert told == {"B1-renamed": True, "B2-node": False, "-node": True, "-renamed": False}


def test_runs_without_a_table_in_common_are_one_line_that_says_what_each_holds(runs: list[RunFile]) -> None:
    other = made.run(4, made.size_curves("sizes", [("a", "gpu:0", "gpu:1", 390.0)], sizes=4))
    of_its_node = replace(other, path=Path("sizes.jsonl"), header=other.header | {"node": runs[0].header["node"]})
    for stranger in (other, of_its_node):
        with pytest.raises(LinkscopeError, match=f"{stranger.path.stem} holds 1 table of .*sizes.*own$") as refused:
            side_by_side([all_of(runs[0]), all_of(stranger)])
        assert f"{runs[0].path.stem} holds " in str(refused.value)
    for order in ([*runs, of_its_node], [of_its_node, *runs]):
        found = side_by_side(list(map(all_of, order)))
        assert [text.startswith("sizes holds 1 table") for text in found.lone] == [True]
        assert "1 run" in found.verdict or "2 runs" in found.verdict


def test_too_many_runs_are_one_line(runs: list[RunFile]) -> None:
    with pytest.raises(LinkscopeError, match="too many"):
        side_by_side([all_of(runs[0])] * (MOST_RUNS + 1))


def test_the_command_takes_several_runs(tmp_path: Path) -> None:
    page, other = tmp_path / "runs.html", tmp_path / "other.jsonl"
    other.write_bytes(RECORDED.read_bytes())
    with pytest.raises(SystemExit) as left:
        main(["report", str(RECORDED), str(other), "-o", str(page)])
    assert left.value.code == 0
    assert len(re.findall(r'<section class="run ', page.read_text())) == 2


def curves_of(name: str, gbps: float, places: tuple[str, ...], sizes: int) -> RunFile:
    """A run of a line for each place, over ``sizes`` sizes."""
    found = made.run(2, made.size_curves("Copy by size", [(place, "gpu:0", "gpu:1", gbps) for place in places], sizes))
    return replace(found, path=Path(f"{name}.jsonl"))


def test_a_change_is_of_the_cases_that_both_runs_have() -> None:
    """Though what one run alone has would turn it round."""
    base = curves_of("base", 390.0, ("a",), 4)
    slower = tuple(planted.slowed(base, lambda flow: True, 0.8).rows)
    others = curves_of("new", 390.0, ("a", "b"), 20).rows[4:]
    (line,) = side_by_side([all_of(base), all_of(replace(base, path=Path("new.jsonl"), rows=(*slower, *others)))]).lines
    assert line.figures[1] is not None
    assert line.figures[1].change == "-20.0 %"
    assert " 4 " in line.figures[1].of
    assert line.figures[0] is not None
    assert (line.figures[0].change, line.figures[0].of) == ("", "")


def test_where_two_runs_share_no_case_of_a_table_no_change_is_told() -> None:
    runs = [curves_of("base", 390.0, ("a",), 4), curves_of("new", 100.0, ("b",), 4)]
    found = side_by_side(list(map(all_of, runs)))
    (line,) = found.lines
    assert line.figures[1] is not None
    assert line.figures[1].change == line.figures[1].tone == ""
    assert line.figures[1].of
    assert found.pictures == ()


def test_changes_that_cancel_out_are_not_hidden() -> None:
    base = curves_of("base", 390.0, ("a",), 2)
    slower, faster = (planted.slowed(base, lambda flow: True, factor).rows for factor in (0.5, 2.0))
    new = replace(base, path=Path("new.jsonl"), rows=(slower[0], faster[1]))
    (line,) = side_by_side([all_of(base), all_of(new)]).lines
    assert line.figures[1] is not None
    assert line.figures[1].of == "-50.0 % to +100.0 %"


def test_times_in_two_units_are_set_against_each_other() -> None:
    def cells(seconds: float) -> list[Cell]:
        case = made.case("Latency", [made.flow("gpu:0", "gpu:1")], {"row": "gpu:0", "column": "gpu:1", "show": "list"})
        (table,) = overview([made.ok(case, [made.steady(seconds)], latency=True)], made.node(2)).tables
        return list(table.flat)

    fast, slow = cells(2e-6), cells(2e-2)
    units = {one.headline.unit for one in (*fast, *slow) if one.headline}
    found = shared_figures(fast, slow)
    assert len(units) == 2
    assert found is not None
    assert found.mean == pytest.approx(1e4, rel=1e-3)
    assert shared_figures(fast, []) is None


def test_series_that_runs_share_are_one_picture() -> None:
    runs = [curves_of("base", 390.0, ("a",), 6), curves_of("new", 300.0, ("a", "b"), 8)]
    (picture,) = side_by_side(list(map(all_of, runs))).pictures
    assert [curve.series for curve in picture.table.curves] == ["a, base", "a, new"]
    assert [len(curve.points) for curve in picture.table.curves] == [6, 8]
    assert picture.svg.count("<polyline") == 2
    page = render_runs(runs)
    assert picture.svg in page
    assert page.count('<ul class="series-legend">') == 1


def test_a_series_has_its_colour_in_every_run_and_dashes_tell_them_apart() -> None:
    runs = [curves_of(name, 390.0, ("a", "b"), 6) for name in ("base", "new")]
    (picture,) = side_by_side(list(map(all_of, runs))).pictures
    found = dict(zip((curve.series for curve in picture.table.curves), styles(picture.table), strict=True))
    assert found["a, base"].colour == found["a, new"].colour != found["b, new"].colour
    assert found["a, base"].dash == found["b, base"].dash != found["a, new"].dash


def test_runs_of_one_name_are_told_apart_and_a_run_looks_alike_in_every_picture() -> None:
    run = curves_of("same", 390.0, ("a", "b"), 6)
    one, other = (overview(run.rows, run.node).tables[0] for _ in range(2))
    drawn = [runs_curves(["same"] * 3, tables) for tables in ([one, None, other], [None, one, other])]
    dashes = [[style.dash for style in styles(one.table)] for one in drawn if one is not None]
    assert [len(set(some)) for some in dashes] == [2, 2]
    assert dashes[0][2:] == dashes[1][2:]


def test_questions_stand_in_the_order_of_the_first_run() -> None:
    opening = Opening("fine", "", (), (("b", "x"), ("a", "y"), ("c", "z")), (), (), (), Markup(""))
    like = replace(opening, use=(("a", "x"), ("b", "y")))
    assert [moved for moved, _ in in_order_of(like, opening).use] == ["a", "b", "c"]


def test_of_too_many_series_the_best_points_of_each_run_are_drawn() -> None:
    places = tuple(f"place {number}" for number in range(MOST_SERIES // 2 + 1))
    runs = [curves_of(name, 390.0, places, 3) for name in ("base", "new")]
    (picture,) = side_by_side(list(map(all_of, runs))).pictures
    assert len(picture.table.curves) == len(runs)
    assert [len(curve.points) for curve in picture.table.curves] == [3, 3]


def test_an_import_that_knows_no_machine_is_told_what_gives_it_one() -> None:
    run = curves_of("run", 390.0, ("a",), 3)
    bare = Node("host", (Device("numa:0", "numa"),), ()).to_json()
    alone = replace(
        run, path=Path("alone.jsonl"), header=run.header | {"node": bare, "origin": {"tool": "OSU", "version": "7.4"}}
    )
    for order in ([run, alone], [alone, run]):
        assert "--beside run.jsonl" in side_by_side(list(map(all_of, order))).verdict
    assert "--beside" not in side_by_side([all_of(run), all_of(made.run(4, run.rows))]).verdict


@needs_browser
def test_the_page_is_quiet_and_fits_a_phone(runs: list[RunFile], tmp_path: Path) -> None:
    curves = [curves_of(name, 390.0, ("a", "b"), 20) for name in ("base", "new")]
    for page in (render_runs(runs), render_runs(curves)):
        seen = visit(page, "return document.documentElement.scrollWidth;", tmp_path, 390)
        assert seen.errors == []
        assert seen.found <= 390

"""Displays: what a notebook shows of results, their pictures and pages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import modelled_run as made
import pytest

import linkscope
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.overview import overview
from linkscope.errors import LinkscopeError
from linkscope.messages.catalog import sentence
from linkscope.report import choose_text, explain_text, wording
from linkscope.report.curve_sheet import curve_sheet
from linkscope.report.html import render, render_runs

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
DEFAULT, PACKETS = RUNS / "h200x4-default.jsonl", RUNS / "h200x4-packets.jsonl"
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(one.itertext()) for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (lambda: linkscope.read(DEFAULT), lambda found: explain_text.verdict(linkscope.explain(found))),
        (lambda: linkscope.explain(DEFAULT), explain_text.verdict),
        (lambda: linkscope.choose(DEFAULT), choose_text.verdict),
        (lambda: linkscope.compare(DEFAULT, DEFAULT), lambda found: sentence(found.headline)),
        (lambda: linkscope.topology("h200x4"), lambda found: found.name),
    ],
)
def test_a_notebook_shows_the_verdict(result: Callable[[], object], verdict: Callable[[object], str]) -> None:
    found = result()
    html = found._repr_html_()  # type: ignore[attr-defined]
    shown = " ".join("".join(ElementTree.fromstring(html.replace("&nbsp;", " ")).itertext()).split())
    assert verdict(found) in shown
    assert repr(found).startswith(f"<{type(found).__name__}: ")
    assert len(repr(found)) < 1000


def test_what_a_run_file_says_is_text_in_a_notebook_and_in_pictures(tmp_path: Path) -> None:
    path, planted = tmp_path / "a.jsonl", "<script>x</script>[link=javascript:x]y[/link]"
    header, *rows = map(json.loads, DEFAULT.read_text().splitlines())
    header["host"] = planted
    for row in rows:
        if row["record"] == "row" and "title" in row["case"].get("labels", {}):
            row["case"]["labels"]["title"] += f"{planted}\uffff"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (header, *rows)))
    run = linkscope.read(path)
    for text in (run._repr_html_(), linkscope.explain(run)._repr_html_(), run.plot().svg, run.plot("by size").svg):
        assert text is not None
        assert "<script" not in text
        assert "href" not in text
        if text.startswith("<svg"):
            ElementTree.fromstring(text)
    assert any(planted in text for text in texts(run.plot().svg))


@pytest.mark.parametrize("path", [DEFAULT, PACKETS], ids=lambda path: path.stem)
def test_every_matrix_and_curve_is_drawn_with_its_figures(path: Path) -> None:
    run = linkscope.read(path)
    drawn = 0
    for table in overview(run.rows, run.node).tables:
        values = [cell.headline.value.median for cell in table.flat if cell.headline is not None]
        if not isinstance(table, Matrix | CurveSet) or len(values) < 2:
            continue
        picture = run.plot(table.heading.title)
        found = texts(picture.svg)
        assert picture.title == table.heading.title
        assert " ".join(table.heading.title.split()) in " ".join(found)
        if isinstance(table, Matrix):
            assert [text for text in found if text in map(wording.value, values)]
            assert set(table.row_ids) <= set(found)
        else:
            assert set(filter(None, table.names)) <= set(found)
        drawn += 1
    assert drawn


def test_the_style_of_curves_needs_no_variables() -> None:
    rules = dict(re.findall(r"([^{}]+)\{([^{}]*)\}", curve_sheet()))
    assert "var(" not in curve_sheet()
    assert "currentcolor" not in curve_sheet()
    lines = {rules[f".series.c{number} polyline"] for number in range(8)}
    assert len(lines) == 8
    assert ".curves .grid" in rules


def test_a_picture_is_saved_as_svg(tmp_path: Path) -> None:
    picture = linkscope.topology("h200x4").plot()
    picture.save(tmp_path / "node.svg")
    assert (tmp_path / "node.svg").read_text() == picture.svg == picture._repr_svg_()
    with pytest.raises(LinkscopeError, match=r"ends in \.svg"):
        picture.save(tmp_path / "node.png")
    with pytest.raises(LinkscopeError, match="cannot write"):
        picture.save(tmp_path / "none" / "node.svg")


def test_there_may_be_nothing_to_draw() -> None:
    run = linkscope.read(RUNS / "h200x4-direct.jsonl")
    with pytest.raises(LinkscopeError, match="no matrix or curve with two figures"):
        run.plot()
    with pytest.raises(LinkscopeError, match="no table has the word xyzzy"):
        run.plot("xyzzy")


def test_a_run_writes_its_page_alone_and_beside_another(tmp_path: Path) -> None:
    run = linkscope.read(DEFAULT)
    run.report(tmp_path / "one.html")
    assert (tmp_path / "one.html").read_text() == render(run)
    turns = [linkscope.read(RUNS.parent / "turns" / f"h200x2-{turn}.jsonl") for turn in (1, 2)]
    turns[0].report(tmp_path / "two.html", turns[1])
    assert (tmp_path / "two.html").read_text() == render_runs(turns)
    with pytest.raises(LinkscopeError, match="cannot write the report"):
        run.report(tmp_path / "none" / "page.html")


def test_of_tables_that_differ_in_size_the_largest_is_drawn_and_a_workload_as_bars(tmp_path: Path) -> None:
    few = {"machine": "h200x4", "devices": "gpu:0-1"}
    sizes = linkscope.run("peer", sizes="4K,64M", methods="copy-engine", output=tmp_path / "sizes.jsonl", **few)
    assert sizes.plot().title.endswith("64 MiB")
    assert sizes.plot("4 KiB").title.endswith("4 KiB")
    asked = linkscope.WorkloadRequest("halo", ranks="2", cells="256x256", steps=2)
    run = linkscope.run(workload=asked, output=tmp_path / "halo.jsonl", **few)
    (found,) = linkscope.workloads(run)
    assert run.plot() == found.plot()
    assert found.ways
    assert all(way.name in run.plot().svg for way in found.ways)
    html = found._repr_html_()
    assert html is not None
    assert wording.MODELLED in html


def test_of_many_series_a_picture_names_what_stands_for_all_and_fills_nothing_black() -> None:
    series = [(f"pair {i}", "gpu:0", "gpu:1", 390.0 + i) for i in range(15)]
    picture = made.run(2, made.size_curves("sizes", series, sizes=4)).plot("sizes")
    shown = texts(picture.svg)
    assert "median of 15 series" in shown
    assert "lowest to highest of them" in shown
    assert re.search(r"\.middle\{[^}]*fill: ?none", picture.svg)


def test_a_page_never_takes_the_place_of_its_run(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DEFAULT.read_bytes())
    with pytest.raises(LinkscopeError, match="the run file itself"):
        linkscope.read(path).report(path)
    assert path.read_bytes() == DEFAULT.read_bytes()

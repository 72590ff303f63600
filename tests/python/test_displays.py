"""Displays: what a notebook shows of results, their pictures and pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import modelled_run as made
import pytest

import linkscope
from linkscope.answers import side_by_side
from linkscope.answers.tables import tables
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.messages.catalog import sentence
from linkscope.messages.numbers import number
from linkscope.notebook.displays import table_picture
from linkscope.render.page import page
from linkscope.render.svg.axis import x_axis
from linkscope.render.svg.curve import MOST_SERIES, curves
from linkscope.results.run_file import RunFile

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
DEFAULT, PACKETS = RUNS / "h200x4-default.jsonl", RUNS / "h200x4-packets.jsonl"
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(one.itertext()) for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (lambda: linkscope.read(DEFAULT), lambda found: found.node.name),
        (lambda: linkscope.explain(DEFAULT), lambda found: sentence(found.headline)),
        (lambda: linkscope.choose(DEFAULT), lambda found: sentence(found.headline)),
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
def test_every_matrix_and_curve_is_drawn_with_its_results(path: Path) -> None:
    run = Run.of(path)
    drawn = 0
    for table in tables(run.results):
        values = table.frame["value"].drop_nulls().to_list()
        if table.layout == "list" or len(values) < 2:
            continue
        found = texts(table_picture(table, run).svg)
        if table.layout == "matrix":
            assert {number(value) for value in values if table.facts["unit"] == "GB/s"} <= set(found)
            assert set(filter(None, table.frame["from"])) <= set(found)
        elif table.frame["series"].n_unique() <= MOST_SERIES:
            assert set(filter(None, table.frame["series"])) <= set(found)
        drawn += 1
    assert drawn


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
    with pytest.raises(LinkscopeError, match="no matrix or curve"):
        run.plot()
    with pytest.raises(LinkscopeError, match="xyzzy"):
        run.plot("xyzzy")


def test_a_run_writes_its_page_alone_and_beside_another(tmp_path: Path) -> None:
    run = linkscope.read(DEFAULT)
    run.report(tmp_path / "one.html")
    assert (tmp_path / "one.html").read_text() == page([Run.of(run)])
    turns = [linkscope.read(RUNS.parent / "turns" / f"h200x2-{turn}.jsonl") for turn in (1, 2)]
    turns[0].report(tmp_path / "two.html", turns[1])
    assert (tmp_path / "two.html").read_text() == page([Run.of(turn) for turn in turns])
    with pytest.raises(LinkscopeError, match="cannot write"):
        run.report(tmp_path / "none" / "page.html")


def test_of_tables_that_differ_in_size_the_largest_is_drawn_and_a_workload_as_bars(tmp_path: Path) -> None:
    few = {"machine": "h200x4", "devices": "gpu:0-1"}
    sizes = linkscope.run("peer", sizes="4K,64M", methods="copy-engine", output=tmp_path / "sizes.jsonl", **few)
    assert sizes.plot().title.endswith("64 MiB")
    assert sizes.plot("4 KiB").title.endswith("4 KiB")
    asked = linkscope.WorkloadRequest("halo", ranks="2", cells="256x256", steps=2)
    run = linkscope.run(workload=asked, output=tmp_path / "halo.jsonl", **few)
    methods = linkscope.workloads(run).table("app.methods").frame
    assert methods.height
    assert all(name in run.plot().svg for name in methods["name"])
    assert run.plot().svg.count("<rect") > methods.height


def many(count: int, odd: float = 1.0) -> RunFile:
    """Return a sweep of ``count`` alike series, the last of which is ``odd`` times as fast."""
    series = [(f"pair {i}", "gpu:0", "gpu:1", 390.0 * (odd if i == count - 1 else 1.0)) for i in range(count)]
    return made.run(2, made.size_curves("sizes", series, sizes=18))


def test_of_many_series_a_picture_has_what_they_span_and_the_odd_ones() -> None:
    (table,) = tables(Run.of(many(40, odd=0.2)).results)
    found = curves(table, "sizes")
    assert found.many == 40
    assert [one.name for one in found.series] == ["pair 39"]
    last = found.span[-1]
    assert last.low == pytest.approx(0.2 * last.high, rel=0.05)
    assert last.y == pytest.approx(last.high, rel=0.05)
    (table,) = tables(Run.of(many(5)).results)
    assert [one.name for one in curves(table, "sizes").series] == [f"pair {number}" for number in range(5)]


def test_a_zero_stands_left_of_what_a_logarithmic_axis_begins_with() -> None:
    axis = x_axis([0.0, 4.0, 8.0, 16.0, 32.0], 0.0, 100.0)
    steps = [b - a for a, b in pairwise(map(axis.at, (0.0, 4.0, 8.0)))]
    assert steps[0] == pytest.approx(steps[1])


def test_series_of_runs_have_a_colour_each_and_runs_a_dash() -> None:
    runs = [RunFile.read(RUNS / f"cpu-{number}.jsonl") for number in (1, 2)]
    for table in side_by_side.curves([Run.of(run) for run in runs]):
        found = curves(table, "both").series
        assert len({(one.colour, one.dash) for one in found}) == len(found)
        assert len({one.dash for one in found}) == 2
        assert len({one.colour for one in found}) == len({one.name for one in found})


def test_a_page_never_takes_the_place_of_its_run(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DEFAULT.read_bytes())
    with pytest.raises(LinkscopeError, match="the run file itself"):
        linkscope.read(path).report(path)
    assert path.read_bytes() == DEFAULT.read_bytes()

"""The page: self-contained, honest about modelled rows, complete, safe against what names and reasons hold."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
from test_terminal import variants

from linkscope.analysis.curves import curves
from linkscope.errors import LinkscopeError
from linkscope.machine.paths import Paths
from linkscope.report import wording
from linkscope.report.curve_svg import curve_svg
from linkscope.report.html import MOST_BYTES, render, write_report
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

VOID = {"meta", "link", "input", "br", "hr", "img", "col"}


class Page(HTMLParser):
    """Attributes and texts of a page; raises on tags that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.scripts: dict[str, str] = {}
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.attributes += [(tag, name, value) for name, value in named.items()]
        if tag not in VOID:
            self._open.append((tag, named))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1][0] == tag, f"</{tag}> closes <{self._open[-1][0]}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            self.scripts[self._open[-1][1].get("id", "code")] = data


@pytest.fixture(scope="module")
def run() -> RunFile:
    return made.run(4)


@pytest.fixture(scope="module")
def text(run: RunFile) -> str:
    return render(run)


def records(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Page(text).scripts["records"])
    return found


def test_a_figure_that_no_link_can_have_delivered_is_no_percentage() -> None:
    labels = {"show": "list", "figure": "first"}
    row = made.ok(
        made.case("Zero copy", [made.flow("numa:0", "gpu:0")], labels), [made.steady((512 << 20) / 7300e9, 4)]
    )
    page = render(made.run(1, [row]))
    (record,) = records(page)
    assert "share" not in record
    assert "served by a cache" in record["beyond"]
    assert "&gt; peak" in page
    assert "the range of fewer than six samples" in page


def test_the_page_loads_nothing(text: str) -> None:
    for tag, name, value in Page(text).attributes:
        if name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
            assert value.startswith(("#", "data:,")), f"<{tag} {name}={value!r}>"
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", text)
    code = Page(text).scripts["code"]
    assert not re.search(r"\bfetch\(|XMLHttpRequest|import\(|WebSocket|https?://", code)


def test_every_table_of_a_modelled_run_says_so(text: str, run: RunFile) -> None:
    headings = re.findall(r"<h3>(.*?)</h3>", text)
    for title in {row.labels["title"] for row in run.rows}:
        assert any(title in heading and wording.MODELLED in heading for heading in headings), title
    assert wording.MODELLED in text.split("<header", 1)[0]
    assert wording.MODELLED in text.split("<title>")[1].split("</title>")[0]


def test_passes_of_older_files_are_told_too(run: RunFile) -> None:
    older = {name: value for name, value in run.rows[0].raw.items() if name != "verified"}
    row = Row.from_json({**older, "verified": {"rounds": 2, "bytes": 1 << 20}})
    assert records(render(made.run(4, [row])))[0]["verified"] == "1 MiB in 2 passes"


def test_a_measured_run_does_not_say_modelled(run: RunFile) -> None:
    rows = [Row.from_json({**row.raw, "modelled": False}) for row in run.rows]
    assert "MODELLED" not in render(made.run(4, rows))


def test_every_row_has_its_record_with_figures_and_provenance(text: str, run: RunFile) -> None:
    found = records(text)
    assert [record["id"] for record in found] == [row.id for row in run.rows]
    first = found[0]
    assert first["low"] <= first["median"] <= first["high"]
    assert first["verified"] == "1 GiB in 2 passes"
    assert first["stopped"] == "precision"
    assert first["share"] == pytest.approx(100 * first["median"] / first["peak"], rel=1e-3)


def test_every_ok_cell_is_drawn_and_points_to_its_record(text: str, run: RunFile) -> None:
    drawn = {int(value) for _, name, value in Page(text).attributes if name == "data-i"}
    assert drawn == set(range(len(run.rows)))


def test_reasons_are_on_the_page_and_escaped(text: str) -> None:
    assert "no peer access from gpu:3 to gpu:2" in text
    assert "expected &lt;pattern&gt;, found poison" in text
    assert "<pattern>" not in text


def test_names_cannot_break_out_of_the_page() -> None:
    hostile = "</script><script>alert(1)</script>"
    plan_case = made.case(hostile, [made.flow("gpu:0", "gpu:1")], {"show": "matrix", "row": hostile, "column": "<b>"})
    page = render(made.run(4, [made.not_ok(plan_case, "failed", hostile)]))
    assert "<script>alert" not in page
    assert records(page)[0]["reason"] == hostile


def test_a_list_has_a_column_for_each_axis_of_its_lines() -> None:
    page = render(variants())
    assert "<th>environment</th><th>call</th>" in page
    assert "<td>spinning</td><td>sync</td>" in page


def test_the_raw_data_come_back_line_by_line(text: str, run: RunFile) -> None:
    lines = gzip.decompress(base64.b64decode(Page(text).scripts["raw"])).decode().splitlines()
    assert json.loads(lines[0]) == json.loads(json.dumps(run.header))
    assert [json.loads(line)["id"] for line in lines[1:]] == [row.id for row in run.rows]


def test_curves_show_interval_and_peak(text: str) -> None:
    picture = text[text.index('<svg class="curves"') :].split("</svg>")[0]
    assert picture.count('class="band"') == 2
    assert f"peak {wording.value(made.LINK_GBPS)}" in picture
    assert picture.count("<circle") == 50
    assert "nan" not in picture.lower()


def test_every_picture_has_a_title_and_says_what_it_shows(text: str) -> None:
    pictures = re.findall(r"<svg (?![^>]*aria-hidden)[^>]*>(.*?)</svg>", text, re.DOTALL)
    assert len(pictures) > 1
    for picture in pictures:
        assert re.match(r"\s*<title>[^<]+</title>\s*<desc>[^<]+</desc>", picture)


def test_a_large_sweep_stays_small(run: RunFile) -> None:
    assert len(render(made.run(4, made.sweep())).encode()) < MOST_BYTES


def test_an_empty_run_makes_a_page() -> None:
    assert records(render(made.run(4, []))) == []


def test_a_page_that_cannot_be_written_is_one_line(run: RunFile, tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError, match="cannot write the report"):
        write_report([run], tmp_path / "absent" / "page.html")


def test_the_same_run_gives_the_same_page(text: str) -> None:
    assert render(made.run(4)) == text


def test_a_zero_stands_left_of_what_a_logarithmic_axis_begins_with() -> None:
    rows = made.size_curves("sizes", [("a", "gpu:0", "gpu:1", 390.0)], sizes=4)
    first = replace(rows[0], case={**rows[0].case, "labels": {**rows[0].labels, "x": 0}})
    (table,) = curves([Row.from_json(first.raw), *rows[1:]], Paths(made.node(2)))
    marks = [
        float(at)
        for at in re.findall(r'<circle class="mark" transform="translate\(([\d.]+) ', curve_svg(table, lambda _: 0))
    ]
    steps = [b - a for a, b in pairwise(marks)]
    assert steps[0] == pytest.approx(steps[1], abs=0.3)
    assert steps[0] > 100


def test_no_runs_are_no_page(tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError, match="nothing to report"):
        write_report([], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()

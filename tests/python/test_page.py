"""The page: self-contained, made of answers, honest about models, complete, safe against what names hold."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import modelled_run as made
import planted_faults as planted
import polars
import pytest
import recorded

from linkscope.answers.questions import ask
from linkscope.answers.side_by_side import curves, side_by_side
from linkscope.answers.tiles import tiles
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.messages.catalog import sentence
from linkscope.render import page as pages
from linkscope.render.html import tone
from linkscope.render.page import MOST_TABLES, page, write_page
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

VOID = {"meta", "link", "input", "br", "hr", "img", "col"}
MOST_BYTES = 5_000_000


class Elements(HTMLParser):
    """Attributes and texts of a page; raises on tags that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
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
        elif self._open and self._open[-1][0] != "style":
            self.texts.append(data)


def unpacked(text: str) -> str:
    return gzip.decompress(base64.b64decode(text)).decode()


def picture(text: str) -> str:
    """Return the node's picture on a page."""
    return text.partition('<figure class="node">')[2].partition("</figure>")[0]


def framed(text: str) -> list[str]:
    """Return the devices that stand out in a node's picture."""
    return re.findall(r"<title>(gpu:\d+)[^<]*</title><rect[^>]*stroke-width=\"3.6\"", picture(text))


@pytest.fixture(scope="module")
def healthy() -> Run:
    return Run.of(recorded.healthy())


@pytest.fixture(scope="module")
def text(healthy: Run) -> str:
    return page([healthy])


def test_the_page_loads_nothing(text: str) -> None:
    for tag, name, value in Elements(text).attributes:
        if name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
            assert value.startswith(("#", "data:,")), f"<{tag} {name}={value!r}>"
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", text)
    code = Elements(text).scripts["code"]
    assert not re.search(r"\bfetch\(|XMLHttpRequest|import\(|WebSocket|https?://", code)


@pytest.mark.parametrize("question", ["explain", "choose"])
def test_the_page_has_the_first_screens_of_its_questions(question: str, healthy: Run, text: str) -> None:
    found = ask(question, healthy)
    shown = " ".join(Elements(text).texts)
    for warning in found.findings:
        assert sentence(warning) in shown
    rows = [table.frame.height for table in found.tables if not table.detail]
    assert rows
    assert text.count("<tr") > sum(rows)


def test_the_headline_is_that_of_explain_and_has_the_colour_of_its_verdict(healthy: Run, text: str) -> None:
    slow = Run.of(planted.lanes_down("gpu:1")(recorded.healthy()))
    for run, whole, colour in ((healthy, text, "fine"), (slow, page([slow]), "bad")):
        found = ask("explain", run)
        assert tone(found) == colour
        assert f'class="answer {colour}"' in whole
        assert sentence(found.headline) in " ".join(Elements(whole).texts)


def test_links_of_a_healthy_node_are_as_expected_and_no_device_stands_out(healthy: Run, text: str) -> None:
    shares = [int(share) for share in re.findall(r">(\d+)%</text>", picture(text))]
    assert len(shares) >= len(healthy.node.links)
    assert all(95 <= share <= 103 for share in shares)
    assert framed(text) == []


def test_links_that_the_headline_calls_slow_are_not_100_percent_in_the_picture() -> None:
    whole = page([Run.of(planted.slow_pair("gpu:0", "gpu:3")(recorded.healthy()))])
    assert framed(whole) == ["gpu:0", "gpu:3"]
    spoken = dict(re.findall(r"<title>(gpu:\d) to switch[^<]*, (\d+)% of expected</title>", picture(whole)))
    assert {gpu for gpu, share in spoken.items() if int(share) < 90} == {"gpu:0", "gpu:3"}
    lanes = page([Run.of(planted.lanes_down("gpu:1")(recorded.healthy()))])
    assert framed(lanes) == ["gpu:1"]


def test_a_model_says_so_and_has_no_host_and_nothing_to_compare(tmp_path: Path) -> None:
    run = Run.of(recorded.frontier(tmp_path))
    whole = page([run])
    assert 'class="banner"' in whole
    assert run.header["host"] not in Elements(whole).texts
    assert ">100%<" not in picture(whole)
    assert "% of expected" not in picture(whole)


def test_a_run_cut_short_is_compared_with_nothing(tmp_path: Path) -> None:
    whole = page([Run.of(recorded.cut_short(tmp_path))])
    assert 'class="answer unknown"' in whole
    assert "% of expected" not in picture(whole)
    assert "--resume" in whole


def test_tiles_are_what_each_kind_of_path_reaches(healthy: Run, tmp_path: Path) -> None:
    assert [tile.movement for tile in tiles(healthy.results)] == ["gpu>gpu", "host>gpu", "gpu>host", "gpu"]
    slow = Run.of(recorded.bad_link(tmp_path))
    low, high = tiles(slow.results)[0].values
    assert low == pytest.approx(374.1, rel=1e-3)
    assert high == pytest.approx(396.4, rel=1e-3)
    cpu = tiles(Run.of(recorded.CPU).results)
    assert [(tile.movement, tile.where) for tile in cpu] == [("host", "cold"), ("host", "warm"), ("cpu-reads-own", "")]


def test_all_results_and_the_run_file_come_back(healthy: Run, text: str) -> None:
    scripts = Elements(text).scripts
    found = polars.read_csv(io.StringIO(unpacked(scripts["csv"])))
    assert found["id"].to_list() == healthy.results["id"].to_list()
    assert found["value"].to_list() == pytest.approx(healthy.results["value"].to_list())
    header, *lines = map(json.loads, unpacked(scripts["raw"]).splitlines())
    assert header == json.loads(json.dumps(healthy.header))
    assert {line["id"] for line in lines} == set(healthy.rows)


def test_names_and_reasons_cannot_break_out_of_the_page() -> None:
    hostile = "</script><script>alert(1)</script>"
    plan_case = made.case(hostile, [made.flow("gpu:0", "gpu:1")], {"show": "matrix", "row": hostile, "column": "<b>"})
    whole = page([Run.of(made.run(4, [made.not_ok(plan_case, "failed", hostile)]))])
    assert "<script>alert" not in whole
    assert hostile in unpacked(Elements(whole).scripts["csv"]).replace('""', '"')


def test_the_same_run_gives_the_same_page(text: str) -> None:
    assert page([Run.of(RunFile.read(recorded.HEALTHY))]) == text


def test_a_large_run_leaves_tables_out_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_TABLES", 1)
    run = Run.of(made.run(4))
    assert MOST_TABLES > 1
    whole = page([run])
    assert whole.count('<svg class="curves"') <= 1
    assert len(unpacked(Elements(whole).scripts["csv"]).splitlines()) == run.results.height + 1


def test_a_large_sweep_stays_small() -> None:
    assert len(page([Run.of(made.run(4, made.sweep()))]).encode()) < MOST_BYTES


def test_every_picture_has_a_title_and_says_what_it_shows(text: str) -> None:
    pictures = re.findall(r"<svg (?![^>]*aria-hidden)[^>]*>(.*?)</svg>", text, re.DOTALL)
    assert len(pictures) > 1
    for one in pictures:
        assert re.match(r"\s*<title>[^<]+</title>\s*<desc>[^<]+</desc>", one)


def test_runs_stand_side_by_side_with_a_column_and_a_dash_each() -> None:
    runs = [Run.of(path) for path in (recorded.PAIR, recorded.PAIR_AGAIN)]
    tests, every = side_by_side(runs)
    shared = runs[0].results.join(runs[1].results, on=["id", "place", "figure"], how="inner")
    assert every.frame["change1"].drop_nulls().len() == shared.height
    assert [column.name for column in tests.columns if column.name.startswith("run")] == ["run0", "run1"]
    whole = page(runs)
    assert all(run.path.stem in whole for run in runs)
    assert whole.count('<section class="answer') == 2
    both = [Run.of(path) for path in (recorded.CPU, recorded.CPU_AGAIN)]
    drawn = list(curves(both))
    assert drawn
    assert all(table.frame["run"].n_unique() == 2 for table in drawn)
    assert "stroke-dasharray" in page(both)


def test_a_page_that_cannot_be_made_is_one_line(healthy: Run, tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError, match="cannot write"):
        write_page([healthy], tmp_path / "absent" / "page.html")
    with pytest.raises(LinkscopeError, match="nothing to report"):
        write_page([], tmp_path / "page.html")
    path = tmp_path / "a.jsonl"
    path.write_bytes(recorded.HEALTHY.read_bytes())
    with pytest.raises(LinkscopeError, match="run file itself"):
        write_page([Run.of(path)], path)
    assert path.read_bytes() == recorded.HEALTHY.read_bytes()


@pytest.mark.parametrize("found", [[], [made.not_ok(made.case("a", [made.flow("gpu:0", "gpu:1")], {}), "failed", "x")]])
def test_a_run_without_results_makes_a_page(found: list[Row]) -> None:
    assert Elements(page([Run.of(made.run(4, found))])).scripts["csv"]

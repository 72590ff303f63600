"""The page below its answer: chapters, a line for each path, what to use by size."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import modelled_run as made
import pytest

from linkscope.analysis.choose import choose
from linkscope.analysis.figures import figures
from linkscope.analysis.overview import overview
from linkscope.report import wording
from linkscope.report.html import render
from linkscope.report.html_glance import OTHER, glance
from linkscope.report.html_limits import fitted
from linkscope.report.html_records import Records
from linkscope.report.html_sections import Section, chapters, sections_of
from linkscope.report.html_use import best_collectives, use_maps
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

RUNS = Path(__file__).parent.parent / "fixtures" / "runs"


def sections(run: RunFile) -> list[Section]:
    found = overview(run.rows, run.node)
    return sections_of(fitted(found.tables, 4000), Records(run.rows, found.tables, ()))


@pytest.fixture(scope="module")
def recorded() -> RunFile:
    return RunFile.read(RUNS / "h200x4-default.jsonl")


def exact(row: Row) -> Row:
    """As a model that has no noise gives it."""
    results = []
    for flow, one in zip(row.case["flows"], row.raw.get("flows", []), strict=False):
        results.append(made.result(flow["bytes"], [one["samples_s"][0]] * 4))
    return Row.from_json({**row.raw, "flows": results}) if results else row


def test_every_table_stands_in_one_chapter(recorded: RunFile) -> None:
    found = sections(recorded)
    told = [section.anchor for chapter in chapters(found) for section in chapter.sections]
    assert sorted(told) == sorted(section.anchor for section in found)
    assert [chapter.title for chapter in chapters(found)] == ["Matrices", "Curves", "Lists"]


def test_collectives_have_a_chapter_of_their_own() -> None:
    found = chapters(sections(RunFile.read(RUNS / "h200x4-direct.jsonl")))
    assert all(
        bool(section.collectives) == (chapter.title == "Collectives")
        for chapter in found
        for section in chapter.sections
    )
    assert any(chapter.title == "Collectives" for chapter in found)


def test_the_only_chapter_of_tables_is_open(recorded: RunFile) -> None:
    curves = made.run(4, made.size_curves("sizes", [("a", "gpu:0", "gpu:1", 390.0)], sizes=4))
    assert '<details class="chapter" id="curves" open>' in render(curves)
    assert '<details class="chapter" id="curves">' in render(recorded)


def test_collectives_are_folded_by_collective_with_their_best_way() -> None:
    run = RunFile.read(RUNS / "h200x4-direct.jsonl")
    (chapter,) = (one for one in chapters(sections(run), {"reduce": "xccl"}) if one.groups)
    assert [group.title for group in chapter.groups][:3] == ["all-reduce", "reduce", "broadcast"]
    assert {group.title: group.best for group in chapter.groups}["reduce"] == "xccl"
    assert sorted(s.anchor for g in chapter.groups for s in g.sections) == sorted(s.anchor for s in chapter.sections)
    page = render(run)
    assert page.count('<details class="fold group">') == len(chapter.groups)
    assert page.count('<details class="fold">') == len(chapter.sections)
    assert best_collectives(choose(figures(run)))["reduce"] in page


def test_a_path_has_one_line_with_a_figure_for_each_method(recorded: RunFile) -> None:
    found = glance(sections(recorded))
    assert found.methods == ("copy-engine", "kernel-copy", OTHER)
    assert [group.path for group in found.groups] == ["GPU to GPU", "Host and GPU", "Within a GPU", "Host memory"]
    for title in ("Host to GPU", "Host to all GPUs at once, aggregate"):
        line = next(line for line in found.lines if line.title == title)
        assert [entry is not None for entry in line.entries] == [True, True, False]
    assert len({line.title for line in found.lines}) == len(found.lines)


def test_what_is_odd_is_told_by_its_share_of_peak() -> None:
    rows = made.pair_matrix(4, "Pairs", 390.0)
    (line,) = glance(sections(made.run(4, rows))).lines
    assert line.odd == f"{wording.percent(0.8 * 390 / made.LINK_GBPS)} of peak: gpu:2, gpu:0"
    even = [row for row in rows if "gpu:2>gpu:0" not in row.id]
    (line,) = glance(sections(made.run(4, even))).lines
    assert line.odd == ""


def test_a_line_at_a_glance_says_which_other_method_it_is_of(recorded: RunFile) -> None:
    line = next(line for line in glance(sections(recorded)).lines if line.title.startswith("A flag"))
    assert [entry.note for entry in line.entries if entry] == ["ping-pong"]


def test_a_sweep_says_best_half_size_and_crossing_and_no_worst(recorded: RunFile) -> None:
    line = next(line for line in glance(sections(recorded)).lines if line.title.startswith("GPU to GPU by size"))
    copy_engine, kernel, _ = line.entries
    assert copy_engine is not None
    assert kernel is not None
    assert copy_engine.text.startswith("up to 396")
    assert copy_engine.note == "half of it from 1 MiB"
    assert kernel.note == "half of it from 256 KiB"
    assert "kernel-copy up to 4 MiB; kernel-copy or copy-engine at 16 MiB; copy-engine from 64 MiB" in line.odd
    assert "lowest" not in line.odd


def test_columns_alike_stand_in_the_order_of_the_run() -> None:
    run = RunFile.read(RUNS / "h200x4-packets.jsonl")
    first = dict.fromkeys(row.case["flows"][0]["method"] for row in run.rows)
    assert glance(sections(run)).methods == tuple(first)


def test_a_list_by_size_says_its_best_and_not_that_small_sizes_are_slow() -> None:
    lines = glance(sections(RunFile.read(RUNS / "h200x4-direct.jsonl"))).lines
    line = next(line for line in lines if line.title == "direct, all-reduce")
    assert [entry.text.startswith("up to") for entry in line.entries if entry] == [True]
    assert line.odd == ""


def test_tables_of_a_long_chapter_are_folded_one_by_one() -> None:
    rows = [row for number in range(40) for row in made.pair_matrix(2, f"Table {number}", 390.0)]
    other = [row for number in range(4) for row in made.pair_matrix(2, f"Table {number}", 390.0)]
    assert render(made.run(2, rows)).count('<details class="fold">') == 40
    assert '<details class="fold">' not in render(made.run(2, other))


def test_a_modelled_page_claims_no_measurement() -> None:
    rows = [*made.pair_matrix(4, "Pairs", 390.0), *made.size_curves("Curve", [("a", "gpu:0", "gpu:1", 390.0)])]
    page = render(made.run(4, [exact(row) for row in rows]))
    assert "measured and verified" not in page
    shown = page.split("<script", 1)[0].split('id="method"')[0]
    assert shown.count(f">{wording.MODELLED}</text>") == 1
    assert not re.search(r"±|95 % interval|1 % asked|measured and verified", shown)


def test_a_single_figure_is_a_number_and_no_heat_map() -> None:
    page = render(made.run(2, made.pair_matrix(4, "Alone", 390.0)[:1]))
    assert 'class="single"' in page
    assert '<table class="heat">' not in page


def test_maps_have_a_best_way_at_every_size(recorded: RunFile) -> None:
    maps = use_maps(choose(figures(recorded)))
    assert maps
    for one in maps:
        for column in range(len(one.sizes)):
            assert any(cells[column].tone == "best" for _, cells in one.lines), one.title


def test_the_download_has_the_runs_own_name(recorded: RunFile) -> None:
    assert re.findall(r'data-file="([^"]*)"', render(recorded)) == ["h200x4-default"]


def test_no_first_line_of_a_page_holds_what_is_no_rival() -> None:
    found = sections(RunFile.read(RUNS / "h200x4-packets.jsonl"))
    assert any(one.no_rivals for one in found)
    assert not any("in-kernel" in one.brief for one in found)
    cells = [cell for one in found for cell in one.whole.flat if "in-kernel" in cell.regime]
    inside = {wording.value(cell.headline.value.median) for cell in cells if cell.headline is not None}
    entries = [entry for line in glance(found).lines for entry in line.entries if entry is not None]
    assert inside
    assert entries
    assert not inside & {entry.text.split()[-1] for entry in entries}


def test_a_figure_that_nobody_knows_is_not_in_the_line_of_its_table() -> None:
    rows = made.pair_matrix(3, "Pairs", 300.0)
    time = rows[0].raw["flows"][0]["samples_s"][0]
    vague = [time / 2 * factor for factor in (0.1, 0.1, 0.1, 1.0, 1.0, 10.0, 10.0, 10.0)]
    (section,) = sections(made.run(3, [made.ok(rows[0].case, [vague]), *rows[1:]]))
    (entry,) = (entry for line in glance([section]).lines for entry in line.entries)
    assert entry is not None
    assert all(float(word) < 320 for word in (*entry.text.split(" – "), *section.brief.split(" GB/s")[0].split(" – ")))


def test_a_method_that_is_timed_otherwise_says_so_at_a_glance() -> None:
    run = RunFile.read(RUNS / "h200x4-packets.jsonl")
    rows = [row for row in run.rows if row.case["flows"][0]["parameters"].get("form") == "in-kernel"]
    entries = [e for line in glance(sections(replace(run, rows=rows))).lines for e in line.entries if e is not None]
    assert entries
    assert all("in-kernel" in entry.note for entry in entries)

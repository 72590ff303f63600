"""What of the page is printed."""

from __future__ import annotations

from pathlib import Path

from browser import needs_browser, visit

from linkscope.report.html import render
from linkscope.results.run_file import RunFile

RUNS = Path(__file__).parent.parent / "fixtures" / "runs"


@needs_browser
def test_of_collectives_that_are_printed_a_line_for_each_table_is_enough(tmp_path: Path) -> None:
    run = RunFile.read(RUNS / "h200x4-direct.jsonl")
    script = """
        dispatchEvent(new Event('beforeprint'));
        const open = (what) => [...document.querySelectorAll(what)].map((one) => one.open);
        return [open('.group'), open('.group .fold'), open('#glance')];"""
    seen = visit(render(run), script, tmp_path)
    assert seen.errors == []
    groups, tables, glance = seen.found
    assert groups
    assert all(groups)
    assert tables
    assert not any(tables)
    assert glance == [True]

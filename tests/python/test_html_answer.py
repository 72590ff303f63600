"""The top of the page: one answer, the same as `explain` and `choose` give, and the picture that shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import modelled_run as made
import planted_faults as planted
import pytest
from browser import needs_browser, visit

from linkscope.analysis.choose import choose
from linkscope.analysis.explain import explain
from linkscope.analysis.figures import figures
from linkscope.analysis.overview import overview
from linkscope.report import choose_text, html_use, wording
from linkscope.report.explain_text import grounds, headline
from linkscope.report.html import commands, render
from linkscope.report.html_answer import answer, uses
from linkscope.report.html_use import use_maps
from linkscope.results.run_file import RunFile

RECORDED = Path(__file__).parent.parent / "fixtures" / "runs" / "h200x4-default.jsonl"


@pytest.fixture(scope="module")
def healthy() -> RunFile:
    return RunFile.read(RECORDED)


def test_the_page_opens_with_explains_verdict_and_findings(healthy: RunFile) -> None:
    run = planted.pcie_narrow("gpu:2")(healthy)
    page, found = render(run), explain(run)
    assert page.index(headline(found)) < page.index(grounds(found)) < page.index('id="glance"')
    assert page.index(found.shortfalls[0].cause) < page.index('id="glance"')
    assert 'class="answer short"' in page
    assert 'class="answer fine"' in render(healthy)


def test_a_run_with_nothing_to_judge_says_so_and_keeps_its_picture() -> None:
    run = made.run(4, made.size_curves("sizes", [("a", "gpu:0", "gpu:1", 390.0)], sizes=4))
    page = render(run)
    assert 'class="answer unknown"' in page
    found = explain(run)
    assert all(str(commands(said)) in page for said in (headline(found), grounds(found)))
    assert f"{made.LINK_GBPS:.0f}</text>" in page


def test_a_modelled_answer_is_marked() -> None:
    page = render(made.run(4))
    top = page[page.index('id="answer"') : page.index('id="glance"')]
    assert wording.MODELLED in top
    assert "measured and verified" not in top


def test_what_to_use_is_what_choose_says(healthy: RunFile) -> None:
    found = choose(figures(healthy))
    lines = dict(uses(found))
    assert 0 < len(lines) <= 3
    assert next(iter(lines)).startswith("GPU to GPU")
    decided = {html_use.in_words(one) for one in found.answers if not one.equals}
    assert decided >= set(lines.values())
    peer = next(one for one in found.answers if one.question.movement == "GPU to GPU")
    text = next(how for what, how in lines.items() if what.startswith("GPU to GPU"))
    assert all(wording.either(span.best) in text for span in peer.ranges)
    said = answer(
        healthy.node, explain(healthy), replace(found, answers=()), overview(healthy.rows, healthy.node).summary
    )
    assert said.use == ()


def test_what_is_measured_without_nvls_says_so_beside_what_to_use(healthy: RunFile) -> None:
    found = choose(figures(RunFile.read(RECORDED.with_name("h200x4-direct.jsonl"))))
    told = " ".join(html_use.use_notes(found))
    assert "NCCL_NVLS_ENABLE=0" in told
    assert "linkscope's own kernels" in told
    assert html_use.use_notes(choose(figures(healthy))) == []


def test_the_question_with_most_at_stake_comes_first() -> None:
    found = choose(figures(RunFile.read(RECORDED.with_name("h200x4-packets.jsonl"))))
    first, *_ = uses(found)
    assert first[0].startswith("broadcast on 4 GPUs")
    verdict = choose_text.verdict(found)
    assert verdict.index("broadcast on 4 GPUs") < verdict.index("times as long as")
    assert use_maps(found)[0].title in choose_text.verdict(found)


@needs_browser
def test_a_browser_finds_the_answer_first_and_nothing_to_complain_of(healthy: RunFile, tmp_path: Path) -> None:
    look = (
        "const box = (id) => document.getElementById(id).getBoundingClientRect();"
        "return {verdict: document.querySelector('.verdict').getBoundingClientRect().bottom,"
        " wide: document.documentElement.scrollWidth, color: getComputedStyle(document.body).backgroundColor};"
    )
    seen = visit(render(healthy), look, tmp_path)
    assert seen.errors == []
    assert seen.found["verdict"] < 700
    narrow = visit(render(healthy), look, tmp_path, 390)
    assert narrow.errors == []
    assert narrow.found["wide"] <= 390

"""The page in a browser: hover, focus, keyboard, lists, legends, colours, a phone, pictures that are saved, print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
import recorded
from browser import needs_browser, visit

from linkscope.figures.run import Run
from linkscope.render.page import page

pytestmark = needs_browser
OPEN = "for (const one of document.querySelectorAll('details')) one.open = true;"
WAIT = "const wait = (ms = 30) => new Promise((done) => setTimeout(done, ms));"
TIP = "const tip = () => document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText;"
ENOUGH = 4.5
"""Contrast of WCAG 2.2, level AA, for text."""


@pytest.fixture(scope="module")
def text() -> str:
    return page([Run.of(recorded.HEALTHY)])


def found(text: str, script: str, folder: Path, width: int = 1280, *flags: str) -> Any:
    """Return what the script returns, after everything is unfolded; the console must have been quiet."""
    seen = visit(text, OPEN + WAIT + TIP + script, folder, width, *flags)
    assert seen.errors == []
    return seen.found


def test_a_cell_shows_its_result_on_hover_and_on_focus(text: str, tmp_path: Path) -> None:
    script = """
        const [a, b] = document.querySelectorAll('.heat td[data-tip]');
        a.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
        const hovered = tip();
        b.focus();
        return [hovered, tip(), a.dataset.tip, b.dataset.tip];"""
    hovered, focused, first, second = found(text, script, tmp_path)
    assert (hovered, focused) == (first, second)
    assert "95%" in hovered


def test_points_are_reached_by_arrow_keys_and_by_a_pointer_near_them(text: str, tmp_path: Path) -> None:
    script = """
        const picture = document.querySelector('svg.curves');
        picture.querySelector('g.line [tabindex="0"]').focus();
        const key = (name) => document.activeElement.dispatchEvent(
            new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true}));
        const seen = [tip()];
        key('ArrowRight');
        seen.push(tip());
        key('ArrowDown');
        seen.push(document.activeElement.closest('g').dataset.series);
        document.activeElement.blur();
        const mark = picture.querySelectorAll('g.line .mark')[0];
        mark.scrollIntoView();
        const at = mark.getBoundingClientRect();
        const over = {bubbles: true, clientX: at.left - 6, clientY: at.top - 6};
        picture.dispatchEvent(new PointerEvent('pointermove', over));
        seen.push(tip() === mark.dataset.tip);
        return seen;"""
    first, second, series, near = found(text, script, tmp_path)
    assert first != second
    assert first
    assert second
    assert series == "1"
    assert near is True


def test_a_legend_entry_switches_its_series_off_and_on(text: str, tmp_path: Path) -> None:
    script = """
        const entry = document.querySelector('.series button');
        const g = document.querySelector('svg.curves g.line');
        const seen = [];
        for (let i = 0; i < 2; i++) { entry.click(); seen.push(getComputedStyle(g).display, entry.ariaPressed); }
        return seen;"""
    seen = found(text, script, tmp_path)
    assert seen[:2] == ["none", "false"]
    assert seen[3] == "true"


def test_all_results_filter_sort_and_copy(tmp_path: Path) -> None:
    run = Run.of(made.run(4))
    script = """
        for (let i = 0; i < 99 && !document.querySelector('#all tbody tr'); i++) await wait();
        const rows = () => [...document.querySelectorAll('#all tbody tr')];
        const heads = [...document.querySelectorAll('#all th button')];
        const column = (name) => heads.findIndex((one) => one.textContent === name);
        const filter = document.getElementById('filter');
        const all = document.getElementById('count').textContent;
        filter.value = 'gpu:3 failed';
        filter.dispatchEvent(new Event('input'));
        const failed = rows().map((row) => row.children[column('status')].textContent);
        filter.value = '';
        filter.dispatchEvent(new Event('input'));
        heads[column('value')].click();
        const up = rows().map((row) => row.children[column('value')].textContent).filter(Boolean).map(Number);
        document.getElementById('copy-all').click();
        document.querySelector('button.csv').click();
        const copied = [document.getElementById('copy-all'), document.querySelector('button.csv')];
        for (let i = 0; i < 99 && !copied.every((one) => one.dataset.copied); i++) await wait();
        return {all, failed, up, copied: copied.map((one) => Number(one.dataset.copied))};"""
    seen = found(page([run]), script, tmp_path)
    count = run.results.height
    assert seen["all"] == f"{count} of {count}"
    assert set(seen["failed"]) == {"failed"}
    assert seen["up"] == sorted(seen["up"])
    assert len(set(seen["up"])) > 5
    assert min(seen["copied"]) > 100


def test_a_dark_page_is_dark_with_its_pictures(text: str, tmp_path: Path) -> None:
    script = """
        const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
        const body = getComputedStyle(document.body);
        return [body.backgroundColor, body.color, getComputedStyle(document.querySelector('.node svg > rect')).fill]
            .map(light);"""
    dark = found(text, script, tmp_path, 1280, "--blink-settings=preferredColorScheme=0")
    light = found(text, script, tmp_path, 1280, "--blink-settings=preferredColorScheme=1")
    assert dark[0] < 60 < dark[1]
    assert light[0] > 200 > light[1]
    assert dark[2] < 60 < 200 < light[2]


@pytest.mark.parametrize("kind", ["healthy", "bad-link", "cpu", "frontier", "two"])
def test_no_width_cuts_the_page_or_a_table_of_its_first_screen(kind: str, text: str, tmp_path: Path) -> None:
    paths = {"bad-link": [recorded.bad_link], "frontier": [recorded.frontier]}
    runs = {"cpu": [recorded.CPU], "two": [recorded.CPU, recorded.CPU_AGAIN]}.get(kind)
    runs = runs or [made_at(tmp_path) for made_at in paths.get(kind, [])]
    script = """
        const seen = [];
        for (const width of [1280, 1024, 390]) {
            frameElement.style.width = `${width}px`;
            await wait();
            const boxes = [document.documentElement, ...document.querySelectorAll('.answers .scroll')];
            seen.push([innerWidth, boxes.map((one) => one.scrollWidth - one.clientWidth)]);
        }
        return seen;"""
    whole = page([Run.of(run) for run in runs]) if runs else text
    seen = found(whole, script, tmp_path, 1280, "--allow-file-access-from-files")
    assert [width for width, _ in seen] == [1280, 1024, 390]
    assert all(len(excess) > 1 and max(excess) <= 0 for _, excess in seen), seen


def test_a_picture_turns_to_the_other_axis_and_to_times(text: str, tmp_path: Path) -> None:
    script = """
        const picture = document.querySelector('svg.curves');
        const [axis, turn] = picture.closest('section').querySelectorAll('.switches button');
        const marks = [...picture.querySelectorAll('g.line .mark')].slice(0, 3);
        const at = () => marks.map((mark) => Number(mark.getAttribute('cy')));
        const unit = () => picture.querySelector('.unit').textContent;
        const seen = [[at(), unit()]];
        for (const button of [axis, turn, turn, axis]) { button.click(); seen.push([at(), unit()]); }
        return [seen, picture.outerHTML.includes('NaN')];"""
    seen, broken = found(text, script, tmp_path)
    assert not broken
    assert [unit for _, unit in seen] == ["GB/s", "GB/s", "us", "GB/s", "GB/s"]
    assert seen[0][0] != seen[1][0] != seen[2][0]
    assert seen[4][0] == pytest.approx(seen[0][0], abs=0.3)
    assert seen[3][0] == seen[1][0]


def test_a_picture_is_saved_with_its_title_and_the_series_that_are_shown(text: str, tmp_path: Path) -> None:
    script = """
        let drawn = '';
        const plain = XMLSerializer.prototype.serializeToString;
        XMLSerializer.prototype.serializeToString = function (one) { return drawn = plain.call(this, one); };
        const colours = new Set();
        HTMLCanvasElement.prototype.toBlob = function (done) {
            const pixels = this.getContext('2d').getImageData(0, 0, this.width, this.height).data;
            for (let i = 0; i < pixels.length; i += 4) colours.add(pixels.slice(i, i + 3).join());
            done(new Blob([]));
        };
        const save = (within) => new Promise((done) => {
            HTMLAnchorElement.prototype.click = function () { done(this.download); };
            within.querySelector('button.png').click();
        });
        const section = document.querySelector('svg.curves').closest('section');
        const [hidden, kept] = section.querySelectorAll('.series button');
        hidden.click();
        const name = await save(section);
        const texts = [section.querySelector('h3').firstChild, kept, hidden];
        const says = texts.map((one) => drawn.includes(`>${one.textContent.trim().replaceAll('>', '&gt;')}<`));
        const cell = document.querySelector('.heat td[data-tip]');
        await save(cell.closest('section'));
        says.push(drawn.includes(`>${cell.querySelector('b').textContent}<`));
        return {name, colours: colours.size, says};"""
    seen = found(text, script, tmp_path)
    assert seen["name"].startswith(f"{recorded.HEALTHY.stem}-gpu-to-gpu-by-size")
    assert seen["name"].endswith(".png")
    assert seen["colours"] > 20
    assert seen["says"] == [True, True, False, True]


def test_what_is_folded_is_printed_and_folded_again(text: str, tmp_path: Path) -> None:
    script = """
        const folded = ['curve', 'results'].map((id) => document.getElementById(id));
        for (const one of folded) one.open = false;
        const seen = [];
        for (const name of ['beforeprint', 'afterprint']) {
            dispatchEvent(new Event(name));
            seen.push(folded.map((one) => one.open));
        }
        return seen;"""
    assert found(text, script, tmp_path) == [[True, False], [False, False]]


CONTRAST = """
    const linear = (part) => part <= 0.04045 * 255 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
    const luminance = (color) => [0.2126, 0.7152, 0.0722].reduce((sum, k, i) => sum + k * linear(color[i]), 0);
    const parts = (text) => text.match(/[\\d.]+/g).map(Number);
    const chain = (one) => one ? [one, ...chain(one.parentElement)] : [];
    const behind = (one) => chain(one).map((e) => parts(getComputedStyle(e).backgroundColor)).find((c) => c[3] !== 0);
    const found = [];
    for (const one of document.querySelectorAll('body *:not(script, style, svg, svg *)')) {
        if (![...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim())) continue;
        if (!one.checkVisibility()) continue;
        const paper = behind(one);
        const ink = parts(getComputedStyle(one).color);
        const [low, high] = [luminance(ink), luminance(paper)].sort((a, b) => a - b);
        found.push([(high + 0.05) / (low + 0.05), one.tagName, one.closest('[class]')?.className]);
    }
    return found;"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(scheme: str, tmp_path: Path) -> None:
    whole = page([Run.of(recorded.bad_link(tmp_path))])
    flag = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    seen = found(whole, CONTRAST, tmp_path, 1280, flag)
    assert any(name and "h10" in name for _, _, name in seen)
    assert [one for one in seen if one[0] < ENOUGH] == []

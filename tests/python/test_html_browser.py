"""The page in a browser: hover, focus, keyboard, filter, sort, legend, dark colours, a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
from browser import needs_browser, visit

from linkscope.report.html import render
from linkscope.results.row import Row

pytestmark = needs_browser
OPEN = "for (const one of document.querySelectorAll('details')) one.open = true;"
WAIT = "const wait = () => new Promise((done) => setTimeout(done, 30));"
TIP = "const tip = () => document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText;"


@pytest.fixture(scope="module")
def page() -> str:
    return render(made.run(4))


def found(page: str, script: str, folder: Path, width: int = 1280, *flags: str) -> Any:
    """What the script returns, after everything is unfolded; the console must have been quiet."""
    seen = visit(page, OPEN + WAIT + TIP + script, folder, width, *flags)
    assert seen.errors == []
    return seen.found


def test_a_cell_shows_its_figure_on_hover_and_on_focus(page: str, tmp_path: Path) -> None:
    script = """
        const [a, b] = document.querySelectorAll('td.figure');
        a.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
        const hovered = tip();
        b.focus();
        return [hovered, tip(), a.querySelector('b').textContent];"""
    hovered, focused, value = found(page, script, tmp_path)
    assert all(word in hovered for word in (value, "95 % interval", "n\n", "clock", "peak"))
    assert focused not in ("", hovered)


def test_points_are_reached_by_arrow_keys_and_by_a_pointer_near_them(page: str, tmp_path: Path) -> None:
    script = """
        const picture = document.querySelector('svg.curves');
        picture.querySelector('g.series [tabindex="0"]').focus();
        const key = (name) => document.activeElement.dispatchEvent(
            new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true}));
        const seen = [document.activeElement.dataset.i, tip()];
        key('ArrowRight');
        seen.push(document.activeElement.dataset.i, tip());
        key('ArrowDown');
        seen.push(document.activeElement.closest('g').dataset.series);
        document.activeElement.blur();
        const mark = picture.querySelectorAll('g.series [data-i]')[12];
        mark.scrollIntoView();
        const at = mark.getBoundingClientRect();
        const over = {bubbles: true, clientX: at.left - 6, clientY: at.top - 6};
        picture.dispatchEvent(new PointerEvent('pointermove', over));
        seen.push(mark.classList.contains('near'), tip());
        return seen;"""
    first, told, second, further, series, near, beside = found(page, script, tmp_path)
    assert first != second
    assert told
    assert further
    assert told != further
    assert series == "1"
    assert near is True
    assert "there too" in beside


def test_a_legend_entry_switches_its_series_off_and_on(page: str, tmp_path: Path) -> None:
    script = """
        const entry = document.querySelector('.series-legend button');
        const g = document.querySelector('svg.curves g.series');
        const seen = [];
        for (let i = 0; i < 2; i++) { entry.click(); seen.push(getComputedStyle(g).display, entry.ariaPressed); }
        return seen;"""
    assert found(page, script, tmp_path)[:2] == ["none", "false"]
    assert found(page, script, tmp_path)[3] == "true"


def test_all_figures_filter_sort_and_copy(page: str, tmp_path: Path) -> None:
    script = """
        const rows = () => [...document.querySelectorAll('#all tbody tr')];
        const filter = document.getElementById('filter');
        const all = document.getElementById('count').textContent;
        filter.value = 'gpu:3 failed';
        filter.dispatchEvent(new Event('input'));
        const failed = rows().map((row) => [row.lastChild.textContent, row.querySelector('.why').textContent]);
        filter.value = '';
        filter.dispatchEvent(new Event('input'));
        const head = [...document.querySelectorAll('#all th button')].find((b) => b.textContent === 'median');
        head.click();
        const figures = rows().filter((row) => !row.querySelector('.why'));
        const up = figures.map((row) => Number(row.children[3].textContent));
        document.querySelector('button.csv').click();
        await wait(); await wait();
        const table = document.getElementById('all').parentElement;
        return {all, failed, up, copied: Number(document.querySelector('button.csv').dataset.csv),
                fits: table.scrollWidth <= table.clientWidth + 1};"""
    seen = found(page, script, tmp_path)
    count = len(made.run(4).rows)
    assert seen["all"] == f"{count} of {count}"
    assert seen["failed"]
    assert all(status == "failed" and reason for status, reason in seen["failed"])
    assert seen["up"] == sorted(seen["up"])
    assert len(set(seen["up"])) > 5
    assert seen["copied"] > 200
    assert seen["fits"] is True


def test_a_dark_page_is_dark(page: str, tmp_path: Path) -> None:
    script = """
        const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
        const cell = getComputedStyle(document.querySelector('td.figure'));
        return [light(getComputedStyle(document.body).backgroundColor), light(getComputedStyle(document.body).color),
                cell.backgroundColor];"""
    dark = found(page, script, tmp_path, 1280, "--blink-settings=preferredColorScheme=0")
    light = found(page, script, tmp_path, 1280, "--blink-settings=preferredColorScheme=1")
    assert dark[0] < 60 < dark[1]
    assert light[0] > 200 > light[1]
    assert dark[2] != light[2]


def test_a_phone_shows_all_of_it_without_scrolling_sideways(page: str, tmp_path: Path) -> None:
    script = "return [document.documentElement.scrollWidth, innerWidth];"
    needed, given = found(page, script, tmp_path, 390)
    assert needed <= given == 390


def test_a_picture_turns_to_the_other_axis_and_to_times(page: str, tmp_path: Path) -> None:
    script = """
        const picture = document.querySelector('svg.curves');
        const [axis, figure] = picture.closest('section').querySelectorAll('.switches button');
        const marks = [...picture.querySelectorAll('g.series [data-i]')].slice(0, 3);
        const at = () => marks.map((m) => m.getAttribute('transform'));
        const unit = () => picture.querySelector('.unit').textContent;
        const seen = [[at(), unit()]];
        for (const button of [axis, figure, figure, axis]) { button.click(); seen.push([at(), unit()]); }
        return [seen, picture.outerHTML.includes('NaN')];"""
    seen, broken = found(page, script, tmp_path)
    assert not broken
    assert [unit for _, unit in seen] == ["GB/s", "GB/s", "us", "GB/s", "GB/s"]
    assert seen[0][0] != seen[1][0] != seen[2][0]

    def heights(places: list[str]) -> list[float]:
        return [float(place.rstrip(")").split()[1]) for place in places]

    assert heights(seen[4][0]) == pytest.approx(heights(seen[0][0]), abs=0.3)
    assert heights(seen[3][0]) == heights(seen[1][0])


def sweeps() -> list[Row]:
    """A sweep of 40 series, the last of them odd, and one of the time of a load over the memory that it roams."""
    series = [(f"pair {i}", "gpu:0", "gpu:1", 390.0 if i < 39 else 80.0) for i in range(40)]
    rows = made.size_curves("sizes", series, sizes=8)
    for exponent in range(4):
        labels = {"show": "curve", "series": "chase", "x": 1024 << exponent, "x_name": "bytes", "figure": "latency"}
        chase = made.flow("gpu:0", "gpu:1", 1024 << exponent, "pointer-chase")
        rows.append(made.ok(made.case("Chase", [chase], labels), [made.steady(1e-6)], latency=True))
    return rows


def test_a_band_turns_too_and_its_entries_toggle(tmp_path: Path) -> None:
    script = """
        const [band, chase] = document.querySelectorAll('svg.curves');
        const section = band.closest('section');
        const span = band.querySelector('.envelope');
        const top = () => Number(span.getAttribute('d').match(/[\\d.]+/g)[1]);
        const seen = [top()];
        const [axis, figure] = section.querySelectorAll('.switches button');
        for (const button of [axis, figure]) { button.click(); seen.push(top()); }
        const entries = [...section.querySelectorAll('.series-legend button')];
        entries.at(-1).click();
        const mark = band.querySelector('g.series [data-i]');
        const switches = (picture) => picture.closest('section').querySelectorAll('.switches button').length;
        return {seen, broken: band.outerHTML.includes('NaN'), names: entries.map((one) => one.textContent),
                hidden: getComputedStyle(span).display, said: mark.getAttribute('aria-label'),
                turns: [band, chase].map(switches)};"""
    seen = found(render(made.run(4, sweeps())), script, tmp_path)
    assert len(set(seen["seen"])) == 3
    assert not seen["broken"]
    assert seen["names"][:2] == ["best of 40 series", "pair 39"]
    assert len(seen["names"]) == 4
    assert seen["hidden"] == "none"
    assert "GB/s" in seen["said"]
    assert seen["turns"][0] == seen["turns"][1] + 1


def test_a_picture_is_saved_with_its_title_its_mark_and_the_series_that_are_shown(page: str, tmp_path: Path) -> None:
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
        const [hidden, kept] = section.querySelectorAll('.series-legend button');
        hidden.click();
        const name = await save(section);
        const texts = [section.querySelector('h3').firstChild, section.querySelector('.tag'), kept, hidden];
        const says = texts.map((one) => drawn.includes(`>${one.textContent.trim()}<`));
        const cell = document.querySelector('td.figure');
        await save(cell.closest('section'));
        says.push(drawn.includes(`>${cell.querySelector('b').textContent}<`));
        return {name, colours: colours.size, says, pressed: hidden.ariaPressed};"""
    seen = found(page, script, tmp_path)
    assert seen["name"] == f"{made.run(4).path.stem}-copy-over-size-one-pair-of-each-tier.png"
    assert seen["colours"] > 20
    assert seen["pressed"] == "false"
    assert seen["says"] == [True, True, True, False, True]


@pytest.mark.parametrize(
    "failing",
    [
        "HTMLCanvasElement.prototype.toBlob = function (done) { done(null); };",
        "Object.defineProperty(Image.prototype, 'src', {set() { queueMicrotask(() => this.onerror({})); }});",
    ],
    ids=["no blob", "no image"],
)
def test_a_picture_that_the_browser_cannot_save_says_so_on_its_button(page: str, tmp_path: Path, failing: str) -> None:
    script = f"""
        let saved = 0;
        HTMLAnchorElement.prototype.click = () => {{ saved += 1; }};
        {failing}
        const button = document.querySelector('svg.curves').closest('section').querySelector('button.png');
        const before = button.textContent;
        button.click();
        for (let i = 0; i < 20 && button.textContent === before; i++) await wait();
        return [button.textContent !== before, button.title.includes('browser'), saved];"""
    assert found(page, script, tmp_path) == [True, True, 0]


def test_all_figures_are_one_stop_of_the_tab_key_and_their_details_stay_while_the_page_scrolls(
    page: str, tmp_path: Path
) -> None:
    script = """
        const lines = [...document.querySelectorAll('#all tbody tr')];
        lines[0].focus();
        const first = tip();
        lines[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}));
        const seen = [lines.indexOf(document.activeElement), lines.filter((line) => line.tabIndex === 0).length];
        const second = tip();
        document.dispatchEvent(new Event('scroll'));
        const scrolled = tip();
        document.activeElement.blur();
        return {seen, first, second, scrolled, left: tip()};"""
    seen = found(page, script, tmp_path)
    assert seen["seen"] == [1, 1]
    assert seen["first"] != seen["second"] == seen["scrolled"] != seen["left"] == ""


def test_what_is_folded_is_printed_and_folded_again(page: str, tmp_path: Path) -> None:
    script = """
        const folded = ['curves', 'rows'].map((id) => document.getElementById(id));
        for (const one of folded) one.open = false;
        const seen = [];
        for (const name of ['beforeprint', 'afterprint']) {
            dispatchEvent(new Event(name));
            seen.push(folded.map((one) => one.open));
        }
        return seen;"""
    assert found(page, script, tmp_path) == [[True, False], [False, False]]

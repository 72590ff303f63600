"""Whether all that is written on the page can be read, as the browser draws it, light and dark."""

from __future__ import annotations

from pathlib import Path

import modelled_run as made
import pytest
from browser import needs_browser, visit

from linkscope.report.html import render

pytestmark = needs_browser
ENOUGH = 4.5
"""Of WCAG 2.2, level AA, for text."""
SCRIPT = """
    for (const one of document.querySelectorAll('details')) one.open = true;
    const linear = (part) => part <= 0.04045 * 255 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
    const luminance = (color) => [0.2126, 0.7152, 0.0722].reduce((sum, k, i) => sum + k * linear(color[i]), 0);
    const parts = (text) => text.match(/[\\d.]+/g).map(Number);
    const chain = (one) => one ? [one, ...chain(one.parentElement)] : [];
    const behind = (one) => chain(one).map((e) => parts(getComputedStyle(e).backgroundColor)).find((c) => c[3] !== 0);
    const found = [];
    for (const one of document.querySelectorAll('body *:not(script, style, svg, svg *)')) {
        if (![...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim())) continue;
        if (!one.checkVisibility()) continue;
        const opacity = chain(one).reduce((product, e) => product * getComputedStyle(e).opacity, 1);
        const paper = behind(one);
        const ink = parts(getComputedStyle(one).color).map((part, i) => part * opacity + paper[i] * (1 - opacity));
        const [low, high] = [luminance(ink), luminance(paper)].sort((a, b) => a - b);
        found.push([(high + 0.05) / (low + 0.05), one.tagName, one.closest('[class]')?.className]);
    }
    return found;"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(scheme: str, tmp_path: Path) -> None:
    flag = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    seen = visit(render(made.run(4)), SCRIPT, tmp_path, 1280, flag)
    assert seen.errors == []
    assert any(name and name.startswith("figure h") for _, _, name in seen.found)
    assert [one for one in seen.found if one[0] < ENOUGH] == []

"""Heat maps: what a colour stands for, and whether it can be read."""

from __future__ import annotations

import re
from pathlib import Path

import modelled_run as made
import pytest

import linkscope.report
from linkscope.report.heat import OF_PEAK, OF_VALUES, STEPS, contrast, ramp, step
from linkscope.report.html import render

CSS = Path(linkscope.report.__file__).parent / "templates" / "css" / "base.css"
ENOUGH = 4.5
"""Of WCAG 2.2, level AA, for text."""
SCHEMES = ("light", "dark")
WRITTEN = {"--fine": "--on-fine", "--nearbg": "--ink", "--warnbg": "--warn", "--badbg": "--bad", "--page": "--dim"}
"""What is written on the backgrounds of cells that have no ramp."""


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [OF_PEAK, OF_VALUES])
def test_what_is_written_on_every_colour_can_be_read(name: str, scheme: str) -> None:
    assert len(ramp(name, scheme)) == STEPS + 1
    assert all(contrast(one.background, one.text) >= ENOUGH for one in ramp(name, scheme))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("background", "text"), WRITTEN.items())
def test_what_is_written_on_other_cells_can_be_read(background: str, text: str, scheme: str) -> None:
    block = CSS.read_text().split(":root {")[1 + SCHEMES.index(scheme)].split("}")[0]
    colors = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", block))
    assert contrast(colors[background], colors[text]) >= ENOUGH


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_lower_share_of_peak_is_seen(scheme: str) -> None:
    colors = [one.background for one in ramp(OF_PEAK, scheme)]
    assert contrast(colors[step(0.62)], colors[step(0.88)]) > 1.4
    assert contrast(colors[step(0.25)], colors[step(0.75)]) > 2


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_the_same_share_of_peak_has_the_same_colour_in_every_matrix() -> None:
    rows = [*made.pair_matrix(4, "Fast", 396.0), *made.pair_matrix(4, "Slow", 120.0)]
    page = render(made.run(4, rows))
    found = {int(number) for number in re.findall(r'class="figure h(\d+)', page)}
    assert {step(396.0 / made.LINK_GBPS), step(120.0 / made.LINK_GBPS)} <= found
    assert step(-1) == 0
    assert step(7) == STEPS

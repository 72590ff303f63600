"""Heat maps: what a colour stands for, and whether it can be read."""

from __future__ import annotations

import re

import modelled_run as made
import pytest

from linkscope.report.heat import STEPS, contrast, ramp, step
from linkscope.report.html import render


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_written_on_every_colour_can_be_read(scheme: str) -> None:
    assert len(ramp(scheme)) == STEPS + 1
    assert all(contrast(one.background, one.text) >= 4.5 for one in ramp(scheme))


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

"""Student's t: probabilities and quantiles are those of the tables."""

from __future__ import annotations

import math

import pytest

from linkscope.statistics.ranks import t975
from linkscope.statistics.students_t import two_sided


@pytest.mark.parametrize(
    ("t", "freedom", "p"), [(12.706, 1, 0.05), (2.228, 10, 0.05), (1.96, 1e6, 0.05), (0.0, 3, 1.0)]
)
def test_probabilities(t: float, freedom: float, p: float) -> None:
    assert two_sided(t, freedom) == pytest.approx(p, rel=2e-3)
    assert two_sided(-t, freedom) == two_sided(t, freedom)
    assert 0 < two_sided(40, 4) < 1e-5 < two_sided(10, 4)
    assert not math.isnan(two_sided(1e200, 2))


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (20, 2.086), (21, 2.0796), (30, 2.0423), (120, 1.9799), (10**6, 1.96)]
)
def test_quantiles(freedom: int, quantile: float) -> None:
    assert t975(freedom) == pytest.approx(quantile, abs=1e-4)
    assert two_sided(t975(freedom), freedom) == pytest.approx(0.05, rel=1e-3)

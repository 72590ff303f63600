"""Student's t distribution: how likely a value at least that far from 0 is by chance."""

from __future__ import annotations

from math import exp, lgamma, log, log1p

_PRECISION = 1e-12
_MOST_TERMS = 400


def two_sided(t: float, freedom: float) -> float:
    """Probability that |T| of so many degrees of freedom, above 0, is at least |t|.

    By the regularised incomplete beta function I_x(freedom / 2, 1 / 2), x = freedom / (freedom + t^2) (Abramowitz and
    Stegun, 26.7.1 and 26.5.8).
    """
    x = freedom / (freedom + t * t)
    return _incomplete_beta(freedom / 2, 0.5, x)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), by Lentz's method (Thompson and Barnett 1986)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / ((1 - (a + b) * x / (a + 1)) or tiny)
    result = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            result *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return result

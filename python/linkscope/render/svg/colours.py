"""Colours of pages and pictures: one palette for light and one for dark, each legible at WCAG's level AA."""

from __future__ import annotations

HEAT_STEPS = 10
"""Colours of a heat map beyond the palest."""
SERIES = 8
"""Colours of series, named s0 to s7 (after Okabe and Ito: distinct with any colour vision)."""


def _mixed(low: str, high: str, share: float) -> str:
    ends = (tuple(int(text[at : at + 2], 16) for at in (1, 3, 5)) for text in (low, high))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))


def _heat(low: str, high: str) -> dict[str, str]:
    return {f"h{step}": _mixed(low, high, step / HEAT_STEPS) for step in range(HEAT_STEPS + 1)}


LIGHT: dict[str, str] = {
    **{"page": "#fafaf8", "card": "#ffffff", "ink": "#1b1f24", "dim": "#5c6670", "line": "#e1e4e8", "hair": "#eef0f2"},
    **{"accent": "#0b5a94", "fine": "#00745a", "bad": "#b3261e", "badbg": "#fdecea", "warn": "#7a4b00"},
    **{"warnbg": "#fff4d6", "box": "#eef3f8", "s0": "#0072b2", "s1": "#d55e00", "s2": "#009e73", "s3": "#b5589a"},
    **{"s4": "#a87a00", "s5": "#2f9fd8", "s6": "#5b4aa8", "s7": "#4d4d4d", "slow": "#c96a00", "grey": "#8d99a6"},
    **{"n0": "#00507f", "n1": "#2b86c1", "n2": "#7db8e0", "n3": "#b5d5ec", "pcie": "#d98a00", "edge": "#7f9bb3"},
    **_heat("#f3f7fb", "#8fbfe6"),
}
DARK: dict[str, str] = {
    **{"page": "#12161b", "card": "#191f26", "ink": "#e6e9ec", "dim": "#9aa5b0", "line": "#2c343d", "hair": "#232a32"},
    **{"accent": "#7cc0ff", "fine": "#3fd0a2", "bad": "#ff8a80", "badbg": "#3a1d1b", "warn": "#ffd479"},
    **{"warnbg": "#36290c", "box": "#232c36", "s0": "#58b4f0", "s1": "#ff8f4a", "s2": "#3fd0a2", "s3": "#e79ccb"},
    **{"s4": "#e6b93c", "s5": "#9bd8ff", "s6": "#ab9cf5", "s7": "#c2c8ce", "slow": "#ff9f4a", "grey": "#7b8794"},
    **{"n0": "#8cc8f2", "n1": "#4f9fd8", "n2": "#3478ab", "n3": "#2d5674", "pcie": "#e6a93c", "edge": "#5f7a90"},
    **_heat("#1c2833", "#2a6496"),
}
"""Name of a colour -> "#rrggbb". ``h0`` to ``h10``: a heat map's, palest first; ink stands on all of them."""


def heat_step(value: float, low: float, high: float) -> int:
    """Return the step of a value on the scale from ``low`` to ``high``; values outside take the nearer end."""
    share = (value - low) / (high - low) if high > low else 1.0
    return round(min(max(share, 0.0), 1.0) * HEAT_STEPS)


def variables(palette: dict[str, str]) -> str:
    """Return the palette as CSS variables: "--page:#fafaf8;..."."""
    return "".join(f"--{name}:{colour};" for name, colour in palette.items())

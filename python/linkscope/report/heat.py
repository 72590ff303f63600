"""Colours of heat maps: steps of two ramps, each with the ink that is read best on it, for a light and a dark page."""

from __future__ import annotations

from dataclasses import dataclass

STEPS = 20
"""Colours beyond the palest."""
_INKS = ("#000000", "#ffffff")
OF_PEAK, OF_VALUES = "h", "v"
"""Blue for shares of peak, grey for values that have none: a reader tells which it is whatever colours he sees."""
_RAMPS = {
    (OF_PEAK, "light"): ("#edf3f9", "#0b4f8a"),
    (OF_PEAK, "dark"): ("#1c2833", "#74bff5"),
    (OF_VALUES, "light"): ("#f1efec", "#4f4a45"),
    (OF_VALUES, "dark"): ("#26272a", "#cfcac4"),
}

Rgb = tuple[float, float, float]


@dataclass(frozen=True)
class Ink:
    """A background and what is written on it, "#rrggbb" both."""

    background: str
    text: str


def step(level: float) -> int:
    """Of a place on the scale in [0, 1]; what is outside takes the nearer end."""
    return round(min(max(level, 0.0), 1.0) * STEPS)


def ramp(name: str, scheme: str) -> list[Ink]:
    """All colours of a ramp on the ``light`` or ``dark`` page, palest (or darkest) first; evenly spaced in OKLab."""
    low, high = (_oklab(_rgb(color)) for color in _RAMPS[name, scheme])
    colors = [
        _hex(_from_oklab(tuple(a + (b - a) * number / STEPS for a, b in zip(low, high, strict=True))))  # type: ignore[arg-type]
        for number in range(STEPS + 1)
    ]
    return [Ink(color, max(_INKS, key=lambda ink: contrast(ink, color))) for color in colors]


def classes(scheme: str) -> dict[str, Ink]:
    """By class of the style sheet: h0, h1 ... v0, v1 ... for each step of each ramp."""
    return {f"{name}{number}": one for name in (OF_PEAK, OF_VALUES) for number, one in enumerate(ramp(name, scheme))}


def style_sheet() -> str:
    """The classes of both schemes."""
    light, dark = (
        "".join(f".{name}{{background:{one.background};color:{one.text}}}" for name, one in classes(scheme).items())
        for scheme in ("light", "dark")
    )
    return f"{light}@media (prefers-color-scheme: dark){{@media screen{{{dark}}}}}"


def contrast(a: str, b: str) -> float:
    """Of two colours, 1 to 21 (WCAG 2.2, contrast ratio)."""
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    red, green, blue = _rgb(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(color: str) -> Rgb:
    """Linear light of "#rrggbb"."""
    shares = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return red, green, blue


def _hex(color: Rgb) -> str:
    shares = (12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in (max(c, 0.0) for c in color))
    return "#" + "".join(f"{round(min(share, 1.0) * 255):02x}" for share in shares)


def _oklab(color: Rgb) -> Rgb:
    """Björn Ottosson, "A perceptual color space for image processing" (2020)."""
    red, green, blue = color
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def _from_oklab(color: Rgb) -> Rgb:
    lightness, a, b = color
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )

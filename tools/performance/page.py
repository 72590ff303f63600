"""The page docs/performance.md."""

from __future__ import annotations

from collections.abc import Sequence

from tools.performance.figures import Compared, Figures

_HEAD = """# Performance

After this page you can judge linkscope's results against other tools', and compare them on your node.

A ratio is linkscope's result over the peer's: the median over the cases (lowest-highest). Both tools took turns on one
virtual machine. Each date links to the results. **NCCL ran without NVLink SHARP (`NCCL_NVLS_ENABLE=0`).**
"""

_MISSED = """## Targets not met

[comparisons.csv](../bench/results/comparisons.csv) has every comparison with its target and node.
"""

_AGAIN = """## Measure again

[bench](../bench/README.md) says what each script needs. Build the peer, then run its line:

```
.venv/bin/python bench/nvbandwidth.py --nvbandwidth PATH
NCCL_NVLS_ENABLE=0 .venv/bin/python bench/nccl_tests.py --nccl-tests FOLDER
.venv/bin/python bench/host.py --multichase PATH --memcpy-loop PATH --pingpong PATH
.venv/bin/python bench/osu.py --osu FOLDER --mpiexec PATH
NCCL_NVLS_ENABLE=0 linkscope run collectives -k graph-recorded
linkscope calibrate default --turns 10
```

[Results](../bench/README.md#results) describes the CSVs. `python tools/performance` makes this page from them.
"""


def page(figures: Figures) -> str:
    """Return the whole page."""
    unknown = "\n".join(["## Not known", "", *(f"- {one}" for one in figures.raw["unknown"]), ""])
    return "\n".join([_HEAD, _ten(figures), _MISSED, _missed(figures), unknown, _AGAIN])


def ratio_lines(figures: Figures) -> str:
    """Return README.md's ten lines: the ratio (without a median its range), what is measured, and the peer.

    The tool's version stands in docs/performance.md.
    """
    named = [one for one in figures.compared if one.short]
    lines = [(_figure(one).partition(" ")[0], one.short, _tool(one)) for one in named]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(f"{'  '.join(map(str.ljust, line, widths)).rstrip()}\n" for line in lines)


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, with a bar in a cell written so that the bar stays in it."""
    rows = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in line] for line in lines)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _ten(figures: Figures) -> str:
    head = ("result", "peer", "ratio", "target", "met", "node", "date")
    lines = [
        (one.short, one.peer, _figure(one), _target(one), _met(one), figures.origins[one.run].kind, _date(figures, one))
        for one in figures.compared
        if one.short
    ]
    return table(head, lines)


def _missed(figures: Figures) -> str:
    """Return the targets that are not met, but for those of the ten."""
    head = ("result", "is", "target", "met", "date", "reason")
    lines = [
        (_named(one), _figure(one), _target(one), _met(one), _date(figures, one), one.reason)
        for one in figures.compared
        if one.is_missed and not one.short
    ]
    return table(head, lines)


def _named(one: Compared) -> str:
    tool = _tool(one)
    return f"{tool}: {one.what}" if tool else one.what


def _tool(one: Compared) -> str:
    """Return the peer without its version."""
    return one.peer.partition(" ")[0] if one.peer[-1:].isdigit() else one.peer


def _target(one: Compared) -> str:
    signs = {"at_least": "≥{:g}", "at_most": "≤{:g}", "within": "±{:.0f}%"}
    said = [signs[word].format(limit * 100 if word == "within" else limit) for word, limit in one.target.items()]
    return f"{' '.join(said)} {one.unit}".strip().replace(" %", "%") if said else ""


def _date(figures: Figures, one: Compared) -> str:
    return f"[{figures.origins[one.run].date}](../bench/results/{one.run}.csv)"


def _met(one: Compared) -> str:
    if one.met is None:
        return ""
    count, of = one.met
    return f"{count}/{of}" if of > 1 else ("no" if one.is_missed else "yes")


def _figure(one: Compared) -> str:
    if one.unit:
        ends = dict.fromkeys(_digits(end(one.figures)) for end in (min, max))
        return f"{'-'.join(ends)} {one.unit}".replace(" %", "%")
    spread = f"{one.low:.3f}-{one.high:.3f}"
    if one.median is None:
        return spread
    return f"{one.median:.3f}" if one.low == one.high else f"{one.median:.3f} ({spread})"


def _digits(figure: float) -> str:
    """Return three digits, or all before the point."""
    return f"{figure:.2f}" if figure < 10 else f"{figure:.1f}" if figure < 1000 else f"{figure:.0f}"

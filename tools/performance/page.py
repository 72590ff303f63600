"""The page docs/performance.md."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tools.performance.figures import Compared, Figures

from linkscope.analysis.matrices import Matrix, matrices
from linkscope.machine.paths import Paths
from linkscope.plan.sizes import parse_size

KINDS = ("all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all")
SMALL = ("1K", "4K", "16K", "64K", "256K", "1M")
LARGE = ("1M", "4M", "16M", "64M", "256M", "1G")

_HEAD = """# Performance

linkscope's figures beside those of established tools on the same machine, with the target of each, and what is still
open. Written by `python tools/performance` out of the run files in `tests/fixtures/runs` and
`tools/performance/figures.yaml`; the test run fails where the page is out of date. [bench](../bench/README.md) has the
scripts that compare.

**Every NCCL figure on this page was taken with NVLink SHARP off (`NCCL_NVLS_ENABLE=0`)**, for linkscope and nccl-tests
alike. A ratio of a direct collective to NCCL says nothing about an NCCL that uses NVLS.
"""

_COMPARED = """## Beside other tools

The ratio is linkscope's figure over the peer's: the median over the cases, and from lowest to highest of all cells.
"Met" counts the cases that reach the target. Ratios of times (all latencies, all small messages) are better below 1,
ratios of bandwidths above 1. Rows without a peer have a time instead of a ratio.
"""

_DIRECT = """## Direct collectives beside NCCL

Four H200, float32, out of place, device clock; runs `packets` and `large` below. Each cell is the direct figure and, in
brackets, its ratio to NCCL's.
"""

_NODE = """## What a node with four H200 delivers

Run `default`: lowest to highest cell, and the percentage of the path's peak.
"""


def page(figures: Figures) -> str:
    """The whole page."""
    parts = [_HEAD, _COMPARED, _compared(figures), _DIRECT, *_direct(figures), _node(figures), _alone(figures)]
    return "\n".join([*parts, _runs(figures), _open(figures)])


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table, with a bar in a cell written so that it stays in it."""
    rows = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in line] for line in lines)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _compared(figures: Figures) -> str:
    runs = figures.runs
    return table(
        ("peer", "what", "ratio or figure", "target", "met", "node, run", "note"),
        [
            (one.peer, one.what, _figure(one), _target(one), _met(one), f"{runs[one.run]['node']}, {one.run}", one.note)
            for one in figures.compared
        ],
    )


def _figure(one: Compared) -> str:
    if one.unit:
        return f"{_digits(one.figures[0])} {one.unit}"
    spread = f"{one.low:.3f} to {one.high:.3f}"
    if not one.figures:
        return spread
    middle = f"{statistics.median(one.figures):.3f}"
    return middle if one.low == one.high else f"{middle} ({spread})"


def _target(one: Compared) -> str:
    words = {"at_least": "at least {:g}", "at_most": "at most {:g}", "within": "within {:.0f} %"}
    said = [words[word].format(limit * 100 if word == "within" else limit) for word, limit in one.target.items()]
    return f"{' '.join(said)} {one.unit}".strip() if said else "none"


def _met(one: Compared) -> str:
    if one.met is None:
        return ""
    count, of = one.met
    return ("yes" if count == of else "**no**") + (f", {count} of {of}" if of > 1 else "")


def _direct(figures: Figures) -> list[str]:
    """Times of small calls from graphs of 20 and of one, bus bandwidths of large ones."""
    lists = [
        ("graph of 20 calls", "packets", ("direct-graph-recorded graph", "xccl-graph-recorded graph"), SMALL),
        ("graph of one call", "packets", ("direct graph", "xccl-graph graph"), SMALL),
        ("graph of 20 calls", "large", ("direct graph", "xccl graph"), LARGE),
    ]
    return [_collectives(figures, *one) for one in lists]


def _collectives(figures: Figures, form: str, run: str, rows: tuple[str, str], sizes: Sequence[str]) -> str:
    recorded = figures.recorded[run]
    unit, found = ("GB/s of bus bandwidth", recorded.bus) if run == "large" else ("us", recorded.seconds)
    lines = []
    for size in sizes:
        pairs = [[found[row, kind, parse_size(size)] for row in rows] for kind in KINDS]
        shown = [f"{_digits(ours * (1e6 if unit == 'us' else 1))} ({ours / theirs:.3f})" for ours, theirs in pairs]
        lines.append((f"{size[:-1]} {size[-1]}iB", *shown))
    return table((f"{form}, {unit}", *KINDS), lines)


def _node(figures: Figures) -> str:
    """The default suite's matrices, one line for each title, a column for each method."""
    run = figures.files["default"]
    found: dict[str, dict[str, str]] = {}
    for matrix in matrices(run.rows, Paths(run.node)):
        title, _, method = matrix.heading.title.rpartition(", ")
        if method not in ("copy-engine", "kernel-copy"):
            title, method = matrix.heading.title, "other"
        found.setdefault(title, {})[method] = _range(matrix)
    columns = ("copy-engine", "kernel-copy", "other")
    lines = [(title, *(cells.get(column, "") for column in columns)) for title, cells in found.items()]
    return f"{_NODE}\n{table(('what', *columns), lines)}"


def _range(matrix: Matrix) -> str:
    cells = [(cell.headline, cell.share) for cell in matrix.flat if cell.headline is not None]
    medians = sorted(one.value.median for one, _ in cells)
    ends = list(dict.fromkeys(map(_digits, (medians[0], medians[-1]))))
    shares = [share for _, share in cells if share is not None]
    percent = f", {statistics.median(shares) * 100:.0f} %" if shares else ""
    return f"{' to '.join(ends)} {cells[0][0].unit}{percent}"


def _alone(figures: Figures) -> str:
    lines = [(one["what"], one["figure"], one["run"]) for one in figures.raw["alone"]]
    return f"## Other figures\n\n{table(('what', 'figure', 'run'), lines)}"


def _runs(figures: Figures) -> str:
    head = (
        "## Nodes and runs\n\nAll nodes are virtual machines on shared hosts. Letters tell nodes of one kind apart.\n"
    )
    nodes = [f"- **{name}**: {what}" for name, what in figures.raw["nodes"].items()]
    lines = [
        (
            name,
            run["node"],
            str(run["date"]),
            f"`{run['command']}`",
            f"`{run['file']}`" if "file" in run else "",
            libraries,
        )
        for name, run in figures.runs.items()
        for libraries in (run.get("with", ""),)
    ]
    runs = table(("run", "node", "date", "command", "run file", "NCCL, MPI"), lines)
    return "\n".join([head, *nodes, "", runs])


def _open(figures: Figures) -> str:
    return "\n".join(["## Open questions", "", *(f"- {one}" for one in figures.raw["open"]), ""])


def _digits(figure: float) -> str:
    """Three digits, or all before the point."""
    return f"{figure:.2f}" if figure < 10 else f"{figure:.1f}" if figure < 1000 else f"{figure:.0f}"

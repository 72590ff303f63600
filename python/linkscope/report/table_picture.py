"""A table of a run as a picture of its own: what the page draws of a matrix or of curves, with title and legend."""

from __future__ import annotations

from html import escape

from linkscope.analysis.curves import CurveSet
from linkscope.analysis.explain import explain
from linkscope.analysis.headlines import between_gpus
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.narrowed import titled
from linkscope.analysis.overview import overview
from linkscope.analysis.summary import Table
from linkscope.displayed import Picture
from linkscope.errors import LinkscopeError
from linkscope.report import wording
from linkscope.report.curve_sheet import curve_sheet, light_colours
from linkscope.report.curve_svg import HEIGHT, WIDTH, clocks, mark, styles
from linkscope.report.heat_svg import heat_svg
from linkscope.report.html_limits import fitted
from linkscope.report.html_records import Records
from linkscope.report.html_sections import Section, sections_of
from linkscope.report.picture_frame import LETTER, LINE, framed
from linkscope.report.provenance import precision
from linkscope.report.series_band import Band
from linkscope.report.ways_picture import ways_picture
from linkscope.results.run_file import RunFile

MOST_CELLS = 1000


def table_picture(run: RunFile, word: str | None) -> Picture:
    """The first matrix or curves of ``run`` with several figures, of those whose title has ``word``; without one the
    matrix that `show` begins with, where it has one, and of a run of an application alone the bars of its ways.

    Raises LinkscopeError where there is none.
    """
    found = overview(run.rows, run.node, precision(run.header))
    first = between_gpus(found.tables, found.summary.tables) if word is None else None
    asked = [*([first] if first else []), *(found.tables if word is None else titled(found.tables, word))]
    drawable = [one for one in asked if _drawable(one)]
    table = max((one for one in drawable if _alike(one, drawable[0])), key=_size, default=None)
    if table is None and word is None and found.workloads:
        return ways_picture(found.workloads[0])
    if table is None:
        of_word = "" if word is None else f" with {word!r} in its title"
        raise LinkscopeError(
            f"{run.path} has no matrix or curve{of_word} with two figures or more to draw: figures() has what it holds"
        )
    chosen = fitted([table], MOST_CELLS)
    records = Records(run.rows, [one.table for one in chosen], explain(run).accounts)
    return _framed(run, sections_of(chosen, records)[0])


def _drawable(table: Table) -> bool:
    figures = [cell for cell in table.flat if cell.headline is not None]
    return isinstance(table, Matrix | CurveSet) and len(figures) > 1


def _alike(one: Table, other: Table) -> bool:
    """Whether the two differ in size alone."""
    mine, its = one.heading, other.heading
    return (mine.suite, mine.name, mine.methods, mine.figure, type(one)) == (
        *(its.suite, its.name, its.methods, its.figure),
        type(other),
    )


def _size(table: Table) -> int:
    return table.heading.bytes or 0


def _framed(run: RunFile, section: Section) -> Picture:
    """Under the title what a reader must know of the table."""
    heading = section.table.heading
    body, width, height = heat_svg(section) if isinstance(section.table, Matrix) else _curves(section)
    where = run.node.name if run.node.modelled else f"{run.node.name} on {run.header.get('host', '?')}"
    facts = " · ".join([where, *wording.facts(heading), *filter(None, [section.left_out])])
    mark = "" if isinstance(section.table, CurveSet) else wording.mark(heading)  # curves bear their own
    return framed(heading.title, mark, facts, body, width, height)


def _curves(section: Section) -> tuple[str, float, float]:
    """(Elements, width, height): the page's own picture above a legend in columns."""
    table = section.table
    assert isinstance(table, CurveSet)
    drawn = str(section.svg).replace("<svg ", f'<svg width="{WIDTH}" height="{HEIGHT}" ', 1)
    colours = light_colours()
    named = [
        (name, style, curve)
        for name, style, curve in zip(table.names, styles(table), table.curves, strict=True)
        if name and any(point.headline is not None for point in curve.points)
    ]
    step = 52 + LETTER * 1.1 * max((len(name) for name, _, _ in named), default=0)
    columns = max(1, min(len(named), int(WIDTH / step)))
    parts, top = [], float(HEIGHT + 18)
    for number, (name, style, curve) in enumerate(named):
        x, y = 8 + number % columns * step, top + number // columns * (LINE + 3)
        dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
        parts.append(
            f'<g class="series c{style.colour}"><polyline points="{x:.1f},{y - 4:.1f} {x + 28:.1f},{y - 4:.1f}"{dash}/>'
            f'{mark(curve.points[0].regime, x + 14, y - 4)}</g><text x="{x + 36:.1f}" y="{y:.1f}" font-size="13" '
            f'fill="{colours["ink"]}">{escape(name)}</text>'
        )
    top += -(-len(named) // columns) * (LINE + 3)
    if section.band is not None:
        parts.append(_of_all(section.band, top, colours))
        top += LINE + 3
    spread = "line: median, band: its 95 % interval, pale: 5th to 95th percentile of the samples"
    meaning = "line: the model's figure" if section.exact else spread
    meaning += ", dashed: peak" if any(curve.peak_gbps for curve in table.curves) else ""
    told = "; ".join(filter(None, [clocks(table), meaning]))
    parts.append(f'<text x="8" y="{top + 2:.1f}" font-size="12" fill="{colours["dim"]}">{escape(told)}</text>')
    return f"<style>{curve_sheet()}</style>{drawn}{''.join(parts)}", float(WIDTH), top + 8


def _of_all(band: Band, top: float, colours: dict[str, str]) -> str:
    """What stands for all series of a picture that has but some of them."""
    y = top - 4
    samples = (
        (8, f'<line class="middle" x1="8" x2="36" y1="{y:.1f}" y2="{y:.1f}"/>', f"median of {band.count} series"),
        (268, f'<path class="envelope" d="M268 {y - 5:.1f}h28v10h-28Z"/>', "lowest to highest of them"),
    )
    return "".join(
        f'{drawn}<text x="{x + 36}" y="{top:.1f}" font-size="13" fill="{colours["ink"]}">{escape(text)}</text>'
        for x, drawn, text in samples
    )

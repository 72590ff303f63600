"""The ways of a workload as a picture of its own: the page's bars with their legend."""

from __future__ import annotations

import re
from html import escape

from linkscope.analysis.workloads import WorkloadTable
from linkscope.displayed import Picture
from linkscope.errors import LinkscopeError
from linkscope.report import wording, workload_text
from linkscope.report.curve_sheet import light_colours
from linkscope.report.curve_svg import COLOURS
from linkscope.report.picture_frame import LETTER, framed
from linkscope.report.workload_svg import parts_shown, workload_svg

_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def ways_picture(one: WorkloadTable) -> Picture:
    """Raises LinkscopeError where no way has a time."""
    drawn = workload_svg(one)
    size = _SIZE.search(drawn)
    if size is None:
        raise LinkscopeError(f"{workload_text.name(one)}: no way has a time to draw")
    width, height = float(size[1]), float(size[2])
    colours = light_colours()
    sheet = f".ways text{{fill:{colours['ink']};font-size:13px}}.ways rect{{fill:{colours['dim']}}}" + "".join(
        f".ways .c{number}{{fill:{colours[f's{number}']}}}" for number in range(COLOURS)
    )
    legend, x = [], 8.0
    for number, part in parts_shown(one):
        legend.append(
            f'<rect x="{x:.1f}" y="{height + 10:.1f}" width="20" height="10" fill="{colours[f"s{number}"]}"/>'
            f'<text x="{x + 26:.1f}" y="{height + 19:.1f}" font-size="12" fill="{colours["ink"]}">{escape(part)}</text>'
        )
        x += 44 + LETTER * len(part)
    placed = drawn.replace("<svg ", f'<svg width="{width:g}" height="{height:g}" ', 1)
    mark = wording.MODELLED if one.modelled else ""
    facts = f"{workload_text.verdict(one)} {workload_text.facts(one)}"
    return framed(
        workload_text.name(one), mark, facts, f"<style>{sheet}</style>{placed}{''.join(legend)}", width, height + 26
    )

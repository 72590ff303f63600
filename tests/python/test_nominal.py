"""Nominal links: a link that is down lowers no peak, and parts no results that may be compared."""

from __future__ import annotations

import copy
from dataclasses import replace

import recorded
from planted_faults import lanes_down

from linkscope.figures.run import Run
from linkscope.machine.nominal import LinksDown, links_down, nominal
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile


def with_link_down() -> RunFile:
    """Return the healthy run as the engine would record it with 17 of 18 links of gpu:1."""
    run = lanes_down("gpu:1")(recorded.healthy())
    rows = []
    for row in run.rows:
        raw = copy.deepcopy(row.raw)
        labels = raw["case"]["labels"]
        if labels.get("tier") == "nvlink-18" and "gpu:1" in str(raw["case"]["flows"]):
            labels["tier"] = "nvlink-17"
        rows.append(Row.from_json(raw))
    return replace(run, rows=tuple(rows))


def test_links_are_down_where_others_have_more() -> None:
    assert links_down(recorded.healthy().node) == ()
    (down,) = links_down(with_link_down().node)
    assert down == LinksDown("gpu:1", "nvlink", 1, 18)


def test_a_node_is_whole_again() -> None:
    assert nominal(with_link_down().node).links == recorded.healthy().node.links


def test_a_link_that_is_down_changes_no_peak_and_no_likeness() -> None:
    down, whole = Run(with_link_down()).results, Run(recorded.healthy()).results
    for column in ("likeness", "peak_gbps", "tier"):
        assert down[column].equals(whole[column], null_equal=True)

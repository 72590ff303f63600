"""Matrices, curves, lists and the summary: which row stands where, and that none is lost."""

from __future__ import annotations

import json

import modelled_run as made
import pytest

from linkscope.analysis.curves import curves
from linkscope.analysis.lists import listings
from linkscope.analysis.matrices import matrices
from linkscope.analysis.overview import overview
from linkscope.machine.paths import Paths
from linkscope.results.row import Row

NODE = made.node(4)
PATHS = Paths(NODE)


def labelled(source: str, destination: str, row: str, column: str, **more: object) -> Row:
    flows = [made.flow(source, destination)]
    labels = {"show": "matrix", "row": row, "column": column, "title": "pairs", **more}
    return made.ok(made.case("pairs", flows, labels), [[0.01] * 8])


def test_cells_stand_at_their_labels() -> None:
    (matrix,) = matrices(made.pair_matrix(4, "write", 390.0), PATHS)
    assert matrix.row_ids == matrix.column_ids == ("gpu:0", "gpu:1", "gpu:2", "gpu:3")
    slow = matrix.cells[2][0]
    assert slow is not None
    assert slow.headline is not None
    assert slow.headline.value.median == pytest.approx(0.8 * 390, rel=0.01)
    assert all(matrix.cells[i][i] is None for i in range(4))


def test_ids_sort_by_number_not_by_text() -> None:
    rows = [labelled(f"gpu:{i}", "gpu:1", f"gpu:{i}", "gpu:1") for i in (10, 2, 0)]
    (matrix,) = matrices(rows, PATHS)
    assert matrix.row_ids == ("gpu:0", "gpu:2", "gpu:10")


@pytest.mark.parametrize(
    ("swapped", "arrow", "words"),
    [
        (False, "->", "row: source, column: destination"),
        (True, "<-", "row: destination, column: source"),
    ],
)
def test_orientation_follows_the_labels(swapped: bool, arrow: str, words: str) -> None:
    ends = [("gpu:0", "gpu:1"), ("gpu:1", "gpu:0"), ("gpu:0", "gpu:2")]
    rows = [labelled(a, b, *((b, a) if swapped else (a, b))) for a, b in ends]
    (matrix,) = matrices(rows, PATHS)
    assert (matrix.arrow, matrix.orientation) == (arrow, words)


def test_opposite_traffic_is_said() -> None:
    (summed,) = matrices(made.pair_matrix(4, "both", 390.0, figure="sum"), PATHS)
    flows = [made.flow("gpu:0", "gpu:1"), made.flow("gpu:1", "gpu:0", role="background")]
    labels = {"show": "matrix", "row": "gpu:0", "column": "gpu:1", "figure": "first"}
    (against,) = matrices([made.ok(made.case("against", flows, labels), [[0.01] * 8] * 2)], PATHS)
    assert summed.arrow == against.arrow == "<->"
    assert summed.orientation.endswith("both ways at once, both counted")
    assert against.orientation.endswith("at the same time, not counted")


def test_a_read_names_the_reader_and_where_it_reads() -> None:
    chase = {"method": "pointer-chase", "executor": "gpu:0", "bytes": 64}
    ends = [("gpu:0", "gpu:1"), ("gpu:1", "gpu:0"), ("gpu:0", "gpu:0")]
    rows = [
        made.ok(
            made.case(
                "chase",
                [{**chase, "executor": reader, "source": {"device": memory, "memory": "device"}}],
                {"show": "matrix", "row": reader, "column": memory},
            ),
            [[1e-6] * 8],
            latency=True,
        )
        for reader, memory in ends
    ]
    (matrix,) = matrices(rows, PATHS)
    assert (matrix.arrow, matrix.orientation) == ("", "row: executor, column: source")


def test_a_table_with_one_line_names_its_column_only() -> None:
    flows = [made.flow("gpu:0", "gpu:1"), made.flow("gpu:0", "gpu:2")]
    row = made.ok(made.case("one-to-all", flows, {"show": "matrix", "row": "", "column": "gpu:0"}), [[0.01] * 8] * 2)
    (matrix,) = matrices([row], PATHS)
    assert matrix.orientation == "column: source"


def test_sizes_and_titles_make_separate_tables() -> None:
    rows = made.pair_matrix(3, "a", 1.0, 1024) + made.pair_matrix(3, "a", 1.0, 2048) + made.pair_matrix(3, "b", 1.0)
    assert [(m.heading.title, m.heading.bytes) for m in matrices(rows, PATHS)] == [
        ("a", 1024),
        ("a", 2048),
        ("b", 512 * made.MIB),
    ]


def test_skips_and_failures_keep_their_place_and_reason() -> None:
    (matrix,) = matrices(made.pair_matrix(4, "write", 390.0), PATHS)
    skipped, failed = matrix.cells[3][2], matrix.cells[3][1]
    assert skipped is not None
    assert failed is not None
    assert (skipped.status, skipped.headline) == ("skipped", None)
    assert "no peer access" in (skipped.reason or "")
    assert failed.status == "failed"


def test_curves_ascend_and_share_one_peak() -> None:
    rows = made.size_curves("sweep", [("a", "gpu:0", "gpu:1", 390.0), ("b", "numa:0", "gpu:0", 55.0)], sizes=6)
    (found,) = curves(reversed(rows), PATHS)
    assert found.heading.x_name == "bytes"
    assert [curve.peak_gbps for curve in found.curves] == [made.PCIE_GBPS, made.LINK_GBPS]
    for curve in found.curves:
        xs = [point.x for point in curve.points]
        assert xs == sorted(x for x in xs if x is not None)
    assert found.xs == tuple(float(1024 << i) for i in range(6))


def test_every_row_of_a_run_stands_in_exactly_one_table() -> None:
    rows = made.rows(4)
    found = overview(rows, NODE)
    assert sorted(entry.id for table in found.tables for entry in table.flat) == sorted(row.id for row in rows)
    assert [table.heading.title for table in found.tables] == list(dict.fromkeys(row.labels["title"] for row in rows))


def test_rows_without_a_show_label_are_listed() -> None:
    plan_case = made.case("plain", [made.flow("gpu:0", "gpu:0")], {})
    (listing,) = listings([made.ok(plan_case, [[0.01] * 8])], PATHS)
    assert listing.label(listing.cells[0]) == plan_case["id"]
    assert listing.heading.local


def test_the_summary_counts_groups_and_finds_the_extremes() -> None:
    rows = made.rows(4)
    summary = overview(rows, NODE, precision=0.01).summary
    assert (summary.rows, summary.ok) == (len(rows), len(rows) - 4)
    assert [(group.count, len(group.tables)) for group in summary.skipped] == [(2, 2)]
    assert "<pattern>" in summary.failed[0].reason
    pairs, latency = summary.tables[0], summary.tables[4]
    assert (pairs.worst.row, pairs.worst.column) == ("gpu:2", "gpu:0")
    assert pairs.worst.headline is not None
    assert pairs.min == pairs.worst.headline.value.median
    assert pairs.lowest_share == pairs.worst.share
    assert latency.best.row == latency.best.column  # the shortest time is the best
    assert latency.highest_share is None


def test_imprecise_rows_are_those_wider_than_asked() -> None:
    rows = made.rows(4)
    loose, tight = (overview(rows, NODE, precision).summary.imprecise for precision in (0.5, 1e-6))
    assert loose == ()
    assert len(tight) > 0
    assert all(entry.headline is not None and entry.headline.margin > 1e-6 for entry in tight)


def test_the_json_form_is_json_and_says_what_the_tables_say() -> None:
    found = overview(made.rows(4), NODE)
    data = found.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))
    matrix = data["tables"][0]
    assert matrix["kind"] == "matrix"
    assert matrix["cells"][0][0] is None
    value = matrix["cells"][0][1]
    assert value["share"] == pytest.approx(value["headline"]["value"]["median"] / value["peak"]["gbps"])
    assert matrix["cells"][3][2]["reason"].startswith("no peer access")
    assert {table["kind"] for table in data["tables"]} == {"matrix", "curve", "list"}
    assert data["summary"]["modelled"] is True


def test_what_all_series_have_in_common_is_said_once() -> None:
    def of(*names: str) -> tuple[str, tuple[str, ...]]:
        (found,) = curves(made.size_curves("s", [(name, "gpu:0", "gpu:1", 390.0) for name in names], sizes=2), PATHS)
        return found.place, found.names

    assert of("gpu:0 > gpu:1, push", "gpu:0 > gpu:1, pull, spread") == ("gpu:0 > gpu:1", ("push", "pull, spread"))
    assert of("gpu:0 > gpu:1, push") == ("", ("gpu:0 > gpu:1, push",))
    assert of("gpu:0 > gpu:1", "gpu:0 > gpu:1, pull") == ("", ("gpu:0 > gpu:1", "gpu:0 > gpu:1, pull"))
    assert of("push", "pull") == ("", ("push", "pull"))


def test_a_heading_names_many_kinds_of_memory_by_end() -> None:
    def copies(kinds: list[str]) -> tuple[str, ...]:
        rows = []
        for kind in kinds:
            flow = {**made.flow("numa:0", "gpu:0"), "source": {"device": "numa:0", "memory": kind}}
            case = {**made.case(kind, [flow], {"show": "list", "title": "t"}), "name": "copies"}
            rows.append(made.ok(case, [[0.01] * 8]))
        (found,) = listings(rows, PATHS)
        return found.heading.memories

    assert copies(["pinned", "huge"]) == ("pinned → device", "huge → device")
    assert copies(["pinned", "huge", "pageable", "managed"]) == ("pinned, huge, pageable, managed → device",)

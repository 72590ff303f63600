"""The terminal's tables: banner, orientation, figures with interval and share, reasons, width."""

from __future__ import annotations

import io
from dataclasses import replace

import modelled_run as made
import pytest
from rich.console import Console

from linkscope.report import wording
from linkscope.report.terminal import show
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile


def shown(run: RunFile, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    show(run, console)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


@pytest.fixture(scope="module")
def text() -> str:
    return shown(made.run(4))


def test_every_table_of_a_modelled_run_says_so(text: str) -> None:
    titles = {row.labels["title"] for row in made.rows(4)}
    marked = [line for line in text.splitlines() if wording.MODELLED in line]
    assert all(any(line.startswith(title) for line in marked) for title in titles)
    assert len(marked) == len(titles) + 2  # the page's banner and the summary


def test_a_measured_run_does_not_say_modelled() -> None:
    rows = [Row.from_json({**row.raw, "modelled": False}) for row in made.rows(4)]
    assert "MODELLED" not in shown(made.run(4, rows))


def test_cells_carry_interval_and_percent_of_peak(text: str) -> None:
    assert "±0.14 %" in text
    assert "87 %" in text
    assert "row -> column; row: source, column: destination" in text


def test_reasons_are_printed_once_below_their_table(text: str) -> None:
    assert text.count("a: failed: data differ at offset 4096: expected <pattern>, found poison") == 2
    assert text.count("b: skipped: no peer access from gpu:3 to gpu:2") == 2


def test_clock_and_bytes_are_stated_and_of_what_is_measured_the_precision(text: str) -> None:
    measured = shown(made.run(4, [Row.from_json({**row.raw, "modelled": False}) for row in made.rows(4)]))
    for words in ("clock: device", "cache: rotated", "payload, counted once", "read + write: twice that"):
        assert words in " ".join(text.split())
        assert words in " ".join(measured.split())
    assert "sought: the default ±1 %" in measured


def test_what_a_model_does_not_show_is_told(text: str) -> None:
    assert "its 95 % interval" not in text
    told = replace(made.node(2), notes=("a node", "kernels are assumed as quick as copies"))
    run = made.run(2)
    text = shown(replace(run, header={**run.header, "node": told.to_json()}))
    assert "- kernels are assumed as quick as copies" in text


def variants() -> RunFile:
    """A list with two axes, under two environments, beside another flow."""
    rows = []
    for name, settings in (("default", {}), ("spinning", {"LINKSCOPE_SYNC": "spin"})):
        for call in ("async", "sync"):
            flows = [made.flow("numa:0", "gpu:0"), made.flow("gpu:0", "gpu:0", method="stream", role="background")]
            labels = {"show": "list", "row": "", "column": "gpu:0", "variant": {"environment": name, "call": call}}
            case = {**made.case(f"{name}{call}", flows, {**labels, "title": "Calls"}), "name": "calls"}
            case |= {"environment": settings} if settings else {}
            rows.append(made.ok(case, [made.steady(0.01, 8)] * 2))
    return made.run(2, rows)


def test_a_list_has_a_column_for_each_axis() -> None:
    lines = shown(variants()).splitlines()
    heads = next(line.split() for line in lines if "environment" in line and "interval" in line)
    assert heads[:2] == ["environment", "call"]
    (line,) = [line.split() for line in lines if line.startswith("gpu:0  spinning") and "async" in line]
    assert line[:3] == ["gpu:0", "spinning", "async"]


@pytest.mark.parametrize(("width", "heads"), [(120, "min max n"), (62, "of peak")])
def test_a_list_too_wide_leaves_its_spread_out(width: int, heads: str) -> None:
    lines = shown(variants(), width).splitlines()
    head = next(line for line in lines if "interval" in line and "call" in line)
    assert " ".join(head.split()).endswith(heads)


def test_environment_and_background_are_stated() -> None:
    text = " ".join(shown(variants()).split())
    assert "in the background: stream" in text
    assert "environment: unchanged or LINKSCOPE_SYNC=spin" in text


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("gpus", [4, 8, 16])
def test_nothing_is_wider_than_the_terminal_and_no_label_is_lost(width: int, gpus: int) -> None:
    lines = shown(made.run(gpus, made.pair_matrix(gpus, "write", 390.0)), width).splitlines()
    assert max(len(line) for line in lines) <= width
    for i in range(gpus):
        assert any(line.startswith(f"gpu:{i} ") for line in lines)
        assert any(f" gpu:{i}" in line and line[:5] != "gpu:0" for line in lines)


def test_an_interrupted_run_says_what_is_missing() -> None:
    run = made.run(4)
    cut = replace(run, rows=run.rows[:10], notices=("the last line is cut short",))
    text = " ".join(shown(cut).split())
    assert f"{len(run.rows) - 10} of {len(run.rows)} planned cases have no figure" in text
    assert "--resume" in text
    assert "the last line is cut short" in text


def test_a_recorded_state_is_examined() -> None:
    engine = {"backend": "cuda", "versions": {"driver": "580"}}
    found = "CPU frequency governor is powersave"
    assert found in shown(made.run(4, state={"governors": ["powersave"]}, engine=engine))
    assert found not in shown(made.run(4, state={"governors": ["performance"]}, engine=engine))


def test_an_empty_run_is_shown_without_complaint() -> None:
    assert "0 cases" in shown(made.run(4, []))


@pytest.mark.parametrize(
    ("count", "text"),
    [(96, "96 B"), (1536, "1.5 KiB"), (512 << 20, "512 MiB"), (1 << 30, "1 GiB"), (2 << 40, "2 TiB")],
)
def test_sizes_are_binary(count: int, text: str) -> None:
    assert wording.size(count) == text


@pytest.mark.parametrize(("share", "text"), [(0.8754, "88 %"), (0.052, "5.2 %"), (0.0001, "<0.1 %"), (0.0, "0.0 %")])
def test_small_shares_are_no_zero(share: float, text: str) -> None:
    assert wording.percent(share) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2082.4, "2082"),
        (393.94, "393.9"),
        (55.552, "55.55"),
        (1.5, "1.500"),
        (0.70215, "0.7022"),
        (0.0048312, "0.004831"),
        (0.0, "0.000"),
        (-12.341, "-12.34"),
    ],
)
def test_values_have_four_digits(number: float, text: str) -> None:
    assert wording.value(number) == text


def test_flows_that_did_not_run_together_are_owned_up_to() -> None:
    labels = {"show": "matrix", "row": "", "column": "gpu:0", "figure": "aggregate"}
    plan_case = made.case("One to all", [made.flow("gpu:0", "gpu:1"), made.flow("gpu:0", "gpu:2")], labels)
    times = [made.seconds(512 << 20, 200.0, "a"), made.seconds(512 << 20, 200.0, "b")]
    for overlap, said in ((0.31, True), (0.99, False)):
        aggregate = {"gbps": made.result(1, [1e-9 / 400] * 8)["gbps"], "overlap": overlap}
        row = made.ok(plan_case, times, aggregate=aggregate)
        assert ("ran together for 31 % of the time" in shown(made.run(4, [row]))) == said


def test_what_the_engine_noted_is_counted_and_the_other_tool_is_named() -> None:
    found = made.rows(4)
    lines = [row.raw for row in found]
    for number in range(2):
        lines[number]["flows"][0]["notes"] = [f"drift: the later half is {number}.5 % off the earlier half"]
        lines[number]["case"]["labels"]["peer"] = {"tool": "nvbandwidth", "case": "device_to_device_memcpy_write_ce"}
    text = " ".join(shown(made.run(4, [Row.from_json(line) for line in lines])).split())
    assert "2 noted: drift: the later half is 0.5 to 1.5 % off the earlier half" in text
    assert "nvbandwidth: device_to_device_memcpy_write_ce" in text


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_sweep_of_many_series_stays_short(width: int) -> None:
    series = [(f"gpu:{i} > gpu:9, copy-engine, push", "gpu:0", "gpu:1", 390.0) for i in range(12)]
    lines = shown(made.run(4, made.size_curves("Sweep", series)), width).splitlines()
    assert max(len(line) for line in lines) <= width
    assert sum(line.startswith("1 MiB ") for line in lines) <= 12 / ((width - 9) // 25)


def test_the_traffic_of_a_local_copy_stands_beside_its_payload() -> None:
    labels = {"show": "matrix", "row": "", "column": "gpu:0", "figure": "first"}
    row = made.ok(made.case("Local copy", [made.flow("gpu:0", "gpu:0")], labels), [[(512 << 20) / 2000e9] * 8])
    assert "read + write: 4000 GB/s" in shown(made.run(1, [row]))


def test_a_figure_that_no_link_can_have_delivered_is_no_percentage() -> None:
    labels = {"show": "matrix", "row": "numa:0", "column": "gpu:0", "figure": "first"}
    row = made.ok(made.case("Zero copy", [made.flow("numa:0", "gpu:0")], labels), [[(512 << 20) / 7300e9] * 8])
    lines = shown(made.run(1, [row])).splitlines()
    assert any("7300" in line and "> peak" in line for line in lines)
    assert sum("served by a cache, not by the link or memory" in line for line in lines) == 2, (
        "at its table, at the end"
    )
    assert not any("11" in line and "%" in line and "7300" in line for line in lines)


def test_fewer_than_six_samples_are_marked() -> None:
    labels = {"show": "matrix", "row": "gpu:0", "column": "gpu:1", "figure": "first"}
    for samples, said in ((5, True), (6, False)):
        times = made.seconds(512 << 20, 390.0, "few", n=samples)
        text = shown(made.run(2, [made.ok(made.case("Copy", [made.flow("gpu:0", "gpu:1")], labels), [times])]))
        assert ("1 of 1 *: the range of fewer than six samples" in text) == said
        assert (" %*" in text) == said


def test_an_interval_between_replicates_or_as_calibrated_is_no_range_of_samples() -> None:
    labels = {"show": "matrix", "row": "gpu:0", "column": "gpu:1", "figure": "first"}
    plan = made.case("Copy", [made.flow("gpu:0", "gpu:1")], labels)
    one, two = (made.ok(plan, [made.steady(t, 2)], replicate=n) for n, t in enumerate((1e-3, 1.001e-3)))
    assert "*:" in shown(made.run(2, [one]))
    assert "*:" not in shown(made.run(2, [folded([one, two])]))
    assert "*:" not in shown(made.run(2, [folded([one], noise=0.02)]))


def in_rounds(*times: float, least: int = 3) -> RunFile:
    """A run of two cases, the first measured as often as there are times (seconds), the second once."""
    labels = {"show": "matrix", "row": "gpu:0", "column": "gpu:1", "figure": "first"}
    cases = [made.case(f"Copy {name}", [made.flow("gpu:0", "gpu:1")], labels) for name in ("one", "two")]
    rows = [folded([made.ok(cases[0], [made.steady(t, 8)], replicate=n) for n, t in enumerate(times)])]
    rows.append(made.ok(cases[1], [made.steady(times[0], 8)], replicate=0))
    run = made.run(2, rows)
    return replace(run, header={**run.header, "plan": {**run.header["plan"], "rounds": {"least": least, "most": 6}}})


def test_cells_of_one_replicate_are_marked_and_the_header_says_how_many() -> None:
    run = in_rounds(1e-3, 1.001e-3, 1.002e-3)
    rows = tuple(replace(row, modelled=False) for row in run.rows)
    lines = shown(replace(run, rows=rows)).splitlines()
    assert sum("†" in line and line.startswith("gpu:0") for line in lines) == 1
    assert any("1 of 1 †: one replicate" in line for line in lines)
    (said,) = (line for line in lines if line.startswith("precision"))
    assert "within this run only, of 1 replicate (1 case)" in said
    assert "of 3 replicates (1 case)" in "".join(lines)


def test_a_run_that_was_interrupted_in_a_later_round_says_so() -> None:
    text = " ".join(shown(in_rounds(1e-3, 1.001e-3)).split())
    assert "interrupted in round 2: of 2 cases 1 with 1 of 3 replicates, 1 with 2 of 3 replicates" in text
    assert "--resume" in text
    assert "interrupted" not in shown(in_rounds(1e-3, 1.001e-3, least=1))


def test_an_interval_that_says_nothing_is_unknown() -> None:
    text = shown(in_rounds(1e-3, 9e-3))
    assert "1 of 1 unknown: " in text
    assert "–" not in next(line for line in text.splitlines() if line.startswith("gpu:0"))


@pytest.mark.parametrize(
    ("x", "name", "text"),
    [(1048576, "locality", "1 MiB"), (2097152, "stride", "2097152"), (4096, "bytes", "4 KiB"), (1.5, "load", "1.5")],
)
def test_places_on_an_axis_are_sizes_or_whole_numbers(x: float, name: str, text: str) -> None:
    assert wording.x_value(x, name) == text


def test_a_table_with_nothing_to_show_is_its_reason() -> None:
    cases = [
        {**made.case(f"c{i}", [made.flow("gpu:0", "gpu:1")], {"show": "list", "title": "Grained"}), "name": "grained"}
        for i in range(3)
    ]
    text = shown(made.run(2, [made.not_ok(case, "skipped", "NVIDIA's has no grain") for case in cases]))
    assert text.count("all 3 skipped: NVIDIA's has no grain") == 1
    assert "clock: device" not in text
    failed = shown(made.run(2, [made.not_ok(case, "failed", "lost") for case in cases]))
    assert "all 3" not in failed
    assert failed.count("FAILED a") == 3


def test_a_list_of_times_has_no_column_for_peaks() -> None:
    labels = {"show": "list", "title": "Waits", "figure": "latency"}
    text = shown(made.run(2, [made.ok(made.case("a", [made.flow("gpu:0", "gpu:1")], labels), [made.steady(1e-6, 8)])]))
    (head,) = [line for line in text.splitlines() if "interval" in line and "min" in line]
    assert head.split() == ["ns", "interval", "min", "max", "n"]


def test_figures_of_a_model_that_are_the_same_every_time_have_no_interval() -> None:
    labels = {"show": "matrix", "row": "gpu:0", "column": "gpu:1", "figure": "first"}
    plan = made.case("Copy", [made.flow("gpu:0", "gpu:1")], labels)
    text = shown(made.run(2, [made.ok(plan, [[1e-3] * 8])]))
    assert "±" not in text
    assert "95 %" not in text
    assert any(line.split()[:2] == ["gpu:0", "536.9"] for line in text.splitlines())
    listed = {**plan, "labels": {**labels, "show": "list", "row": ""}}
    assert "interval" not in shown(made.run(2, [made.ok(listed, [[1e-3] * 8])]))


def test_a_model_tells_at_the_end_where_it_differs_from_the_node() -> None:
    node = replace(made.node(2), notes=("Title", "assumed: a latency", "Copies are 6 % too fast."))
    run = replace(made.run(2), header={**made.header(node), "plan": made.run(2).header["plan"]})
    *_, differs, assumed = shown(run).splitlines()
    assert differs == "- Copies are 6 % too fast."
    assert assumed.startswith("Assumptions: 1;")
    assert "Copies are" not in shown(replace(run, header={**run.header, "node": {**node.to_json(), "modelled": False}}))

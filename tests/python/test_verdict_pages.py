"""docs/reading-results.md and docs/verdicts.md: short, with the screens' words and the code's numbers."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from msgspec.structs import fields

from linkscope.answers import checked_results, compare, problems
from linkscope.figures.columns import ABOVE_PEAK
from linkscope.launch.run import _LOOK_S
from linkscope.messages.names import FOLDER, named
from linkscope.plan.budget import DEFAULT_POINT_BUDGET_S, DEFAULT_ROUNDS
from linkscope.results import study, usual_noise
from linkscope.results.calibration import FEWEST_KEPT
from linkscope.results.noise_class import NoiseClass
from linkscope.statistics import best, interval, modes, paired

ROOT = Path(__file__).parents[2]
READING = (ROOT / "docs" / "reading-results.md").read_text()
VERDICTS = (ROOT / "docs" / "verdicts.md").read_text()
SAID = " ".join(VERDICTS.split())
SCREEN = (ROOT / "tests" / "snapshots" / "show-healthy-full.txt").read_text()
_DEFAULTS = {field.name: field.default for one in (study.Claim, study.Crossing) for field in fields(one)}
_BY_HOST = {NoiseClass.WAITED, NoiseClass.PAGEABLE, NoiseClass.CPU, NoiseClass.PROCESSES}
_WAITED = {
    "processes": (usual_noise._WAIT_S, usual_noise._WAIT_SHARE),
    "runs": (usual_noise._WAIT_RUNS_S, usual_noise._WAIT_RUNS_SHARE),
}


def test_the_pages_are_short() -> None:
    assert len(READING.split()) <= 1200
    assert len(VERDICTS.split()) <= 1500


def test_its_screen_is_what_show_prints() -> None:
    (screen,) = re.findall(r"^```\n(.*?)^```", READING, re.MULTILINE | re.DOTALL)
    assert screen in SCREEN


def test_every_verdict_has_a_meaning() -> None:
    texts = [path.read_text() for path in FOLDER.glob("*.toml")]
    words = {word for text in texts for word in re.findall(r'^verdict = "(.+)"$', text, re.MULTILINE)}
    words = {word.format(side="B", beside="A") for word in words}
    assert len(words) > 10
    explained = READING.partition("## A verdict")[2].partition("\n## ")[0]
    assert {word for word in words if not re.search(rf"[|,] {word}(,| \|)", explained)} == set()


@pytest.mark.parametrize("of_class", NoiseClass)
def test_the_usual_noise_of_a_class_is_the_codes(of_class: NoiseClass) -> None:
    (row,) = re.findall(rf"^\| {re.escape(named('class', of_class.key))} \|(.+)\|$", VERDICTS, re.MULTILINE)
    processes, runs, at_most = (cell.strip() for cell in row.split("|"))
    if of_class is NoiseClass.WAITED:
        assert (processes, runs) == tuple(f"{s * 1e6:g} us and {share:.1%}" for s, share in _WAITED.values())
        assert at_most == runs
        return
    small = f"{usual_noise._START:.1%} below 64 MiB" if of_class in (NoiseClass.GPU, NoiseClass.PINNED) else ""
    unknown = "" if of_class is NoiseClass.GPU_LARGE else "unknown"
    assert processes == _percent(usual_noise._PROCESSES.get(of_class), unknown)
    assert runs == (small or _percent(usual_noise._RUNS.get(of_class), unknown))
    assert at_most == _percent(usual_noise._AT_MOST.get(of_class), unknown)


def _percent(share: float | None, otherwise: str) -> str:
    return otherwise if share is None else f"{100 * share:g}%"


@pytest.mark.parametrize(
    "said",
    [
        f"0.25% between runs, pushes from 64 MiB {usual_noise._TUNED_PUSH:.1%}",
        f"{usual_noise._TUNED_SMALL:.0%} below 64 MiB",
        f"largest gap is {math.expm1(modes._LEAST_BETWEEN):.0%} or more, at least {modes._OF_SAMPLES:g} w",
        f"up to six (`--rounds {DEFAULT_ROUNDS.least}:{DEFAULT_ROUNDS.most}`)",
        f"{DEFAULT_POINT_BUDGET_S / DEFAULT_ROUNDS.least:g} s or its share",
        f"at most every {_LOOK_S:g} s",
        f"`--alpha` ({compare.ALPHA:g})",
        f"`--threshold` ({compare.THRESHOLD:.0%})",
        f"is within {best.AS_GOOD:.0%}",
        f"a factor of {interval.UNKNOWN_FROM:g}",
        f"latencies have {checked_results.LATENCY_TOLERANCE:.0%}",
        f"{checked_results.BEST_PEER['peer']:g} quantile",
        f"a GPU with {problems._LOCATED:.0%} of its paths",
        f"{paired._TRIMMED:.0%} trimmed mean",
        f"A claim holds within {_DEFAULTS['within']:.0%}, a crossover within a factor of {_DEFAULTS['factor']:g}",
    ],
)
def test_a_number_is_the_codes(said: str) -> None:
    assert said in SAID


def test_other_numbers_are_the_codes() -> None:
    assert (paired.LOOKS, paired._LEAST_PART, paired.FEWEST_SAME) == ((8, 14, 28, 56), 0.25, 4)
    assert "after 8, 14, 28 and 56 rounds, at a half, quarter, eighth and sixteenth of 0.001" in SAID
    assert (modes._OF_GROUPS, modes._OF_FEW, modes._FEW) == (6, 6, 6)
    assert {one for one in NoiseClass if one.fewest_of_two_speeds == 3} == set(NoiseClass) - _BY_HOST
    assert {one.fewest_of_two_speeds for one in _BY_HOST} == {6}
    assert f"over {ABOVE_PEAK} of the peak" in READING
    tolerances = "tolerance {peer:.0%} (GPUs), {host:.0%} (host), {local:.0%} (local)"
    assert tolerances.format(**checked_results.PEER_TOLERANCE) in SAID
    assert FEWEST_KEPT == 5
    assert "from five turns on" in SAID

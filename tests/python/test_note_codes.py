"""Note codes: decisions rest on codes that engines send, and on phrases only in runs that have no codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linkscope.results import note_codes
from linkscope.results.note_codes import says

ROOT = Path(__file__).resolve().parents[2]
CODES = (
    "nvls-free",
    "nvls-none",
    "nvls-off",
    "no-peer-access",
    "launch-inside",
    "huge-pages",
    "few-samples",
    "wrong-data",
)


@pytest.mark.parametrize("code", CODES)
def test_a_text_has_its_code_however_it_is_worded(code: str) -> None:
    assert says(code, ["nothing", f"rank 1 (host a): other words than before [{code}]"])
    assert not says(code, [f"other words than before [{code}x]", "nothing"])


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("nvls-free", "nccl 2.28.9, NVLink SHARP as it chooses"),
        ("nvls-none", "nccl 2.28.9, no NVLink SHARP: the GPUs report no multicast"),
        ("nvls-off", "nccl 2.28.9, NCCL_NVLS_ENABLE=0, NVLink SHARP off"),
        ("no-peer-access", "gpu:0 has no peer access to gpu:1"),
        ("launch-inside", "not held back by a gate: launch cost is inside"),
        ("launch-inside", "enqueued after the gate: launch cost is inside"),
        ("huge-pages", "source: 100 % in transparent huge pages"),
        ("few-samples", "only 3 samples: the interval is their range, its confidence below 95 %"),
        ("wrong-data", "byte 5 of 8192 arrived wrong in gpu:1 device"),
    ],
)
def test_recorded_texts_without_codes_say_the_same(code: str, text: str) -> None:
    assert [one for one in CODES if says(one, [text])] == [code]


def test_engines_send_every_code_that_decisions_know() -> None:
    decided = {value for name, value in vars(note_codes).items() if name.isupper() and isinstance(value, str)}
    assert decided == set(CODES)
    sources = (*(ROOT / "engine").rglob("*.c*"), *(ROOT / "python" / "linkscope" / "torch_child").glob("*.py"))
    sent = {code for path in sources for code in re.findall(r'\[([a-z]+(?:-[a-z]+)+)\]"', path.read_text())}
    assert decided <= sent

"""The GPUs of a node, as `nvidia-smi -L`, nvidia-smi's own table, `rocm-smi --showproductname` and `amd-smi static`
name them. It holds no results: pasted beside them it says which GPUs they are of."""

from __future__ import annotations

import re

from linkscope.importers.peer_output import MOST_GPUS, Gpu, PeerOutput, Source

TOOL = "nvidia-smi"
SUMMARY = "nvidia-smi, nvidia-smi -L, rocm-smi --showproductname"
_LISTED = re.compile(r" {0,4}GPU (\d{1,3}): (.{1,100}?) \(UUID: [\w-]{1,80}\)")
_TABLE = re.compile(
    r"\| {1,4}(\d{1,3}) {1,4}((?:NVIDIA|Tesla|Quadro|GeForce)[\w .\-/]{1,60}?) {2,}(?:On|Off|N/A) {0,4}\|.{0,120}"
)
_PRODUCT = re.compile(r"GPU\[(\d{1,3})\]\s{0,8}: Card [Ss]eries:\s{1,8}(.{1,100})")


def recognises(text: str) -> bool:
    """Return whether a text lists GPUs by name."""
    return any(_gpu(line) is not None for line in text.split("\n"))


def read(source: Source) -> PeerOutput:
    """Return the GPUs; those that the list leaves out have no name."""
    found: dict[int, str] = {}
    taken: set[int] = set()
    for line_number, line in enumerate(source.lines, 1):
        listed = _gpu(line)
        if listed is not None:
            taken.add(line_number)
            found.setdefault(*listed)
    count = min(max(found, default=-1) + 1, MOST_GPUS)
    gpus = tuple(Gpu(found.get(number, "")) for number in range(count))
    return PeerOutput(TOOL, "", (), (), gpus, read=frozenset(taken))


def _gpu(line: str) -> tuple[int, str] | None:
    match = _LISTED.match(line) or _TABLE.match(line) or _PRODUCT.match(line)
    return (int(match[1]), match[2].strip()) if match else None

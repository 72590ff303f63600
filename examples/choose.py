"""Picks at run time how to move so many bytes, from a file that `linkscope choose RUN --export json` wrote.

python examples/choose.py choices.json "GPU to GPU" 65536
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def choose(choices: dict[str, Any], movement: str, size: int) -> str | None:
    """The best way of the first choice for that movement; None where none is known."""
    if choices["version"] != 1:
        raise ValueError(f"choices of version {choices['version']}, not 1")
    for one in choices["choices"]:
        for span in one["ranges"]:
            if one["movement"] == movement and span["first"] <= size and (span["last"] is None or size <= span["last"]):
                return str(span["use"])
    return None


if __name__ == "__main__":
    _, path, movement, size = sys.argv
    use = choose(json.loads(Path(path).read_text()), movement, int(size))
    if use is None:
        sys.exit(f"no best way is known of {movement} at {size} bytes")
    sys.stdout.write(f"{use}\n")  # a program would call its own function for this way here

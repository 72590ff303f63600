"""A page in headless Chromium: what a script that is added to it finds, and what the console says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
_FRAME = """<!doctype html><body style="margin:0"><iframe style="border:0;width:{width}px;height:900px"></iframe>
<script>const frame = document.querySelector("iframe");
addEventListener("message", (e) => {{ document.documentElement.dataset.found = e.data; }});
frame.src = {page!r};</script>"""


@dataclass(frozen=True)
class Seen:
    """``found``: what the script returned; ``errors``: lines of the console, ``window.onerror`` among them."""

    found: Any
    errors: list[str]


def visit(text: str, script: str, folder: Path, width: int = 1280, *flags: str) -> Seen:
    """Opens the page, ``width`` pixels wide, runs ``script`` (the body of an async function that returns JSON)."""
    assert CHROMIUM is not None
    page, frame = folder / "page.html", folder / "frame.html"
    run = f"(async () => {{ {script} }})().then((x) => parent.postMessage(JSON.stringify(x), '*'))"
    page.write_text(text.replace("</body>", f"<script>{run}</script></body>"), encoding="utf-8")
    frame.write_text(_FRAME.format(width=width, page=page.as_uri()), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command += ["--enable-logging=stderr", "--virtual-time-budget=8000", f"--window-size={width + 40},1000", *flags]
    done = subprocess.run([*command, "--dump-dom", frame.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert found is not None, errors or done.stderr[-2000:]
    return Seen(json.loads(unescape(found[1])), errors)

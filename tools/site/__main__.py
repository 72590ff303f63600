"""The site: all documents as pages to read in a browser, with search, also without a server.

    python tools/site               writes build/site (`make docs` does so, after what it needs is installed), with
                                    screenshots of recorded runs where Chromium is installed
    python tools/site --pages       writes the pages in Markdown alone, to build/site-pages, and needs no MkDocs

A page that links to what is not there, or to a heading that is not, ends it with exit code 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from tools.site import screenshots  # noqa: E402
from tools.site.navigation import navigation  # noqa: E402
from tools.site.pages import Pages  # noqa: E402

from linkscope.errors import LinkscopeError  # noqa: E402

FOLDER = ROOT / "build" / "site-pages"
ASSETS = ("iframe-worker.js", "site.css")
SITE = ROOT / "build" / "site"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/site", description="Writes the site of all documents.")
    parser.add_argument("--pages", action="store_true", help="write the pages in Markdown alone")
    arguments = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        site = Pages.of(ROOT)
        program = None if arguments.pages else screenshots.chromium()
        if program is not None:
            site.texts[screenshots.PLACE] = screenshots.add(ROOT, FOLDER / "docs", program)
        site.write(FOLDER / "docs")
    except LinkscopeError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    assets = FOLDER / "docs" / "assets"
    assets.mkdir(exist_ok=True)
    for name in ASSETS:
        shutil.copy(HERE / name, assets / name)
    settings = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": str(FOLDER / "docs"),
        "site_dir": str(SITE),
        "nav": navigation(site.texts),
    }
    (FOLDER / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    if arguments.pages:
        return 0
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(FOLDER / "mkdocs.yml")]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # a notice of the theme's, printed at each build
    built = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False)
    if built.returncode:
        print(built.stdout, built.stderr, sep="", file=sys.stderr)
        return 1
    print(f"site: {SITE.relative_to(ROOT) / 'index.html'}, {len(site.texts)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

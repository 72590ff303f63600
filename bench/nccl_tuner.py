"""NCCL with linkscope's rules beside NCCL alone, on all GPUs: does the file of `choose --export nccl-tuner` help?

Measures NCCL by algorithm, protocol and channels (unless --run names such a run) and writes the rules. Then one run has
its cases under both settings, each in fresh processes, in shuffled rounds, also at sizes between those that the rules
come from. The plugin is NCCL's own example: `make -C plugins/tuner/example` in its sources. Exit code 1 where a figure
is missing or the rules make a collective slower on the whole.

usage: python bench/nccl_tuner.py --plugin libnccl-tuner-example.so [--run TUNER_RUN] [--rounds 3] [--keep FOLDER]
           [--limit SECONDS]
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

import polars
import yaml
from narrowed import Json
from program import add_limit, run
from rich.console import Console
from rich.table import Table

from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.results.run_file import RunFile

SIZES = "1K:256M:4x"
COLLECTIVES = ["all-reduce", "reduce-scatter", "all-gather", "reduce", "broadcast"]
ALONE, TUNED = "alone", "tuned"


def suite_of(plugin: Path, rules: Path) -> Json:
    """The suite that times NCCL alone and with the rules."""
    tuner = {"NCCL_TUNER_PLUGIN": str(plugin), "NCCL_TUNER_CONFIG_FILE": str(rules)}
    row = {
        **{"name": "collectives", "title": "Collective by size, NCCL alone and with rules", "collective": COLLECTIVES},
        **{"members": {"on": "gpu", "memory": "device"}, "pattern": "all", "method": "xccl-collective"},
        **{"parameters": {"form": "graph", "launch": "thread-per-gpu"}, "sizes": SIZES, "vendor": "nvidia"},
        **{"environment": [{"name": ALONE}, {"name": TUNED, "set": tuner}], "clock": "device", "cache": "warm"},
        **{"show": "curve", "figure": "latency"},
    }
    return {"name": "bench-nccl-tuner", "answers": "Is NCCL faster with rules from its own figures?", "rows": [row]}


def ratios(found: RunFile) -> polars.DataFrame:
    """A line for each collective and size that both have: seconds ``alone`` and ``tuned``, and their ``ratio``."""
    timed = Run(found).results.filter(polars.col("seconds") > 0)
    sided = timed.select(
        polars.col("collective").cast(polars.String),
        "bytes",
        "seconds",
        polars.when(polars.col("environment").cast(polars.String).str.contains("NCCL_TUNER_CONFIG_FILE", literal=True))
        .then(polars.lit(TUNED))
        .otherwise(polars.lit(ALONE))
        .alias("side"),
    )
    sides = [sided.filter(polars.col("side") == side).rename({"seconds": side}) for side in (ALONE, TUNED)]
    both = sides[0].drop("side").join(sides[1].drop("side"), on=["collective", "bytes"], maintain_order="left")
    return both.with_columns((polars.col(TUNED) / polars.col(ALONE)).alias("ratio"))


def slower(lines: polars.DataFrame) -> list[str]:
    """Collectives whose geometric mean of ratios is above 1 by more than 2 %."""
    means = lines.group_by("collective", maintain_order=True).agg(polars.col("ratio").log().mean().exp())
    return means.filter(polars.col("ratio") > 1.02)["collective"].to_list()


def show(lines: polars.DataFrame, console: Console) -> None:
    """Every size, and the geometric mean of each collective."""
    table = Table(title="NCCL alone, and with linkscope's rules: microseconds")
    for column in ("collective", "bytes", ALONE, TUNED, "ratio"):
        table.add_column(column, justify="right")
    for (collective,), of_kind in lines.group_by("collective", maintain_order=True):
        for one in of_kind.iter_rows(named=True):
            times = (f"{one[side] * 1e6:.2f}" for side in (ALONE, TUNED))
            table.add_row(str(collective), str(one["bytes"]), *times, f"{one['ratio']:.3f}")
        mean = math.exp(sum(map(math.log, of_kind["ratio"])) / len(of_kind))
        table.add_row(str(collective), "geometric mean", "", "", f"{mean:.3f}", style="bold", end_section=True)
    console.print(table)


def linkscope(*arguments: str, limit_s: float) -> None:
    """Raises LinkscopeError where it does not end with 0, or 1 for rows that failed: not every setting fits a node."""
    ended = run(
        [sys.executable, "-m", "linkscope", *arguments], limit_s, {**os.environ, "LINKSCOPE_ALLOW_ENVIRONMENT": "1"}
    )
    if ended.problem and ended.code != 1:
        raise LinkscopeError(ended.problem)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", type=Path, required=True, help="the library of NCCL's example tuner")
    parser.add_argument("--run", type=Path, help="a run of nccl-tuner on this node; else it is measured")
    parser.add_argument("--rounds", default="3", help="of the comparison")
    parser.add_argument("--keep", type=Path, default=Path("bench-nccl-tuner"), help="folder of what is measured")
    add_limit(parser)
    arguments = parser.parse_args()
    console = Console()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    folder = arguments.keep.resolve()
    tuner_run, rules, suite, compared = (folder / name for name in ("tuner.jsonl", "tuner.csv", "ab.yaml", "ab.jsonl"))
    compared.unlink(missing_ok=True)
    try:
        if arguments.run is None:
            tuner_run.unlink(missing_ok=True)
            linkscope("run", "nccl-tuner", "--rounds", "1", "-o", str(tuner_run), limit_s=arguments.limit)
        source = str(arguments.run or tuner_run)
        linkscope("choose", source, "--export", "nccl-tuner", "-o", str(rules), limit_s=arguments.limit)
        suite.write_text(yaml.safe_dump(suite_of(arguments.plugin.resolve(), rules), sort_keys=False))
        options = ("--rounds", arguments.rounds, "-o", str(compared))
        linkscope("run", str(suite), *options, limit_s=arguments.limit)
        found = RunFile.read(compared)
    except LinkscopeError as error:
        console.print(str(error), markup=False)
        return 1
    lines = ratios(found)
    show(lines, console)
    lacking = len(found.rows) - 2 * len(lines)
    console.print(f"missing: {lacking} figures" if lacking else "no figure is missing")
    worse = slower(lines)
    console.print(f"slower with the rules: {', '.join(worse) or 'none'}")
    return 1 if lacking or worse else 0


if __name__ == "__main__":
    sys.exit(main())

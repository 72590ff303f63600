"""Formats: every file that `choose --export` can write, and why it cannot write some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars

from linkscope.analysis.figures_in_parts import figures_of, is_modelled
from linkscope.errors import LinkscopeError
from linkscope.near_names import unknown
from linkscope.report.exports import inductor, mpich, nccl, open_mpi, own, ucc, ucx
from linkscope.results.run_stream import Run


@dataclass(frozen=True)
class Format:
    """``write`` makes the file's text of a run and its figures, or raises LinkscopeError where the run lacks
    what it needs.

    ``says_modelled``: the file itself tells programs whether figures are modelled, so modelled runs are written too.
    """

    write: Callable[[Run, polars.DataFrame], str]
    loaded_by: str
    says_modelled: bool = False


FORMATS = {
    "nccl-tuner": Format(nccl.tuner, "NCCL's example tuner plugin"),
    "nccl-optimize": Format(nccl.optimize, "optimize_config.py beside that plugin"),
    "ompi-tuned": Format(open_mpi.classic, "Open MPI's coll/tuned"),
    "ompi-tuned-json": Format(open_mpi.as_json, "Open MPI's coll/tuned from 6.0"),
    "mpich": Format(mpich.variables, "MPICH"),
    "inductor": Format(inductor.trace, "PyTorch Inductor"),
    "ucx": Format(ucx.conf, "UCX"),
    "ucc": Format(ucc.conf, "UCC"),
    "json": Format(own.as_json, "examples/choose.py", says_modelled=True),
    "header": Format(own.header, "examples/choose.cpp", says_modelled=True),
}
REFUSED = {
    "mscclpp": (
        "its tuning file names MSCCL++'s own kernels with their blocks and threads, which run nowhere else; "
        "MSCCL++ measures them itself and writes it: python3 -m mscclpp_benchmark.bench_collective --autotune "
        "--write-config FILE"
    ),
}
"""Known by name, so that the answer is the reason."""


def export(run: Run, name: str) -> str:
    """The text of the file of that format. Raises LinkscopeError for a format that is unknown or refused, a run that
    lacks what it needs, and a modelled run where what loads the file could not tell: its thresholds are a model's.
    """
    if name in REFUSED:
        raise LinkscopeError(f"cannot export {name}: {REFUSED[name]}")
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    figures = figures_of(run)
    if is_modelled(run, figures) and not FORMATS[name].says_modelled:
        raise LinkscopeError(f"cannot export {name}: this run is modelled, and {FORMATS[name].loaded_by} cannot tell")
    return FORMATS[name].write(run, figures)

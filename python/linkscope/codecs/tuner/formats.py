"""Formats: every file that `choose --export` can write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkscope.codecs.tuner import frameworks, inductor, mpi, nccl, own, ucx
from linkscope.codecs.tuner.exported import Exported
from linkscope.figures.run import Run
from linkscope.messages.catalog import problem
from linkscope.messages.near_names import unknown


@dataclass(frozen=True)
class Format:
    """``write`` returns the file's text, or raises LinkscopeError where the run lacks what it needs.

    ``says_modelled``: the file itself tells programs whether results are modelled, so modelled runs are written, too.
    """

    write: Callable[[Exported], str]
    loaded_by: str
    says_modelled: bool = False


FORMATS = {
    "nccl-tuner": Format(nccl.tuner, "NCCL's example tuner plugin"),
    "nccl-optimize": Format(nccl.optimize, "optimize_config.py beside that plugin"),
    "vllm": Format(frameworks.vllm, "vLLM"),
    "sglang": Format(frameworks.sglang, "SGLang"),
    "flashinfer": Format(frameworks.flashinfer, "FlashInfer"),
    "mscclpp": Format(frameworks.mscclpp, "mscclpp_benchmark"),
    "ompi-tuned": Format(mpi.open_mpi, "Open MPI's coll/tuned"),
    "ompi-tuned-json": Format(mpi.open_mpi_json, "Open MPI's coll/tuned from 6.0"),
    "mpich": Format(mpi.mpich, "MPICH"),
    "inductor": Format(inductor.trace, "PyTorch Inductor"),
    "ucx": Format(ucx.conf, "UCX"),
    "ucc": Format(mpi.ucc, "UCC"),
    "json": Format(own.as_json, "examples/choose.py", says_modelled=True),
    "header": Format(own.header, "examples/choose.cpp", says_modelled=True),
}


def export(name: str, *runs: Run) -> str:
    """Return the text of the file of a format, of one run or of several of one node.

    Raises LinkscopeError for a format that is unknown, runs that lack what it needs, and a modelled run where what
    loads the file could not tell: its thresholds are a model's.
    """
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    source = Exported(runs)
    if source.modelled and not FORMATS[name].says_modelled:
        raise problem("tuner.modelled", format=name, reader=FORMATS[name].loaded_by)
    return FORMATS[name].write(source)

"""Names of methods: short, with their settings, and NCCL or RCCL, whichever ran."""

from __future__ import annotations

import pytest
import recorded

from linkscope.figures.run import Run
from linkscope.machine.described import load_machine
from linkscope.machine.vendor import vendor_of
from linkscope.messages.methods import library, method_name, setting_name
from linkscope.messages.names import named


@pytest.mark.parametrize(
    ("way", "name"),
    [
        ("kernel-copy push", "kernel-copy (push)"),
        ("copy-engine", "copy-engine"),
        ("memcpy threads=1", "memcpy (1 thread)"),
        ("memcpy threads=64 non_temporal=1", "memcpy (64 threads, streaming)"),
        ("xccl-collective form=graph in xccl", "RCCL (graph, RCCL memory)"),
        ("xccl NCCL_ALGO=Ring", "RCCL (NCCL_ALGO=Ring)"),
        ("copy-engine pull from pageable to managed", "copy-engine (pull, pageable to managed)"),
        ("copy-engine from managed (first touch: gpu)", "copy-engine (managed (first touch: gpu))"),
        ("kernel-copy to managed", "kernel-copy (to managed)"),
        ("ipc-kernel width=4", "ipc-kernel (width=4)"),
    ],
)
def test_a_method_is_named_with_its_settings(way: str, name: str) -> None:
    assert method_name(way, "RCCL") == name


def test_settings_stand_alone_where_all_share_the_method() -> None:
    assert setting_name("memcpy threads=2 non_temporal=1") == "2 threads, streaming"
    assert setting_name("memcpy") == ""


def test_the_library_is_that_of_the_vendor() -> None:
    assert Run.of(recorded.DIRECT).library == "NCCL"
    assert library(vendor_of(load_machine("frontier"), "modelled")) == "RCCL"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("gpu>gpu", "GPU -> GPU"),
        ("gpu>gpu/processes", "GPU -> GPU, between processes"),
        ("all-reduce/4gpus", "all-reduce on 4 GPUs"),
        ("all-to-all/8ranks", "all-to-all on 8 ranks"),
        ("halo/61440x30720, 87 steps", "halo 61440x30720, 87 steps"),
        ("unheard-of", "unheard-of"),
    ],
)
def test_a_movement_is_named_with_its_count(code: str, name: str) -> None:
    assert named("movement", code) == name

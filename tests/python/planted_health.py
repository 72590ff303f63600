"""Counters planted into a run that was recorded before runs had any: not 0 before it, and moved when it ended."""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
from typing import Any

from linkscope.machine.health import Health
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
BEGAN_S = 1_795_790_751.0
LINKS = {"gpu:0": tuple(range(18)), "gpu:1": tuple(range(18))}
READ = {"nvlink-recovery": 36, "nvlink-replay": 36, "pcie-replay": 2, "ecc-corrected": 2, "ecc-uncorrected": 2}


def with_health(run: RunFile, before: Json, after: Json, lasted_s: float = 300.0) -> RunFile:
    """Return the run with the health that these fields make at its begin and its end."""
    states = copy.deepcopy([run.header["state"], run.states[-1]["state"]])
    for state, fields, at_s in zip(states, (before, after), (BEGAN_S, BEGAN_S + lasted_s), strict=True):
        health = Health(**{"links": LINKS, "read": READ, "log": True, **fields})
        state.update(health=asdict(health), at_s=at_s)
    ended = {**run.states[-1], "state": states[1]}
    return replace(run, header={**run.header, "state": states[0]}, states=(*run.states[:-1], ended))

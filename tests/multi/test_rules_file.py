"""Open MPI loads the rules file that `choose --export` writes, and obeys it at the sizes it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from multi_run import MultiRun
from tuned_run import line, open_mpi, rows, run

from linkscope.codecs.tuner.formats import export
from linkscope.figures.run import Run

pytestmark = pytest.mark.usefixtures("real_engine")
NO_ALGORITHM = 55
SUITE = """
name: ruled
answers: Which rule is obeyed?
rows:
  - name: sum
    title: All-reduce
    collective: all-reduce
    members: {on: numa, memory: pageable, count: 2}
    pattern: all
    processes: each
    method: mpi-collective
    sizes: 64,16M
    clock: host
    cache: warm
    show: list
"""


@pytest.mark.parametrize(("ranks", "second"), [(2, "failed"), (3, "ok")])
def test_a_rule_is_obeyed_for_its_sizes_and_its_communicator(
    multi_run: MultiRun, mpiexec: Path, ranks: int, second: str
) -> None:
    """The file has large messages of so many ranks use an algorithm that there is not: Open MPI refuses that."""
    if "openmpi" not in str(mpiexec):
        pytest.skip("rules files are Open MPI's")
    small, large = line(5, 50), line(20, 300)
    curves = [rows("all-reduce", open_mpi("allreduce", number), curve, ranks, "mpi")
              for number, curve in ((3, small), (NO_ALGORITHM, large))]  # fmt: skip
    rules, suite = multi_run.bench.folder / "rules.conf", multi_run.bench.folder / "ruled.yaml"
    rules.write_text(export("ompi-tuned", Run(run(curves))))
    suite.write_text(SUITE)
    settings = {"priority": "100", "use_dynamic_rules": "1", "dynamic_rules_filename": str(rules)}
    for name, value in settings.items():
        multi_run.monkeypatch.setenv(f"OMPI_MCA_coll_tuned_{name}", value)
    multi_run.bench.cli("run", str(suite), "-o", "a.jsonl", "--rounds", "1")
    assert list(multi_run.statuses.values()) == ["ok", second]

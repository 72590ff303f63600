"""Sets up this checkout: virtual environment, system packages, compiled engines. Needs python3 and nothing else.

Everything lands in .venv and build; only missing system packages go elsewhere, and only when root asks.
Run again, it does what has changed and nothing else. A failure is one line and exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import engines
import mpi
import system
import wheel
from environment import EXTRAS, Environment
from shell import SetupError, say

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    arguments = parse()
    environment = Environment(ROOT)
    wish = engines.Wish(
        folder=ROOT / arguments.build,
        engines=tuple(arguments.engines),
        cuda_architectures=arguments.cuda_architectures,
        hip_architectures=arguments.hip_architectures,
        unit_tests="ON" if arguments.unit_tests else "OFF",
        until=arguments.until,
        build_type=arguments.build_type,
    )
    mpis = ROOT / "build" / "mpi"
    built: list[str] = []
    try:
        system.install(missing_packages(arguments, environment))
        with ThreadPoolExecutor(1) as beside:  # compilers need nothing of what Python needs
            packages = beside.submit(environment.ensure, arguments.extra)
            if arguments.wheel:
                environment.ensure_build_tools()
                wheel.build(ROOT, environment, ROOT / arguments.wheel, wish)
            elif arguments.engines != ["none"]:
                environment.ensure_build_tools()
                if arguments.mpi:
                    mpi.ensure(mpis)
                before = engines.configured_mpicc(wish.folder)
                mpicc = mpi.compiler(mpis) if arguments.mpi else mpi.site_compiler(environment, before)
                wish = replace(wish, mpicc=mpicc)
                built = engines.build(ROOT, environment, wish)
            packages.result()
    except SetupError as failure:
        print(f"linkscope setup: {failure}", file=sys.stderr)
        return 1
    if not arguments.wheel and not arguments.engines and not engines.gpus(wish.folder, built):
        say("no GPU that can be used here: host memory is measured")
        say("GPU nodes that are only described (modelled): `.venv/bin/linkscope run --machine frontier`, for example")
    return 0


def missing_packages(arguments: argparse.Namespace, environment: Environment) -> list[str]:
    """All system packages that this call needs and the machine lacks."""
    missing = environment.missing_packages()
    if arguments.engines != ["none"]:
        missing += system.missing_for_engine()
    if arguments.unit_tests:
        missing += system.missing_for_tests()
    return missing


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/setup", description="Sets up this checkout.")
    parser.add_argument("--extra", default="", choices=EXTRAS, help="an extra of pyproject.toml to install")
    parser.add_argument("--unit-tests", action="store_true", help="also build the engine's unit tests")
    parser.add_argument(
        "--engines",
        nargs="+",
        default=[],
        choices=(*engines.NAMES, "none"),
        help="engines to build; default: those for the GPUs here; in a wheel those with a compiler here",
    )
    parser.add_argument("--until", default="compiled", choices=("configured", "compiled"), help="default: %(default)s")
    parser.add_argument("--build-type", default="Release", help="CMake's (default: %(default)s); None: not optimised")
    parser.add_argument("--mpi", action="store_true", help="also install MPIs for the tests, in build/mpi")
    parser.add_argument("--wheel", default="", metavar="FOLDER", help="make the wheel there, and nothing else")
    parser.add_argument("--build", default="build/engines", help="folder to build in (default: %(default)s)")
    parser.add_argument("--cuda-architectures", default="", help="default: the GPUs found here")
    parser.add_argument("--hip-architectures", default="", help="default: the GPUs found here")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

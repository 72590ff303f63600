"""The commands. Everything they do is done elsewhere; this file reads arguments and prints what comes back."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from linkscope import __version__
from linkscope.errors import LinkscopeError

INTERNAL_ERROR = 70
"""Exit code, as sysexits.h has it: neither an answer nor bad input."""

app = typer.Typer(
    name="linkscope",
    help="Measure how fast data moves inside a multi-GPU node, and how fast it could.",
    epilog="Exit codes: 0 done; 1 a row failed or a check found a problem; 2 bad input; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Machine = Annotated[
    str | None, typer.Option("--machine", help="A described node instead of this machine: see `list machines`.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run file.", show_default=False)]


class Listed(str, Enum):
    """What `linkscope list` can list."""

    suites = "suites"
    methods = "methods"
    memories = "memories"
    patterns = "patterns"
    machines = "machines"
    engines = "engines"
    importers = "importers"


@app.command()
def run(
    suites: Annotated[list[str] | None, typer.Argument(metavar="[SUITE]...", help="Suites or suite files.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Run file; else runs/HOST-TIME.jsonl.")] = None,
    devices: Annotated[str | None, typer.Option(help="Use only these: gpu:0,gpu:2 or gpu:0-3,numa:1.")] = None,
    methods: Annotated[str | None, typer.Option(help="Use only these: copy-engine,kernel-copy.")] = None,
    sizes: Annotated[str | None, typer.Option(help="Sizes of bandwidth rows: 512M, 1K,64K, 4K:1G:2x.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="Stop when the 95 % interval is this close to the median; default 1%.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time of the whole run: 60s. It says what it leaves out for it.")
    ] = None,
    rounds: Annotated[
        str | None,
        typer.Option(help="Visit each case so often, in new processes; default 3:6, up to six where figures are wide."),
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(help="Time all cases by this clock, device, host or batch; default: as the suite says."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Complete -o FILE, or the newest in runs/.")] = False,
    machine: Machine = None,
    engine: Annotated[str | None, typer.Option(help="cuda, hip or host; default: the first that works here.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run and how long.")] = False,
    launcher: Annotated[
        str | None, typer.Option(help="Starts several processes: local, mpiexec, srun or inside.")
    ] = None,
    launcher_command: Annotated[
        str | None, typer.Option(help="The launcher's path and options: 'srun --mpi=pmix'.")
    ] = None,
    hosts: Annotated[str | None, typer.Option(help="Hosts, in the spelling of mpiexec or srun: a,b.")] = None,
    hostfile: Annotated[str | None, typer.Option(help="A file of hosts for mpiexec.")] = None,
    interface: Annotated[str | None, typer.Option(help="Address of this host that the processes report to.")] = None,
    as_json: AsJson = False,
) -> int:
    """Measure this machine, or model a described one. Exit code 1 if a row failed."""
    from linkscope.cli import measuring
    from linkscope.launch.job import Request
    from linkscope.launch.launcher.launch_options import LaunchOptions

    given = {"devices": devices, "methods": methods, "sizes": sizes, "budget": budget, "clock": clock}
    given |= {"machine": machine, "engine": engine, "precision": precision, "rounds": rounds}
    named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    launching = LaunchOptions(launcher, launcher_command, hosts, hostfile, interface)
    request = Request(suites=tuple(suites or ("default",)), launching=launching, **named)
    if dry_run:
        return measuring.dry_run(request, _out(), as_json)
    if resume:
        own = not suites and not named
        return measuring.resume(output, None if own else request, launching, _out(), _err(), as_json)
    return measuring.measure(request, output, _out(), _err(), as_json)


@app.command()
def calibrate(
    suites: Annotated[
        list[str] | None, typer.Argument(metavar="[SUITE]...", help="Suites; with --from run files or folders of them.")
    ] = None,
    turns: Annotated[int | None, typer.Option(help="How many runs, at least 2; else 10.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the run files; goes on with what is there.")
    ] = None,
    devices: Annotated[str | None, typer.Option(help="Use only these: gpu:0,gpu:2 or gpu:0-3,numa:1.")] = None,
    methods: Annotated[str | None, typer.Option(help="Use only these: copy-engine,kernel-copy.")] = None,
    sizes: Annotated[str | None, typer.Option(help="Sizes of bandwidth rows: 512M, 1K,64K, 4K:1G:2x.")] = None,
    precision: Annotated[str | None, typer.Option(help="As of `run`.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time of each run: 60s.")] = None,
    rounds: Annotated[str | None, typer.Option(help="Rounds of each run: 3, or 3:6.")] = None,
    clock: Annotated[
        str | None,
        typer.Option(help="Time all cases by this clock, device, host or batch; default: as the suite says."),
    ] = None,
    machine: Machine = None,
    engine: Annotated[str | None, typer.Option(help="cuda, hip or host; default: the first that works here.")] = None,
    files: Annotated[bool, typer.Option("--from", help="Measure nothing: take the runs that are named.")] = False,
    as_json: AsJson = False,
) -> int:
    """Repeat a run and show how well its intervals hold from run to run. Exit code 1 if a row failed."""
    from linkscope.cli import calibrating
    from linkscope.launch.job import Request

    given = {"devices": devices, "methods": methods, "sizes": sizes, "budget": budget, "clock": clock}
    given |= {"machine": machine, "engine": engine, "precision": precision, "rounds": rounds}
    named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if files:
        if named or turns is not None or output is not None:
            raise LinkscopeError("--from measures nothing: leave out all options but --json")
        return calibrating.compute([Path(name) for name in suites or ()], _out(), _err(), as_json)
    request = Request(suites=tuple(suites or ("default",)), **named) if suites or named else None
    return calibrating.measure(request, turns, output, _out(), _err(), as_json)


@app.command("list")
def list_(what: Annotated[Listed, typer.Argument()] = Listed.suites, as_json: AsJson = False) -> int:
    """List suites, methods, memories, patterns, machines, engines or importers."""
    from linkscope.cli import listing

    _print_listing(listing.entries(what.value), as_json)
    return 0


@app.command()
def topology(
    machine: Machine = None,
    svg: Annotated[Path | None, typer.Option(help="Write a picture of the node to this file.")] = None,
    as_json: AsJson = False,
) -> int:
    """Show devices, links, peaks, hops and widest paths of this machine or a described one."""
    from linkscope import api
    from linkscope.report import topology_svg, topology_text
    from linkscope.results.whole_file import write_whole

    node = api.topology(machine)
    if svg is not None:
        write_whole(svg, topology_svg.draw(node))
        _err().print(f"wrote {svg}", highlight=False)
    elif as_json:
        _print_json(topology_text.to_json(node))
    else:
        topology_text.show(node, _out())
    return 0


@app.command()
def doctor(as_json: AsJson = False) -> int:
    """Report what would spoil a measurement here. Exit code 1 if figures would be wrong or a device is missing."""
    from linkscope.cli import examination

    findings = examination.findings()
    if as_json:
        _print_json([asdict(finding) for finding in findings])
    else:
        examination.show(findings, _out())
    return 1 if any(finding.severity == "problem" for finding in findings) else 0


@app.command()
def show(run_file: RunPath, as_json: AsJson = False) -> int:
    """Print a run's tables: every figure with its interval and percentage of the path's peak."""
    from linkscope.analysis.excerpt import readable
    from linkscope.analysis.overview import overview
    from linkscope.report import terminal
    from linkscope.report.provenance import hosts, precision

    found = readable(run_file)
    for notice in found.notices:
        _err().print(notice, highlight=False, markup=False, soft_wrap=True)
    if as_json:
        tables = overview(found.rows, found.node, precision(found.header)).to_json()
        _print_json({"header": found.header, "hosts": hosts(found.states), "missing": list(found.missing), **tables})
    else:
        terminal.show(found, _out())
    return 0


@app.command()
def explain(
    run_file: RunPath,
    full: Annotated[bool, typer.Option("--full", help="Every finding and path, with sources.")] = False,
    as_json: AsJson = False,
) -> int:
    """Is this node as fast as it should be, and if not, why? Exit code 1 where something is slower than expected."""
    from linkscope.analysis.excerpt import readable
    from linkscope.analysis.explain import explain as find
    from linkscope.report import explain_text

    found = find(readable(run_file))
    if as_json:
        _print_json({**found.to_json(), "verdict": explain_text.verdict(found)})
    else:
        (explain_text.show_all if full else explain_text.show)(found, _out())
    return 1 if found.wrong else 0


@app.command()
def choose(
    run_file: RunPath,
    full: Annotated[
        bool, typer.Option("--full", help="Every question, and what every way costs at every size.")
    ] = False,
    export_as: Annotated[
        str | None,
        typer.Option(
            "--export",
            help="Write what another system loads: nccl-tuner, nccl-optimize, ompi-tuned, ompi-tuned-json, mpich, "
            "inductor, ucx, ucc; or json or header for programs of your own.",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file that --export writes.")] = None,
    as_json: AsJson = False,
) -> int:
    """What to use: the best interface for each kind of movement and memory, by size, and what a wrong one costs."""
    from linkscope.analysis.choose import choose as find
    from linkscope.analysis.figures_in_parts import figures_of
    from linkscope.report import choose_text, wording
    from linkscope.report.exports.formats import export as write_for
    from linkscope.results.run_stream import open_run
    from linkscope.results.whole_file import write_whole

    if (export_as is None) != (output is None):
        raise LinkscopeError("--export FORMAT and -o FILE go together")
    if export_as is not None and output is not None:
        write_whole(output, write_for(open_run(run_file), export_as))
        _err().print(f"wrote {output}", highlight=False)
        return 0
    run_read = open_run(run_file)
    for notice in run_read.notices:
        _err().print(notice, highlight=False, markup=False, soft_wrap=True)
    found = find(figures_of(run_read))
    if as_json:
        origin = run_read.header.get("origin")
        _print_json(
            {**found.to_json(), "verdict": choose_text.verdict(found), **({"origin": origin} if origin else {})}
        )
    else:
        (choose_text.show_all if full else choose_text.show)(found, wording.titled(run_read), _out())
    return 0


@app.command()
def analyze(
    run_file: RunPath,
    questions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUESTION]...",
            help="peaks, tiers, fits, saturation, anisotropy, numa, engines, scaling, threads, interference, "
            "collectives; else all that the run can answer.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Answer what engineers ask of a run, each by a sentence and a table."""
    from linkscope.analysis.excerpt import readable
    from linkscope.analysis.questions import analyze as answer
    from linkscope.report import answers_text, wording

    run_read = readable(run_file)
    for notice in run_read.notices:
        _err().print(notice, highlight=False, markup=False, soft_wrap=True)
    found = answer(run_read, questions or ())
    if as_json:
        _print_json({**answers_text.to_json(found), **({"notices": run_read.notices} if run_read.notices else {})})
    else:
        answers_text.show(found, wording.titled(run_read), _out())
    return 0


@app.command()
def compare(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="A run file, or a folder of them.", show_default=False)],
    new: Annotated[
        list[Path], typer.Argument(metavar="NEW...", help="Run files, or folders of them.", show_default=False)
    ],
    more_base: Annotated[
        list[Path] | None, typer.Option("--base", help="One more run or folder of the base side.")
    ] = None,
    threshold: Annotated[str, typer.Option(help="Smaller changes are no finding.")] = "1%",
    alpha: Annotated[str, typer.Option(help="Of all changes told, this share may be false.")] = "0.1%",
    again: Annotated[
        bool, typer.Option("--again", help="Measure what got worse again, here and now; it counts if still worse.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Every finding and figure.")] = False,
    as_json: AsJson = False,
) -> int:
    """What changed between runs beyond this node's noise, told by what it has in common. Exit code 1 if worse."""
    from linkscope.analysis.compare import compare as find
    from linkscope.plan.select import parse_share
    from linkscope.report import compare_text, wording
    from linkscope.results.run_files import open_all

    sides = open_all([base, *(more_base or [])]), open_all(new)
    for notice in (notice for side in sides for run_read in side for notice in run_read.notices):
        _err().print(notice, highlight=False, markup=False, soft_wrap=True)
    found = find(*sides, parse_share("alpha", alpha, 1e-9), parse_share("threshold", threshold, 0.0))
    if again:
        from linkscope.cli import comparing

        found = comparing.confirmed(found, *sides, _err())
    if as_json:
        _print_json({**found.to_json(), "verdict": compare_text.verdict(found)})
    else:
        (compare_text.show_all if full else compare_text.show)(found, wording.titled(sides[1][-1]), _out())
    return 1 if found.worse else 0


@app.command()
def check(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="RUN | [SUITE]...", help="A run file, or suites to measure.")
    ] = None,
    limits: Annotated[Path | None, typer.Option("--limits", help="The limits file.")] = None,
    make_limits: Annotated[
        Path | None, typer.Option("--make-limits", help="Write this limits file from good runs, or folders of them.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Time of the whole run of suites: 30s.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Run file of suites.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    prometheus: Annotated[Path | None, typer.Option(help="Write metrics to this file, for the node exporter.")] = None,
    as_json: AsJson = False,
) -> int:
    """Does this node keep the limits of healthy ones? Exit code 0 passed, 1 a limit is broken, 2 can't be checked."""
    from linkscope.cli import checking
    from linkscope.results.limits import load_limits

    if (limits is None) == (make_limits is None):
        raise LinkscopeError("name --limits FILE to check against, or --make-limits FILE to write: one of them")
    if make_limits is not None:
        return checking.make_limits(make_limits, what or [], _err())
    assert limits is not None
    known = load_limits(limits)  # before anything is measured
    run = checking.run_of(what or [], budget, output, _err())
    return checking.hold(run, known, junit, prometheus, _out(), as_json)


@app.command()
def report(
    run_files: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run files; several are set side by side.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="HTML file to write.")],
) -> int:
    """Write a run, or several side by side, as one self-contained HTML page."""
    from linkscope.analysis.excerpt import opened
    from linkscope.report.html import write_report
    from linkscope.results.run_files import named

    write_report([opened(path) for path in named(run_files)], output)
    _err().print(f"wrote {output}", highlight=False)
    return 0


@app.command()
def export(
    run_file: RunPath,
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write, .csv or .parquet.")],
) -> int:
    """Write a run's figures as a flat table, one line per figure, with units in the names of its columns."""
    from linkscope.analysis.frames import export as write
    from linkscope.results.run_stream import open_run

    write(open_run(run_file), output)
    _err().print(f"wrote {output}", highlight=False)
    return 0


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What another tool printed.", show_default=False)],
    named: Annotated[
        str | None, typer.Option("--from", help="Its format, of `list importers`; default: as it looks.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Run file; else runs/FILE.jsonl.")] = None,
    beside: Annotated[
        Path | None, typer.Option(help="A run of the same node: its devices, links and the ids of its cases.")
    ] = None,
    machine: Annotated[str | None, typer.Option(help="Else the described node: see `list machines`.")] = None,
    processes: Annotated[
        int | None, typer.Option(min=2, max=80, help="How many took part, where FILE does not say (OSU's collectives).")
    ] = None,
) -> int:
    """Make a run file of another tool's output: nvbandwidth, nccl-tests, OSU and others."""
    from linkscope.cli import importing

    return importing.take(file, output, named, beside, machine, processes, ["linkscope", *sys.argv[1:]], _err())


@app.callback(invoke_without_command=True)
def version(show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if show_version:
        typer.echo(f"linkscope {__version__}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command and leaves with its exit code. Whatever goes wrong is one line on standard error."""
    if os.environ.get("LINKSCOPE_DEBUG") == "1":
        sys.exit(app(arguments, standalone_mode=False))
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except LinkscopeError as error:
        _leave(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _leave("interrupted", 130)
    except BrokenPipeError:
        _close_stdout()
        sys.exit(0)
    except OSError as error:
        _close_stdout()
        _leave(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", 2)
    except MemoryError:
        _leave("this process is out of memory: free some, or read a smaller run", 2)
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of the argument parser
            complaint = error.format_message().replace("Value error, ", "").rstrip(".")
            _leave(f"{complaint}; see `linkscope --help`", 2)
        _leave(
            f"internal error, please report it: {type(error).__name__}: {error} (LINKSCOPE_DEBUG=1 shows where)",
            INTERNAL_ERROR,
        )
    sys.exit(code if isinstance(code, int) else 0)


def _leave(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"linkscope: {' '.join(message.split())}\n")
    sys.exit(code)


def _close_stdout() -> None:
    """So that the interpreter does not try again at exit what has just failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _out() -> Console:
    return Console()


def _err() -> Console:
    return Console(stderr=True)


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=1, allow_nan=False))


def _print_listing(entries: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        _print_json(entries)
        return
    width = max((len(entry["name"]) for entry in entries), default=0)
    for entry in entries:
        typer.echo(f"{entry['name']:{width}}  {entry['text']}".rstrip())
        for parameter, meaning in entry.get("parameters", {}).items():
            typer.echo(f"{'':{width}}    {parameter}: {meaning}")

"""Explain: is a run's node as fast as it should be, and if not, where and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, TypeVar

from linkscope.analysis.by_flow import apart
from linkscope.analysis.causes import NO_PEER_ACCESS, Likely, Surroundings, likely, lost_pair
from linkscope.analysis.contention import Crowd, crowds
from linkscope.analysis.failed_cases import FailedCases, failed_cases
from linkscope.analysis.known_collectives import JudgedCollective, known_collectives, known_from
from linkscope.analysis.latencies import JudgedLatency, latencies
from linkscope.analysis.layers import Layer, layers
from linkscope.analysis.ledger import NVSWITCH, SIBLINGS, Ledger, ledgers
from linkscope.analysis.left_out import left_out
from linkscope.analysis.model_inputs import is_predicted
from linkscope.analysis.spoilers import spoilers
from linkscope.displayed import Displayed
from linkscope.machine.described import is_packaged, load_machine, machines_with
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.machine.state import MachineState
from linkscope.messages.catalog import sentence
from linkscope.results.row import origin_name
from linkscope.results.run_file import RunFile
from linkscope.results.study import studies_of

Json = dict[str, Any]
UNKNOWN = "unknown"
FABRICS = ("nvlink", "xgmi")
_LOCATED = 0.8
"""Share of a GPU's paths that must be slow for the GPU to be the place."""
_EVERYWHERE = 0.95
_WHOLE_LANE = 0.2
"""How far from a whole number of lanes what is missing may be."""
_LOOK_AT = {
    "peer": "link state and errors (nvidia-smi nvlink; on AMD rocm-smi), clocks, other jobs",
    "host": "PCIe width, generation and errors under load, IOMMU, other load on the host",
    "local": "clocks under load, row remapping (nvidia-smi -q), other processes",
}
_ENGINE_LOOK_AT = {
    "copy-engine": "the driver's version and options, variables that move copies to other engines",
}
Account = Ledger | JudgedLatency
_Sort = TypeVar("_Sort", Ledger, JudgedLatency)
_NAMES = {"peer": "other GPUs", "host": "the host", "local": "its own memory"}


@dataclass(frozen=True)
class Shortfall:
    """One thing that makes paths slower than they should be.

    ``where``: devices, or a path; ``what`` in words; ``cause``: "unknown" where no evidence decides. ``cost``: the
    median share that is missing on its paths or, where it is ``late``, by which answers take longer. ``evidence`` and
    ``decide``: why it is thought so, what would tell.
    """

    where: tuple[str, ...]
    kind: str
    what: str
    cause: str
    cost: float
    evidence: tuple[str, ...]
    decide: str
    ids: tuple[str, ...]
    late: bool = False


@dataclass(frozen=True, repr=False)
class Diagnosis(Displayed):
    """``accounts``: of every path that could be judged; ``latencies`` of GPUs and ``collectives``, judged alike.
    ``unsure``: figures that are not short for sure, but of which the interval reaches below what is expected by more
    than the tolerance, and collectives that reductions in the switch leave open. ``unjudged``: paths with nothing to
    hold them against. ``left_out``: how many other figures the run has, by why nobody can say what to expect of them.
    ``layers``: what a method adds to the one below it. ``failed``: cases that failed, by why. ``notices``: what the run
    says of itself, such as that it is an excerpt, or that other work ran. ``packaged``: whether the node is described
    as one that comes with linkscope; ``studies`` that measured such a node. ``predicted``: how many of the figures that
    were held against what is known a model was not given. ``links_unknown``: it is an import that was told neither run
    nor machine; ``described``: nodes with such GPUs, of which one could be named. ``unseen``: GPUs of the
    node of which nothing was judged. ``known_from``: bytes from which on it is known what a collective of the run
    reaches."""

    node: str
    modelled: bool
    shortfalls: tuple[Shortfall, ...]
    accounts: tuple[Ledger, ...]
    latencies: tuple[JudgedLatency, ...]
    unsure: tuple[Ledger | JudgedCollective, ...]
    unjudged: int
    left_out: dict[str, int]
    layers: tuple[Layer, ...] = ()
    failed: tuple[FailedCases, ...] = ()
    notices: tuple[str, ...] = ()
    packaged: bool = False
    studies: tuple[str, ...] = ()
    predicted: int = 0
    links_unknown: bool = False
    unseen: tuple[str, ...] = ()
    collectives: tuple[JudgedCollective, ...] = ()
    known_from: int | None = None
    described: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        """Whether something is slow or does not work."""
        return bool(self.shortfalls or self.failed)

    @property
    def judged(self) -> int:
        """How many figures were held against an expectation."""
        return len(self.accounts) - self.unjudged + self.judged_latencies + len(self.collectives)

    @property
    def judged_latencies(self) -> int:
        """How many of them are latencies."""
        return sum(one.expected_ns is not None for one in self.latencies)

    @property
    def by_siblings(self) -> tuple[Account, ...]:
        """Those held against nothing but others of this run, which a fault of all of them does not show."""
        every: tuple[Account, ...] = (*self.accounts, *self.latencies)
        return tuple(one for one in every if one.held_against == SIBLINGS)

    @property
    def known(self) -> int:
        """How many were held against what is known of such nodes."""
        return self.judged - len(self.by_siblings)

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        found = asdict(self)
        for name in ("accounts", "latencies", "collectives", "unsure", "layers"):
            found[name] = [one.to_json() for one in getattr(self, name)]
        return found


def _described(run: RunFile) -> tuple[str, ...]:
    """Described nodes that have the GPUs of an import, and no more where it has collectives alone, which are of all."""
    gpus = [gpu.name for gpu in run.node.of_kind("gpu")]
    found = machines_with(gpus) if all(gpus) else ()
    of_all = all("members" in row.case["flows"][0] for row in run.with_status("ok"))
    return tuple(name for name in found if not of_all or len(load_machine(name).of_kind("gpu")) == len(gpus))


def explain(run: RunFile) -> Diagnosis:
    """Holds every large transfer of a run, and every latency between GPUs or in their memory, against what is known
    for such a path, or else its siblings."""
    node = run.node
    paths = Paths(node)
    parts = apart(run.rows)
    tool = origin_name(run.header)
    accounts, waits = ledgers(parts, paths), latencies(parts, paths)
    states = [MachineState.from_json(data) for data in _states(run)]
    where = Surroundings(node, states, run.with_status("skipped"), accounts)
    short = [one for one in accounts if one.short]
    unsure = [one for one in accounts if not one.short and one.may_miss > max(one.tolerance, one.noise)]
    late = [one for one in waits if one.short]
    found = _shortfalls(short, late, accounts, waits, where) + [
        _together(one) for one in crowds(run.rows, accounts, paths)
    ]
    found += _unreachable(where, paths, found)
    collectives = known_collectives(run.rows, paths)
    found += _slow_collectives(collectives, found, accounts)
    packaged, links_unknown = is_packaged(node), bool(tool) and not node.links
    flows = {row.id: row.case["flows"][0] for row in run.rows}
    every: tuple[Account, ...] = (*accounts, *waits)
    known = [one for one in every if one.held_against not in ("", SIBLINGS)]
    return Diagnosis(
        node=node.name,
        packaged=packaged,
        studies=tuple(studies_of(node.name)) if packaged else (),
        predicted=sum(is_predicted(one, flows[one.id], node.methods) for one in known) if run.modelled else 0,
        modelled=run.modelled,
        shortfalls=tuple(sorted(found, key=lambda one: -one.cost)),
        accounts=tuple(accounts),
        latencies=tuple(waits),
        unsure=(*unsure, *(one for one in collectives if one.open)),
        unjudged=sum(one.expected_gbps is None for one in accounts),
        left_out=left_out(parts, {one.id for one in every}, {one.id for one in collectives}, links_unknown),
        layers=layers(run.rows),
        failed=failed_cases(run.with_status("failed")),
        notices=(
            *([f"imported from {tool}"] if tool else []),
            *(sentence(found) for found in spoilers(run)),
            *run.notices,
        ),
        links_unknown=links_unknown,
        described=_described(run) if links_unknown else (),
        unseen=_unseen(node, every, collectives),
        collectives=collectives,
        known_from=known_from(run.rows, paths),
    )


def _unseen(node: Node, judged: Iterable[Account], collectives: Iterable[JudgedCollective]) -> tuple[str, ...]:
    seen = {gpu for one in (*judged, *collectives) if one.held_against for gpu in one.gpus}
    return tuple(gpu.id for gpu in node.of_kind("gpu") if gpu.id not in seen)


def _unreachable(where: Surroundings, paths: Paths, found: Sequence[Shortfall]) -> list[Shortfall]:
    """GPUs on one fabric that cannot reach each other, unless that is told already."""
    if any(NO_PEER_ACCESS in one.cause for one in found):
        return []
    pairs = {pair for row in where.skipped if (pair := lost_pair(row)) and _on_fabric(paths, *pair)}
    gpus = tuple(sorted({gpu for pair in pairs for gpu in pair}))
    if not gpus:
        return []
    ids = tuple(row.id for row in where.skipped if lost_pair(row) in pairs)
    return [
        Shortfall(
            *(gpus, "peer", "no transfers between them", f"{NO_PEER_ACCESS}, though they are on one fabric", 1.0),
            evidence=(f"{len(ids)} case{'s that need it were' if len(ids) > 1 else ' that needs it was'} skipped",),
            decide="look at `nvidia-smi topo -p2p r`, the fabric manager, IOMMU and ACS, and the container's devices",
            ids=ids,
        )
    ]


def _on_fabric(paths: Paths, one: str, other: str) -> bool:
    try:
        path = paths.between(one, other)
    except KeyError:
        return False
    return path is not None and all(paths.links[link].link.kind.startswith(FABRICS) for link in path.route)


def _states(run: RunFile) -> Iterator[Json]:
    """Of the header and of every state record, in order; none of a described node, which has no state."""
    if run.node.modelled:
        return
    if run.header.get("state"):
        yield run.header["state"]
    for record in run.states:
        if record.get("state"):
            yield record["state"]


def _shortfalls(
    short: Sequence[Ledger],
    late: Sequence[JudgedLatency],
    accounts: Sequence[Ledger],
    waits: Sequence[JudgedLatency],
    where: Surroundings,
) -> list[Shortfall]:
    found: list[Shortfall] = []
    left: list[Account] = [*short, *late]
    known: dict[str, list[tuple[str, Likely, list[Account]]]] = {}
    gpus = [gpu.id for gpu in where.node.of_kind("gpu")]
    switched = frozenset(gpu for gpu in gpus if any({gpu, NVSWITCH} == {one.a, one.b} for one in where.node.links))
    for gpu in gpus:
        for cause in likely(where, gpu):
            explained = [one for one in left if gpu in one.gpus and cause.explains(one)]
            if explained:
                known.setdefault(cause.what.replace(gpu, "a GPU"), []).append((gpu, cause, explained))
                left = _without(left, explained)
    for sharing in known.values():
        found += _known(sharing)
    for engine in _slow_engines(_of(_open(accounts, left), Ledger)):
        found.append(_of_engine(engine))
        left = _without(left, engine)
    for some, all_ in ((_of(left, Ledger), accounts), (_of(left, JudgedLatency), waits)):
        open_ = _open(all_, some)
        for kind in ("peer", "host", "local"):
            still = [one for one in some if one.kind == kind and not _told(one, found)]
            found += _unknown(kind, still, [one for one in open_ if one.kind == kind], switched)
    return found


def _slow_collectives(
    some: Iterable[JudgedCollective], found: Iterable[Shortfall], accounts: Iterable[Ledger]
) -> list[Shortfall]:
    """One thing for each collective and its GPUs, if none of these has slow links, which explain it."""
    slow = " ".join(place for one in found if one.kind == "peer" and not one.late for place in one.where).split()
    links = any(one.kind == "peer" and one.held_against for one in accounts)
    judge = "its links are as fast as they should be" if links else "a run of the suite default judges the links"
    groups: dict[tuple[str, tuple[str, ...]], list[JudgedCollective]] = {}
    for one in some:
        if one.short and not {*one.gpus} & {*slow}:
            groups.setdefault((one.collective, one.gpus), []).append(one)
    return [
        Shortfall(
            *(gpus, "peer", f"slow {collective}", UNKNOWN, median(one.missing for one in short)),
            evidence=(max(short, key=lambda one: one.missing).told,),
            decide=f"{judge}; NCCL_DEBUG=INFO tells algorithm and channels",
            ids=tuple(one.id for one in short),
        )
        for (collective, gpus), short in groups.items()
    ]


def _slow_engines(open_: Sequence[Ledger]) -> list[list[Ledger]]:
    """All figures of an engine that is slow wherever it was judged, on paths where another one is not."""
    by_engine: dict[str, list[Ledger]] = {}
    for one in open_:
        if one.expected_gbps is not None:
            by_engine.setdefault(one.method, []).append(one)
    slow = {
        name: some
        for name, some in by_engine.items()
        if len({one.kind for one in some}) > 1 and sum(one.short for one in some) >= _EVERYWHERE * len(some)
    }
    fine = {one.gpus for name, some in by_engine.items() if name not in slow for one in some if not one.short}
    return [[one for one in some if one.short] for some in slow.values() if all(one.gpus in fine for one in some)]


def _of_engine(short: Sequence[Ledger]) -> Shortfall:
    engine = short[0].method
    return Shortfall(
        tuple(_gpus(short)),
        short[0].kind,
        f"slow by {engine}, everywhere",
        "not the links: on the same paths another engine is as fast as it should be",
        _cost(short),
        (_worst(short),),
        _ENGINE_LOOK_AT.get(engine, "the GPU's clocks under load and the shape that kernels are launched in"),
        _ids(short),
    )


def _of(some: Iterable[Account], sort: type[_Sort]) -> list[_Sort]:
    return [one for one in some if isinstance(one, sort)]


def _told(one: Account, found: Iterable[Shortfall]) -> bool:
    """Whether a latency is of a place where transfers are slow: the one finding is enough."""
    return isinstance(one, JudgedLatency) and any(
        other.kind == one.kind and set(one.gpus) & {gpu for place in other.where for gpu in place.split(" > ")}
        for other in found
        if not other.late
    )


def _together(one: Crowd) -> Shortfall:
    return Shortfall(
        one.gpus,
        "host",
        "slow with the host when used together",
        "they share a link that the topology does not show, or one that others load",
        one.lost,
        (one.evidence,),
        "lspci -tv: a common switch or root port; other devices and jobs below it",
        (one.id,),
    )


def _known(sharing: Sequence[tuple[str, Likely, list[Account]]]) -> list[Shortfall]:
    """One finding of a cause that several GPUs show alike."""
    cause = sharing[0][1]
    where = cause.where or tuple(gpu for gpu, _, _ in sharing)
    explained = list(dict.fromkeys(one for _, _, some in sharing for one in some))
    kinds = dict.fromkeys(one.kind for one in explained)
    kind = next(iter(kinds))
    what = ", ".join(_NAMES[name] for name in kinds)
    evidence = (*(f"{gpu} {likely_.evidence}" for gpu, likely_, _ in sharing), _worst(explained))
    return [
        Shortfall(
            where,
            kind,
            f"{_pace(explained)} with {what}",
            cause.what,
            _cost(explained),
            evidence,
            cause.decide,
            _ids(explained),
            _late(explained),
        )
    ]


def _unknown(
    kind: str, short: Sequence[Account], accounts: Sequence[Account], switched: Collection[str]
) -> list[Shortfall]:
    """Places of figures that no state explains: everywhere, else GPUs, else path by path. ``switched``: GPUs whose
    links lead to a switch, so that lanes that are down slow more than one pair."""
    if not short:
        return []
    gpus = _gpus(accounts)
    if len(gpus) > 2 and len(short) >= _EVERYWHERE * len(accounts):
        what = f"{_pace(short)} with {_NAMES[kind]}, everywhere"
        return [_at(tuple(gpus), what, short, cause=f"{UNKNOWN}; all are alike, so look for what they share")]
    if kind != "peer":
        what = f"{_pace(short)} with {_NAMES[kind]}"
        return [_at((gpu,), what, [o for o in short if gpu in o.gpus]) for gpu in _gpus(short)]
    return _unknown_peers(short, accounts, switched)


def _unknown_peers(short: Sequence[Account], accounts: Sequence[Account], switched: Collection[str]) -> list[Shortfall]:
    """GPUs of which most paths are slow, the worst first, then what is left path by path.

    Transfers one way find the place; those both ways are put down to the first place that they touch.
    """
    alone = [one for one in accounts if not one.both]
    seen = alone if any(one.short for one in alone) else list(accounts)
    finders = set(seen)
    left = list(short)
    found: list[Shortfall] = []
    while place := _place([one for one in left if one in finders], _open(seen, left)):
        gpu, way, end = place
        hit = [one for one in left if _touches(one, gpu, end) or (one.both and gpu in one.gpus)]
        found.append(_at((gpu,), f"{_pace(hit)} with {_NAMES['peer']} (its {way})", hit, _cause(hit)))
        left = _without(left, hit)
    while left:
        pairs = list(dict.fromkeys((one.source, one.destination) for one in left if one in finders))
        pair = pairs[0] if pairs else (left[0].source, left[0].destination)
        back = pair[::-1] in pairs
        hit = [one for one in left if set(one.gpus) == set(pair) and (back or one.both or one.source == pair[0])]
        path = pair if back else (" > ".join(pair),)
        what = f"{_pace(hit)} between the two" if back else f"{_pace(hit)} on this path"
        own = len(_gpus(accounts)) == 2 or not set(pair) & set(switched)
        found.append(_at(path, what, hit, _cause(hit) if own else UNKNOWN))
        left = _without(left, hit)
    return found


def _without(some: Iterable[Account], gone: Iterable[Account]) -> list[Account]:
    taken = set(gone)
    return [one for one in some if one not in taken]


def _open(accounts: Iterable[Account], left: Iterable[Account]) -> list[Account]:
    """Those that are as they should be, or short and not explained yet."""
    still = set(left)
    return [one for one in accounts if not one.short or one in still]


def _place(short: Sequence[Account], accounts: Sequence[Account]) -> tuple[str, str, str] | None:
    """A GPU with slow paths to several others: its name, "row", "column" or both, and which end it is."""
    for gpu in sorted(_gpus(short), key=lambda name: -sum(name in one.gpus for one in short)):
        for way, end in (("row and column", "any"), ("row", "source"), ("column", "destination")):
            mine = [one for one in accounts if _touches(one, gpu, end)]
            hit = [one for one in short if _touches(one, gpu, end)]
            if len({frozenset(one.gpus) for one in hit}) > 1 and len(hit) >= _LOCATED * len(mine):
                return gpu, way, end
    return None


def _touches(one: Account, gpu: str, end: str) -> bool:
    if end == "any":
        return gpu in one.gpus
    return not one.both and bool(getattr(one, end) == gpu)


def _gpus(some: Iterable[Account]) -> list[str]:
    return list(dict.fromkeys(gpu for one in some for gpu in one.gpus))


def _at(where: tuple[str, ...], what: str, short: Sequence[Account], cause: str = UNKNOWN) -> Shortfall:
    kind = short[0].kind
    return Shortfall(
        where, kind, what, cause, _cost(short), (_worst(short),), _LOOK_AT[kind], _ids(short), _late(short)
    )


def _cause(short: Sequence[Account]) -> str:
    """Lanes, where a whole number of them is missing."""
    hint = _lanes(short)
    return f"likely {hint}, though no state says so" if hint else UNKNOWN


def _late(short: Iterable[Account]) -> bool:
    return all(isinstance(one, JudgedLatency) for one in short)


def _pace(short: Iterable[Account]) -> str:
    return "long latencies" if _late(short) else "slow"


def _lanes(short: Sequence[Account]) -> str:
    """Lanes of a bundle that would explain what is missing: both engines lose the same whole number of them."""
    alone = [one for one in short if not one.both] or short
    engines = {one.method for one in alone}
    losses = {name: median(one.missing for one in alone if one.method == name) for name in engines}
    bundles = {one.lanes for one in short if one.kind == "peer"}
    total = bundles.pop() if len(bundles) == 1 else None
    if not total or total < 2:
        return ""
    down = [share * total for share in losses.values()]
    whole = round(down[0])
    if 0 < whole < total and all(abs(one - whole) < _WHOLE_LANE * max(1, whole) for one in down):
        return f"{whole} of {total} lanes down ({whole / total:.1%})"
    return ""


def _cost(short: Sequence[Account]) -> float:
    rates = short if _late(short) else _of(short, Ledger)
    return median(one.missing for one in rates if not one.both or all(other.both for other in rates))


def _ids(short: Sequence[Account]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.id for one in short))


def _worst(short: Sequence[Account]) -> str:
    rates = short if _late(short) else _of(short, Ledger)
    one = max(rates, key=lambda found: found.missing)
    rest = f", and {len(short) - 1} more" if len(short) > 1 else ""
    return f"{one.source} > {one.destination} {one.method}: {one.told}{rest}"

"""What is said of many nodes: who is odd and by how much, what it alone has, who did not answer. Views show this."""

import math
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.analysis.peers.node import Hardware
from hostdx.scenarios.analysis.peers.retest import RetestedMeasure
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.plan import Metric

MIN_NODES = 10  # with fewer no setting is named: what a node alone has is then too often chance
SCHEMA = "hostdx-fleet-judgement/1"

AnswerState: TypeAlias = Literal[
    "answered", "unreachable", "refused", "timed_out", "hung", "skipped", "no_python", "rubbish", "interrupted",
    "unreadable",
]  # fmt: skip


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A fact in which the node differs from most of its peers. `value` is null where the node has no such fact.

    `suspicion`: PeerPressure's, in 0..1, for the order only. `theirs`: their values with how many of the `peers` have
    each, the most frequent first. `component`, `experiment` and `command` as in the knowledge base; `rule` reads the
    fact, `prove` is the scenario that would measure what it costs.
    """

    subject: str
    name: str
    value: Json
    theirs: tuple[tuple[Json, int], ...]
    peers: int
    matching: int
    suspicion: float
    component: str = ""
    why: str = ""
    experiment: str = ""
    command: str = ""
    rule: str = ""
    prove: str = ""


class Parting(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that tells two parts of the nodes from each other: the most frequent values of each, with their counts.

    `right`: the share of nodes that are in the part where most *others* with their value are: what is different on
    every node places none. An association: what else differs between the parts stands beside it.
    """

    subject: str
    name: str
    lower: tuple[tuple[Json, int], ...]
    upper: tuple[tuple[Json, int], ...]
    right: float
    component: str = ""
    experiment: str = ""
    rule: str = ""


class Rare(msgspec.Struct, frozen=True, kw_only=True):
    """A value that hardly any of the `nodes` like these have, where the others agree on `usual` (`share` of them).

    `few`: of too few nodes to say that it means anything; it only differs.
    """

    subject: str
    name: str
    value: Json
    nodes: tuple[str, ...]
    of: int
    usual: Json
    share: float
    suspicion: float
    rule: str = ""
    few: bool = False


class MissingNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node without an answer, in which round (0 is the first measurement), and why."""

    node: str
    state: AnswerState
    reason: str = ""
    round: of.Number = 0
    seconds: of.Seconds = 0.0


class Alike(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of one hardware. `unlike`: what is otherwise than in the largest group, where they are too few to judge."""

    hardware: Hardware
    nodes: int
    judged: bool
    named: tuple[str, ...] = ()  # where they are too few
    unlike: Hardware = ()


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """A measure's two populations. `slow` are the nodes of the smaller level, which is `ratio` of the other one."""

    slow: tuple[str, ...]
    fast: int
    levels: tuple[float, float]
    ratio: float
    settings: tuple[Parting, ...] = ()


class FleetMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of like nodes. `values` by node, in the metric's unit, as `centre`; `spread`: one node's standard
    deviation, a share. `smallest`: the difference that is found in 95 % of the cases, a share.
    """

    key: FigureKey
    title: str
    metric: Metric
    group: int
    values: dict[str, float]
    centre: float
    spread: float
    smallest: float
    parts: Parts | None = None


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """What nodes that began together reach in all. `rates` by node, `again` the sums of the retests; in its unit."""

    key: FigureKey
    title: str
    metric: Metric
    rates: dict[str, float]
    again: tuple[float, ...] = ()

    @property
    def total_rate(self) -> float:
        return math.fsum(self.rates.values())


class FleetOutlier(msgspec.Struct, frozen=True, kw_only=True):
    """A node that stayed out. `few`: too few nodes to name a setting; then `settings` only lists what differs."""

    node: str
    standings: tuple[RetestedMeasure, ...]
    settings: tuple[Setting, ...] = ()
    few: bool = False
    findings: tuple[str, ...] = ()


class FoundOn(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's finding, and on which nodes; `count` may be more than are named."""

    finding: str
    count: int
    of: int
    nodes: tuple[str, ...]


class FleetJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """`suspects` are still out and not decided (without a retest: to be measured again); `cleared` came back in the
    retests, within half of the margin.

    `rounds` of retests. `compared`: how many nodes stand in any measure.
    """

    schema: str = SCHEMA
    what: tuple[str, ...] = ()
    nodes: int = 0
    compared: int = 0
    rounds: int = 0
    margin: float = 0.05
    groups: tuple[Alike, ...] = ()
    measures: tuple[FleetMeasure, ...] = ()
    odd: tuple[FleetOutlier, ...] = ()
    suspects: tuple[RetestedMeasure, ...] = ()
    cleared: tuple[RetestedMeasure, ...] = ()
    rare: tuple[Rare, ...] = ()
    findings: tuple[FoundOn, ...] = ()
    missing: tuple[MissingNode, ...] = ()
    sums: tuple[Sum, ...] = ()  # of nodes that began together; rates only, for times do not add up
    files: dict[str, str] = {}  # of each node, its own answer: below the folder that was judged

    @property
    def smallest_difference(self) -> float | None:
        """Over all measures: no node differs by more, where none is odd or suspect. None: nothing was measured."""
        return max((measure.smallest for measure in self.measures), default=None)

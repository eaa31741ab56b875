"""The judgement of many nodes, made: from their measures and facts to who is odd and what it alone has."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from hostdx.scenarios.analysis.compare.run_summary import FigureKey, PlannedLoad
from hostdx.scenarios.analysis.peers.facts import FactTable
from hostdx.scenarios.analysis.peers.judgement import (
    MIN_NODES,
    Alike,
    FleetJudgement,
    FleetMeasure,
    FleetOutlier,
    FoundOn,
    MissingNode,
    Parts,
    Sum,
)
from hostdx.scenarios.analysis.peers.node import PeerNode
from hostdx.scenarios.analysis.peers.retest import (
    MIN_ROUNDS,
    RetestedMeasure,
    Round,
    suspect_standings_by_measure,
)
from hostdx.scenarios.analysis.peers.screen import (
    MIN_PEERS,
    HardwareGroup,
    PeerCheck,
    ScreenedMeasure,
    screen_nodes,
    smallest_detectable_share,
)
from hostdx.scenarios.analysis.peers.setting import (
    facts_that_tell_levels_apart,
    find_rare_values,
    suspected_settings,
)
from hostdx.scenarios.contract.verdict.verdict import margin_edge, ratio_of
from hostdx.scenarios.triage.knowledge.loads import load_group_of

_MAX_PEERS = 400  # that an odd node's facts are held against: more say the same
_MAX_RARE_SHARE = 0.1  # of the nodes, at most, have a finding that is told of an odd one
_MAX_NAMED_NODES = 1000


def judge_fleet(
    nodes: Sequence[PeerNode],
    table: FactTable,
    loads: Mapping[FigureKey, PlannedLoad],
    rounds: Sequence[Round] = (),
    *,
    margin: float = 0.05,
    missing: Sequence[MissingNode] = (),
    measurement_names: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    together: bool = False,
) -> FleetJudgement:
    """`nodes`: their first measurements, each name once; `table`: their facts, as far as read. `together`: all of them
    began at one time.
    """
    screened = screen_nodes(nodes, margin)
    judged = suspect_standings_by_measure(screened, rounds)
    places = table.node_places()
    titles = _column_titles(screened.columns, loads)
    odd = tuple(dict.fromkeys(item.node for item in judged if item.is_different))
    groups = [[places[name] for name in group.nodes if name in places] for group in screened.groups]
    return FleetJudgement(
        what=tuple(measurement_names),
        nodes=len({*(node.name for node in nodes), *(item.node for item in missing)}),
        compared=len({name for column in screened.columns for name in column.logs}),
        rounds=len(rounds),
        margin=margin,
        groups=tuple(_describe_hardware_group(n, group, screened) for n, group in enumerate(screened.groups)),
        measures=tuple(
            _fleet_measure(n, column, titles[n], loads, judged, margin, table, places)
            for n, column in enumerate(screened.columns)
        ),
        odd=tuple(_fleet_outlier(name, screened, judged, nodes, table, groups) for name in odd),
        suspects=tuple(item for item in judged if item.node not in odd and _is_still_open(item, margin)),
        cleared=tuple(item for item in judged if item.node not in odd and not _is_still_open(item, margin)),
        rare=tuple(item for group in groups for item in find_rare_values(table, group)),
        findings=_findings_by_node(nodes),
        missing=tuple(missing),
        sums=_sums_of_rates(nodes, loads, rounds) if together else (),
        files=dict(files or {}),
    )


def _is_still_open(standing: RetestedMeasure, margin: float) -> bool:
    """Neither decided nor back among its peers in the retests."""
    back = standing.ratio is not None and abs(math.log(standing.ratio)) <= margin_edge(margin) / 2
    return not (standing.is_decided or back)


def _describe_hardware_group(number: int, group: HardwareGroup, screened: PeerCheck) -> Alike:
    few = len(group.nodes) < MIN_PEERS
    largest = Counter(screened.groups[0].hardware)
    own = Counter(group.hardware)
    unlike = tuple((own - largest).elements()) or tuple(("without", f"{a} {b}") for a, b in (largest - own))
    return Alike(
        hardware=group.hardware,
        nodes=len(group.nodes),
        judged=any(column.group == number for column in screened.columns),
        named=group.nodes[:_MAX_NAMED_NODES] if few else (),
        unlike=unlike if few and number else (),
    )


def _column_titles(columns: Sequence[ScreenedMeasure], loads: Mapping[FigureKey, PlannedLoad]) -> list[str]:
    """With the variant and the metric where a title alone is that of several measures."""
    keys = dict.fromkeys(column.key for column in columns)
    variants = Counter((loads[key].title, key.variant) for key in keys)
    alone = Counter(loads[key].title for key in keys)

    def full_title(key: FigureKey) -> str:
        title = loads[key].title
        label = loads[key].variant_label or key.variant
        parts = [label] if alone[title] > variants[title, key.variant] and label else []
        parts += [key.metric] if variants[title, key.variant] > 1 else []
        return ", ".join((title, *parts))

    return [full_title(column.key) for column in columns]


def _fleet_measure(
    number: int,
    column: ScreenedMeasure,
    title: str,
    loads: Mapping[FigureKey, PlannedLoad],
    judged: Sequence[RetestedMeasure],
    margin: float,
    table: FactTable,
    places: Mapping[str, int],
) -> FleetMeasure:
    load = loads[column.key]
    sign = load.metric.sign
    two = column.parted
    parts = None
    if two is not None:
        sides = [[places[name] for name in part if name in places] for part in (two.lower, two.upper)]
        levels = math.exp(sign * two.log_centres[0]), math.exp(sign * two.log_centres[1])
        parts = Parts(
            slow=two.lower,
            fast=len(two.upper),
            levels=levels,
            ratio=two.ratio,
            settings=facts_that_tell_levels_apart(table, *sides),
        )
    # as wide as a retest of the least number of rounds would be
    halves = sorted(
        standing.half * math.sqrt(min(1.0, standing.rounds / MIN_ROUNDS))
        for standing in judged
        if standing.column == number and standing.half
    )
    return FleetMeasure(
        key=column.key, title=title, metric=load.metric, group=column.group,
        values={name: math.exp(sign * log) for name, log in column.logs.items()},
        centre=math.exp(sign * column.centre), spread=ratio_of(column.spread) - 1,
        smallest=smallest_detectable_share(column, margin, halves[len(halves) // 2] if halves else 0.0), parts=parts,
    )  # fmt: skip


def _sums_of_rates(
    nodes: Sequence[PeerNode], loads: Mapping[FigureKey, PlannedLoad], rounds: Sequence[Round]
) -> tuple[Sum, ...]:
    rate_sums = []
    for key, load in loads.items():
        first, *later = (
            {node.name: math.exp(node.logs[key]) for node in round_nodes if key in node.logs}
            for round_nodes in (nodes, *(round_nodes.values() for round_nodes in rounds))
        )
        if load.metric.better == "more" and first:
            again = tuple(math.fsum(rates.values()) for rates in later if rates.keys() == first.keys())
            rate_sums.append(Sum(key=key, title=load.title, metric=load.metric, rates=first, again=again))
    return tuple(rate_sums)


def _fleet_outlier(
    name: str,
    screened: PeerCheck,
    judged: Sequence[RetestedMeasure],
    nodes: Sequence[PeerNode],
    table: FactTable,
    groups: Sequence[Sequence[int]],
) -> FleetOutlier:
    mine = tuple(item for item in judged if item.node == name and item.is_different)
    others = {item.node for item in judged if item.is_different}
    number = screened.group_by_node()[name]
    group = groups[number]
    peers = [place for place in group if table.nodes[place] not in others][:_MAX_PEERS]
    moved = {load_group_of(screened.columns[item.column].key.workload).name for item in mine}
    own = next((place for place in group if table.nodes[place] == name), None)
    alike = set(screened.groups[number].nodes)
    usual = Counter(item for node in nodes if node.name in alike for item in node.findings)
    own_findings = next((node.findings for node in nodes if node.name == name), ())
    return FleetOutlier(
        node=name,
        standings=mine,
        settings=suspected_settings(table, own, peers, moved) if own is not None and peers else (),
        few=len(group) < MIN_NODES,
        findings=tuple(item for item in own_findings if usual[item] <= max(1, _MAX_RARE_SHARE * len(alike))),
    )  # fmt: skip


def _findings_by_node(nodes: Sequence[PeerNode]) -> tuple[FoundOn, ...]:
    """The rarest first: what every node has is no difference between them, and comes last."""
    on: dict[str, list[str]] = {}
    looked = {node.name for node in nodes if node.looked}
    for node in nodes:
        for finding_id in dict.fromkeys(node.findings):
            on.setdefault(finding_id, []).append(node.name)
    return tuple(
        FoundOn(
            finding=finding_id,
            count=len(names),
            of=len(looked) if looked.issuperset(names) else len(nodes),  # a scenario's own is no rule's
            nodes=tuple(names[:_MAX_NAMED_NODES]),
        )
        for finding_id, names in sorted(on.items(), key=lambda item: (len(item[1]), item[0]))
    )

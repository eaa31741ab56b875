"""The judgement of many nodes, made: from their measures and facts to who is odd and what it alone has."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from scenarios.compare.run_summary import FigureKey, Load
from scenarios.knowledge.loads import group_of
from scenarios.peers.facts import FactTable
from scenarios.peers.judgement import (
    LEAST_NODES,
    Alike,
    FleetJudgement,
    FoundOn,
    Measure,
    Missing,
    Odd,
    Parts,
    Sum,
)
from scenarios.peers.node import Node
from scenarios.peers.retest import LEAST_ROUNDS, RetestedSuspect, Round, standings
from scenarios.peers.screen import LEAST_PEERS, Column, HardwareGroup, Screen, screen, smallest_found
from scenarios.peers.setting import partings, rare, settings
from scenarios.verdict.verdict import margin_edge, ratio_of

_MOST_PEERS = 400  # that an odd node's facts are held against: more say the same
_SELDOM = 0.1  # of the nodes, at most, have a finding that is told of an odd one
_MOST_NAMED = 1000


def judge(
    nodes: Sequence[Node],
    table: FactTable,
    loads: Mapping[FigureKey, Load],
    rounds: Sequence[Round] = (),
    *,
    margin: float = 0.05,
    missing: Sequence[Missing] = (),
    what: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    together: bool = False,
) -> FleetJudgement:
    """`nodes`: their first measurements, each name once; `table`: their facts, as far as read. `together`: all of them
    began at one time.
    """
    found = screen(nodes, margin)
    judged = standings(found, rounds)
    places = table.places()
    titles = _titles(found.columns, loads)
    odd = tuple(dict.fromkeys(one.node for one in judged if one.is_different))
    groups = [[places[name] for name in group.nodes if name in places] for group in found.groups]
    return FleetJudgement(
        what=tuple(what),
        nodes=len({*(node.name for node in nodes), *(one.node for one in missing)}),
        compared=len({name for column in found.columns for name in column.logs}),
        rounds=len(rounds),
        margin=margin,
        groups=tuple(_alike(n, group, found) for n, group in enumerate(found.groups)),
        measures=tuple(
            _measure(n, column, titles[n], loads, judged, margin, table, places)
            for n, column in enumerate(found.columns)
        ),
        odd=tuple(_odd(name, found, judged, nodes, table, groups) for name in odd),
        suspects=tuple(one for one in judged if one.node not in odd and _open(one, margin)),
        cleared=tuple(one for one in judged if one.node not in odd and not _open(one, margin)),
        rare=tuple(one for group in groups for one in rare(table, group)),
        findings=_found_on(nodes),
        missing=tuple(missing),
        sums=_sums(nodes, loads, rounds) if together else (),
        files=dict(files or {}),
    )


def _open(one: RetestedSuspect, margin: float) -> bool:
    """Neither decided nor back among its peers in the retests."""
    back = one.ratio is not None and abs(math.log(one.ratio)) <= margin_edge(margin) / 2
    return not (one.is_decided or back)


def _alike(number: int, group: HardwareGroup, found: Screen) -> Alike:
    few = len(group.nodes) < LEAST_PEERS
    largest = Counter(found.groups[0].hardware)
    own = Counter(group.hardware)
    unlike = tuple((own - largest).elements()) or tuple(("without", f"{a} {b}") for a, b in (largest - own))
    return Alike(
        hardware=group.hardware,
        nodes=len(group.nodes),
        judged=any(column.group == number for column in found.columns),
        named=group.nodes[:_MOST_NAMED] if few else (),
        unlike=unlike if few and number else (),
    )


def _titles(columns: Sequence[Column], loads: Mapping[FigureKey, Load]) -> list[str]:
    """With the variant and the metric where a title alone is that of several measures."""
    keys = dict.fromkeys(column.key for column in columns)
    variants = Counter((loads[key].title, key.variant) for key in keys)
    alone = Counter(loads[key].title for key in keys)

    def told(key: FigureKey) -> str:
        title = loads[key].title
        parts = [key.variant] if alone[title] > variants[title, key.variant] and key.variant else []
        parts += [key.metric] if variants[title, key.variant] > 1 else []
        return f"{title} ({', '.join(parts)})" if parts else title

    return [told(column.key) for column in columns]


def _measure(
    number: int,
    column: Column,
    title: str,
    loads: Mapping[FigureKey, Load],
    judged: Sequence[RetestedSuspect],
    margin: float,
    table: FactTable,
    places: Mapping[str, int],
) -> Measure:
    load = loads[column.key]
    sign = 1.0 if load.metric.better == "more" else -1.0
    two = column.parted
    parts = None
    if two is not None:
        sides = [[places[name] for name in part if name in places] for part in (two.lower, two.upper)]
        levels = math.exp(sign * two.centres[0]), math.exp(sign * two.centres[1])
        parts = Parts(
            slow=two.lower,
            fast=len(two.upper),
            levels=levels,
            ratio=two.ratio,
            settings=partings(table, *sides),
        )
    # as wide as a retest of the least number of rounds would be
    halves = sorted(
        one.half * math.sqrt(min(1.0, one.rounds / LEAST_ROUNDS))
        for one in judged
        if one.column == number and one.half
    )
    return Measure(
        key=column.key, title=title, metric=load.metric, group=column.group,
        values={name: math.exp(sign * log) for name, log in column.logs.items()},
        centre=math.exp(sign * column.centre), spread=ratio_of(column.spread) - 1,
        smallest=smallest_found(column, margin, halves[len(halves) // 2] if halves else 0.0), parts=parts,
    )  # fmt: skip


def _sums(nodes: Sequence[Node], loads: Mapping[FigureKey, Load], rounds: Sequence[Round]) -> tuple[Sum, ...]:
    found = []
    for key, load in loads.items():
        first, *later = (
            {node.name: math.exp(node.logs[key]) for node in one if key in node.logs}
            for one in (nodes, *(one.values() for one in rounds))
        )
        if load.metric.better == "more" and first:
            again = tuple(math.fsum(rates.values()) for rates in later if rates.keys() == first.keys())
            found.append(Sum(key=key, title=load.title, metric=load.metric, rates=first, again=again))
    return tuple(found)


def _odd(
    name: str,
    found: Screen,
    judged: Sequence[RetestedSuspect],
    nodes: Sequence[Node],
    table: FactTable,
    groups: Sequence[Sequence[int]],
) -> Odd:
    mine = tuple(one for one in judged if one.node == name and one.is_different)
    others = {one.node for one in judged if one.is_different}
    number = found.group_of()[name]
    group = groups[number]
    peers = [place for place in group if table.nodes[place] not in others][:_MOST_PEERS]
    moved = {group_of(found.columns[one.column].key.workload).name for one in mine}
    own = next((place for place in group if table.nodes[place] == name), None)
    alike = set(found.groups[number].nodes)
    usual = Counter(one for node in nodes if node.name in alike for one in node.findings)
    own_findings = next((node.findings for node in nodes if node.name == name), ())
    return Odd(
        node=name,
        standings=mine,
        settings=settings(table, own, peers, moved) if own is not None and peers else (),
        few=len(group) < LEAST_NODES,
        findings=tuple(one for one in own_findings if usual[one] <= max(1, _SELDOM * len(alike))),
    )  # fmt: skip


def _found_on(nodes: Sequence[Node]) -> tuple[FoundOn, ...]:
    """The rarest first: what every node has is no difference between them, and comes last."""
    on: dict[str, list[str]] = {}
    looked = {node.name for node in nodes if node.looked}
    for node in nodes:
        for one in dict.fromkeys(node.findings):
            on.setdefault(one, []).append(node.name)
    return tuple(
        FoundOn(
            finding=one,
            count=len(names),
            of=len(looked) if looked.issuperset(names) else len(nodes),  # a scenario's own is no rule's
            nodes=tuple(names[:_MOST_NAMED]),
        )
        for one, names in sorted(on.items(), key=lambda item: (len(item[1]), item[0]))
    )

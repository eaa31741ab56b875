"""Facts that go with a difference between nodes: what parts two populations, and what only a few nodes have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from probes.types import Json
from scenarios.compare.run_summary import FactKey
from scenarios.knowledge.differences import component_of, mover_of
from scenarios.peers.facts import MISSING, UNREAD, FactTable, value_of
from scenarios.peers.judgement import LEAST_NODES, Parting, Rare
from scenarios.peers.setting import known_rule, suspicion

MOST_PARTING = 5
MOST_RARE = 20
LEAST_RIGHT = 0.9  # of the nodes that a parting fact must place in their own part
_RARE = 0.02  # of the nodes have it, or one
_FEW_VALUES = 4  # of a rare setting's fact: more is a name, a serial, a reading


def partings(table: FactTable, lower: Sequence[int], upper: Sequence[int]) -> tuple[Parting, ...]:
    """The best first; none where the nodes are too few to tell."""
    total = len(lower) + len(upper)
    if total < LEAST_NODES:
        return ()
    found: list[tuple[float, bool, FactKey, Counter[int], Counter[int]]] = []
    for key in table.known():
        a, b = (Counter(table.column(key, part)) for part in (lower, upper))
        if UNREAD in a or UNREAD in b or len(a.keys() | b.keys()) < 2:
            continue
        right = sum(n for v, n in a.items() if n - 1 > b[v]) + sum(n for v, n in b.items() if n - 1 > a[v])
        if right >= LEAST_RIGHT * total:
            found.append((right / total, mover_of("/".join(key)) is not None, key, a, b))
    found.sort(key=lambda one: (-one[0], not one[1], one[2]))
    return tuple(_parting(table, key, a, b, right) for right, _, key, a, b in found[:MOST_PARTING])


def _parting(table: FactTable, key: FactKey, a: Counter[int], b: Counter[int], right: float) -> Parting:
    mover = mover_of("/".join(key))
    component = component_of(mover.component) if mover is not None else None

    def told(counts: Counter[int]) -> tuple[tuple[Json, int], ...]:
        return tuple((value_of(table.spelling(key, v)), n) for v, n in counts.most_common(3))

    return Parting(
        subject=key[0], name=key[1], lower=told(a), upper=told(b), right=right,
        component=mover.component if mover is not None else "",
        experiment=component.split if component is not None else "", rule=known_rule(key)[0],
    )  # fmt: skip


def rare(table: FactTable, places: Sequence[int]) -> tuple[Rare, ...]:
    """Over all these nodes, the most suspicious first."""
    if len(places) < LEAST_NODES:
        return ()
    found: list[tuple[float, FactKey, int, Counter[int]]] = []
    keys = list(table.known())
    for key in keys:
        counts = Counter(table.column(key, places))
        del counts[UNREAD]
        known = sum(counts.values())
        if not 2 <= len(counts) <= _FEW_VALUES:
            continue
        for value, count in counts.items():
            if value != MISSING and count <= max(1, _RARE * known):
                sure = suspicion(peers=known - 1, values=len(counts), entries=len(keys), matching=count - 1)
                found.append((sure, key, value, counts))
    found.sort(key=lambda one: (-one[0], one[1]))
    return tuple(_rare(table, places, *one) for one in found[:MOST_RARE])


def _rare(
    table: FactTable, places: Sequence[int], sure: float, key: FactKey, value: int, counts: Counter[int]
) -> Rare:
    usual, many = counts.most_common(1)[0]
    known = sum(counts.values())
    ids = table.column(key, places)
    return Rare(
        subject=key[0], name=key[1], value=value_of(table.spelling(key, value)),
        nodes=tuple(table.nodes[place] for place, one in zip(places, ids, strict=True) if one == value),
        of=known, usual=value_of(table.spelling(key, usual)), share=many / known, suspicion=sure,
        rule=known_rule(key)[0],
    )  # fmt: skip

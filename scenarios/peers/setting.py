"""Which fact of an odd node is likely what makes it odd, by what its peers have in that place.

PeerPressure (Wang, Platt, Chen, Zhang, Wang: "Automatic Misconfiguration Troubleshooting with PeerPressure", OSDI 2004,
section 4): with a uniform prior over the values of an entry, the posterior that this entry is the culprit. A fact that
differs on every node has as many values as there are nodes, and sinks by that; one that all peers share and this node
alone has otherwise comes first. Beside it stands what the knowledge base knows of such a fact.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from probes.types import Json
from scenarios.compare.run_summary import FactKey
from scenarios.knowledge.differences import component_of, mover_of
from scenarios.peers.facts import MISSING, UNREAD, Compared, FactTable, value_of
from scenarios.peers.judgement import LEAST_NODES, Parting, Rare, Setting
from scenarios.rules.expression import Invalid, expression
from scenarios.rules.known import written

MOST_SETTINGS = 8
_TABLES = {
    "nic": "card",
    "cpu": "policy",
}  # where the rules' tables are called otherwise than the facts' subjects
_ALONE = 0.5  # of the peers, at most, may have the same value
_AGREED = 0.25  # of the peers, at least, have one value: else it is a name, a serial, a reading


def suspicion(*, peers: int, values: int, entries: int, matching: int) -> float:
    """(N + c) / (N + ct + cm(t - 1)), in 0..1.

    peers (N): how many have the fact. values (c): how many different ones they and the odd node have. entries (t): how
    many facts are compared. matching (m): peers with the odd node's value.
    """
    return (peers + values) / (peers + values * entries + values * matching * (entries - 1))


def settings(
    table: FactTable, node: int, peers: Sequence[int], groups: Iterable[str] = ()
) -> tuple[Setting, ...]:
    """The likeliest first; among equals, what is known to move these groups of loads (`knowledge/loads.toml`)."""
    found = table.compared(node, peers)
    moved = frozenset(groups)
    ranked = [
        (_suspicion(one, len(found)), _moves(one.key, moved), one)
        for one in found
        if one.matching <= _ALONE * one.peers and one.matching < one.peers and one.most > _AGREED * one.peers
    ]
    ranked.sort(key=lambda item: (-item[0], -item[1], item[2].key))
    return tuple(_setting(one, sure) for sure, _, one in ranked[:MOST_SETTINGS])


def _suspicion(one: Compared, entries: int) -> float:
    return suspicion(peers=one.peers, values=one.values, entries=entries, matching=one.matching)


def _moves(key: FactKey, moved: frozenset[str]) -> float:
    mover = mover_of("/".join(key))
    if mover is None:
        return 0.0
    return max((share for group, share in mover.moves.items() if group in moved), default=0.001)


def _setting(one: Compared, sure: float) -> Setting:
    mover = mover_of("/".join(one.key))
    component = component_of(mover.component) if mover is not None else None
    rule, prove = known_rule(one.key)
    return Setting(
        subject=one.key[0],
        name=one.key[1],
        value=value_of(one.value),
        theirs=tuple((value_of(spelling), count) for spelling, count in one.theirs),
        peers=one.peers,
        matching=one.matching,
        suspicion=sure,
        component=mover.component if mover is not None else "",
        why=mover.why if mover is not None else "",
        experiment=component.split if component is not None else "",
        command=_command(one, component.command) if component is not None else "",
        rule=rule,
        prove=prove,
    )


def _command(one: Compared, command: str) -> str:
    """The component's, with the peers' value where it sets one; none where it is of another kind of setting."""
    (subject, name), theirs = one.key, value_of(one.theirs[0][0])
    if "NAME=VALUE" in command:
        known = subject == "sysctl" and theirs is not None
        return command.replace("NAME=VALUE", shlex.quote(f"{name}={theirs}")) if known else ""
    return command.replace("GOVERNOR", shlex.quote(str(theirs)))


def known_rule(key: FactKey) -> tuple[str, str]:
    """The id of a written rule that reads this fact, and the scenario that proves it; empty where there is none."""
    subject, name = key
    kind = subject.partition(":")[0]
    tables = ("",) if kind == "sysctl" else (_TABLES.get(kind, kind), "host")
    return next((found for table in tables if (found := _rules().get((table, name)))), ("", ""))


@lru_cache(maxsize=1)
def _rules() -> dict[tuple[str, str], tuple[str, str]]:
    """By the table that a rule looks at and the columns that it names; by name alone for the sysctls that it sets."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for rule in written().rules:
        answer = (rule.id, rule.prove)
        names: set[str] = set()
        for text in (rule.when, rule.where, rule.warning, rule.critical, *rule.let.values()):
            try:
                names |= expression(text).names if text else set()
            except Invalid:
                continue
        for name in names:
            found.setdefault((rule.each, name), answer)
        for setting in (name for advice in rule.remedy for name in advice.set):
            if re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_-]+)+", setting):
                found.setdefault(("", setting), answer)
    return found


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
    for key in table.varying():
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
    """Over all these nodes, the most suspicious first; of few nodes what a rule reads first.

    Few agree where more than half of them do; two have no majority, and what they differ in is told.
    """
    few = len(places) < LEAST_NODES
    found: list[tuple[bool, float, FactKey, int, Counter[int]]] = []
    for key in table.varying():
        counts = Counter(table.column(key, places))
        del counts[UNREAD]
        known = sum(counts.values())
        if not 2 <= len(counts) <= _FEW_VALUES:
            continue
        (usual, most), *_ = counts.most_common(1)
        if few and known > 2 and 2 * most <= known:
            continue
        for value, count in counts.items():
            if value not in (MISSING, usual) and (few or count <= max(1, _RARE * known)):
                sure = suspicion(peers=known - 1, values=len(counts), entries=len(table), matching=count - 1)
                found.append((few and bool(known_rule(key)[0]), sure, key, value, counts))
    found.sort(key=lambda one: (not one[0], -one[1], one[2]))
    return tuple(_rare(table, places, *one[1:]) for one in found[:MOST_RARE])


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
        rule=known_rule(key)[0], few=len(places) < LEAST_NODES,
    )  # fmt: skip

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

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey
from hostdx.scenarios.analysis.peers.facts import MISSING, UNREAD, ComparedFact, FactTable, value_of_spelling
from hostdx.scenarios.analysis.peers.judgement import MIN_NODES, Parting, Rare, Setting
from hostdx.scenarios.triage.knowledge.differences import component_named, fact_influence_of
from hostdx.scenarios.triage.rules.expression import InvalidExpression, parse_expression
from hostdx.scenarios.triage.rules.known import load_written_rules

MAX_SETTINGS = 8
_TABLES = {
    "nic": "card",
    "cpu": "policy",
}  # where the rules' tables are called otherwise than the facts' subjects
_ALONE = 0.5  # of the peers, at most, may have the same value
_AGREED = 0.25  # of the peers, at least, have one value: else it is a name, a serial, a reading


def culprit_probability(*, peers: int, values: int, entries: int, matching: int) -> float:
    """(N + c) / (N + ct + cm(t - 1)), in 0..1.

    peers (N): how many have the fact. values (c): how many different ones they and the odd node have. entries (t): how
    many facts are compared. matching (m): peers with the odd node's value.
    """
    return (peers + values) / (peers + values * entries + values * matching * (entries - 1))


def suspected_settings(
    table: FactTable, node: int, peers: Sequence[int], groups: Iterable[str] = ()
) -> tuple[Setting, ...]:
    """The likeliest first; among equals, what is known to move these groups of loads (`knowledge/loads.toml`)."""
    compared_facts = table.compare_node(node, peers)
    moved = frozenset(groups)
    ranked = [
        (_suspicion_of(fact, len(compared_facts)), _share_of_moved_groups(fact.key, moved), fact)
        for fact in compared_facts
        if fact.matching <= _ALONE * fact.peers
        and fact.matching < fact.peers
        and fact.most > _AGREED * fact.peers
    ]
    ranked.sort(key=lambda item: (-item[0], -item[1], item[2].key))
    return tuple(_setting_of_fact(fact, sure) for sure, _, fact in ranked[:MAX_SETTINGS])


def _suspicion_of(fact: ComparedFact, entries: int) -> float:
    return culprit_probability(peers=fact.peers, values=fact.values, entries=entries, matching=fact.matching)


def _share_of_moved_groups(key: FactKey, moved: frozenset[str]) -> float:
    mover = fact_influence_of("/".join(key))
    if mover is None:
        return 0.0
    return max((share for group, share in mover.moves.items() if group in moved), default=0.001)


def _setting_of_fact(fact: ComparedFact, sure: float) -> Setting:
    mover = fact_influence_of("/".join(fact.key))
    component = component_named(mover.component) if mover is not None else None
    rule, prove = rule_id_and_proof_of(fact.key)
    return Setting(
        subject=fact.key[0],
        name=fact.key[1],
        value=value_of_spelling(fact.value),
        theirs=tuple((value_of_spelling(spelling), count) for spelling, count in fact.peer_values),
        peers=fact.peers,
        matching=fact.matching,
        suspicion=sure,
        component=mover.component if mover is not None else "",
        why=mover.why if mover is not None else "",
        experiment=component.split if component is not None else "",
        command=_experiment_command(fact, component.command) if component is not None else "",
        rule=rule,
        prove=prove,
    )


def _experiment_command(fact: ComparedFact, command: str) -> str:
    """The component's, with the peers' value where it sets one; none where it is of another kind of setting."""
    (subject, name), peer_value = fact.key, value_of_spelling(fact.peer_values[0][0])
    if "NAME=VALUE" in command:
        has_sysctl_value = subject == "sysctl" and peer_value is not None
        return command.replace("NAME=VALUE", shlex.quote(f"{name}={peer_value}")) if has_sysctl_value else ""
    return command.replace("GOVERNOR", shlex.quote(str(peer_value)))


def rule_id_and_proof_of(key: FactKey) -> tuple[str, str]:
    """The id of a written rule that reads this fact, and the scenario that proves it; empty where there is none."""
    subject, name = key
    kind = subject.partition(":")[0]
    tables = ("",) if kind == "sysctl" else (_TABLES.get(kind, kind), "host")
    return next(
        (rule_and_proof for table in tables if (rule_and_proof := _rule_and_proof().get((table, name)))),
        ("", ""),
    )


@lru_cache(maxsize=1)
def _rule_and_proof() -> dict[tuple[str, str], tuple[str, str]]:
    """By the table that a rule looks at and the columns that it names; by name alone for the sysctls that it sets."""
    rules_by_column: dict[tuple[str, str], tuple[str, str]] = {}
    for rule in load_written_rules().rules:
        answer = (rule.id, rule.prove)
        names: set[str] = set()
        for text in (rule.when, rule.where, rule.warning, rule.critical, *rule.let.values()):
            try:
                names |= parse_expression(text).needed_names if text else set()
            except InvalidExpression:
                continue
        for name in names:
            rules_by_column.setdefault((rule.each, name), answer)
        for setting in (name for advice in rule.remedy for name in advice.set):
            if re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_-]+)+", setting):
                rules_by_column.setdefault(("", setting), answer)
    return rules_by_column


MAX_PARTINGS = 5
MAX_RARE_VALUES = 20
MIN_RIGHT_SHARE = 0.9  # of the nodes that a parting fact must place in their own part
_RARE = 0.02  # of the nodes have it, or one
_MAX_RARE_FACT_VALUES = 4  # of a rare setting's fact: more is a name, a serial, a reading


def facts_that_tell_levels_apart(
    table: FactTable, lower: Sequence[int], upper: Sequence[int]
) -> tuple[Parting, ...]:
    """The best first; none where the nodes are too few to tell."""
    total = len(lower) + len(upper)
    if total < MIN_NODES:
        return ()
    candidates: list[tuple[float, bool, FactKey, Counter[int], Counter[int]]] = []
    for key in table.keys_differing_between_nodes():
        a, b = (Counter(table.value_numbers(key, part)) for part in (lower, upper))
        if UNREAD in a or UNREAD in b or len(a.keys() | b.keys()) < 2:
            continue
        right = sum(n for v, n in a.items() if n - 1 > b[v]) + sum(n for v, n in b.items() if n - 1 > a[v])
        if right >= MIN_RIGHT_SHARE * total:
            candidates.append((right / total, fact_influence_of("/".join(key)) is not None, key, a, b))
    candidates.sort(key=lambda candidate: (-candidate[0], not candidate[1], candidate[2]))
    return tuple(_parting_fact(table, key, a, b, right) for right, _, key, a, b in candidates[:MAX_PARTINGS])


def _parting_fact(table: FactTable, key: FactKey, a: Counter[int], b: Counter[int], right: float) -> Parting:
    mover = fact_influence_of("/".join(key))
    component = component_named(mover.component) if mover is not None else None

    def frequent_values(counts: Counter[int]) -> tuple[tuple[Json, int], ...]:
        return tuple((value_of_spelling(table.spelling_of(key, v)), n) for v, n in counts.most_common(3))

    return Parting(
        subject=key[0], name=key[1], lower=frequent_values(a), upper=frequent_values(b), right=right,
        component=mover.component if mover is not None else "",
        experiment=component.split if component is not None else "", rule=rule_id_and_proof_of(key)[0],
    )  # fmt: skip


def find_rare_values(table: FactTable, nodes: Sequence[int]) -> tuple[Rare, ...]:
    """Over all these nodes, the most suspicious first; of few nodes what a rule reads first.

    Few agree where more than half of them do; two have no majority, and what they differ in is told.
    """
    few = len(nodes) < MIN_NODES
    candidates: list[tuple[bool, float, FactKey, int, Counter[int]]] = []
    for key in table.keys_differing_between_nodes():
        counts = Counter(table.value_numbers(key, nodes))
        del counts[UNREAD]
        read_count = sum(counts.values())
        if not 2 <= len(counts) <= _MAX_RARE_FACT_VALUES:
            continue
        (usual, most), *_ = counts.most_common(1)
        if few and read_count > 2 and 2 * most <= read_count:
            continue
        for value, count in counts.items():
            if value not in (MISSING, usual) and (few or count <= max(1, _RARE * read_count)):
                sure = culprit_probability(
                    peers=read_count - 1, values=len(counts), entries=len(table), matching=count - 1
                )
                candidates.append((few and bool(rule_id_and_proof_of(key)[0]), sure, key, value, counts))
    candidates.sort(key=lambda candidate: (not candidate[0], -candidate[1], candidate[2]))
    return tuple(_rare_value(table, nodes, *candidate[1:]) for candidate in candidates[:MAX_RARE_VALUES])


def _rare_value(
    table: FactTable, places: Sequence[int], sure: float, key: FactKey, value: int, counts: Counter[int]
) -> Rare:
    usual, many = counts.most_common(1)[0]
    read_count = sum(counts.values())
    ids = table.value_numbers(key, places)
    return Rare(
        subject=key[0], name=key[1], value=value_of_spelling(table.spelling_of(key, value)),
        nodes=tuple(table.nodes[place] for place, number in zip(places, ids, strict=True) if number == value),
        of=read_count, usual=value_of_spelling(table.spelling_of(key, usual)), share=many / read_count, suspicion=sure,
        rule=rule_id_and_proof_of(key)[0], few=len(places) < MIN_NODES,
    )  # fmt: skip

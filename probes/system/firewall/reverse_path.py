"""A rule that asks the routing table about a packet's source: the same fact in every ruleset's form."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple, TypeAlias

import msgspec

Protocol: TypeAlias = Literal["IPv4", "IPv6"]
Form: TypeAlias = Literal["nft", "iptables-nft", "iptables-legacy"]
Check: TypeAlias = Literal["strict", "loose", "type", "unknown"]
Key: TypeAlias = tuple[str, ...]

# nft's names for priorities: linux/netfilter_ipv4.h, nf_ip_hook_priorities; nft(8).
PRIORITIES: dict[str, int] = {
    "raw": -300,
    "mangle": -150,
    "dstnat": -100,
    "filter": 0,
    "security": 50,
    "srcnat": 100,
}
# NF_IP_PRI_CONNTRACK: a chain before it cannot know which packets are of an established flow
CONNTRACK = -200


class ChainHook(msgspec.Struct, frozen=True, order=True):
    """Where a base chain sits. Lower priorities come first."""

    name: str  # "prerouting", "input", "forward", "ingress", ...
    priority: int


class ReversePathRule(msgspec.Struct, frozen=True, kw_only=True):
    """A reverse-path check in the ruleset.

    `hooks` are those of the base chains that reach it (empty: nothing jumps to its chain, it never runs).
    `flags` are the parts of the lookup ("saddr", "mark", "iif"); strict looks for a route through the
    interface that the packet came in by, loose for any, type only asks what kind of address the source is.
    `new_only`: packets of established flows do not get as far as this check.
    `conditions` stand before the lookup, in the rule or in the jumps to it: only packets that meet them pay.
    `exact`: `statement` is the whole rule in words that its own tool takes back; else it is only for reading.
    `direct`: it stands in the base chain itself; `ahead`: rules before it in its chain decide on packets (beside
    those that let neighbour discovery past); `number`: how many rules stand before it; `handle`: nft's own number of
    the rule, None where it was not shown.
    """

    form: Form
    protocols: tuple[Protocol, ...]
    family: str  # of the table: "inet", "ip6", ...
    table: str
    chain: str
    hooks: tuple[ChainHook, ...]
    check: Check
    flags: tuple[str, ...] = ()
    new_only: bool = False
    packets: int | None = None  # of the rule's own counter
    statement: str
    source: str
    conditions: tuple[str, ...] = ()
    exact: bool = False
    direct: bool = False
    ahead: bool = False
    number: int = 0
    handle: int | None = None

    @property
    def is_reached(self) -> bool:
        return bool(self.hooks)

    @property
    def first_hook(self) -> ChainHook | None:
        """The hook that the most packets meet: prerouting before all others."""
        order = ("ingress", "prerouting", "input", "forward", "output", "postrouting")
        ordered_hooks = [h for h in self.hooks if h.name in order]
        return min(ordered_hooks, key=lambda h: (order.index(h.name), h.priority)) if ordered_hooks else None

    @property
    def checks_every_packet(self) -> bool:
        """Every received packet pays, those of established flows and those for this host included."""
        return self.checks_every_flow and not self.conditions

    @property
    def checks_every_flow(self) -> bool:
        """As checks_every_packet, but perhaps only packets that meet the conditions: one interface's, one port's."""
        hook = self.first_hook
        if hook is None or hook.name not in ("ingress", "prerouting"):
            return False
        # what is not tracked yet is not established either
        return not self.new_only or self.is_before_conntrack

    @property
    def is_before_conntrack(self) -> bool:
        hook = self.first_hook
        return hook is not None and (hook.name == "ingress" or hook.priority < CONNTRACK)

    @property
    def payers_text(self) -> str:
        """Whom a check of every flow concerns: `every IPv6 packet`, `every IPv6 packet with iifname "eth1"`."""
        narrowed = f" with {' '.join(self.conditions)}" if self.conditions else ""
        return f"every {' and '.join(self.protocols)} packet{narrowed}"

    @property
    def place_text(self) -> str:
        """Where it sits: `table inet firewalld, chain filter_PREROUTING (prerouting, priority 10)`."""
        hook = self.first_hook
        hook_text = f"{hook.name}, priority {hook.priority}" if hook else "not reached from any hook"
        return f"table {self.family} {self.table}, chain {self.chain} ({hook_text})"


class RulesetListing(NamedTuple):
    """What one listing of a ruleset holds. `sizes`: the number of rules by table ("inet firewalld")."""

    rules: tuple[ReversePathRule, ...]
    sizes: dict[str, int]


def fib_check_of(result: str, flags: tuple[str, ...]) -> Check:
    """Return what a fib expression checks. `result` is nft's: oif, oifname, check (nft 1.1.4 on) or type."""
    if result == "type":
        return "type"
    return "strict" if "iif" in flags else "loose"


BOTH: tuple[Protocol, ...] = ("IPv4", "IPv6")


class WayToChain(NamedTuple):
    """How packets come to a chain. `narrowed`: the conditions of the jumps, "" where every packet takes them."""

    spared: bool
    narrowed: str
    protocols: tuple[Protocol, ...]

    @property
    def kind(self) -> tuple[bool, bool, tuple[Protocol, ...]]:
        """One way of each kind is followed: the number of different conditions may double with every jump."""
        return self.spared, bool(self.narrowed), self.protocols

    def extend_way(self, jump: WayToChain) -> WayToChain:
        return WayToChain(
            self.spared or jump.spared,
            " ".join(part for part in (self.narrowed, jump.narrowed) if part),
            tuple(p for p in self.protocols if p in jump.protocols),
        )


class RulesetChains:
    """The chains of a ruleset as far as a packet's way through them matters. A key is (family, table, chain)."""

    def __init__(self) -> None:
        self.base: dict[Key, ChainHook] = {}
        self.spared: set[Key] = set()  # so far read, chains that have let established flows through
        self.decided: set[Key] = set()  # so far read, chains with a rule that decides on some packets
        self.read: Counter[Key] = Counter()  # so far read, rules by chain
        self._jumps: dict[Key, list[tuple[Key, WayToChain]]] = {}

    def locate_rule(self, key: Key, rule: ReversePathRule) -> ReversePathRule:
        """Where in its chain it was read."""
        return msgspec.structs.replace(rule, ahead=key in self.decided, number=self.read[key])

    def add_jump(
        self,
        source: Key,
        target: Key,
        only_new: bool,
        narrowed: str = "",
        protocols: tuple[Protocol, ...] = BOTH,
    ) -> None:
        """`only_new`: established flows do not take this jump; `narrowed`: who else does not."""
        way = WayToChain(only_new or source in self.spared, narrowed, protocols)
        self._jumps.setdefault(source, []).append((target, way))

    def rules_with_hooks(self, rules: list[tuple[Key, ReversePathRule]]) -> tuple[ReversePathRule, ...]:
        """The rules with the hooks that lead to them, and who of the packets comes so far."""
        reached: dict[Key, list[tuple[ChainHook, WayToChain]]] = {}
        for start, hook in self.base.items():
            open_ends = [(start, WayToChain(False, "", BOTH))]
            visited = {(start, open_ends[0][1].kind)}
            while open_ends:
                chain, way = open_ends.pop()
                reached.setdefault(chain, []).append((hook, way))
                for target, jump in self._jumps.get(chain, ()):
                    further = way.extend_way(jump)
                    if further.protocols and (target, further.kind) not in visited:
                        visited.add((target, further.kind))
                        open_ends.append((target, further))
        return tuple(self._rule_with_ways_to_it(key, rule, reached.get(key, [])) for key, rule in rules)

    def _rule_with_ways_to_it(
        self, key: Key, rule: ReversePathRule, hook_ways: list[tuple[ChainHook, WayToChain]]
    ) -> ReversePathRule:
        ways = [(hook, way) for hook, way in hook_ways if set(way.protocols) & set(rule.protocols)]
        dearest = [way for _, way in ways if not way.spared] or [way for _, way in ways]
        narrowed = sorted({way.narrowed for way in dearest})
        if "" in narrowed:
            narrowed = []
        reaching = {p for way in dearest for p in way.protocols}
        return msgspec.structs.replace(
            rule,
            hooks=tuple(sorted({hook for hook, _ in ways})),
            new_only=rule.new_only or (bool(ways) and all(way.spared for _, way in ways)),
            conditions=(*((" or ".join(narrowed),) if narrowed else ()), *rule.conditions),
            protocols=tuple(p for p in rule.protocols if p in reaching) or rule.protocols,
            direct=key in self.base,
        )


def protocols_of(family: str, nfproto: str | None) -> tuple[Protocol, ...]:
    """Return which protocols a rule speaks of: by its table's family, narrowed by `meta nfproto` in an inet one."""
    if family == "ip" or nfproto == "ipv4":
        return ("IPv4",)
    if family == "ip6" or nfproto == "ipv6":
        return ("IPv6",)
    return BOTH

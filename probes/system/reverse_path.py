"""A rule that asks the routing table about a packet's source: the same fact in every ruleset's form."""

from __future__ import annotations

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
CONNTRACK = (
    -200
)  # NF_IP_PRI_CONNTRACK: a chain before it cannot know which packets are of an established flow


class Hook(msgspec.Struct, frozen=True, order=True):
    """Where a base chain sits. Lower priorities come first."""

    name: str  # "prerouting", "input", "forward", "ingress", ...
    priority: int


class ReversePathRule(msgspec.Struct, frozen=True, kw_only=True):
    """A reverse-path check in the ruleset.

    `hooks` are those of the base chains that reach it (empty: nothing jumps to its chain, it never runs).
    `flags` are the parts of the lookup ("saddr", "mark", "iif"); strict looks for a route through the
    interface that the packet came in by, loose for any, type only asks what kind of address the source is.
    `new_only`: packets of established flows do not get as far as this check.
    """

    form: Form
    protocols: tuple[Protocol, ...]
    family: str  # of the table: "inet", "ip6", ...
    table: str
    chain: str
    hooks: tuple[Hook, ...]
    check: Check
    flags: tuple[str, ...] = ()
    new_only: bool = False
    packets: int | None = None  # of the rule's own counter
    text: str
    source: str

    @property
    def reached(self) -> bool:
        return bool(self.hooks)

    @property
    def first_hook(self) -> Hook | None:
        """The hook that the most packets meet: prerouting before all others."""
        order = ("ingress", "prerouting", "input", "forward", "output", "postrouting")
        known = [h for h in self.hooks if h.name in order]
        return min(known, key=lambda h: (order.index(h.name), h.priority)) if known else None

    @property
    def every_packet(self) -> bool:
        """Every received packet pays, those of established flows and those for this host included."""
        hook = self.first_hook
        if hook is None or hook.name not in ("ingress", "prerouting"):
            return False
        return not self.new_only or self.before_conntrack  # what is not tracked yet is not established either

    @property
    def before_conntrack(self) -> bool:
        hook = self.first_hook
        return hook is not None and (hook.name == "ingress" or hook.priority < CONNTRACK)

    @property
    def place(self) -> str:
        """Where it sits: `table inet firewalld, chain filter_PREROUTING (prerouting, priority 10)`."""
        hook = self.first_hook
        where = f"{hook.name}, priority {hook.priority}" if hook else "not reached from any hook"
        return f"table {self.family} {self.table}, chain {self.chain} ({where})"


class Listing(NamedTuple):
    """What one listing of a ruleset holds. `sizes`: the number of rules by table ("inet firewalld")."""

    rules: tuple[ReversePathRule, ...]
    sizes: dict[str, int]


def check_of(result: str, flags: tuple[str, ...]) -> Check:
    """What a fib expression checks. `result` is nft's: oif, oifname, check (nft 1.1.4 on) or type."""
    if result == "type":
        return "type"
    return "strict" if "iif" in flags else "loose"


class Chains:
    """The chains of a ruleset as far as a packet's way through them matters. A key is (family, table, chain)."""

    def __init__(self) -> None:
        self.base: dict[Key, Hook] = {}
        self.spared: set[Key] = set()  # so far read, chains that have let established flows through
        self._jumps: dict[Key, set[tuple[Key, bool]]] = {}

    def jump(self, source: Key, target: Key, only_new: bool) -> None:
        """`only_new`: established flows do not take this jump."""
        self._jumps.setdefault(source, set()).add((target, only_new or source in self.spared))

    def placed(self, rules: list[tuple[Key, ReversePathRule]]) -> tuple[ReversePathRule, ...]:
        """The rules with the hooks that lead to them, and whether only new flows come so far."""
        reached: dict[Key, set[tuple[Hook, bool]]] = {}
        for start, hook in self.base.items():
            open_ends, seen = [(start, False)], {(start, False)}
            while open_ends:
                chain, spared = open_ends.pop()
                reached.setdefault(chain, set()).add((hook, spared))
                fresh = {
                    (target, spared or only_new) for target, only_new in self._jumps.get(chain, set())
                } - seen
                seen |= fresh
                open_ends.extend(fresh)
        return tuple(
            msgspec.structs.replace(
                rule,
                hooks=tuple(sorted({hook for hook, _ in ways})),
                new_only=rule.new_only or (bool(ways) and all(spared for _, spared in ways)),
            )
            for key, rule in rules
            for ways in (reached.get(key, set()),)
        )


def protocols_of(family: str, nfproto: str | None) -> tuple[Protocol, ...]:
    """Which protocols a rule speaks of: by its table's family, narrowed by `meta nfproto` in an inet one."""
    if family == "ip" or nfproto == "ipv4":
        return ("IPv4",)
    if family == "ip6" or nfproto == "ipv6":
        return ("IPv6",)
    return ("IPv4", "IPv6")

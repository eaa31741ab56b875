"""A rule that asks the routing table about a packet's source: the same fact in every ruleset's form."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Protocol: TypeAlias = Literal["IPv4", "IPv6"]
Form: TypeAlias = Literal["nft", "iptables-nft", "iptables-legacy"]
Check: TypeAlias = Literal["strict", "loose", "type", "unknown"]

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
        return hook is not None and hook.name in ("ingress", "prerouting") and not self.new_only

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


def check_of(result: str, flags: tuple[str, ...]) -> Check:
    """What a fib expression checks. `result` is nft's: oif, oifname, check (nft 1.1.4 on) or type."""
    if result == "type":
        return "type"
    return "strict" if "iif" in flags else "loose"


def hooks_by_chain(
    base: dict[tuple[str, ...], Hook], jumps: dict[tuple[str, ...], set[tuple[str, ...]]]
) -> dict[tuple[str, ...], tuple[Hook, ...]]:
    """For every chain the hooks of the base chains that lead to it. Keys are (family, table, chain)."""
    reached: dict[tuple[str, ...], set[Hook]] = {}
    for start, hook in base.items():
        open_ends, seen = [start], {start}
        while open_ends:
            chain = open_ends.pop()
            reached.setdefault(chain, set()).add(hook)
            fresh = jumps.get(chain, set()) - seen
            seen |= fresh
            open_ends.extend(fresh)
    return {chain: tuple(sorted(hooks)) for chain, hooks in reached.items()}


def protocols_of(family: str, nfproto: str | None) -> tuple[Protocol, ...]:
    """Which protocols a rule speaks of: by its table's family, narrowed by `meta nfproto` in an inet one."""
    if family == "ip" or nfproto == "ipv4":
        return ("IPv4",)
    if family == "ip6" or nfproto == "ipv6":
        return ("IPv6",)
    return ("IPv4", "IPv6")

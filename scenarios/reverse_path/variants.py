"""What is compared: the receive path without a rule, with a trivial one, with this host's check; more with --all."""

from __future__ import annotations

from typing import Literal

import msgspec

from probes.bench.netrules import Loader, Treatment
from probes.command import tool
from probes.system.reverse_path import Protocol, ReversePathRule
from probes.types import Absent
from scenarios.plan import Metric, Variant, Workload
from scenarios.reverse_path.facts import Facts

NS = Metric("ns/packet", "ns/packet", better="less")
MB = Metric("MB/s", "MB/s")
NONE, TRIVIAL, CHECK, AGAIN = "none", "trivial", "check", "none-again"
_DEFAULT_FLAGS = ("saddr", "mark", "iif")


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One variant of one workload, with how to make it."""

    variant: Variant
    treatment: Treatment
    offload: bool = True


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A workload with its variants, the baseline first."""

    workload: Workload
    load: Literal["udp", "tcp"]
    protocol: Protocol
    compared: tuple[Compared, ...]

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        first = self.compared[0].variant.id
        return tuple((first, c.variant.id) for c in self.compared[1:])


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The check that is measured as `check`: the host's own, or firewalld's default where none is loaded.

    `left_out` says in one line each what of the host's rule could not be copied.
    """

    rule: ReversePathRule | None
    protocol: Protocol
    loader: Loader
    hook: str
    priority: int
    flags: tuple[str, ...]
    table: str
    whose: str  # "this host's check", in a few words
    text: str  # the rule as it is listed
    left_out: tuple[str, ...] = ()


def chosen(facts: Facts) -> Chosen:
    """Copies hook, priority, flags and tool of the host's check; the rest of its rule would match nothing elsewhere."""
    rule = facts.loaded
    protocol: Protocol = "IPv6" if facts.ipv6 else "IPv4"
    if rule is None or protocol not in rule.protocols:
        return _default(facts, protocol, rule)
    left_out: list[str] = []
    loader: Loader = rule.form
    if loader != "nft" and _missing(loader, protocol):
        left_out.append(
            f"{_missing(loader, protocol)} is not installed: the check is measured as nftables' own fib"
        )
        loader = "nft"
    hook = rule.first_hook
    place = ("prerouting", 10) if hook is None else (hook.name, hook.priority)
    if place[0] not in ("prerouting", "input"):
        left_out.append(f"the host has its check in the {place[0]} hook; it is measured in prerouting")
        place = ("prerouting", place[1])
    return Chosen(
        rule=rule,
        protocol=protocol,
        loader=loader,
        hook=place[0],
        priority=max(-399, min(place[1], 299)),
        flags=tuple(f for f in rule.flags if f in _DEFAULT_FLAGS) or _DEFAULT_FLAGS,
        table=rule.table if rule.table in ("raw", "mangle") else "mangle",
        whose="this host's check",
        text=rule.text,
        left_out=tuple(left_out),
    )


def _default(facts: Facts, protocol: Protocol, other: ReversePathRule | None) -> Chosen:
    flags: tuple[str, ...] = _DEFAULT_FLAGS
    priority = 10
    if not isinstance(facts.asked, Absent):
        flags, priority = facts.asked.vocabulary.flags, facts.asked.vocabulary.priority
    left_out = (
        ()
        if other is None
        else (f"the host's check is for {' and '.join(other.protocols)} only: {other.text}",)
    )
    return Chosen(
        rule=None,
        protocol=protocol,
        loader="nft",
        hook="prerouting",
        priority=priority,
        flags=flags,
        table="mangle",
        whose="firewalld's default check",
        text=f"fib {' . '.join(flags)} oif missing drop",
        left_out=left_out,
    )


def _missing(loader: Loader, protocol: Protocol) -> str:
    """The tool that the loader needs and that is not installed; empty where it is."""
    name = f"{'ip6tables' if protocol == 'IPv6' else 'iptables'}-{loader.removeprefix('iptables-')}"
    return "" if tool(name) else name


def trials(facts: Facts, *, everything: bool, again: bool, block_s: float) -> tuple[Trial, ...]:
    """In the order of importance. `again`: no rule once more, which must not differ from itself."""
    main = chosen(facts)
    found = [_main(main, everything, again)]
    if everything:
        if main.protocol == "IPv6":
            found.append(_ipv4())
        found.extend(_tcp(main))
    return tuple(_lasting(trial, block_s) for trial in found)


def _lasting(trial: Trial, block_s: float) -> Trial:
    """TCP needs twice as long: a stream has to open its window first."""
    seconds = block_s * (2 if trial.load == "tcp" else 1)
    return msgspec.structs.replace(trial, workload=msgspec.structs.replace(trial.workload, block_s=seconds))


def _main(chosen: Chosen, everything: bool, again: bool) -> Trial:
    def treat(what: Literal["none", "trivial", "check"], flags: tuple[str, ...] = ()) -> Treatment:
        return Treatment(
            what=what,
            protocol=chosen.protocol,
            loader=chosen.loader,
            hook=chosen.hook,
            priority=chosen.priority,
            flags=flags or chosen.flags,
            table=chosen.table,
            ends="input" if chosen.hook == "input" else "prerouting",
            catches=what == "check",
        )

    compared = [
        Compared(variant=Variant(id=NONE, label="no rule", detail="the hook alone"), treatment=treat("none")),
        Compared(variant=Variant(id=CHECK, label=chosen.whose, detail=chosen.text), treatment=treat("check")),
        Compared(
            variant=Variant(id=TRIVIAL, label="a trivial rule", detail="in its place: the control"),
            treatment=treat("trivial"),
        ),
    ]
    if again:
        compared.append(
            Compared(variant=Variant(id=AGAIN, label="no rule, once more"), treatment=treat("none"))
        )
    if everything:
        for name, label, flags in (
            ("strict", "strict: fib saddr . iif", ("saddr", "iif")),
            ("loose", "loose: fib saddr", ("saddr",)),
            ("mark", "strict with mark: fib saddr . mark . iif", ("saddr", "mark", "iif")),
        ):
            if flags != chosen.flags or chosen.loader != "nft":
                treatment = msgspec.structs.replace(treat("check", flags), loader="nft")
                compared.append(Compared(variant=Variant(id=name, label=label), treatment=treatment))
    short = chosen.protocol.lower()
    return Trial(
        workload=Workload(
            id=f"udp-{short}",
            title=f"64-byte {chosen.protocol} packets",
            metrics=(NS,),
            controls=(TRIVIAL, AGAIN),
            why="UDP as fast as one CPU sends: a packet's cost, not its bytes'; time of other processes is left out",
        ),
        load="udp",
        protocol=chosen.protocol,
        compared=tuple(compared),
    )


def _ipv4() -> Trial:
    """IPv4 by nftables and by the setting rp_filter, counted behind the route lookup that the setting is part of."""

    def treat(what: Literal["none", "check"], setting: int) -> Treatment:
        catches = what == "check" or setting > 0
        return Treatment(what=what, protocol="IPv4", ends="input", rp_filter=setting, catches=catches)

    return Trial(
        workload=Workload(id="udp-ipv4", title="64-byte IPv4 packets", metrics=(NS,)),
        load="udp",
        protocol="IPv4",
        compared=(
            Compared(variant=Variant(id=NONE, label="no rule, rp_filter 0"), treatment=treat("none", 0)),
            Compared(
                variant=Variant(id="fib", label="nft fib saddr . mark . iif"), treatment=treat("check", 0)
            ),
            Compared(variant=Variant(id="rp1", label="rp_filter 1 (strict)"), treatment=treat("none", 1)),
            Compared(variant=Variant(id="rp2", label="rp_filter 2 (loose)"), treatment=treat("none", 2)),
        ),
    )


def _tcp(chosen: Chosen) -> list[Trial]:
    """One TCP stream: with offloads the check meets 64 KiB aggregates, without them every frame."""
    base = Treatment(what="none", protocol=chosen.protocol, catches=False)
    check = Treatment(what="check", protocol=chosen.protocol, flags=chosen.flags)
    found = []
    for name, on in (("off", False), ("on", True)):
        found.append(
            Trial(
                workload=Workload(
                    id=f"tcp-offload-{name}",
                    title=f"one TCP stream, offloads {name}",
                    metrics=(MB,),
                    min_operations=0,
                    why="what a bulk transfer feels of it, with and without merged frames",
                ),
                load="tcp",
                protocol=chosen.protocol,
                compared=(
                    Compared(variant=Variant(id=NONE, label="no rule"), treatment=base, offload=on),
                    Compared(variant=Variant(id=CHECK, label="the check"), treatment=check, offload=on),
                ),
            )
        )
    return found

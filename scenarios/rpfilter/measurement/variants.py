"""What is compared: the receive path without a rule, with a trivial one, with this host's check; more with --all."""

from typing import Literal

import msgspec

from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.probes.system.firewall.reverse_path import Protocol
from hostdx.scenarios.contract.plan import Metric, Variant, Workload
from hostdx.scenarios.rpfilter.facts import RpFilterFacts
from hostdx.scenarios.rpfilter.measurement.firewall_rules import Treatment
from hostdx.scenarios.rpfilter.measurement.measured_check import MeasuredCheck, choose_check

NS = Metric("ns/packet", "ns/packet", better="less")
MB = Metric("MB/s", "MB/s")
NONE, TRIVIAL, CHECK, AGAIN = "none", "trivial", "check", "none-again"
SLICE_S, ONSET_S = 0.06, 0.02
SETTINGS = {
    1: Variant(id="rp1", label="rp_filter 1 (strict)"),
    2: Variant(id="rp2", label="rp_filter 2 (loose)"),
}


class ComparedVariant(msgspec.Struct, frozen=True, kw_only=True):
    """One variant of one workload, with how to make it."""

    variant: Variant
    treatment: Treatment
    offload: bool = True


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A workload with its variants, the baseline first."""

    workload: Workload
    load: Literal["udp", "tcp"]
    protocol: Protocol
    compared: tuple[ComparedVariant, ...]

    @property
    def variant_pairs(self) -> tuple[tuple[str, str], ...]:
        first = self.compared[0].variant.id
        return tuple((first, c.variant.id) for c in self.compared[1:])


def build_trials(facts: RpFilterFacts, *, everything: bool, again: bool, block_s: float) -> tuple[Trial, ...]:
    """In the order of importance. `again`: no rule once more, which must not differ from itself."""
    main = choose_check(facts)
    planned_trials = [_main_trial(main, everything, again)]
    if everything:
        extra_trials = read_shipped_toml(__file__, "trials.toml", dict[str, Trial])
        if main.protocol == "IPv4" and facts.ipv6:  # what IPv6's would cost beside it
            planned_trials.append(extra_trials["udp-ipv6"])
        if main.protocol == "IPv6":
            planned_trials.append(extra_trials["udp-ipv4"])
        elif not main.setting:
            planned_trials.append(extra_trials["udp-ipv4-setting"])
        planned_trials.extend(_tcp_trials(main))
    return tuple(_with_durations(trial, block_s) for trial in planned_trials)


def _with_durations(trial: Trial, block_s: float) -> Trial:
    """TCP needs twice as long: a stream has to open its window first. Slices of packets begin with an onset.

    What one variant leaves to be freed through RCU takes a grace period, here 4 to 15 ms, and would be the next one's.
    """
    if trial.load == "udp":
        workload = msgspec.structs.replace(trial.workload, slice_s=SLICE_S, slice_onset_s=ONSET_S)
        return msgspec.structs.replace(trial, workload=workload)
    return msgspec.structs.replace(
        trial, workload=msgspec.structs.replace(trial.workload, block_s=2 * block_s)
    )


def _main_trial(chosen: MeasuredCheck, everything: bool, again: bool) -> Trial:
    def make_treatment(kind: Literal["none", "trivial", "check"], flags: tuple[str, ...] = ()) -> Treatment:
        if chosen.setting and not flags:
            own = chosen.setting if kind == "check" else 0
            rule: Literal["none", "trivial"] = "trivial" if kind == "trivial" else "none"
            return Treatment(rule_kind=rule, protocol="IPv4", ends="input", rp_filter=own, catches=own > 0)
        return Treatment(
            rule_kind=kind,
            protocol=chosen.protocol,
            loader=chosen.loader,
            hook=chosen.hook,
            priority=chosen.priority,
            flags=flags or chosen.flags,
            table=chosen.table,
            ends="input" if chosen.hook == "input" or chosen.setting else "prerouting",
            catches=kind == "check",
        )

    compared = [
        ComparedVariant(
            variant=Variant(id=NONE, label="no rule", detail="the hook alone"),
            treatment=make_treatment("none"),
        ),
        ComparedVariant(
            variant=Variant(id=CHECK, label=chosen.variant_label, detail=chosen.text),
            treatment=make_treatment("check"),
        ),
        ComparedVariant(
            variant=Variant(id=TRIVIAL, label="a trivial rule", detail="in the same place: the control"),
            treatment=make_treatment("trivial"),
        ),
    ]
    if again:
        compared.append(
            ComparedVariant(
                variant=Variant(id=AGAIN, label="no rule, once more"), treatment=make_treatment("none")
            )
        )
    if everything:
        for name, label, flags in (
            ("strict", "strict: fib saddr . iif", ("saddr", "iif")),
            ("loose", "loose: fib saddr", ("saddr",)),
            ("mark", "strict with mark: fib saddr . mark . iif", ("saddr", "mark", "iif")),
        ):
            if flags != chosen.flags or chosen.loader != "nft" or chosen.setting:
                treatment = msgspec.structs.replace(make_treatment("check", flags), loader="nft")
                compared.append(ComparedVariant(variant=Variant(id=name, label=label), treatment=treatment))
        if chosen.setting:
            other = 3 - chosen.setting
            treatment = msgspec.structs.replace(make_treatment("check"), rp_filter=other)
            compared.append(ComparedVariant(variant=SETTINGS[other], treatment=treatment))
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


def _tcp_trials(chosen: MeasuredCheck) -> list[Trial]:
    """One TCP stream: with offloads the check meets 64 KiB aggregates, without them every frame."""
    base = Treatment(rule_kind="none", protocol=chosen.protocol, catches=False)
    check = Treatment(rule_kind="check", protocol=chosen.protocol, flags=chosen.flags)
    if chosen.setting:
        check = Treatment(rule_kind="none", protocol="IPv4", ends="input", rp_filter=chosen.setting)
    stream_trials = []
    for name, on in (("off", False), ("on", True)):
        stream_trials.append(
            Trial(
                workload=Workload(
                    id=f"tcp-offload-{name}",
                    title=f"one TCP stream, offloads {name}",
                    metrics=(MB,),
                    min_operations=0,
                    why="the effect on a bulk transfer, with and without merged frames",
                ),
                load="tcp",
                protocol=chosen.protocol,
                compared=(
                    ComparedVariant(variant=Variant(id=NONE, label="no rule"), treatment=base, offload=on),
                    ComparedVariant(
                        variant=Variant(id=CHECK, label="the check"), treatment=check, offload=on
                    ),
                ),
            )
        )
    return stream_trials

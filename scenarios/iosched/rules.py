"""Read-only rules about I/O schedulers: which is active on each disk and why, and whether this kernel bites with it."""

import shlex
from collections.abc import Iterator

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.disk.scheduler import SchedulerState, read_scheduler_state
from hostdx.probes.system.disk.scheduler_origin import (
    are_scheduler_rules_known,
    find_scheduler_origin,
    find_tuned_elevator_and_path,
    rule_fits,
    scheduler_rules,
)
from hostdx.probes.system.disk.zfs import is_unused_beside_pools
from hostdx.probes.system.running.ioprio import read_io_priorities
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule, RuleInapplicable, require_readable
from hostdx.scenarios.iosched.remedies import bfq_throughput_remedy, make_scheduler_remedy
from hostdx.scenarios.triage.knowledge.kernels import KernelFault, kernel_faults_of_host
from hostdx.scenarios.triage.knowledge.schedulers import device_class_of, schedulers_on_offer
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("iosched")
_NOT_DISKS = frozenset({"ram", "zram", "rom", "floppy"})


def read_scheduled_disks(host: Host) -> list[tuple[BlockDevice, SchedulerState]]:
    """Every leaf with a size and a scheduler: no partitions, nothing that is built on other devices."""
    scheduled: list[tuple[BlockDevice, SchedulerState]] = []
    for device in block_devices(host).values():
        sized = is_present(device.size_bytes) and device.size_bytes > 0
        if device.parent or device.slaves or device.kind in _NOT_DISKS or not sized:
            continue
        state = read_scheduler_state(host, device.name)
        if is_present(state):
            scheduled.append((device, state))
    return scheduled


def leaves_with_schedulers(host: Host) -> list[tuple[BlockDevice, SchedulerState]]:
    scheduled = host.compute_once(read_scheduled_disks)
    if not scheduled:
        raise RuleInapplicable("no disk here has an I/O scheduler")
    return scheduled


def scheduling_evidence(host: Host, state: SchedulerState) -> tuple[Evidence, ...]:
    """Scheduler and reason, tunables, depth, write-back throttling and hardware queues, each with its path."""
    queue = f"/sys/block/{state.device}/queue"
    reason = find_scheduler_origin(host, state)
    active = state.active if is_present(state.active) else "unknown"
    lines = [Evidence(f"{state.device}: {active}: {reason.text}", reason.source or f"{queue}/scheduler")]
    if state.tunables:
        text = " ".join(f"{k}={v}" for k, v in state.tunables.items())
        lines.append(Evidence(text, f"{queue}/iosched"))
    depth = [
        f"{name} {value}"
        for name, value in (
            ("nr_requests", state.nr_requests),
            ("wbt_lat_usec", state.wbt_lat_usec),
            ("hardware queues", state.hw_queues),
        )
        if is_present(value)
    ]
    if depth:
        lines.append(Evidence(", ".join(depth), f"{queue}/nr_requests"))
    return tuple(lines)


def check_scheduler_choice(host: Host) -> Iterator[Finding]:
    """A scheduler that the class of device does not suggest (knowledge/schedulers.toml)."""
    for device, state in leaves_with_schedulers(host):
        kind = device_class_of(device)
        if isinstance(state.active, Absent) or state.active not in kind.speaks:
            continue
        if state.active == "none" and is_unused_beside_pools(host, device):
            continue  # ZFS orders its requests itself and asks for none (zfs(4))
        better = next(iter(schedulers_on_offer(kind.suggests, state.offered)), "")
        if not better:
            continue
        flag = device.rotational if is_present(device.rotational) else None
        remedy = [
            make_scheduler_remedy(
                host, device.name, better, state.active, flag, find_scheduler_origin(host, state)
            )
        ]
        if state.active == "bfq":
            remedy.append(bfq_throughput_remedy(device.name, state.tunables))
        yield SAYS.finding(
            "choice",
            subject=device.name,
            kind=kind.title,
            active=state.active,
            better=better,
            evidence=(*scheduling_evidence(host, state), Evidence(kind.why, "knowledge/schedulers.toml")),
            remedy=remedy,
            references=(kind.source,),
        )


def _require_release_and_faults(host: Host) -> tuple[str, tuple[KernelFault, ...]]:
    return require_readable(read_kernel(host).release, "the kernel's release"), kernel_faults_of_host(host)


def check_known_stall(host: Host) -> Iterator[Finding]:
    """The active scheduler has a known fault in this kernel (knowledge/kernels.toml)."""
    release, faults = _require_release_and_faults(host)
    scheduled = [f for f in faults if f.scheduler]
    if not scheduled:
        return
    for device, state in leaves_with_schedulers(host):
        for fault in scheduled:
            if fault.scheduler != state.active:
                continue
            several = is_present(state.hw_queues) and state.hw_queues > 1
            if fault.needs_multi_queue and is_present(state.hw_queues) and not several:
                continue
            flag = device.rotational if is_present(device.rotational) else None
            yield SAYS.finding(
                "known-stall",
                id=f"iosched.{fault.id}",
                severity="warning" if fault.certainty == "reported" else "notice",
                confidence="rule" if fault.certainty == "reported" else "hint",
                subject=device.name,
                alike=state.active,
                active=state.active,
                release=release,
                fault=fault.title_in_sentence,
                update=fault.remedy,
                evidence=(Evidence(fault.effect, release), *scheduling_evidence(host, state)),
                remedy=(
                    make_scheduler_remedy(
                        host,
                        device.name,
                        "mq-deadline",
                        fault.scheduler,
                        flag,
                        find_scheduler_origin(host, state),
                    ),
                ),
                references=fault.sources,
            )


def check_known_crash(host: Host) -> Iterator[Finding]:
    """Faults of this kernel's block layer whatever the scheduler."""
    release, faults = _require_release_and_faults(host)
    for fault in faults:
        if not fault.scheduler and fault.of == "block":
            yield SAYS.finding(
                "known-crash",
                id=f"iosched.{fault.id}",
                confidence="rule" if fault.certainty == "reported" else "hint",
                release=release,
                fault=fault.title_in_sentence,
                effect=fault.effect,
                update=fault.remedy,
                references=fault.sources,
            )


def check_writeback_throttling(host: Host) -> Iterator[Finding]:
    """Write-back throttling set by hand stays in force under bfq too, and outlives every change of scheduler."""
    for _, state in leaves_with_schedulers(host):
        if state.is_wbt_set_by_hand:
            limit_us = state.wbt_lat_usec
            yield SAYS.finding(
                "wbt", subject=state.device, limit_us=limit_us, evidence=scheduling_evidence(host, state)
            )


def check_conflicting_rules(host: Host) -> Iterator[Finding]:
    """A udev rule or tuned profile asks for a scheduler that is not there: somebody changed it, or two fight."""
    devices = leaves_with_schedulers(host)
    if not are_scheduler_rules_known(host):
        raise FactUnreadable("neither udev's rules nor tuned's profiles were captured")
    for device, state in devices:
        if isinstance(state.active, Absent) or find_scheduler_origin(host, state).kind in ("udev", "tuned"):
            continue
        asked = [
            (p, s, "udev rule") for p, s, line in scheduler_rules(host) if rule_fits(host, line, device.name)
        ]
        tuned = find_tuned_elevator_and_path(host, device.name)
        if is_present(tuned):  # it comes after udev
            asked.insert(0, (tuned[1], tuned[0], "tuned profile"))
        other = next(((p, s, w) for p, s, w in asked if s != state.active and s in state.offered), None)
        if other:
            apply = (
                "tuned-adm verify"
                if other[2] == "tuned profile"
                else f"udevadm test /sys/block/{shlex.quote(device.name)} 2>&1 | grep -i scheduler"
            )
            yield SAYS.finding(
                "conflict",
                subject=device.name,
                who=other[2],
                wanted=other[1],
                active=state.active,
                source=other[0],
                apply=apply,
                evidence=scheduling_evidence(host, state),
            )


def check_ignored_priorities(host: Host) -> Iterator[Finding]:
    """Processes ask for I/O priorities that no active scheduler honours (ioprio_set(2): bfq; classes: mq-deadline)."""
    states = [state for _, state in leaves_with_schedulers(host)]
    deaf = [s.device for s in states if s.active in ("none", "kyber")]
    if len(deaf) < len(states):
        return  # before every process is asked
    requests = require_readable(read_io_priorities(host))
    if not requests:
        return
    names = ", ".join(sorted({f"{p.comm} ({p.kind})" for p in requests})[:5])
    yield SAYS.finding("priorities", count=len(requests), names=names, deaf=", ".join(deaf))


RULES: tuple[HostRule, ...] = (
    HostRule("iosched.choice", "iosched", "scheduler by class of device", check_scheduler_choice),
    HostRule("iosched.known-stall", "iosched", "kernel known to stall with the scheduler", check_known_stall),
    HostRule("iosched.known-crash", "iosched", "kernel known to crash in the block layer", check_known_crash),
    HostRule("iosched.wbt", "iosched", "write-back throttling set by hand", check_writeback_throttling),
    HostRule(
        "iosched.conflict",
        "iosched",
        "udev rules and tuned profiles that are not in effect",
        check_conflicting_rules,
    ),
    HostRule(
        "iosched.priorities", "iosched", "I/O priorities that the scheduler ignores", check_ignored_priorities
    ),
)

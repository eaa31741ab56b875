"""Whether a run can be trusted: its control, what disturbed it, whether the load reached the disk, drift, resolution.

Each sign is made from fields; what a run has no means to tell is not said.
"""

import math
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import group_means, is_counted
from hostdx.app.report import wording
from hostdx.probes import units
from hostdx.probes.cpu_model import is_emulated_cpu
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import (
    most_frequent_cause,
    most_frequent_culprit,
    pid_of_most_named_culprit,
)
from hostdx.scenarios.contract.surroundings import MIN_LASTING_SHARE, disturbed_time_share, lasting_cpu_share
from hostdx.scenarios.contract.verdict.order import order_words
from hostdx.scenarios.contract.verdict.verdict import OrderEffect, missable_share
from hostdx.scenarios.experiment.guards.thresholds import guard_threshold
from hostdx.scenarios.experiment.statistics.drift import (
    MIN_POINTS,
    Drift,
    drifting_variants,
    find_halving_or_doubling,
)
from hostdx.scenarios.experiment.wording import drift_text, moves_text

# "stated": what was known before the run and casts no doubt on it
State: TypeAlias = Literal["ok", "stated", "notice", "unknown", "unlooked", "critical"]
MARKS: dict[State, str] = {
    "ok": "✓", "stated": " ", "notice": "▲", "unknown": "?", "unlooked": "–", "critical": "!",
}  # fmt: skip
TONES: dict[State, str] = {state: state for state in MARKS} | {
    "stated": "notice", "notice": "warning", "unlooked": "unknown",
}  # fmt: skip
MIN_REACHED_SHARE = 0.95  # of a load's bytes must show in the disks' own counters
MAX_DISTURBED_SHARE = 0.5  # of all groups disturbed: a run on a host that is not quiet


class TrustSign(NamedTuple):
    state: State
    text: str
    pid: int | None = None  # of the process that it names


_GRAVEST_FIRST: tuple[State, ...] = ("critical", "notice", "unknown", "unlooked", "stated", "ok")


def list_trust_signs(session: RunSession) -> list[TrustSign]:
    """Return the gravest first, as a low screen shows the first ones alone. Empty where nothing was measured."""
    return session.compute_once(
        "trust signs", lambda: sorted(_list_signs(session), key=lambda sign: _GRAVEST_FIRST.index(sign.state))
    )


def _list_signs(session: RunSession) -> list[TrustSign]:
    measured = [v for v in session.verdicts.values() if wording.is_measured(v)]
    if not measured:  # levels of one side alone: they are of the host as it was, too
        alone = session.blocks and session.watched
        of_levels = [*_disturbance_signs(session), *_bytes_reached_disk_signs(session)] if alone else []
        return [*_emulation_signs(session), *of_levels] if of_levels else []
    signs = [
        *_emulation_signs(session),
        *_control_signs(session),
        *(
            TrustSign("stated", sentence)
            for sentence in (session.plan.common if session.plan is not None else ())
        ),
        *_disturbance_signs(session),
        *_bytes_reached_disk_signs(session),
        *_drift_signs(session, measured),
    ]
    signs += _order_signs(session, measured)
    return [*signs, *_resolution_signs(session)]


def _emulation_signs(session: RunSession) -> list[TrustSign]:
    """Return what the recorded model of the CPU says of all figures."""
    model = session.facts.get("cpu model")
    if model is None or not isinstance(model.value, str) or not is_emulated_cpu(model.value):
        return []
    return [TrustSign("notice", wording.emulation_text("this machine"))]


def _control_signs(session: RunSession) -> list[TrustSign]:
    out = []
    verdicts = session.verdicts.values()
    several = len({v.workload for v in verdicts}) > 1
    for v in (v for v in verdicts if v.control):
        load = wording.workload_title(session, v.workload)
        shared = any(o.workload == v.workload and not o.control for o in verdicts)
        name = load if not shared else f"{v.variant}, {load}" if several else v.variant
        if v.is_equal:
            out.append(TrustSign("ok", f"control equal ({name})"))
        elif v.is_different:
            out.append(
                TrustSign(
                    "critical",
                    f"the control differs ({name}: {units.format_effect(v.ratio)}): do not use this run",
                )
            )
        elif wording.is_measured(v):
            out.append(TrustSign("unknown", f"control {v.verdict} ({name})"))
        else:
            out.append(TrustSign("unknown", f"control not measured ({name})"))
    return out


def _disturbance_signs(session: RunSession) -> list[TrustSign]:
    total, count, unit = sum(map(len, session.groups.values())), session.disturbed_groups, "groups"
    if not total and not session.verdicts:
        blocks = [b for blocks in session.blocks.values() for b in blocks if b.phase == "steady"]
        total, count, unit = len(blocks), sum(1 for b in blocks if b.disturbed), "measurements"
    if not total:
        return []
    again = ", measured again" if count else ""
    state: State = "ok" if not count else "critical" if count > MAX_DISTURBED_SHARE * total else "notice"
    sign = TrustSign(state, f"{count} of {total} {unit} disturbed{again}")
    kinds = dict.fromkeys(disturbance.kind for watched in session.watched for disturbance in watched.told)
    others = [_interference_sign(session, kind) for kind in kinds]
    if not others and not count:
        return (
            [sign]
            if not (why := _interference_unknown_reason(session))
            else [TrustSign("unlooked", f"disturbances: {why}")]
        )
    return [sign, *others] if count else others


def _interference_sign(session: RunSession, kind: str) -> TrustSign:
    """Return what others did beyond a limit, measured again or not: all the time, or how often."""
    those = [(w, disturbance) for w in session.watched for disturbance in w.told if disturbance.kind == kind]
    share = disturbed_time_share(session.watched, kind)
    culprits = [disturbance.culprit for _, disturbance in those if disturbance.culprit is not None]
    pid = pid_of_most_named_culprit(culprits)
    if share < MIN_LASTING_SHARE or kind not in ("device", "cpu"):
        often = most_frequent_cause([disturbance for _, disturbance in those])
        return TrustSign(
            "notice", f"in {units.format_percent(min(1.0, share))} of the measuring time: {often}", pid
        )
    culprit_name = most_frequent_culprit(culprits)
    by = f" ({culprit_name})" if culprit_name else ""
    if kind == "cpu":
        used = units.format_percent(lasting_cpu_share(session.watched))
        return TrustSign(
            "notice", f"other programs used {used} of the CPUs all the time{by}: this host was busy", pid
        )
    read, written = (
        median(getattr(w.surroundings, name) for w, _ in those)
        for name in ("foreign_read_rate", "foreign_write_rate")
    )
    did, way = ("wrote", "to") if written >= read else ("read", "from")
    device_names = ", ".join(those[0][0].devices)
    # Not what the counters moved: what our own writes cause is among that.
    rates = [
        disturbance.figure
        for _, disturbance in those
        if disturbance.unit == "B/s" and disturbance.figure is not None
    ]
    rate = f" {units.format_rate(median(rates))}" if rates else ""
    return TrustSign(
        "notice",
        f"others {did}{rate} {way} {device_names} all the time{by}: these are figures of a busy disk",
        pid,
    )


def _interference_unknown_reason(session: RunSession) -> str:
    """Return why nobody knows what others did; "" where it was looked at."""
    looks = [w.surroundings for w in session.watched]
    if not looks:
        return ""  # recorded before the looks were: its groups were judged all the same
    if all(look.cpu is None and look.device_bytes is None for look in looks):
        return "not looked at (neither /proc/stat nor /proc/diskstats can be read)"
    loaded = any(block.bytes > 0 for blocks in session.blocks.values() for block in blocks)
    if loaded and not any(w.devices for w in session.watched):
        measures_disk = session.plan is not None and bool(session.plan.options.get("dir"))
        why = "the loads take turns too quickly" if measures_disk else "this run uses no disk"
        return f"I/O of other programs was not checked: {why}"
    moved = [look for look in looks if look.device_bytes is not None]
    if loaded and not moved:
        return "I/O of other programs was not checked (the devices have no counters here)"
    if moved and all(not look.exact and look.attributed is None for look in moved):
        return (
            "I/O of other programs cannot be separated from what our writes cause "
            "(reading /proc/PID/io of all takes root with CAP_SYS_PTRACE)"
        )
    # Up to the limit in all, whoever used it: nobody used more.
    limit = guard_threshold("cpu").limit
    unread = [look.cpu for look in looks if look.users_cpu is None or look.hidden]
    unknown = sum(cpu is None or cpu > limit for cpu in unread)
    if unknown > len(looks) / 2:
        return (
            "CPU use of other programs was not checked most of the time (the processes cannot be read, or are too "
            "many)"
        )
    return ""


def _bytes_reached_disk_signs(session: RunSession) -> list[TrustSign]:
    short = []
    has_bytes = False
    for workload, blocks in session.blocks.items():
        counted = [b for b in blocks if is_counted(b) and b.device_bytes is not None and b.bytes > 0]
        asked = sum(b.bytes for b in counted)
        if not asked:
            continue
        has_bytes = True
        share = sum(b.device_bytes or 0 for b in counted) / asked
        if share < MIN_REACHED_SHARE:
            short.append(f"{wording.workload_title(session, workload)} {units.format_percent(share)}")
    if short:
        return [TrustSign("notice", f"only a part of the bytes reached the disk: {', '.join(short)}")]
    return [TrustSign("ok", "the loads reached the disk")] if has_bytes else []


def _drift_signs(session: RunSession, verdicts: list[ev.RunVerdict]) -> list[TrustSign]:
    """As the verdict has it; of a recording whose verdict has none, as its groups show it. What both sides do alike
    leaves the effect as it is, not their levels."""
    out, is_long_enough = [], False
    for v in verdicts:
        title = wording.workload_title(session, v.workload)
        left, right = group_means(session, v)
        is_long_enough = is_long_enough or max(v.groups, len(left)) >= MIN_POINTS
        courses = [Drift(side, first, last) for side, (first, last) in v.drift.items()]
        if courses := courses or drifting_variants(left, right, (v.baseline, v.variant)):
            out.append(TrustSign("notice", f"{title}: {drift_text(courses, v.metric)}"))
        elif courses := find_halving_or_doubling(left, right, (v.baseline, v.variant)):
            out.append(TrustSign("notice", f"{title}: {moves_text(courses, v.metric)}"))
    return out or [TrustSign("ok", "no load halved or doubled")] * is_long_enough


def _order_signs(session: RunSession, verdicts: list[ev.RunVerdict]) -> list[TrustSign]:
    """Return whether what is claimed holds whichever of two was measured first."""
    signs = [
        TrustSign("notice", f"{wording.verdict_title(session, v)}: {v.reason}")
        for v in session.verdicts.values()
        if v.is_not_measured and v.order is not None
    ]
    claimed = [(v, v.order) for v in verdicts if v.is_different and v.order is not None]
    if claimed:
        widest, order = max(claimed, key=lambda each: _log_distance_of_orders(each[1]))
        title = wording.verdict_title(session, widest)
        words = f"{title}: {widest.verdict} whichever variant ran first: {order_words(order)}"
        if len(claimed) > 1:
            words = f"{len(claimed)} differences hold whichever variant ran first"
            words += f"; the two orders differ most for {title}: {order_words(order)}"
        signs.append(TrustSign("ok", words))
    elif any(v.is_decided and v.order is not None for v in verdicts):
        signs.append(TrustSign("ok", "the verdicts are the same whichever variant ran first"))
    if undrawn := [v for v in verdicts if v.order is None and not session.groups.get(v.workload)]:
        titles = dict.fromkeys(wording.verdict_title(session, v) for v in undrawn if not v.control)
        signs += (
            [TrustSign("unlooked", f"measured in one order only: {units.join_names(list(titles), 3)}")]
            if titles
            else []
        )
    return signs


def _log_distance_of_orders(order: OrderEffect) -> float:
    """Return how far the two orders are apart, in logs."""
    first, second = order.ratios
    return abs(math.log(first) - math.log(second))


def _resolution_signs(session: RunSession) -> list[TrustSign]:
    """Without a check mark where an effect that matters may have been missed, or where nothing is known of some."""
    limited = wording.verdicts_that_may_miss(session)
    if not limited:
        return []
    least_certain = limited[0]
    words = units.missable_difference_text(missable_share(least_certain) or 0.0)
    unresolved = wording.count_unresolved_verdicts(session)
    if sum(not v.control for v in session.verdicts.values()) > 1:
        words += f" in {wording.verdict_title(session, least_certain)}"
    if len(limited) > 1:
        words += f", the least certain of {len(limited)} comparisons"
    if misses := [v for v in limited if (missable_share(v) or 0.0) > v.margin]:
        margin = units.format_percent(min(v.margin for v in misses))
        share = f"; in {len(misses)} of these {len(limited)}" if len(misses) < len(limited) else ":"
        words += f"{share} this is more than the margin of {margin}"
    if unresolved:
        words += f"; {units.count_noun(unresolved, 'other comparison')} with too few groups to tell"
    is_certain = not (misses or unresolved or any(v.is_undecided for v in limited))
    return [TrustSign("ok", f"only {words}") if is_certain else TrustSign("unknown", words)]

"""Whether a run can be trusted: its control, what disturbed it, whether the load reached the disk, drift, resolution.

Each sign is made from fields; what a run has no means to tell is not said.
"""

import math
from statistics import fmean, median
from typing import Literal, NamedTuple, TypeAlias

from app.recording.session import Session
from app.recording.values import counts
from app.report import wording
from probes import units
from scenarios import events as ev
from scenarios.disturbance import most_frequent_cause, most_frequent_culprit
from scenarios.experiment.statistics.drift import MIN_POINTS, Drift, drifting_variants, moving_variants
from scenarios.experiment.wording import drift_text, moves_text
from scenarios.guards.thresholds import threshold_of
from scenarios.verdict.order import order_words
from scenarios.verdict.verdict import OrderEffect

_LARGEST = 1e100  # what a recording gives beyond it was not measured, and overflows a sum

State: TypeAlias = Literal["ok", "notice", "unknown", "unlooked", "critical"]
MARKS: dict[State, str] = {"ok": "✓", "notice": "▲", "unknown": "?", "unlooked": "–", "critical": "!"}
TONES: dict[State, str] = {state: state for state in MARKS} | {"notice": "warning", "unlooked": "unknown"}
REACHED = 0.95  # of a load's bytes must show in the disks' own counters
MANY = 0.5  # of all groups disturbed: a run on a host that is not quiet
ALL_THE_TIME = 0.8  # of the trains or blocks that the guards could judge
_FIELDS = {
    "device": "device_bytes",
    "cpu": "users_cpu",
    "frequency": "khz",
}  # the others' are called as their kind


class Sign(NamedTuple):
    state: State
    text: str


def trust(session: Session) -> list[Sign]:
    """Empty where nothing was measured."""
    told = [v for v in session.verdicts.values() if wording.measured(v)]
    if not told:  # levels of one side alone: they are of the host as it was, too
        alone = session.blocks and session.watched
        return [*_disturbed(session), *_reached(session)] if alone else []
    signs = [*_controls(session), *_disturbed(session), *_reached(session), *_drift(session, told)]
    signs += _orders(session, told)
    return [*signs, *_resolution([v for v in told if not wording.too_few(session, v)])]


def _controls(session: Session) -> list[Sign]:
    out = []
    told = session.verdicts.values()
    several = len({v.workload for v in told}) > 1
    for v in (v for v in told if v.control):
        load = wording.workload_title(session, v.workload)
        shared = any(o.workload == v.workload and not o.control for o in told)
        name = load if not shared else f"{v.variant}, {load}" if several else v.variant
        if v.is_equal:
            out.append(Sign("ok", f"control equal ({name})"))
        elif v.is_different:
            out.append(
                Sign(
                    "critical", f"the control differs ({name}: {units.effect(v.ratio)}): do not use this run"
                )
            )
        elif wording.measured(v):
            out.append(Sign("unknown", f"control {v.verdict} ({name})"))
        else:
            out.append(Sign("unknown", f"control not measured ({name})"))
    return out


def _disturbed(session: Session) -> list[Sign]:
    total, count, what = sum(map(len, session.groups.values())), session.disturbed_groups, "groups"
    if not total and not session.verdicts:
        blocks = [b for blocks in session.blocks.values() for b in blocks if b.phase == "steady"]
        total, count, what = len(blocks), sum(1 for b in blocks if b.disturbed), "blocks"
    if not total:
        return []
    again = ", measured again" if count else ""
    state: State = "ok" if not count else "critical" if count > MANY * total else "notice"
    sign = Sign(state, f"{count} of {total} {what} disturbed{again}")
    kinds = dict.fromkeys(one.kind for watched in session.watched for one in watched.told)
    others = [_others(session, kind) for kind in kinds]
    if not others and not count:
        return [sign] if not (why := _unseen(session)) else [Sign("unlooked", f"disturbances: {why}")]
    return [sign, *others] if count else others


def _others(session: Session, kind: str) -> Sign:
    """What others did beyond a limit, measured again or not: all the time, or how often."""
    those = [(w, one) for w in session.watched for one in w.told if one.kind == kind]
    known = _FIELDS.get(kind, kind)
    could = [
        w
        for w in session.watched
        if getattr(w.surroundings, known, 0) is not None or any(one.kind == kind for one in w.told)
    ]
    share = _seconds([w for w, _ in those]) / max(_seconds(could), 1e-3)
    if share < ALL_THE_TIME or kind not in ("device", "cpu"):
        often = most_frequent_cause([one for _, one in those])
        return Sign("notice", f"{often}, in {units.percent(min(1.0, share))} of the measuring time")
    who = most_frequent_culprit([one.culprit for _, one in those if one.culprit is not None])
    by = f" ({who})" if who else ""
    if kind == "cpu":
        used = units.percent(median(one.figure or 0.0 for _, one in those))
        return Sign(
            "notice", f"others used {used} of the CPUs all the time{by}: these are figures of a busy host"
        )
    read, written = (
        median(getattr(w.surroundings, name) for w, _ in those)
        for name in ("foreign_read", "foreign_written")
    )
    did, way = ("wrote", "to") if written >= read else ("read", "from")
    where = ", ".join(those[0][0].devices)
    # Not what the counters moved: what our own writes cause is among that.
    rates = [one.figure for _, one in those if one.unit == "B/s" and one.figure is not None]
    rate = f" {units.rate(median(rates))}" if rates else ""
    return Sign(
        "notice", f"others {did}{rate} {way} {where} all the time{by}: these are figures of a busy disk"
    )


def _seconds(watched: list[ev.Watched]) -> float:
    return sum(w.surroundings.seconds for w in watched)


def _unseen(session: Session) -> str:
    """Why nobody knows what others did; "" where it was looked at."""
    looks = [w.surroundings for w in session.watched]
    if not looks:
        return ""  # recorded before the looks were: its groups were judged all the same
    if all(look.cpu is None and look.device_bytes is None for look in looks):
        return "not looked at (neither /proc/stat nor /proc/diskstats can be read)"
    loaded = any(block.bytes > 0 for blocks in session.blocks.values() for block in blocks)
    if loaded and not any(w.devices for w in session.watched):
        return "others' I/O was not looked at: this run watches no disk"
    moved = [look for look in looks if look.device_bytes is not None]
    if loaded and not moved:
        return "others' I/O was not looked at (the devices have no counters here)"
    if moved and all(not look.exact and look.attributed is None for look in moved):
        return "others' I/O cannot be told from what our writes cause (run as root)"
    # Up to the limit in all, whoever used it: nobody used more.
    limit = threshold_of("cpu").limit
    unread = [look.cpu for look in looks if look.users_cpu is None or look.hidden]
    unknown = sum(cpu is None or cpu > limit for cpu in unread)
    if unknown > len(looks) / 2:
        return "others' CPU use was not looked at most of the time (the processes cannot be read, or are too many)"
    return ""


def _reached(session: Session) -> list[Sign]:
    short = []
    known = False
    for workload, blocks in session.blocks.items():
        counted = [b for b in blocks if counts(b) and b.device_bytes is not None and b.bytes > 0]
        asked = sum(b.bytes for b in counted)
        if not asked:
            continue
        known = True
        share = sum(b.device_bytes or 0 for b in counted) / asked
        if share < REACHED:
            short.append(f"{wording.workload_title(session, workload)} {units.percent(share)}")
    if short:
        return [Sign("notice", f"only a part of the bytes reached the disk: {', '.join(short)}")]
    return [Sign("ok", "the loads reached the disk")] if known else []


def _drift(session: Session, told: list[ev.RunVerdict]) -> list[Sign]:
    """As the verdict has it; of a recording whose verdict has none, as its groups show it. What both sides do alike
    leaves the effect as it is, not their levels."""
    out, seen = [], False
    for v in told:
        title = wording.workload_title(session, v.workload)
        left, right = _by_group(session, v)
        seen = seen or max(v.groups, len(left)) >= MIN_POINTS
        courses = [Drift(side, first, last) for side, (first, last) in v.drift.items()]
        if courses := courses or drifting_variants(left, right, (v.baseline, v.variant)):
            out.append(Sign("notice", f"{title}: {drift_text(courses, v.metric)}"))
        elif courses := moving_variants(left, right, (v.baseline, v.variant)):
            out.append(Sign("notice", f"{title}: {moves_text(courses, v.metric)}"))
    return out or [Sign("ok", "no side drifted")] * seen


def _orders(session: Session, told: list[ev.RunVerdict]) -> list[Sign]:
    """Whether what is claimed holds whichever of two was measured first."""
    signs = [
        Sign("notice", f"{wording.verdict_title(session, v)}: {v.reason}")
        for v in session.verdicts.values()
        if v.is_not_measured and v.order is not None
    ]
    claimed = [(v, v.order) for v in told if v.is_different and v.order is not None]
    if claimed:
        widest, order = max(claimed, key=lambda each: _apart(each[1]))
        title = wording.verdict_title(session, widest)
        words = f"{title}: {widest.verdict} in both orders: {order_words(order)}"
        if len(claimed) > 1:
            words = f"{len(claimed)} differences hold in both orders; farthest apart: {title}, {order_words(order)}"
        signs.append(Sign("ok", words))
    elif any(v.is_decided and v.order is not None for v in told):
        signs.append(Sign("ok", "both orders give the same verdict"))
    if undrawn := [v for v in told if v.order is None and not session.groups.get(v.workload)]:
        titles = dict.fromkeys(wording.verdict_title(session, v) for v in undrawn if not v.control)
        signs += [Sign("unlooked", f"one order only: {units.listed(list(titles), 3)}")] if titles else []
    return signs


def _apart(order: OrderEffect) -> float:
    """How far the two orders are apart, in logs."""
    first, second = order.ratios
    return abs(math.log(first) - math.log(second))


def _by_group(session: Session, verdict: ev.RunVerdict) -> tuple[list[float], list[float]]:
    """Each group's mean of the baseline and of the variant; groups without one of them are left out."""
    groups: dict[int, dict[str, list[float]]] = {}
    first = session.counted_from.get(verdict.workload, 0)
    for b in session.blocks.get(verdict.workload, ()):
        value = b.values.get(verdict.metric, math.nan)
        if counts(b) and b.group >= first and abs(value) < _LARGEST:
            groups.setdefault(b.group, {}).setdefault(b.variant, []).append(value)
    both = [g for g in groups.values() if verdict.baseline in g and verdict.variant in g]
    left, right = ([fmean(g[side]) for g in both] for side in (verdict.baseline, verdict.variant))
    return left, right


def _resolution(told: list[ev.RunVerdict]) -> list[Sign]:
    """Without a check mark where an effect that matters may have been missed."""
    known = [v for v in told if not v.control and v.smallest_effect and wording.small(v)]
    if not known:
        return []
    effects = sorted(v.smallest_effect or 0.0 for v in known)
    least, most = (units.smallest_effect(value) for value in (effects[0], effects[-1]))
    misses = any((v.smallest_effect or 0.0) > v.margin for v in known)
    text = f"smallest detectable effect: {least if least == most else f'{least} to {most}'}"
    return [Sign("unknown" if misses else "ok", text)]

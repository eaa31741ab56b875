"""How it was measured: enough for another admin to do it again, and to find the weak spot."""

from __future__ import annotations

import shlex
from collections import Counter
from statistics import median

from app import wording
from app.document import Bullets, Mono, Part, Table, Words, say
from app.plain import duration, size
from app.session import Session
from scenarios.boundary import level, looks
from scenarios.plan import Workload
from scenarios.thresholds import LEAST_OPERATIONS_A_SECOND, THRESHOLDS, Threshold

EXAMPLE_GROUPS = 30


def method(session: Session, recording: str) -> list[Part]:
    parts: list[Part] = [_run(session, recording)]
    workloads = _workloads(session)
    if workloads is not None:
        parts.append(workloads)
    groups = _groups(session)
    if groups is not None:
        parts += [
            say(
                "The unit of inference is the group. A group with a disturbed block was measured again as a whole; "
                "the order was drawn by the seed."
            ),
            groups,
            say(_looks(session)),
            say(
                "A block counted as disturbed where one of these was passed, compared with the run's own median:"
            ),
            _guards(),
        ]
    equivalents = [(w.title, w.equivalent) for w in _planned(session) if w.equivalent]
    if equivalents:
        parts.append(say("To check it with another tool:"))
        parts.append(Bullets(tuple((f"{title}:", Mono(line)) for title, line in equivalents)))
    actions = _actions(session)
    if actions is not None:
        parts += [say("Changes to this host:"), actions]
    else:
        parts.append(say("Nothing was changed on this host."))
    return parts


def _run(session: Session, recording: str) -> Bullets:
    items: list[Words] = []
    began = session.began
    if began is not None:
        items += [
            ("command:", Mono(shlex.join(began.command))),
            (f"began {began.wall}, took {duration(session.time)}, seed {began.seed}",),
            (f"hostdx {began.version}, schema", Mono(began.schema)),
        ]
    plan = session.plan
    if plan is not None:
        items.append((f"plan {plan.digest}, {duration(plan.measuring_s)} of measuring at most",))
        for v in plan.variants:
            items.append((f"variant {v.id}: {v.label}" + (f", {v.detail}" if v.detail else ""),))
            items += [(f"{v.id}: {name}:", Mono(value)) for name, value in v.facts.items()]
        for w in plan.writes:
            items.append((f"could write at most {size(w.bytes)} to", Mono(w.device)))
    items.append(("recording", Mono(recording)))
    return Bullets(tuple(items))


def _planned(session: Session) -> tuple[Workload, ...]:
    return session.plan.workloads if session.plan is not None else ()


def _workloads(session: Session) -> Table | None:
    header = ("workload", "block", "at least", "onset apart", "groups at least", "blocks measured")
    rows = []
    for w in _planned(session):
        done = [b.seconds for b in session.blocks.get(w.id, ()) if b.phase not in ("warmup", "onset")]
        counted = sum(1 for b in session.blocks.get(w.id, ()) if b.phase != "warmup")
        longest = (
            f"{w.block_s:g} s" if w.max_block_s <= w.block_s else f"{w.block_s:g} to {w.max_block_s:g} s"
        )
        if done and not 0.8 * w.block_s <= median(done) <= 1.2 * max(w.block_s, w.max_block_s):
            longest += (
                f" planned, {median(done):.2g} s measured"  # bounded in bytes, or the load's own length
            )
        onset = f"{w.onset_s:g} s" if w.onset_s else "–"
        rows.append(
            (w.title, longest, f"{w.min_operations} operations", onset, str(w.min_groups), str(counted))
        )
    return Table(header, tuple(rows), frozenset({5})).without_empty_columns() if rows else None


def _groups(session: Session) -> Table | None:
    rows = []
    for workload, groups in session.groups.items():
        orders = Counter(g.order for g in groups)
        disturbed = [g for g in groups if g.disturbed]
        looks = max((v.look for v in session.verdicts.values() if v.workload == workload), default=0)
        why = "; ".join(f"{n}× {text}" for text, n in Counter(g.disturbed for g in disturbed).most_common(3))
        rows.append(
            (
                wording.workload_title(session, workload),
                str(len(groups)),
                ", ".join(f"{n}× {order}" for order, n in orders.most_common(4)),
                str(looks),
                str(len(disturbed)),
                why or "–",
            )
        )
    header = ("workload", "groups", "order", "looks", "disturbed", "by what")
    return Table(header, tuple(rows), frozenset({1, 3, 4})).without_empty_columns() if rows else None


def _looks(session: Session) -> str:
    """How the error was shared out; the levels of a run of 30 groups are the example, for the plan is not recorded."""
    alpha = min((v.alpha for v in session.verdicts.values() if wording.measured(v)), default=0.05)
    planned = looks(EXAMPLE_GROUPS)
    levels = [share(level(count, planned, alpha)) for count in planned]
    return (
        f"Each comparison may err in {share(alpha)} of such runs, all of them together in 5 %. That is paid for at "
        f"every look at the data, by a plan fixed beforehand: with {EXAMPLE_GROUPS} groups planned, looks after "
        f"{', '.join(map(str, planned))} groups take intervals at the levels {', '.join(levels)}."
    )


def share(value: float) -> str:
    return f"{wording.number(100 * value, 2)} %"


def _guards() -> Table:
    rows = [(rule.kind, _limit(rule), rule.reason) for rule in THRESHOLDS]
    return Table(("guard", "disturbed beyond", "why"), tuple(rows))


def _limit(rule: Threshold) -> str:
    percent = f"{100 * rule.limit:g} % {rule.unit}"
    if rule.kind == "space":
        return f"less than {percent}, or {size(rule.floor)}: the run ends"
    if rule.kind == "heat":
        return f"any {rule.unit}"
    floors = {
        "cpu": f", where the CPUs were {100 * rule.floor:g} % busy",
        "device": f", at {size(rule.floor)} or {LEAST_OPERATIONS_A_SECOND:g} operations a second and more",
    }
    return percent + (floors.get(rule.kind, "") if rule.floor else "")


def _actions(session: Session) -> Table | None:
    if not session.actions:
        return None
    words = {"applied": "not undone yet", "reverted": "undone"}
    rows = []
    for event in session.actions.values():
        state = words.get(event.state, event.state)
        reason = f": {event.reason}" if event.reason and event.state != "applied" else ""
        rows.append((event.action.title, Mono(event.action.target), state + reason))
    if len(rows) > 40:
        more = (f"and {len(rows) - 40} more; the recording has them all", Mono(""), "")
        rows = [*rows[:40], more]
    return Table(("what", "where", "state"), tuple(rows))

"""How it was measured: enough for another admin to do it again, and to find the weak spot."""

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from statistics import median

from hostdx.app.recordings.session import RunSession
from hostdx.app.report import wording
from hostdx.app.report.numbers import SAYS, is_imported
from hostdx.probes.reading.secrecy.harmless_words import mask_all_but_names
from hostdx.probes.units import format_duration, format_number, format_percent_interval, format_size
from hostdx.scenarios.contract.disturbance import most_frequent_cause
from hostdx.scenarios.contract.events import SliceLengthChosen
from hostdx.scenarios.contract.results.document import Bullets, Mono, Part, Table, Words, paragraph_of
from hostdx.scenarios.experiment.guards.thresholds import MIN_OPERATIONS_PER_S, THRESHOLDS, Threshold
from hostdx.scenarios.experiment.looks import nominal_alpha, plan_analyses

EXAMPLE_GROUPS = 30
EXAMPLE_GROUPS_OF_TRAINS = 200


def method_parts(session: RunSession, recording: str, *, with_arguments: bool = False) -> list[Part]:
    """`with_arguments`: command lines whole, else only which program."""
    parts: list[Part] = [_run_and_plan_bullets(session, recording, with_arguments)]
    if is_imported(session):
        return [paragraph_of(SAYS.text("imported")), *parts]
    workloads = _workload_table(session)
    if workloads is not None:
        parts.append(workloads)
    slices = _slice_table(session)
    if slices is not None:
        parts += [paragraph_of(SAYS.text("slices")), slices]
    groups = _group_orders_table(session)
    if groups is not None:
        discarded_unit = (
            "slice batch that was disturbed" if session.trains else "group with a disturbed window"
        )
        parts += [
            paragraph_of(SAYS.text("unit", unit=_pair_or_group_words(session), whole=discarded_unit)),
            groups,
            paragraph_of(_analyses_text(session)),
            paragraph_of(SAYS.text("disturbed", what="slice batch" if session.trains else "window")),
            _guard_limits_table(),
        ]
    own = session.plan.commands if session.plan is not None else ()
    equivalents = [
        (w.title, w.equivalent if with_arguments or w.equivalent not in own else w.equivalent.split()[0])
        for w in session.planned_workloads
        if w.equivalent.strip()
    ]
    if equivalents:
        parts.append(paragraph_of("To check it with another tool:"))
        parts.append(Bullets(tuple((f"{title}:", Mono(line)) for title, line in equivalents)))
    actions = _changes_table(session)
    if actions is not None:
        parts += [paragraph_of("Changes to this host:"), actions]
    else:
        parts.append(paragraph_of("Nothing was changed on this host."))
    return parts


def _pair_or_group_words(session: RunSession) -> str:
    paired = any(verdict.pairs for verdict in session.verdicts.values())
    return SAYS.text("pair") if paired else "the group"


def _run_and_plan_bullets(session: RunSession, recording: str, with_arguments: bool) -> Bullets:
    items: list[Words] = []
    began = session.began
    if began is not None:
        took = (
            f", took {format_duration(session.time)}, seed {began.seed}" if not is_imported(session) else ""
        )
        items += [
            _command_words(began.command, with_arguments),
            (f"began {began.wall}{took}",),
            (f"hostdx {began.version}, schema", Mono(began.schema)),
        ]
    plan = session.plan
    if plan is not None and not is_imported(session):
        items.append((f"plan {plan.digest}, {format_duration(plan.measuring_s)} of measuring at most",))
        for v in plan.variants:
            items.append((f"variant {v.id}: {wording.describe_variant(v)}",))
            items += [(f"{v.id}: {name}:", Mono(value)) for name, value in v.facts.items()]
        for w in plan.writes:
            items.append((f"could write at most {format_size(w.bytes)} to", Mono(w.device)))
    items.append(("recording", Mono(recording)))
    return Bullets(tuple(items))


def _command_words(words: Sequence[str], with_arguments: bool) -> Words:
    """The program and what it was to do; its arguments may tell what a ticket is not to."""
    if with_arguments:
        return "command:", Mono(shlex.join(mask_all_but_names(words)))
    shown = list(takewhile(lambda word: not word.startswith("-"), words))
    left_out = "(--with-arguments shows its arguments)" if len(shown) < len(words) else ""
    return "command:", Mono(shlex.join(shown)), left_out


def _workload_table(session: RunSession) -> Table | None:
    header = ("workload", "window", "at least", "onset apart", "groups at least", "windows measured")
    rows = []
    for w in session.planned_workloads:
        if w.id in session.trains:
            continue
        done = [b.seconds for b in session.blocks.get(w.id, ()) if b.phase not in ("warmup", "onset")]
        counted = sum(1 for b in session.blocks.get(w.id, ()) if b.phase != "warmup")
        longest = (
            f"{w.block_s:g} s" if w.max_block_s <= w.block_s else f"{w.block_s:g} to {w.max_block_s:g} s"
        )
        if done and not 0.8 * w.block_s <= median(done) <= 1.2 * max(w.block_s, w.max_block_s):
            # bounded in bytes, or the load's own length
            longest += f" planned, {median(done):.2g} s measured"
        onset = f"{w.onset_s:g} s" if w.onset_s else "–"
        rows.append(
            (w.title, longest, f"{w.min_operations} operations", onset, str(w.min_groups), str(counted))
        )
    return Table(header, tuple(rows), frozenset({5})).without_empty_columns() if rows else None


def _slice_length_reason(slice_length: SliceLengthChosen) -> str:
    """Return what decided, with its figure where there is one."""
    words = SAYS.text(f"length-{slice_length.why}")
    if slice_length.bias is None:
        return words
    low, high = sorted(abs(math.expm1(edge)) for edge in slice_length.bias)
    return f"{words}: it shifted the ratio by {format_percent_interval(low, high)}"


def _slice_table(session: RunSession) -> Table | None:
    header = ("workload", "slices of", "decided by", "first quarter against the rest", "left out", "groups")
    rows = []
    for w in session.planned_workloads:
        slice_length = session.slices.get(w.id)
        if slice_length is None:
            continue
        quarter = "–"
        if slice_length.difference is not None:
            quarter = f"{100 * slice_length.difference:+.1f} %"
            if slice_length.ci99 is not None:
                quarter += (
                    f" (99 % CI {100 * slice_length.ci99[0]:+.1f} to {100 * slice_length.ci99[1]:+.1f} %)"
                )
        onset = f"first {1000 * slice_length.onset_s:.0f} ms" if slice_length.onset_s else "–"
        length = f"{1000 * slice_length.seconds:.0f} ms"
        if slice_length.blocks:
            length = f"windows of {slice_length.seconds:g} s, each flushed"
        counted = str(len(session.groups.get(w.id, ())))
        rows.append((w.title, length, _slice_length_reason(slice_length), quarter, onset, counted))
    return Table(header, tuple(rows), frozenset({1, 5})).without_empty_columns() if rows else None


def _group_orders_table(session: RunSession) -> Table | None:
    rows = []
    for workload, groups in session.groups.items():
        orders = Counter(g.order for g in groups)
        disturbed = [g for g in groups if g.disturbed]
        looks = max((v.look for v in session.verdicts.values() if v.workload == workload), default=0)
        often = Counter(most_frequent_cause(g.disturbed) for g in disturbed).most_common(3)
        why = "; ".join(f"{n}× {text}" for text, n in often)
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
    header = ("workload", "groups", "order", "interim analyses", "disturbed", "by what")
    return Table(header, tuple(rows), frozenset({1, 3, 4})).without_empty_columns() if rows else None


def _analyses_text(session: RunSession) -> str:
    """Return how the error was shared out; the levels of one run are the example, for the plan is not recorded."""
    alpha = min((v.alpha for v in session.verdicts.values() if wording.is_measured(v)), default=0.05)
    example = EXAMPLE_GROUPS_OF_TRAINS if session.trains else EXAMPLE_GROUPS
    planned = plan_analyses(example)
    levels = [format_share(nominal_alpha(count, planned, alpha)) for count in planned]
    after = ", ".join(map(str, planned))
    return SAYS.text(
        "looks", alpha=format_share(alpha), groups=example, looks=after, levels=", ".join(levels)
    )


def format_share(value: float) -> str:
    return f"{format_number(100 * value, 2)} %"


def _guard_limits_table() -> Table:
    rows = [(rule.kind, _guard_limit_text(rule), rule.reason) for rule in THRESHOLDS]
    return Table(("guard", "disturbed beyond", "why"), tuple(rows))


def _guard_limit_text(rule: Threshold) -> str:
    percent = f"{100 * rule.limit:g} % {rule.unit}"
    if rule.kind == "space":
        return f"less than {percent}, or {format_size(rule.floor)}: the run ends"
    if rule.kind == "queue":
        return f"{rule.limit:g} {rule.unit}, where the CPUs were {100 * rule.floor:g} % busy"
    if rule.kind == "heat":
        return f"any {rule.unit}"
    floors = {
        "cpu": f", where the CPUs were {100 * rule.floor:g} % busy",
        "device": f", at {format_size(rule.floor)} or {MIN_OPERATIONS_PER_S:g} operations a second and more",
    }
    return percent + (floors.get(rule.kind, "") if rule.floor else "")


def _changes_table(session: RunSession) -> Table | None:
    if not session.actions:
        return None
    words = {"applied": "not undone yet", "reverted": "undone"}
    times: Counter[tuple[str, Mono, str]] = Counter()
    for event in session.actions.values():
        state = words.get(event.state, event.state)
        reason = f": {event.reason}" if event.reason and event.state != "applied" else ""
        times[event.action.title, Mono(event.action.target), state + reason] += 1
    rows = [
        (title, target, state if count == 1 else f"{state}, each of {count} times")
        for (title, target, state), count in times.items()
    ]
    if len(rows) > 40:
        more = (f"and {len(rows) - 40} more; the recording has them all", Mono(""), "")
        rows = [*rows[:40], more]
    return Table(("what", "where", "state"), tuple(rows))

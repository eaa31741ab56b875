"""A plan as lines: what it asks, reads, writes and changes, how long it takes, what it needs."""

from __future__ import annotations

from rich.cells import cell_len

from app.tui.glyphs import clean
from app.tui.lines import BLANK, Line, pad, text, wrapped
from probes.action import Action
from probes.units import percent, size
from scenarios.experiment.wording import titled
from scenarios.plan import Plan

_NAME = 11


def _item(name: str, words: str, width: int, role: str = "text") -> list[Line]:
    rows = wrapped(words, width - _NAME, role)
    return [[(f"{name if not n else '':<{_NAME}}", "dim"), *row] for n, row in enumerate(rows)]


def change_lines(action: Action, width: int) -> list[Line]:
    """An action with its exact old and new value, how it is undone, and its risk."""
    out = wrapped(action.title, width, "strong", hang=2)
    if action.kind == "attribute":
        out += wrapped(action.target, width, "text", indent=2, hang=2)
        old, new = clean(action.old or "read when it is changed"), clean(action.new or "")
        out.append(
            [
                ("  now ", "dim"),
                (old, "strong"),
                ("  becomes ", "dim"),
                (new, "strong"),
                ("  then back", "dim"),
            ]
        )
        for path in action.side_paths:
            out += wrapped(f"saved and put back with it: {path}", width, "dim", indent=2, hang=2)
    elif action.kind == "command":
        out += wrapped("runs " + " ".join(action.apply), width, "text", indent=2, hang=2)
        undo = "cannot be undone" if action.irreversible else "undone by " + clean(" ".join(action.undo))
        out += wrapped(undo, width, "warning" if action.irreversible else "dim", indent=2, hang=2)
    else:
        out += wrapped(
            f"{action.resource} {clean(action.target)}, removed afterwards", width, "text", indent=2, hang=2
        )
    if action.risk:
        out += wrapped(f"risk: {action.risk}", width, "dim", indent=2, hang=2)
    return out


def plan_lines(plan: Plan, width: int) -> list[Line]:
    out: list[Line] = wrapped(plan.question or plan.title, width, "strong")
    if plan.why:
        out += wrapped(plan.why, width, "dim")
    out.append(BLANK)
    if plan.refusal:
        out += _item("✗ cannot", plan.refusal, width, "critical")
        out.append(BLANK)
    for n, variant in enumerate(plan.variants):
        label = (
            f"{clean(variant.id)}  {clean(variant.label)}"
            if variant.label != variant.id
            else clean(variant.id)
        )
        detail = f"   {clean(variant.detail)}" if variant.detail else ""
        out += _item("compares" if not n else "", label + detail, width)
    if plan.differs:
        words = "they also differ in: " + "; ".join(clean(d) for d in plan.differs)
        out += _item("", words + "; so verdicts say “this stack”", width, "dim")
    measured = [titled(w.title, control=w.control) for w in plan.workloads]
    if measured:
        out += _item("measures", ", ".join(measured), width)
    if plan.seconds:  # before the changes: with many of them the screen ends there
        other = plan.seconds - plan.measuring_s
        parts = [f"{plan.measuring_s:.0f} s of measuring"] if plan.measuring_s else []
        if other >= 1 or not parts:
            parts.append(f"{other:.0f} s of preparation" if plan.measuring_s else f"{plan.seconds:.0f} s")
        out += _item("takes", " + ".join(parts), width)
    out += _writes(plan, width)
    out += _changes(plan, width)
    for n, line in enumerate(plan.left_out):
        out += _item("leaves out" if not n else "", line, width, "dim")
    if plan.rights:
        out += _item("needs", ", ".join(plan.rights), width)
    if plan.picture:
        out += [BLANK, *([(clean(line)[:width], "text")] for line in plan.picture), BLANK]
    for n, line in enumerate(plan.sentences):
        out += _item("" if n else "in words", line, width)
    return out


def _writes(plan: Plan, width: int) -> list[Line]:
    out: list[Line] = []
    for n, written in enumerate(plan.writes):
        share = written.endurance_share
        wear = "rated endurance unknown" if share is None else f"{percent(share)} of its rated endurance"
        where = f" at {clean(written.where)}" if written.where else ""
        words = f"at most {size(written.bytes)} to {clean(written.device)}{where}, {wear}"
        out += _item("writes" if not n else "", words, width)
    return out or _item("writes", "nothing", width)


def _changes(plan: Plan, width: int) -> list[Line]:
    asked = [a for a in plan.actions if a.asks]
    quiet = [a for a in plan.actions if not a.asks]
    out: list[Line] = []
    for n, action in enumerate(asked):
        rows = change_lines(action, width - _NAME)
        name = "▲ changes" if not n else ""
        out += [[(f"{name if not k else '':<{_NAME}}", "warning"), *row] for k, row in enumerate(rows)]
    if not asked:
        out += _item("changes", "no setting of the host", width)
    for action in quiet:
        out += _item("makes", f"{action.title}, removed afterwards", width, "dim")
    return out


def exact_lines(plan: Plan, width: int) -> list[Line]:
    """The exact steps: every step, load, action and file read."""
    out: list[Line] = [text("STEPS", "title")]
    titles = min(width - 16, max([30, *(cell_len(clean(step.title)) for step in plan.steps)]))
    for step in plan.steps:
        out.append(
            [
                ("  ", "text"),
                *pad(text(step.title), titles),
                (f"{step.seconds:6.0f} s" if step.seconds else "", "dim"),
            ]
        )
    out += [BLANK, text("LOADS", "title")]
    for load in plan.workloads:
        out += wrapped(load.title, width, "strong", indent=2, hang=2)
        if load.why:
            out += wrapped(load.why, width, "dim", indent=4)
        longer = (
            f" or {load.min_operations} operations, whichever takes longer" if load.min_operations else ""
        )
        words = f"blocks of {load.block_s:g} s{longer}; at least {load.min_groups} groups"
        if load.slice_s:
            words = (
                f"slices of {1000 * load.slice_s:g} ms or {load.slice_operations} operations, whichever takes longer, "
                "of all variants in turn"
            )
        out += wrapped(words, width, "text", indent=4, hang=2)
        if load.equivalent:
            out += wrapped(load.equivalent, width, "accent", indent=4, hang=2)
    out += [BLANK, text("ACTIONS, IN THIS ORDER; UNDONE IN REVERSE", "title")]
    for action in plan.actions:
        out += [[("  ", "text"), *row] for row in change_lines(action, width - 2)]
    if not plan.actions:
        out.append(text("  none", "dim"))
    out += [BLANK, text("READS", "title")]
    out += [row for path in plan.reads for row in wrapped(path, width, "dim", indent=2, hang=2)]
    out += [
        BLANK,
        text(f"the plan's digest is {plan.digest}: the run refuses if its own plan differs", "dim"),
    ]
    return out

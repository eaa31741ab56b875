"""A plan in plain lines: what it would do, before anything happens."""

from __future__ import annotations

from probes.action import Action
from probes.units import duration, percent, size
from scenarios.plan import Plan, Written


def plan_lines(plan: Plan) -> list[str]:
    """Text may come from the host: the one who prints it makes it safe."""
    lines = [f"{plan.title}: {plan.question}" if plan.title else plan.question]
    if plan.refusal:
        return [*lines, f"cannot be done here: {plan.refusal}"]
    for variant in plan.variants:
        detail = f"  {variant.detail}" if variant.detail else ""
        lines.append(f"  compares {variant.id}: {variant.label}{detail}")
    lines += [f"  they also differ in {text}" for text in plan.differs]
    if plan.reads:
        lines.append(f"  reads {'; '.join(plan.reads)}")
    lines += [f"  measures {w.title} ({', '.join(m.name for m in w.metrics)})" for w in plan.workloads]
    lines += ["", *plan.picture, ""] if plan.picture else []
    lines += [f"  {sentence}" for sentence in plan.sentences]
    if not plan.sentences:
        lines += [f"  {written(w)}" for w in plan.writes]
        lines.append(f"  takes about {duration(plan.seconds)}")
    settings = [action for action in plan.actions if action.asks]
    lines += [f"  {line}" for action in settings for line in _change(action)]
    if not settings and not plan.sentences:
        lines.append("  changes no setting")
    lines += [f"  needs {right}" for right in plan.rights]
    lines += [f"  left out: {text}" for text in plan.left_out]
    if plan.digest:
        lines.append(f"  plan {plan.digest}")
    return lines


def _change(action: Action) -> list[str]:
    what = f"changes {action.target}"
    if action.kind == "attribute" and action.new is not None:
        what += f" from {action.old} to {action.new}" if action.old is not None else f" to {action.new}"
    elif action.kind == "command":
        what = f"runs {' '.join(action.apply)}"
    elif action.kind == "resource":
        what = f"makes {action.target}"
    back = "cannot be undone" if action.irreversible else "undone at the end"
    lines = [f"{what} ({action.title}; {back})"]
    return [*lines, f"  risk: {action.risk}"] if action.risk else lines


def written(item: Written) -> str:
    share = "an unknown share" if item.endurance_share is None else percent(item.endurance_share)
    where = f" ({item.where})" if item.where else ""
    return f"will write at most {size(item.bytes)} to {item.device}{where}: {share} of its rated endurance"

"""What the variants of a run are called and how they are marked, and which figure of a load is drawn."""

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import MARKERS, clean_text

ROLES = ("a", "b", "c", "d")
_LETTER = 2  # cells of `A'`: a longer id is a word and its label stands in brackets


def variant_marks(session: RunSession) -> dict[str, tuple[str, str]]:
    """Id to (marker, role), in the plan's order, then in the order of appearance."""
    ids = [v.id for v in session.planned_variants]
    for blocks in session.blocks.values():
        ids += [b.variant for b in blocks if b.variant not in ids]
    for samples in session.samples.values():
        ids += [s.variant for s in samples if s.variant not in ids]
    unique = list(dict.fromkeys(ids))
    return {v: (MARKERS[i % len(MARKERS)], ROLES[i % len(ROLES)]) for i, v in enumerate(unique)}


def variant_label(session: RunSession, variant: str, width: int = 18) -> str:
    """`A /scratch`, `none (no rule)`: the id with what a person reads; that alone where it names the id itself."""
    plan_label = next((v.label for v in session.planned_variants if v.id == variant), "")
    if not plan_label or plan_label == variant:
        words = variant
    elif variant in plan_label.split():
        words = plan_label
    else:
        words = f"{variant} {plan_label}" if len(variant) <= _LETTER else f"{variant} ({plan_label})"
    cleaned = clean_text(words)
    if len(cleaned) > width and len(variant) > _LETTER:
        cleaned = clean_text(variant)  # a name that tells enough alone, rather than a torn one
    return cleaned if len(cleaned) <= width else cleaned[: width - 1] + "…"


def leading_metric_and_unit(session: RunSession, workload: str) -> tuple[str, str]:
    """(name, unit) of the workload's first metric."""
    load = session.find_workload(workload)
    if load is not None and load.metrics:
        return load.metrics[0].name, load.metrics[0].unit
    values = next((b.values for b in session.blocks.get(workload, []) if b.values), {})
    return next(iter(values), ""), ""

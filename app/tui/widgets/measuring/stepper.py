"""The steps of a run, done, under way and to come, in one or two lines."""

from app.glyphs import clean
from app.lines import Line, Span, cells
from app.recording.session import Session

_SIGNS = {
    "started": ("▸", "accent"),
    "done": ("✓", "ok"),
    "skipped": ("–", "dim"),
    "failed": ("✗", "critical"),
}
_WAITS = ("‖", "accent")  # begun, undecided: it has another turn when the others had theirs


def step_rows(session: Session, width: int, most: int = 2) -> list[Line]:
    """As many steps as fit in `most` lines around the one under way; `…` stands for the rest."""
    planned = list(session.plan.steps) if session.plan else []
    titles = {s.id: s.title for s in planned}
    for step in session.steps.values():
        titles.setdefault(step.id, step.title)
    items: list[tuple[Line, bool]] = []
    for ident, title in titles.items():
        state = session.steps[ident].state if ident in session.steps else ""
        now = state == "started" and ident == session.at_step
        sign, role = _WAITS if state == "started" and not now else _SIGNS.get(state, ("·", "dim"))
        words = "strong" if now else "dim" if not state or state == "skipped" else "text"
        parts: list[Span] = [(f"{sign} ", role), (clean(title), words), ("   ", "text")]
        items.append((parts, now))
    rows = _folded([line for line, _ in items], width)
    if len(rows) <= most:
        return rows
    current = next((i for i, (_, now) in enumerate(items) if now), 0)
    first = max(0, current - 1)
    while first > 0 and len(_folded([i[0] for i in items[first - 1 :]], width - 2)) <= most:
        first -= 1
    rows = _folded([line for line, _ in items[first:]], width - 2)
    if first:
        rows[0] = [("… ", "dim"), *rows[0]]
    if len(rows) > most:
        rows[most - 1] = [*rows[most - 1], ("…", "dim")]
    return rows[:most]


def _folded(items: list[Line], width: int) -> list[Line]:
    rows: list[Line] = []
    for item in items:
        if rows and cells(rows[-1]) + cells(item) - 3 <= width:
            rows[-1] = [*rows[-1], *item]
        else:
            rows.append(list(item))
    return rows

"""The guards' remarks, the changes made and undone, and notes, as they happen; the newest last."""

from app.glyphs import SIGNS, clean
from app.lines import Line, crop, wrapped
from app.recording.session import Session
from app.tui.widgets.measuring.transport import clock
from scenarios.events import ActionEvent


def remark_lines(session: Session, width: int, most: int) -> list[Line]:
    rows: list[tuple[float, Line]] = []
    for guard in session.guards:
        role: str = guard.severity
        rows.append((guard.t, [(f"{SIGNS[role]} ", role), (guard.sentence, "text")]))
    for event in session.actions.values():
        changed = event.action.kind == "attribute"
        if not changed and event.state in ("applied", "reverted"):
            continue  # a private directory of its own is no news
        state = "done, cannot be undone" if _lasts(event) else event.state
        said = f"{state}: {clean(event.action.title)}"
        if changed and event.state == "applied":
            said += f", {clean(event.action.old or '?')} → {clean(event.action.new or '?')}"
        elif changed and event.state == "reverted":
            said += f", back to {clean(event.action.old or '?')}"
        role = "critical" if event.state == "failed" else "notice"
        rows.append(
            (
                event.t,
                [
                    (f"{SIGNS[role]} ", role),
                    (said + (f": {event.reason}" if event.state == "failed" else ""), "text"),
                ],
            )
        )
    rows += [(n.t, [("  ", "dim"), (n.text, "text")]) for n in session.notes]
    rows.sort(key=lambda row: row[0])
    out: list[Line] = []
    for t, line in reversed(rows[-most:]):
        sign, (words, role) = line[:-1], line[-1]
        folded = wrapped(words, width - 8, role)
        if len(folded) + len(out) > most:  # the newest is shown as far as it goes, an older one whole or not
            if out:
                break
            folded = [*folded[: most - 1], crop([*folded[most - 1], ("  " * width, role)], width - 8)]
        head: Line = [(f"{clock(t)} ", "dim"), *sign]
        rest: list[Line] = [[(" " * 8, "text"), *row] for row in folded[1:]]
        out = [[*head, *folded[0]], *rest, *out]
    return out


def _lasts(event: ActionEvent) -> bool:
    return event.state == "kept" and event.action.irreversible

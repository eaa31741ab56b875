"""What a watch found, as its result tells it; over it the series that it draws, look by look."""

from __future__ import annotations

from app.glyphs import spark
from app.lines import Line, cleaned, crop, ruled, split, text
from app.recording.session import Session
from scenarios.results.document import Paragraph, Strong, Table, plain

_TRACE = 60  # looks drawn


def on_top_lines(session: Session, width: int, most: int) -> list[Line]:
    """Empty where no result has anything to stand here."""
    from app.report.forms.cells import table_lines  # only where a table is drawn

    told = (result.on_top(session.time) for result in session.results.values())
    section = next(filter(None, told), None)
    if section is None or most < 3:
        return []
    words = [
        word.text if isinstance(word, Strong) else plain(word)
        for part in section.parts
        if isinstance(part, Paragraph)
        for word in part.words
    ]
    out = [ruled(text(section.title.upper(), "title"), text(" ".join(words), "dim"), width)]
    rows = [line for part in section.parts if isinstance(part, Table) for line in table_lines(part, width)]
    room = most - len(out)
    shown = rows if len(rows) <= room else rows[: room - 1]
    out += [crop(cleaned(line), width) for line in shown]
    if len(shown) < len(rows):
        out.append(text(f"and {len(rows) - len(shown)} more", "dim"))
    return out


def trace_line(session: Session, width: int) -> Line:
    """`tasks in D ▁▁▂▂ 2`: the last looks, on a scale of their own."""
    trace = session.card.trace
    samples = session.samples.get(trace.series, []) if trace is not None else []
    samples = samples[-min(_TRACE, max(1, width - 56)) :]
    if trace is None or not samples:
        return []
    most = max(1.0, *(s.value for s in samples))
    drawn = "".join(spark(s.value / most) for s in samples)
    now = f" {samples[-1].value:.0f}"
    left: Line = [(f"{trace.words} ", "dim"), (drawn, "accent"), (now, "strong")]
    return split(left, text(f"{most:.0f} at most", "dim") if most > 1 else [], width)

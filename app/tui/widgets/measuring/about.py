"""What a run is about, in words: what fills the room that no figure needs yet."""

from __future__ import annotations

import shlex

from app.glyphs import clean
from app.lines import BLANK, Line, crop, text, wrapped
from app.recording.session import Session
from app.tui.widgets.fact_words import value_words
from app.tui.widgets.word_list import WORDS


def about_lines(session: Session, width: int) -> list[Line]:
    """The plan in plain words and what it draws, then words that come up; before there is one, the facts read."""
    plan, began = session.plan, session.began
    out: list[Line] = []
    if plan is None and began is not None:
        out += [text(f"{clean(began.scenario)} reads the host before it measures anything", "strong"), BLANK]
        out += wrapped(clean(shlex.join(began.command)), width, "accent", hang=2)
    if plan is not None:
        out += [
            *wrapped(clean(plan.question), width, "strong"),
            *(wrapped(clean(plan.why), width) if plan.why else []),
        ]
        for words in plan.sentences:
            out += wrapped(f"· {clean(words)}", width, "dim", hang=2)
        out += [text(clean(row), "dim") for row in plan.picture]
    longest = max(len(word.name) for word in WORDS)
    out += [BLANK, text("WORDS THAT COME UP", "title")]
    for word in WORDS:
        out.append(crop([(f"{word.name:<{longest}}  ", "text"), (word.means, "dim")], width))
    for fact in reversed(session.facts.values()) if plan is None else ():
        words = f"{fact.label}  {value_words(fact.value, fact.unit)}"
        out += wrapped(words, width, "dim", hang=2)[:1]
    return out

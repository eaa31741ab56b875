"""Verdict: the answer in one sentence, every effect as a picture, the findings, and the way to the report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from app.recording import store
from app.recording.session import Session
from app.report.answer import answer
from app.report.checkup import items
from app.report.numbers import imported
from app.report.wording import beyond_bounds
from app.tui.details import commands_of, finding_lines
from app.tui.glyphs import clean
from app.tui.lines import BLANK, Line, text, wrapped
from app.tui.screens.run import RunHead, RunScreen
from app.tui.widgets.checkup_lines import checkup_lines, next_lines
from app.tui.widgets.effects import effect_lines, judged, margin_of, title_of
from app.tui.widgets.imported import imported_lines
from app.tui.widgets.panel import Panel
from app.tui.widgets.picker import Picker
from app.tui.widgets.suspects import Suspects
from app.tui.widgets.transport import Transport
from scenarios.experiment.wording import explanation


def verdict_lines(session: Session, width: int) -> list[Line]:
    """The sentence, the effects, and how they came about."""
    said = answer(session)
    out = [BLANK, *wrapped(clean(said.sentence), width, said.weight), BLANK]
    ended = session.ended
    if ended is not None and ended.status != "done" and session.verdicts:
        why = (
            f"▲ {ended.status}: {clean(ended.reason or 'no reason given')}; what was decided before it holds."
        )
        out = [*out[:-1], *wrapped(why, width, "warning"), BLANK]
    out += checkup_lines(session, width)
    effects = [] if "history" in session.extras else judged(session)  # drawn as courses below
    out += effect_lines(effects, width, margin_of(session))
    explained = [v for v in session.verdicts.values() if explanation(v) and not v.control]
    if explained:
        which = said.verdict if said.verdict is not None and explanation(said.verdict) else explained[0]
        about = f"{title_of(session, which.workload)}: " if len(explained) > 1 else ""
        out += [BLANK, *wrapped(f"{about}{clean(explanation(which))}.", width, "dim")]
    out += _undecided(session, width)
    differs = session.plan.differs if session.plan else ()
    if differs and effects:
        out += wrapped(
            "Also different between the two: " + ", ".join(clean(d) for d in differs) + ".", width, "dim"
        )
    if session.disturbed_groups:
        count = session.disturbed_groups
        out.append(
            text(f"{count} group{'s were' if count > 1 else ' was'} disturbed and measured again.", "dim")
        )
    for event in session.actions.values():
        declared = event.state == "kept" and event.action.irreversible  # a trim: it was said beforehand
        if event.state not in ("failed", "kept") or declared:
            continue
        out += wrapped(f"! not undone: {clean(event.action.title)}: {clean(event.reason)}", width, "critical")
    if more := beyond_bounds(session):
        out += wrapped(more, width, "warning")
    return [*out, *next_lines(session, width)]


def _undecided(session: Session, width: int) -> list[Line]:
    """Why, once for all workloads that share the reason."""
    why: dict[tuple[str, str], list[str]] = {}
    for verdict in session.verdicts.values():
        if verdict.verdict in ("inconclusive", "not applicable", "not measured") and verdict.reason:
            titles = why.setdefault((verdict.verdict, verdict.reason), [])
            title = title_of(session, verdict.workload)
            if title not in titles:
                titles.append(title)
    out: list[Line] = []
    for (word, reason), titles in why.items():
        out += wrapped(f"{', '.join(titles)}: {word}, {clean(reason)}", width, "dim", hang=2)
    return out


class Answer(Panel):
    DEFAULT_CSS = "Answer { height: auto; max-height: 70%; }"

    def draw(self, width: int, height: int) -> list[Line]:
        session = self.shell.feed.session
        return [*verdict_lines(session, width), *imported_lines(session, width, self.screen.size.height)]


class Preview(Panel):
    """On a high screen, what is to be done about the finding under the cursor, without opening it."""

    DEFAULT_CSS = "Preview { height: 1fr; display: none; }"

    def draw(self, width: int, height: int) -> list[Line]:
        picker = self.screen.query_one(Suspects)
        finding = self.shell.feed.session.findings.get(picker.selected)
        if finding is None:
            return [text("")]
        from_files = imported(self.shell.feed.session)
        lines = finding_lines(finding, min(width, 110), prove=False, from_files=from_files)
        return lines if len(lines) <= height else [*lines[: height - 1], text("Enter shows all of it", "dim")]


class VerdictScreen(RunScreen):
    DEFAULT_CSS = """
    VerdictScreen Suspects { height: 1fr; min-height: 3; margin: 1 0 0 0; }
    VerdictScreen.-high Suspects { height: auto; max-height: 8; margin: 1 0; }
    VerdictScreen.-high Preview { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "live", "the blocks"),
        Binding("m", "save", "save report"),
        Binding("c", "copy", "copy commands"),
        Binding("slash", "filter", "filter", show=False, priority=True),
        Binding("q", "back", "home"),
        *(Binding(str(n), f"part({n})", "open that run", show=False) for n in range(1, 10)),
    ]
    title_words = "verdict"

    def body(self) -> Iterable[Widget]:
        yield RunHead("verdict")
        yield Answer(id="answer")
        yield Suspects(self.session, id="found", title="FINDINGS", empty="none")
        yield Preview(id="preview")
        yield Transport(lambda: self.feed)

    def on_mount(self) -> None:
        self.query_one(Picker).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "copy":
            return any(f.remedy for f in self.session().findings.values())
        if action == "part":
            return self._part(parameters[0]) is not None
        return True

    def _part(self, rank: object) -> Path | None:
        """The recording of a checkup's part, by its number; a foreign recording names none of ours."""
        names = [
            Path(one.recording).name for one in items(self.session()) if one.rank == rank and one.recording
        ]
        return next((p for p in store.parts(self.feed.path) if p.name in names), None)

    def action_part(self, rank: int) -> None:
        path = self._part(rank)
        if path is not None:
            self.shell.open_recording(path, live=True)

    def on_picker_chosen(self, event: Picker.Chosen) -> None:
        finding = self.session().findings.get(event.key)
        if finding is not None:
            self.shell.open_finding(finding, from_files=imported(self.shell.feed.session))

    def on_picker_moved(self) -> None:
        self.query_one(Preview).redraw()

    def action_live(self) -> None:
        self.shell.show_run("live")

    def action_save(self) -> None:
        self.shell.save_report(self.feed.path)

    def action_copy(self) -> None:
        self.shell.copy(commands_of(self.session().worst_first), "the commands")

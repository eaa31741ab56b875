"""What speaks against this host, worst first, filled in as the rules answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial

from app.glyphs import SIGNS, clean
from app.lines import Line, cells, crop, text, wrapped
from app.recording.answers import beside
from app.recording.session import Session
from app.tui.widgets.picker import Picker, PickerRow
from probes.units import counted
from scenarios.finding import SEVERITIES, Finding

_KNOWN = {
    "measured": "measured",
    "rule": "read",
    "hint": "a hint",
}  # how it is known, a column of wide screens
LEFT_OVER = "left over"  # the key of its row


def _counted(session: Session) -> str:
    """`2 warnings, 3 notices`: what a low screen has no room for."""
    found: Counter[str] = Counter(f.severity for f in beside(session) if f.severity != "ok")
    named = ((found[s], s) for s in SEVERITIES if found[s])
    return ", ".join(f"{n} critical" if s == "critical" else counted(n, s) for n, s in named)


def severity_words(finding: Finding) -> Line:
    """A chip, `▲ warning`: always word and sign, then a colour."""
    sign = SIGNS.get(finding.severity, "?")
    return [(f"{sign} {finding.severity:<8}", f"{finding.severity}@chip")]


def _titles(session: Session) -> dict[str, str]:
    return {w.id: w.title for w in session.workloads}


def _words(subject: str, titles: dict[str, str]) -> str:
    """`sda read-1m-qd8` as `sda, stream read 1M x8`; what holds no load's id stays as it is."""
    parts = re.split("[ :]", subject)
    return ", ".join(titles.get(part, part) for part in parts) if any(p in titles for p in parts) else subject


def _said(finding: Finding, titles: dict[str, str], known: bool = False) -> str:
    """The title, with the subject where it does not say it itself; how it is `known` may stand before it."""
    title, subject = clean(finding.title), clean(_words(finding.subject, titles))
    hint = "hint: " if finding.confidence == "hint" and not known else ""
    new = [part for part in re.split(", |:", subject) if part not in title]
    return f"{hint}{title}" + (f" ({subject})" if new else "")


def _tells(ours: bool, width: int) -> bool:
    """Whether a column says how each is known."""
    return ours and width > 100


def _head(finding: Finding, width: int, ours: bool) -> Line:
    area = clean(f"→ {finding.prove}" if finding.prove else finding.id.partition(".")[0])[:11]
    known = [(f"{_KNOWN[finding.confidence]:<9} ", "dim")] if _tells(ours, width) else []
    return [*severity_words(finding), (f"  {area:<11} ", "accent" if finding.prove else "dim"), *known]


def _line(finding: Finding, titles: dict[str, str], picker: Suspects, width: int) -> Line:
    """On one line as much as fits; where there are two, the title is folded."""
    ours = picker.id != "suspects"
    head = _head(finding, width, ours)
    said = _said(finding, titles, _tells(ours, width))
    first = wrapped(said, width - cells(head))[0] if picker.tall else text(said)
    return [*head, *first]


def _second(finding: Finding, titles: dict[str, str], picker: Suspects, width: int) -> Line:
    """The rest of the title, else the first piece of evidence or what would be done about it."""
    remedy_first = picker.id != "suspects" and finding != picker.headline
    ours = picker.id != "suspects"
    indent = cells(_head(finding, width, ours))
    said = _said(finding, titles, _tells(ours, width))
    rest = wrapped(said, width - indent)[1:]
    if rest:
        words = " ".join(part for line in rest for part, _ in line)
        return crop([(" " * indent, "text"), (words, "text")], width)
    words = finding.evidence[0].text if finding.evidence else ""
    if finding.remedy and (not words or remedy_first):
        words = f"do: {finding.remedy[0].title}"
    return crop([(" " * indent, "text"), (words, "dim")], width) if words else []


def _whole(finding: Finding, titles: dict[str, str], width: int) -> list[Line]:
    """The title, then the evidence."""
    head: Line = [*severity_words(finding), ("  ", "text")]
    indent = cells(head)
    out: list[Line] = []
    for line in wrapped(_said(finding, titles), width - indent):
        out.append([*head, *line])
        head = [(" " * indent, "text")]
    for evidence in finding.evidence:
        out += wrapped(evidence.text, width, "dim", indent=indent)
    return out


class Suspects(Picker):
    """Items are the session's findings; keys are `id|subject` as the session has them. `answered`: the run's answer
    stands above, so that the finding that it is says why below its title, not what to do."""

    def __init__(
        self,
        session: Callable[[], Session],
        *,
        id: str = "suspects",
        title: str = "SUSPECTS",
        empty: str = "",
        answered: bool = False,
    ) -> None:
        super().__init__(id=id, title=title, empty=empty)
        self._session = session
        self._answered = answered
        self.headline: Finding | None = None  # its title stands above the list already

    def rows(self) -> list[PickerRow]:
        session = self._session()
        out = []
        if self.id == "suspects" and self.shell.left:
            out.append(self._left_over())
        titles = _titles(session)
        for finding in beside(session):
            words = f"{finding.severity} {finding.id} {finding.title} {finding.subject}"
            out.append(
                PickerRow(
                    finding.key,
                    partial(_line, finding, titles, self),
                    words,
                    partial(_second, finding, titles, self),
                    partial(_whole, finding, titles),
                )
            )
        return out

    def _left_over(self) -> PickerRow:
        """Before all else: a setting that a killed run has not put back."""
        from app.undo.change_report import left_over  # seldom needed

        finding = left_over(self.shell.left)
        return PickerRow(
            LEFT_OVER,
            partial(_line, finding, {}, self),
            f"critical undo {finding.title}",
            partial(_second, finding, {}, self),
            partial(_whole, finding, {}),
        )

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        self.headline = None
        if self._answered:  # the first screen is not, and does without what judges a run
            from app.report.headline import answer

            self.headline = answer(session).finding
        checks = list(session.checks.values())
        unreadable = sum(c.state == "unreadable" for c in checks)
        if checks and self.id == "suspects":  # a run's own checks are not what it was asked
            done = "" if session.ended is not None else "  still reading"
            spoke, found = sum(c.state == "spoke" for c in checks), len(session.findings)
            what = "something" if found <= spoke else f"{found} things"
            self.note = [(f"{spoke} of {len(checks)} checks found {what}{done}", "dim")]
            if unreadable:
                self.note += [
                    ("   ", "text"),
                    (
                        f"? {counted(unreadable, 'check')} without data"
                        if width >= 70
                        else f"? {unreadable} without",
                        "unknown",
                    ),
                ]
        if self.id != "suspects":
            self.note = text(_counted(session), "dim")
        if self.id == "suspects" and (not self.empty or checks):
            self.empty = self._silence()
        return super().draw(width, height)

    def _silence(self) -> str:
        if self.shell.triage_error:
            return f"? the host could not be read to the end: {self.shell.triage_error}"
        done = self._session().ended is not None
        return "✓ no rule found anything on this host" if done else "reading the host, about a second"

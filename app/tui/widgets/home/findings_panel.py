"""What speaks against this host, worst first, filled in as the rules answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial

from hostdx.app.recordings.answers import unlisted_findings
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import SIGNS, clean_text
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    crop_line,
    line_with_key_names,
    text_line,
    wrap_text,
)
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.probes.units import count_noun, format_duration
from hostdx.scenarios.contract.finding import LOUD, SEVERITIES, Finding, severity_count_text

# how it is known, a column of wide screens
WIDE = 92  # cells from which on words are written out
_KNOWN = {"measured": "measured", "rule": "read", "hint": "a hint"}
OLD_S = 90.0  # of a reading: from then on its age is said
LEFT_OVER = "left over"  # the key of its row


def _count_by_severity(session: RunSession) -> str:
    """`2 warnings, 3 notices`: what a low screen has no room for."""
    counts: Counter[str] = Counter(f.severity for f in unlisted_findings(session) if f.severity != "ok")
    return ", ".join(severity_count_text(s, counts[s]) for s in SEVERITIES if counts[s])


def severity_words(finding: Finding) -> Line:
    """Sign and word, `▲ warning`, in the colour of the severity; a filled block for a loud one alone."""
    sign, ground = SIGNS.get(finding.severity, "?"), "@chip" if finding.severity in LOUD else ""
    return [(f"{sign} {finding.severity:<8}", f"{finding.severity}{ground}")]


def _subject_with_titles(subject: str, titles: dict[str, str]) -> str:
    """`sda read-1m-qd8` as `sda, stream read 1M x8`; what holds no load's id stays as it is."""
    parts = re.split("[ :]", subject)
    return ", ".join(titles.get(part, part) for part in parts) if any(p in titles for p in parts) else subject


def _finding_title(finding: Finding, titles: dict[str, str], shows_source: bool = False) -> str:
    """The title, with the subject where it does not say it itself; how it is `known` may stand before it."""
    title, subject = clean_text(finding.title), clean_text(_subject_with_titles(finding.subject, titles))
    hint = "hint: " if finding.confidence == "hint" and not shows_source else ""
    new = [part for part in re.split(", |:", subject) if part not in title]
    return f"{hint}{title}" + (f" ({subject})" if new else "")


def full_finding_lines(finding: Finding, titles: dict[str, str], width: int) -> list[Line]:
    """The title, then the evidence. `titles`: of the run's loads, by id."""
    head: Line = [*severity_words(finding), ("  ", "text")]
    indent = cell_width(head)
    title_lines = wrap_text(_finding_title(finding, titles), width - indent)
    out: list[Line] = [
        [*(head if not n else [(" " * indent, "text")]), *row] for n, row in enumerate(title_lines)
    ]
    return out + [row for e in finding.evidence for row in wrap_text(e.text, width, "dim", indent=indent)]


class FindingsPanel(Picker):
    """Items are the session's findings; keys are `id|subject` as the session has them. `answered`: the run's answer
    stands above, so that the finding that it is says why below its title, not what to do."""

    def __init__(
        self,
        session: Callable[[], RunSession],
        *,
        id: str = "suspects",
        title: str = "SUSPECTS",
        empty: str = "",
        answered: bool = False,
    ) -> None:
        super().__init__(id=id, title=title, empty=empty)
        self._session = session
        self._answered = answered
        self._is_own_run = id != "suspects"  # not triage's
        self.headline: Finding | None = None  # its title stands above the list already

    def build_rows(self) -> list[PickerRow]:
        session = self._session()
        titles = {load.id: load.title for load in session.planned_workloads}
        out = [self._make_row(finding, titles) for finding in unlisted_findings(session)]
        if not self._is_own_run and self.shell.left:  # before all else: what a killed run has not put back
            from hostdx.app.undo.change_report import leftover_finding  # seldom needed

            out.insert(0, self._make_row(leftover_finding(self.shell.left), {})._replace(key=LEFT_OVER))
        return out

    def _make_row(self, finding: Finding, titles: dict[str, str]) -> PickerRow:
        return PickerRow(
            finding.key,
            partial(self._finding_line, finding, titles),
            f"{finding.severity} {finding.id} {finding.title} {finding.subject}",
            partial(self._rest_or_evidence_line, finding, titles),
            partial(full_finding_lines, finding, titles),
        )

    def _head_and_title(self, finding: Finding, titles: dict[str, str], width: int) -> tuple[Line, str]:
        """Return the columns before the title, and the title; a wide screen has a column for how it is known."""
        has_source_column = self._is_own_run and width > 100
        area = clean_text(f"→ {finding.prove}" if finding.prove else finding.id.partition(".")[0])[:11]
        head: Line = [*severity_words(finding), (f"  {area:<11} ", "accent" if finding.prove else "dim")]
        head += [(f"{_KNOWN[finding.confidence]:<9} ", "dim")] if has_source_column else []
        return head, _finding_title(finding, titles, has_source_column)

    def _finding_line(self, finding: Finding, titles: dict[str, str], width: int) -> Line:
        """On one line as much as fits; where there are two, the title is folded."""
        head, title = self._head_and_title(finding, titles, width)
        return [*head, *(wrap_text(title, width - cell_width(head))[0] if self.tall else text_line(title))]

    def _rest_or_evidence_line(self, finding: Finding, titles: dict[str, str], width: int) -> Line:
        """The rest of the title, else the first piece of evidence or what would be done about it."""
        head, title = self._head_and_title(finding, titles, width)
        rest = wrap_text(title, width - cell_width(head))[1:]
        words, role = " ".join(part for line in rest for part, _ in line), "text"
        if not rest:
            words, role = finding.evidence[0].text if finding.evidence else "", "dim"
            if finding.remedy and (not words or (self._is_own_run and finding != self.headline)):
                words = f"do: {finding.remedy[0].title}"
        return crop_line([(" " * cell_width(head), "text"), (words, role)], width) if words else []

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        self.headline = None
        if self._answered:  # the first screen is not, and does without what judges a run
            from hostdx.app.report.headline import find_headline_answer

            self.headline = find_headline_answer(session).finding
        checks = list(session.checks.values())
        if not self._is_own_run:  # a run's own checks are not what it was asked
            self.note, self.empty = [], self._empty_text()
        if checks and not self._is_own_run:
            done = "" if session.ended is not None else "  still reading"
            findings_text = count_noun(len(session.findings), "thing") if session.findings else "nothing"
            self.note = [(f"{len(checks)} checks found {findings_text}{done}", "dim")]
            if self.shell.left:
                self.note.append(
                    (f", and {count_noun(len(self.shell.left), 'change')} not undone", "critical")
                )
            if session.ended is not None and (unread := self._count_readable_unread()):
                self.note += [
                    ("   ", "text"),
                    *line_with_key_names(f"{unread} not looked at: [f]", "unknown"),
                ]
            if session.began is not None:
                self.note += [("   ", "text"), *self._programs_answered_or_key(width)]
            self.note += self._age_or_own_run(width)
        if self._is_own_run:
            self.note = text_line(_count_by_severity(session), "dim")
        return super().draw(width, height)

    def _empty_text(self) -> str:
        if self.shell.triage_error:
            return f"? the host could not be read to the end: {self.shell.triage_error}"
        done = self._session().ended is not None
        return "✓ no rule found anything on this host" if done else "reading the host, about a second"

    def _age_or_own_run(self, width: int) -> Line:
        """What is said of the last minute is of the minute before the reading, and a run of ours may be part of it."""
        session, age_s, own_s = self._session(), self.shell.host_reading_age_s, self.shell.own_run_ended_s
        if not self.shell.watches_host or session.ended is None:
            return []
        if age_s >= OLD_S:
            return text_line(f"   read {format_duration(age_s)} ago", "unknown")
        if own_s is not None and width >= WIDE and session.findings:
            return text_line(f"   a run of hostdx ended {own_s:.0f} s before", "dim")
        return []

    def _count_readable_unread(self) -> int:
        from hostdx.app.report.unread import count_readable  # not for the first screen

        return count_readable(self._session())

    def _programs_answered_or_key(self, width: int) -> Line:
        """How many of this host's programs answered, and what that added; else the key that asks them."""
        session = self._session()
        answered = session.facts.get("programs answered")
        if answered is None or not isinstance(answered.value, list):
            words = "[R] asks its programs, too" if width >= WIDE else "[R] programs"
            return line_with_key_names(words, "dim")
        added = len(session.findings.keys() - self.shell.findings_before)
        count = len(answered.value)
        if width < WIDE:
            return text_line(f"{count} asked: {added} new", "dim")
        from hostdx.app.report.unread import programs_answer_text  # not for the first screen

        return text_line(programs_answer_text(session, self.shell.findings_before), "dim")

"""What is wrong? The complaints and the scenario that answers each, then the scenarios that answer none of them."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import SIGNS, clean_text
from hostdx.app.terminal.lines import Line, Span, cell_width, crop_line, fit_line, flow_parts
from hostdx.app.tui.commands import EarlierResults, RecordedAnswer
from hostdx.app.tui.questions import all_questions, list_questions, scenario_for
from hostdx.app.tui.widgets.home.live_line import FULL, SPEAKS
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.card import Card, card_of
from hostdx.scenarios.contract.events import Pulse, ScenarioOffer
from hostdx.scenarios.contract.finding import LOUD, Finding

ASKED = "?"  # begins the key of a question's row
MAX_TEXT_LINES = 3  # lines of all that is said of one, from where on what was seen gives way
MIN_EVIDENCE_CELLS = 20  # cells for what is known and how long it takes, else it gives way
RECENT_S = 900.0  # since a run whose answer still counts
NAME = 10  # cells of a scenario's id
WORDS = max(len(question.words) for question in list_questions())


def _usual_duration(seconds: float) -> str:
    if seconds <= 0:
        return "any"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class ComplaintEvidence(NamedTuple):
    """What is known of a complaint before anything is measured: findings of triage that its scenario would prove (all
    that is loud, for the one that looks at the whole host), how busy its disk is, and the last run's answer."""

    offer: ScenarioOffer
    findings: tuple[Finding, ...]
    last: RecordedAnswer | None
    busy: str = ""

    def evidence_span(self, width: int) -> Span:
        """The sign of the worst and how many, else the disk; then, where it fits, when it was measured last."""
        offer, last = self.offer, self.last
        if offer.blocked:
            return f"✗ {offer.blocked}", "unknown"
        ran = f"ran {_day_or_time(last.wall)}" if last is not None else ""
        if (
            last is not None and self.findings and ran_recently(last)
        ):  # what the run said came after the suspects
            words = f"{SIGNS.get(last.weight, '?')} {ran}"
            return _join_if_fits(words, count_noun(len(self.findings), "suspect"), width), last.weight
        if self.findings:
            worst = self.findings[0].severity
            suspects = f"{SIGNS[worst]} {count_noun(len(self.findings), 'suspect')}"
            return _join_if_fits(suspects, ran, width), worst
        if last is not None:
            return _join_if_fits(f"{SIGNS.get(last.weight, '?')} {ran}", self.busy, width), last.weight
        if self.busy:
            return self.busy, "text"
        return ("not run yet" if offer.title else ""), "dim"


def _day_or_time(wall: str) -> str:
    """`00:05` (UTC) of today, else `11-30`."""
    return clean_text(wall[11:16] if wall[:10] == f"{datetime.now(UTC):%F}" else wall[5:10])


def ran_recently(answer: RecordedAnswer) -> bool:
    """Return whether what the run said still counts; not where its `wall` is no time."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(answer.wall)).total_seconds() <= RECENT_S
    except (ValueError, TypeError):
        return False


def _join_if_fits(first: str, second: str, width: int) -> str:
    """Return both, or the first alone; names are of single cells."""
    return f"{first}, {second}" if second and len(first) + len(second) + 2 <= width else first


def collect_evidence(
    card: Card,
    offer: ScenarioOffer,
    session: RunSession,
    earlier_results: EarlierResults,
    pulse: Pulse | None,
) -> ComplaintEvidence:
    loud = [f for f in session.worst_first if f.severity != "ok"]
    is_whole = card.role == "whole"
    findings = tuple(f for f in loud if (f.severity in LOUD if is_whole else f.prove == card.id))
    busy = ""
    if pulse is not None and is_whole:
        waits = {"a CPU": pulse.psi_cpu, "a disk": pulse.psi_io, "memory": pulse.psi_memory}
        resource, most = max(waits.items(), key=lambda wait: wait[1] or 0.0)
        full = "all CPUs in use" if pulse.cpu >= FULL else ""
        busy = f"waits for {resource}" if most and most >= SPEAKS else full
    if pulse is not None and card.process_option:
        busy = f"CPUs {pulse.cpu * 100:.0f} % in use"
    if pulse is not None and pulse.devices and card.directories == "compared" and not is_whole:
        name = max(pulse.devices, key=lambda n: (pulse.devices[n][2], n))
        busy = f"{clean_text(name)} {pulse.devices[name][2] * 100:.0f} % busy"
    return ComplaintEvidence(offer, findings, earlier_results.last.get(card.id), busy)


def _question_line(key: str, words: str, evidence: ComplaintEvidence, width: int) -> Line:
    offer = evidence.offer
    # not asked yet, or could not be loaded
    unknown = (offer.blocked or not offer.title) and offer.takes_s <= 0
    faint = "dim" if offer.blocked else "text"
    shows_evidence = width >= WORDS + NAME + MIN_EVIDENCE_CELLS
    name = fit_line(
        [(clean_text(offer.id), "dim" if offer.blocked else "accent")], NAME if shows_evidence else NAME - 1
    )
    tail: Line = [*name, (f"{'' if unknown else _usual_duration(offer.takes_s):>6}", faint)]
    room = width - cell_width(tail)
    head: Line = [(f"{key or ' '} ", "key"), *fit_line([(words, faint)], min(WORDS, room - 3)), (" ", "text")]
    if shows_evidence:
        left = room - cell_width(head) - 1
        head += crop_line([evidence.evidence_span(left)], left)
    return [*fit_line(head, room), *tail]


def _full_lines(evidence: ComplaintEvidence, width: int) -> list[Line]:
    """The question, and what one gets; before all of that, why it cannot run here, after it what was seen of it."""
    offer = evidence.offer
    parts: list[Span] = []
    if offer.blocked:
        parts.append((f"✗ cannot run here: {offer.blocked}", "unknown"))
    if offer.question:
        parts.append((offer.question, "strong"))
    if offer.answers:
        parts.append((offer.answers, "dim"))
    if offer.blocked and offer.needs:
        parts.append((f"needs {offer.needs}", "dim"))
    words: list[Span] = []
    for number, (part, role) in enumerate(parts):
        split_up = part.split()
        if number < len(parts) - 1:
            split_up[-1] += " ·"  # a line never begins with it
        words += [(word, role) for word in split_up]
    out = flow_parts(words, width)
    more: list[Line] = [
        [(f"{SIGNS[f.severity]} ", f.severity), (clean_text(f.title), "text")] for f in evidence.findings
    ]
    if evidence.last is not None:
        day, result_text = (
            clean_text(evidence.last.wall[:16].replace("T", " ")),
            clean_text(evidence.last.result),
        )
        more.insert(0, [(f"last {day}: ", "dim"), (result_text, evidence.last.weight)])
    return [*out, *(crop_line(line, width) for line in more[: max(0, MAX_TEXT_LINES - len(out))])]


class ScenarioList(Picker):
    def __init__(self, session: Callable[[], RunSession]) -> None:
        super().__init__(id="scenarios", title="WHAT IS WRONG?", empty="checking which ones can run here")
        self.note = [("what is known · scenario · duration", "dim")]
        self._session = session

    @property
    def _settled_pulse(self) -> Pulse | None:
        return self.shell.settled_pulses[-1] if self.shell.settled_pulses else None

    def build_rows(self) -> list[PickerRow]:
        session, earlier_results, pulse = self._session(), self.shell.earlier_results, self._settled_pulse
        offers = {offer.id: offer for offer in session.offers}
        out, answering = [], set()
        for question in all_questions(session.offers):
            card = scenario_for(question, session)
            empty = ScenarioOffer(t=0.0, id=card.id, title="", question="", takes_s=0.0)
            evidence = collect_evidence(card, offers.get(card.id) or empty, session, earlier_results, pulse)
            ids = " ".join(card.id for card in question.cards)
            words = f"{question.key} {question.words} {ids} {_filter_words(evidence.offer)}"
            answering.add(card.id)
            out.append(
                _make_row(ASKED + question.id, question.key, clean_text(question.words), words, evidence)
            )
        for offer in session.offers:
            if offer.id not in answering:
                evidence = collect_evidence(card_of(offer.id), offer, session, earlier_results, pulse)
                out.append(_make_row(offer.id, "", clean_text(offer.title), _filter_words(offer), evidence))
        return out


def _question_text_line(evidence: ComplaintEvidence, width: int) -> Line:
    """Below its row while a filter leaves room for everyone's."""
    return (
        crop_line([("  ", "text"), (clean_text(evidence.offer.question), "dim")], width)
        if evidence.offer.question
        else []
    )


def _make_row(
    key: str, digit: str, title_words: str, searched: str, evidence: ComplaintEvidence
) -> PickerRow:
    line, full_lines = partial(_question_line, digit, title_words, evidence), partial(_full_lines, evidence)
    name = f"{evidence.offer.id} {evidence.offer.title} {title_words}"
    return PickerRow(key, line, searched, partial(_question_text_line, evidence), full_lines, name)


def _filter_words(offer: ScenarioOffer) -> str:
    return f"{offer.id} {offer.title} {offer.answers} {offer.question} {offer.blocked}"

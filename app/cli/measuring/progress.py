"""What a person at the terminal sees on stderr while `hostdx run` measures."""

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.wording import verdict_sentence
from hostdx.app.terminal import output
from hostdx.app.terminal.printable import make_printable
from hostdx.probes.units import format_duration
from hostdx.scenarios.contract import events as ev

# of the events' time: what is being done is said this often where no terminal redraws it
PLAIN_EVERY_S = 15.0
# who disturbs all along is told this often, but where something is measured again because of it
SAME_EVERY_S = 60.0


class QuietProgress:
    def show(self, event: ev.AnyEvent) -> None:
        pass

    def show_problem(self, text: str) -> None:
        output.print_problem(text)


class PlainProgress(QuietProgress):
    """One line for what changes: steps, verdicts, disturbances, findings, and now and then how long it takes."""

    def __init__(self) -> None:
        self._session = RunSession()
        self._notable = UnrepeatedEvents(self._session)
        self._next_s = 0.0

    def show(self, event: ev.AnyEvent) -> None:
        self._session.apply(event)
        line = self._notable.line_for_event(event)
        if not line and isinstance(event, ev.Progress) and event.t >= self._next_s:
            self._next_s = event.t + PLAIN_EVERY_S
            line = event.text + time_left_suffix(event.seconds_left)
        if line:
            output.print_note(f"{event.t:7.1f} s  {make_printable(line)}")


class UnrepeatedEvents:
    """A workload that is not started is told by a note, a verdict and a step with the same reason: once will do."""

    def __init__(self, session: RunSession) -> None:
        self._session = session
        self._last = ""
        self._disturbed: dict[tuple[str, str], float] = {}  # by kind and by whom: when it was told

    def line_for_event(self, event: ev.AnyEvent) -> str:
        """Empty for what is not worth a line, or was said just now."""
        reason = event.reason if isinstance(event, ev.RunVerdict | ev.RunStep) else None
        if reason and reason in self._last:
            return ""
        if isinstance(event, ev.Guard) and self._note_and_is_repeated(event):
            return ""
        line = _event_text(self._session, event)
        self._last = line or self._last
        return line

    def _note_and_is_repeated(self, event: ev.Guard) -> bool:
        if event.disturbance is None or event.again or event.early:
            return False
        culprit = event.disturbance.culprit
        key = event.kind, culprit.name if culprit else ""
        if event.t < self._disturbed.get(key, -SAME_EVERY_S) + SAME_EVERY_S:
            return True
        self._disturbed[key] = event.t
        return False


def _event_text(session: RunSession, event: ev.AnyEvent) -> str:
    # they stand at the end
    match event:
        case ev.RunStep(state="started"):
            return event.title
        case ev.RunStep(state="skipped" | "failed"):
            return f"{event.title}: {event.state}: {event.reason}"
        case ev.RunVerdict():
            return verdict_sentence(session, event)
        case ev.Guard():
            return event.guard_sentence
        case ev.Found() if not event.finding.answers and event.finding.confidence != "hint":
            return f"{event.finding.severity}: {event.finding.title}"
        case ev.Note():
            return event.text
        case ev.ActionEvent(state="kept" | "failed"):
            return f"{event.action.title}: {event.state}: {event.reason}"
    return ""


def time_left_suffix(seconds: float | None) -> str:
    # late: nobody knows
    return f", {format_duration(seconds)} left" if seconds is not None and seconds > 0 else ""

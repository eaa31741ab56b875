"""The state of a run as its events tell it: what every view (screen, report, `--json`) is drawn from (law 1)."""

from __future__ import annotations

from collections import deque

from scenarios import events as ev
from scenarios.finding import SEVERITIES, Finding
from scenarios.plan import Plan


class Session:
    """Folds events into state. `apply` is total: any known event in any order is survived."""

    def __init__(self) -> None:
        self.time: float = 0.0  # the screen's clock: the last event's time
        self.count: int = 0
        self.began: ev.Began | None = None
        self.plan: Plan | None = None
        self.offers: list[ev.Offer] = []
        self.facts: dict[str, ev.FactRead] = {}
        self.absent: dict[str, ev.AbsentFact] = {}
        self.checks: dict[str, ev.Checked] = {}
        self.steps: dict[str, ev.Step] = {}
        self.actions: dict[str, ev.ActionEvent] = {}
        self.blocks: dict[str, list[ev.Block]] = {}  # by workload
        self.samples: dict[str, list[ev.SampleTaken]] = {}  # by series
        self.groups: dict[str, list[ev.Group]] = {}  # by workload
        self.estimates: dict[tuple[str, str, str, str], ev.Estimate] = {}
        self.verdicts: dict[tuple[str, str, str, str], ev.Verdict] = {}
        self.series: list[ev.SeriesVerdict] = []
        self.guards: list[ev.Guard] = []
        self.pulses: deque[ev.Pulse] = deque(maxlen=600)
        self.progress: ev.Progress | None = None
        self.findings: dict[str, Finding] = {}
        self.extras: dict[str, ev.Extra] = {}
        self.notes: list[ev.Note] = []
        self.ended: ev.Ended | None = None
        self.workload: str = ""  # the one whose block or group came last

    def apply(self, event: ev.AnyEvent) -> None:
        self.time = max(self.time, event.t)
        self.count += 1
        match event:
            case ev.Began():
                self.began = event
            case ev.Planned():
                self.plan = event.plan
            case ev.Offer():
                self.offers.append(event)
            case ev.FactRead():
                self.facts[event.name] = event
                self.absent.pop(event.name, None)
            case ev.AbsentFact():
                self.absent[event.name] = event
            case ev.Checked():
                self.checks[event.rule] = event
            case ev.Step():
                self.steps[event.id] = event
            case ev.ActionEvent():
                self.actions[event.id] = event
            case ev.Block():
                self.blocks.setdefault(event.workload, []).append(event)
                self.workload = event.workload
            case ev.SampleTaken():
                self.samples.setdefault(event.series, []).append(event)
            case ev.Group():
                self.groups.setdefault(event.workload, []).append(event)
                self.workload = event.workload
            case ev.Estimate():
                self.estimates[(event.workload, event.metric, event.baseline, event.variant)] = event
            case ev.Verdict():
                self.verdicts[(event.workload, event.metric, event.baseline, event.variant)] = event
            case ev.SeriesVerdict():
                self.series.append(event)
            case ev.Guard():
                self.guards.append(event)
            case ev.Pulse():
                self.pulses.append(event)
            case ev.Progress():
                self.progress = event
            case ev.Found():
                key = f"{event.finding.id}|{event.finding.subject}"
                self.findings[key] = event.finding
            case ev.Extra():
                self.extras[event.name] = event
            case ev.Note():
                self.notes.append(event)
            case ev.Ended():
                self.ended = event

    @property
    def worst_first(self) -> list[Finding]:
        """The findings by severity, worst first; within one severity in the order they came."""
        return sorted(self.findings.values(), key=lambda f: SEVERITIES.index(f.severity))

    @property
    def disturbed_groups(self) -> int:
        return sum(1 for groups in self.groups.values() for g in groups if g.disturbed)

"""The state of a run as its events tell it: what every view (screen, report, `--json`) is drawn from (law 1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

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
        if event.t > self.time:
            self.time = event.t
        self.count += 1
        fold = _FOLDS.get(type(event))  # a table: 200,000 events go through here when a recording is loaded
        if fold is not None:
            fold(self, event)

    def _fact(self, event: ev.FactRead) -> None:
        self.facts[event.name] = event
        self.absent.pop(event.name, None)

    def _block(self, event: ev.Block) -> None:
        blocks = self.blocks.get(event.workload)
        if blocks is None:
            blocks = self.blocks[event.workload] = []
        blocks.append(event)
        self.workload = event.workload

    def _sample(self, event: ev.SampleTaken) -> None:
        samples = self.samples.get(event.series)
        if samples is None:
            samples = self.samples[event.series] = []
        samples.append(event)

    def _group(self, event: ev.Group) -> None:
        self.groups.setdefault(event.workload, []).append(event)
        self.workload = event.workload

    @property
    def worst_first(self) -> list[Finding]:
        """The findings by severity, worst first; within one severity in the order they came."""
        return sorted(self.findings.values(), key=lambda f: SEVERITIES.index(f.severity))

    @property
    def doing(self) -> str:
        """What the run is at: what it told of its progress, until that step is over; empty for nothing yet."""
        step = next((s for s in reversed(self.steps.values()) if s.state == "started"), None)
        told = self.progress
        if told is not None:
            about = self.steps.get(told.step)
            if about is None or about.state == "started" or step is None:
                return told.text
        return step.title if step is not None else ""

    @property
    def disturbed_groups(self) -> int:
        return sum(1 for groups in self.groups.values() for g in groups if g.disturbed)


def _pair(event: ev.Estimate | ev.Verdict) -> tuple[str, str, str, str]:
    return (event.workload, event.metric, event.baseline, event.variant)


_FOLDS: dict[type, Callable[[Session, Any], None]] = {
    ev.Began: lambda s, e: setattr(s, "began", e),
    ev.Planned: lambda s, e: setattr(s, "plan", e.plan),
    ev.Offer: lambda s, e: s.offers.append(e),
    ev.FactRead: Session._fact,
    ev.AbsentFact: lambda s, e: s.absent.__setitem__(e.name, e),
    ev.Checked: lambda s, e: s.checks.__setitem__(e.rule, e),
    ev.Step: lambda s, e: s.steps.__setitem__(e.id, e),
    ev.ActionEvent: lambda s, e: s.actions.__setitem__(e.id, e),
    ev.Block: Session._block,
    ev.SampleTaken: Session._sample,
    ev.Group: Session._group,
    ev.Estimate: lambda s, e: s.estimates.__setitem__(_pair(e), e),
    ev.Verdict: lambda s, e: s.verdicts.__setitem__(_pair(e), e),
    ev.SeriesVerdict: lambda s, e: s.series.append(e),
    ev.Guard: lambda s, e: s.guards.append(e),
    ev.Pulse: lambda s, e: s.pulses.append(e),
    ev.Progress: lambda s, e: setattr(s, "progress", e),
    ev.Found: lambda s, e: s.findings.__setitem__(f"{e.finding.id}|{e.finding.subject}", e.finding),
    ev.Extra: lambda s, e: s.extras.__setitem__(e.name, e),
    ev.Note: lambda s, e: s.notes.append(e),
    ev.Ended: lambda s, e: setattr(s, "ended", e),
}

"""What an import records: the files, what contradicts itself in them, the box of expectation, the course over time."""

from typing import ClassVar

import msgspec

from hostdx.scenarios.analysis.compare.bounding_box import Boxed
from hostdx.scenarios.analysis.incidents.findings import period_text, symptom_text
from hostdx.scenarios.analysis.incidents.incidents import Timeline
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import ReportSection, Table
from hostdx.scenarios.contract.results.result import Result
from hostdx.scenarios.contract.verdict.verdict import Judged, Word


class ImportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """`recomputed`: what was computed again from the file's own parts."""

    file: str
    kind: str
    tool: str
    version: str | None
    host: str | None
    measured: str | None
    bytes: of.Count
    sha256: str
    recomputed: str | None


class ImportedFiles(Result, frozen=True, tag="imported.files/1"):
    name: ClassVar[str] = "imported"
    value: tuple[ImportedFile, ...]

    @property
    def source_names(self) -> tuple[str, ...]:
        return tuple(imported_file.file for imported_file in self.value)


class Contradicted(msgspec.Struct, frozen=True, kw_only=True, rename={"by": "from"}):
    """`by`: the formula of the recomputation."""

    file: str
    rule: str
    subject: str
    claimed: of.Change | str
    recomputed: of.Change | str
    unit: str
    by: str


class Contradictions(Result, frozen=True, tag="imported.contradictions/1"):
    name: ClassVar[str] = "contradictions"
    value: tuple[Contradicted, ...]


class Boxes(Boxed, frozen=True, tag="imported.box/1"):
    name: ClassVar[str] = "box"


class HistoryStep(msgspec.Struct, frozen=True, kw_only=True):
    """Between result `before` and the next (counted from 0): `ratio` of the levels, more is better."""

    before: of.Number
    ratio: of.Ratio


class WorkloadHistory(msgspec.Struct, Judged, frozen=True, kw_only=True):
    """One workload over the results. Slopes are fractions of the first result a result, below 0 is slower."""

    workload: str
    metric: str
    unit: str
    better: str
    values: tuple[of.Value, ...]
    verdict: Word
    slope: of.Change | None = None
    ci95: tuple[of.Change, of.Change] | None = None
    p: of.Probability | None = None
    smallest_effect: of.Change | None = None
    steps: tuple[HistoryStep, ...] = ()
    reason: str | None = None
    explain: str = ""

    @property
    def is_degrading(self) -> bool:
        return self.is_slower or any(s.ratio < 1 for s in self.steps)


class Histories(msgspec.Struct, frozen=True):
    """The same workloads in several results, in the order of time."""

    results: tuple[str, ...]
    dates: tuple[str | None, ...]
    workloads: tuple[WorkloadHistory, ...]


class HistoriesResult(Result, frozen=True, tag="imported.history/1"):
    name: ClassVar[str] = "history"
    value: Histories


class FileTimeline(msgspec.Struct, frozen=True):
    """The samples of one file over time."""

    file: str
    timeline: Timeline


class TimelineResult(Result, frozen=True, tag="imported.timeline/1"):
    name: ClassVar[str] = "timeline"
    value: FileTimeline

    def section_on_top(self, now: float) -> ReportSection | None:
        """Return the incidents as a table; None where there is none."""
        timeline = self.value.timeline
        rows = tuple(
            (
                period_text(incident, timeline.times),
                incident.cause,
                symptom_text(incident.symptoms[0]),
                incident.culprit.name if incident.culprit is not None else "–",
            )
            for incident in timeline.incidents
        )
        if not rows:
            return None
        table = Table(("when", "cause", "figure", "process"), rows, spare=frozenset({1}))
        return ReportSection("Incidents", (table,))

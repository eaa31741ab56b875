"""One recording's events as rows: read once, forgotten line by line, whatever the recording's length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from app.features.export.tables import (
    EffectRow,
    FactRow,
    FindingRow,
    GroupRow,
    InterferenceRow,
    LatencyRow,
    Row,
    RunRow,
    SliceRow,
    TimeBreakdownRow,
)
from app.recordings.reader import BrokenRecording
from app.recordings.session import RunSession
from app.recordings.values import values_beside
from app.report.figures.latency import latency_summaries
from probes.types import Json
from scenarios.analysis.profile.results import ComparedSeconds
from scenarios.contract import events as ev
from scenarios.contract.finding import Evidence
from scenarios.experiment.schedule.recorded_trains import groups_in_batch, slices_in_batch

MAX_SECONDS = 1e9  # a foreign recording may say any time


class RunFile(NamedTuple):
    """Where a run came from. `kind`: recording, imported or triage; `node`: of a fleet run."""

    run_id: str
    file: str
    kind: str
    node: str = ""


class RunRows:
    """Makes the rows of one run. `damage`: which file is damaged and where, once the rows were read."""

    def __init__(self, file: RunFile, events: Iterable[ev.AnyEvent]) -> None:
        self.damage = ""
        self._file = file
        self._events = events
        self._id = file.run_id
        self._session = RunSession()
        self._start: datetime | None = None
        self._units: dict[tuple[str, str], str] = {}  # by workload and metric
        self._groups: list[tuple[ev.Group, int | None]] = []  # with the pair of file sets

    def read_rows(self) -> Iterator[Row]:
        """Yield the rows of all tables: of a damaged file what stands before the damage."""
        for event in self._sound_events():
            self._session.apply(event)
            match event:
                case ev.Block():
                    yield from self._rows_of_window(event)
                case ev.SliceBatch():
                    yield from self._rows_of_batch(event)
                case ev.Group():
                    self._groups.append((event, None))
                case ev.Began():
                    self._start = _parse_time(event.wall)
                case ev.Planned():
                    self._units = {(w.id, m.name): m.unit for w in event.plan.workloads for m in w.metrics}
        yield from self._rows_at_end()

    @property
    def is_unfinished(self) -> bool:
        return self._session.ended is None

    def _sound_events(self) -> Iterator[ev.AnyEvent]:
        try:
            yield from self._events
        except BrokenRecording as why:
            self.damage = why.text

    def _time_at(self, t: float) -> datetime | None:
        return self._start + timedelta(seconds=t) if self._start is not None and t < MAX_SECONDS else None

    def _rows_of_window(self, block: ev.Block) -> Iterator[SliceRow]:
        time = self._time_at(block.t)
        for metric, value in block.values.items():
            yield SliceRow(
                self._id, block.workload, block.variant, block.index, block.group, 0, "window", block.phase, time,
                block.seconds, metric, self._units.get((block.workload, metric), ""), value, bool(block.disturbed),
            )  # fmt: skip

    def _rows_of_batch(self, batch: ev.SliceBatch) -> Iterator[SliceRow]:
        time, disturbed = self._time_at(batch.t), bool(batch.disturbed)
        values = [(m, self._units.get((batch.workload, m), ""), each) for m, each in batch.values.items()]
        for group, variant, place in slices_in_batch(batch):
            for metric, unit, each in values:
                if place < len(each):
                    yield SliceRow(
                        self._id, batch.workload, variant, batch.index, group, place, "slice", batch.phase, time,
                        batch.slice_s, metric, unit, each[place], disturbed,
                    )  # fmt: skip
        if batch.phase == "steady":
            places: list[int | None] = [*batch.places]
            self._groups += [
                (group, places[n] if n < len(places) else None)
                for n, group in enumerate(groups_in_batch(batch))
            ]

    def _rows_at_end(self) -> Iterator[Row]:
        yield self._run_row()
        yield from self._fact_rows()
        yield from self._group_rows()
        yield from self._effect_rows()
        for entry in latency_summaries(self._session):
            yield LatencyRow(
                self._id, entry.workload, entry.variant, entry.operations, entry.p50_ns, entry.p99_ns, entry.p999_ns
            )  # fmt: skip
        yield from self._finding_rows()
        yield from self._interference_rows()
        yield from self._breakdown_rows()

    def _run_row(self) -> RunRow:
        session, file = self._session, self._file
        began, ended = session.began, session.ended
        return RunRow(
            run_id=self._id,
            file=file.file,
            node=file.node,
            kind=file.kind,
            host=began.host if began is not None else "",
            scenario=began.scenario if began is not None else "",
            version=began.version if began is not None else "",
            start=self._start,
            seconds=session.time if file.kind == "recording" else None,
            status="damaged" if self.damage else ended.status if ended is not None else "unfinished",
            reason=self.damage or ((ended.reason or "") if ended is not None else ""),
            seed=began.seed if began is not None and file.kind == "recording" else None,
            boot_id=began.boot_id if began is not None else "",
            command=" ".join(began.command) if began is not None else "",
            lines_left_out=session.unsound + sum(session.left_out.values()),
        )

    def _fact_rows(self) -> Iterator[FactRow]:
        for fact in self._session.facts.values():
            value, number = _spell_value(fact.value)
            yield FactRow(self._id, fact.subject, fact.name, value, number, fact.unit, fact.source, "")
        for absent in self._session.absent.values():
            yield FactRow(self._id, absent.subject, absent.name, None, None, "", absent.source, absent.reason)

    def _group_rows(self) -> Iterator[GroupRow]:
        session = self._session
        behind = {
            (verdict.workload, verdict.key, group.index)
            for verdict in session.verdicts.values()
            for group in session.groups_behind(verdict)
        }
        for group, place in self._groups:
            time = self._time_at(group.t)
            for key, log_ratio in group.log_ratios.items():
                metric, baseline, variant = [*key.split("|", 2), "", ""][:3]
                yield GroupRow(
                    self._id, group.workload, metric, baseline, variant, group.index, place, group.order, time,
                    log_ratio, bool(group.disturbed),
                    not group.disturbed and (group.workload, key, group.index) in behind,
                )  # fmt: skip

    def _effect_rows(self) -> Iterator[EffectRow]:
        session = self._session
        for v in session.verdicts.values():
            low, high = v.ci95 or (None, None)
            metric, values = session.metric_of(v), values_beside(session, v)
            yield EffectRow(
                self._id, v.workload, self._title(v.workload), v.metric, metric.unit, metric.better, v.baseline,
                v.variant, str(v.verdict), v.ratio, low, high, v.smallest_effect, v.alpha, v.margin, v.groups,
                v.pairs, v.look, *values, None, None, None, v.seconds, v.control, v.reason or "",
            )  # fmt: skip
        for series in session.series:
            low, high = series.ci95 or (None, None)
            yield EffectRow(
                self._id, series.workload, self._title(series.workload), "", "", "more", "", "", str(series.verdict),
                None, None, None, None, None, None, series.rounds, 0, 0, None, None, series.slope_per_round,
                low, high, None, False, series.reason or "",
            )  # fmt: skip

    def _title(self, workload: str) -> str:
        load = self._session.find_workload(workload)
        return load.title if load is not None else workload

    def _finding_rows(self) -> Iterator[FindingRow]:
        for finding in self._session.worst_first:
            subject = finding.subject or ", ".join(finding.subjects)
            lines: list[tuple[int, Evidence]] = list(enumerate(finding.evidence, 1)) or [(0, Evidence(""))]
            for number, line in lines:
                yield FindingRow(
                    self._id, finding.id, subject, finding.severity, finding.confidence, finding.title,
                    finding.answers, number, line.text, line.source,
                )  # fmt: skip

    def _interference_rows(self) -> Iterator[InterferenceRow]:
        for guard in self._session.guards:
            what = guard.disturbance
            culprit = what.culprit if what is not None else None
            yield InterferenceRow(
                run_id=self._id,
                time=self._time_at(guard.t),
                workload=guard.workload,
                group=guard.group,
                kind=what.kind if what is not None else guard.kind,
                severity=guard.severity,
                early=guard.early,
                again=guard.again,
                culprit=culprit.label if culprit is not None else "",
                culprit_pid=culprit.pid if culprit is not None else None,
                culprit_rate=culprit.rate if culprit is not None else None,
                culprit_unit=culprit.unit if culprit is not None else "",
                figure=what.figure if what is not None else None,
                usual=what.usual if what is not None else None,
                unit=what.unit if what is not None else "",
                subject=what.subject if what is not None else "",
                sentence=guard.guard_sentence,
            )

    def _breakdown_rows(self) -> Iterator[TimeBreakdownRow]:
        """Of whichever result divides a difference in time between two variants."""
        for result in self._session.results.values():
            for split in result.value if isinstance(result.value, tuple) else ():
                for kind, field in (("part", "parts"), ("wait", "waits")):
                    parts = getattr(split, field, None)
                    for part in parts if isinstance(parts, tuple) else ():
                        if isinstance(part, ComparedSeconds):
                            yield TimeBreakdownRow(
                                self._id, split.baseline, split.variant, split.groups, kind,
                                getattr(part, "name", ""), part.baseline_s, part.variant_s, part.difference_s,
                                *part.ci95_s, part.differs,
                            )  # fmt: skip


def _parse_time(wall: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(wall.replace("Z", "+00:00"))
        return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _spell_value(value: Json) -> tuple[str, float | None]:
    if isinstance(value, str):
        return value, None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    try:
        real = float(number) if number is not None else None
    except OverflowError:
        real = None
    return msgspec.json.encode(value).decode(), real if real is None or math.isfinite(real) else None

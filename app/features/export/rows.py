"""One recording's events as rows: read once, forgotten line by line, whatever the recording's length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeAlias

import msgspec

from hostdx.app.recordings.reader import BrokenRecording
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import baseline_and_variant_values
from hostdx.app.report.figures.latency import latency_summaries
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.profile.results import ComparedSeconds
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.finding import Evidence
from hostdx.scenarios.experiment.schedule.recorded_trains import groups_in_batch, slices_in_batch

Cells: TypeAlias = tuple[object, ...]  # of a row, in the order of `tables.toml`
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

    def read_rows(self) -> Iterator[tuple[str, Cells]]:
        """Yield each row with its table: of a damaged file what stands before the damage."""
        for event in self._events_until_damage():
            self._session.apply(event)
            match event:
                case ev.Block():
                    yield from self._tag_rows("slices", self._rows_of_window(event))
                case ev.SliceBatch():
                    yield from self._tag_rows("slices", self._rows_of_batch(event))
                case ev.Group():
                    self._groups.append((event, None))
                case ev.Began():
                    self._start = _parse_time_as_utc(event.wall)
                case ev.Planned():
                    self._units = {(w.id, m.name): m.unit for w in event.plan.workloads for m in w.metrics}
        yield from self._tag_rows("runs", self._run_rows())
        yield from self._tag_rows("facts", self._fact_rows())
        yield from self._tag_rows("groups", self._group_rows())
        yield from self._tag_rows("effects", self._effect_rows())
        yield from self._tag_rows("latencies", (tuple(entry) for entry in latency_summaries(self._session)))
        yield from self._tag_rows("findings", self._evidence_rows())
        yield from self._tag_rows("interference", self._interference_rows())
        yield from self._tag_rows("time_breakdown", self._time_breakdown_rows())

    def _tag_rows(self, table: str, rows: Iterable[Cells]) -> Iterator[tuple[str, Cells]]:
        """Yield each row with its table and, as the first cell, the run's id."""
        return ((table, (self._id, *row)) for row in rows)

    @property
    def is_unfinished(self) -> bool:
        return self._session.ended is None

    def _events_until_damage(self) -> Iterator[ev.AnyEvent]:
        try:
            yield from self._events
        except BrokenRecording as why:
            self.damage = why.text

    def _time_at(self, t: float) -> datetime | None:
        return self._start + timedelta(seconds=t) if self._start is not None and t < MAX_SECONDS else None

    def _rows_of_window(self, block: ev.Block) -> Iterator[Cells]:
        time = self._time_at(block.t)
        for metric, value in block.values.items():
            yield (
                block.workload, block.variant, block.index, block.group, 0, "window", block.phase, time,
                block.seconds, metric, self._units.get((block.workload, metric), ""), value, bool(block.disturbed),
            )  # fmt: skip

    def _rows_of_batch(self, batch: ev.SliceBatch) -> Iterator[Cells]:
        time, disturbed = self._time_at(batch.t), bool(batch.disturbed)
        values = [(m, self._units.get((batch.workload, m), ""), each) for m, each in batch.values.items()]
        for group, variant, place in slices_in_batch(batch):
            for metric, unit, each in values:
                if place < len(each):
                    yield (
                        batch.workload, variant, batch.index, group, place, "slice", batch.phase, time,
                        batch.slice_s, metric, unit, each[place], disturbed,
                    )  # fmt: skip
        if batch.phase == "steady":
            places: list[int | None] = [*batch.places]
            self._groups += [
                (group, places[n] if n < len(places) else None)
                for n, group in enumerate(groups_in_batch(batch))
            ]

    def _run_rows(self) -> Iterator[Cells]:
        session, file, ended = self._session, self._file, self._session.ended
        is_recording = file.kind == "recording"
        status = "damaged" if self.damage else ended.status if ended is not None else "unfinished"
        reason = self.damage or ((ended.reason or "") if ended is not None else "")
        left_out = session.unsound + sum(session.left_out.values())
        if (began := session.began) is not None:
            yield (
                file.file, file.node, file.kind, began.host, began.scenario, began.version, self._start,
                session.time if is_recording else None, status, reason, began.seed if is_recording else None,
                began.boot_id, " ".join(began.command), left_out,
            )  # fmt: skip

    def _fact_rows(self) -> Iterator[Cells]:
        for fact in self._session.facts.values():
            yield (fact.subject, fact.name, *_text_and_number_of(fact.value), fact.unit, fact.source, "")
        for absent in self._session.absent.values():
            yield absent.subject, absent.name, None, None, "", absent.source, absent.reason

    def _group_rows(self) -> Iterator[Cells]:
        session = self._session
        behind = {
            (verdict.workload, verdict.group_ratio_key, group.index)
            for verdict in session.verdicts.values()
            for group in session.groups_behind(verdict)
        }
        for group, place in self._groups:
            time = self._time_at(group.t)
            for key, log_ratio in group.log_ratios.items():
                metric, baseline, variant = [*key.split("|", 2), "", ""][:3]
                counted = not group.disturbed and (group.workload, key, group.index) in behind
                yield (
                    group.workload, metric, baseline, variant, group.index, place, group.order, time, log_ratio,
                    bool(group.disturbed), counted,
                )  # fmt: skip

    def _effect_rows(self) -> Iterator[Cells]:
        session = self._session
        for v in session.verdicts.values():
            metric = session.metric_of(v)
            yield (
                v.workload, self._workload_title(v.workload), v.metric, metric.unit, metric.better,
                v.baseline, v.variant, str(v.verdict), v.ratio, *(v.ci95 or (None, None)),
                v.smallest_effect, v.alpha, v.margin, v.groups, v.pairs, v.look,
                *baseline_and_variant_values(session, v), None, None, None, v.seconds, v.control, v.reason or "",
            )  # fmt: skip
        for series in session.series:
            yield (
                series.workload, self._workload_title(series.workload), "", "", "more", "", "",
                str(series.verdict), None, None,
                None, None, None, None, series.rounds, 0, 0, None, None, series.slope_per_round,
                *(series.ci95 or (None, None)), None, False, series.reason or "",
            )  # fmt: skip

    def _workload_title(self, workload: str) -> str:
        load = self._session.find_workload(workload)
        return load.title if load is not None else workload

    def _evidence_rows(self) -> Iterator[Cells]:
        for finding in self._session.worst_first:
            subject = finding.subject or ", ".join(finding.subjects)
            lines: list[tuple[int, Evidence]] = list(enumerate(finding.evidence, 1)) or [(0, Evidence(""))]
            for number, line in lines:
                yield (
                    finding.id, subject, finding.severity, finding.confidence, finding.title, finding.answers, number,
                    line.text, line.source,
                )  # fmt: skip

    def _interference_rows(self) -> Iterator[Cells]:
        """What the guards told during the run, and what their looks at the counters found beyond that."""
        session, exported_disturbances = self._session, set[Disturbance]()
        for guard in session.guards:
            disturbance = guard.disturbance or Disturbance(kind=guard.kind)
            exported_disturbances.add(disturbance)
            head = (
                "guard",
                self._time_at(guard.t),
                guard.workload,
                guard.group,
                disturbance.kind,
                guard.severity,
            )
            yield (*head, guard.early, guard.again, *_disturbance_cells(disturbance), guard.guard_sentence)
        for look in session.watched:
            for disturbance in look.told:
                if disturbance not in exported_disturbances:
                    head = ("look", self._time_at(look.t), look.workload, None, disturbance.kind, "notice")
                    yield (*head, False, "", *_disturbance_cells(disturbance), disturbance.full_sentence)

    def _time_breakdown_rows(self) -> Iterator[Cells]:
        """Of whichever result divides a difference in time between two variants."""
        for result in self._session.results.values():
            for split in result.value if isinstance(result.value, tuple) else ():
                for kind, field in (("part", "parts"), ("wait", "waits")):
                    parts = getattr(split, field, None)
                    for part in parts if isinstance(parts, tuple) else ():
                        if isinstance(part, ComparedSeconds):
                            yield (
                                split.baseline, split.variant, split.groups, kind, getattr(part, "name", ""),
                                part.baseline_s, part.variant_s, part.difference_s, *part.ci95_s, part.differs,
                            )  # fmt: skip


def _disturbance_cells(disturbance: Disturbance) -> Cells:
    culprit = disturbance.culprit
    culprit_cells = (
        (culprit.label, culprit.pid, culprit.rate, culprit.unit) if culprit else ("", None, None, "")
    )
    return (*culprit_cells, disturbance.figure, disturbance.usual, disturbance.unit, disturbance.subject)


def _parse_time_as_utc(wall: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(wall.replace("Z", "+00:00"))
        return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _text_and_number_of(value: Json) -> tuple[str, float | None]:
    if isinstance(value, str):
        return value, None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    try:
        real = float(number) if number is not None else None
    except OverflowError:
        real = None
    return msgspec.json.encode(value).decode(), real if real is None or math.isfinite(real) else None

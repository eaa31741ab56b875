"""The jobs that are put into the box: Darshan logs, IOR's output, recordings of `workload`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError as Unread
from hostdx.probes.imports.source import ImportSource
from hostdx.scenarios.analysis.compare.bounding_box import ApplicationPoint, bounding_box_points_of
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.experiment.statistics.stats import median_and_interval

WORKLOAD, USER_CPU = "workload", "user CPU"  # as its recordings have them
MIN_MOVED_BYTES = 1 << 20  # moved in a run: less says nothing of bandwidth
_DIRECTIONS = {"read": "read", "write": "written"}


def is_recording_file(path: str) -> bool:
    """Raises Unread. By its first bytes; the runner reads and judges the rest."""
    head = ImportSource.read(Path(path)).head
    return head.startswith((b"\x1f\x8b", b'{"type":"run"'))


def read_job_points(path: str) -> list[ApplicationPoint]:
    """Raises Unread."""
    points = bounding_box_points_of(Path(path).name, kinds.parse_import(ImportSource.read(Path(path))))
    if not points:
        raise Unread(
            "names no bytes that a job read or wrote",
            "give a Darshan log, IOR's output or a recording of workload",
        )
    return points


def read_job_recording(name: str, events: Iterable[ev.AnyEvent]) -> Iterator[ApplicationPoint]:
    """A point for each variant and direction. Bytes are those that the kernel moved for it, to and from disks; the time
    is all of its run's: when it computed is not known.
    """
    runs: dict[str, list[ev.Block]] = {}
    for event in events:
        if isinstance(event, ev.Began) and event.scenario != WORKLOAD:
            return
        if isinstance(event, ev.Block) and event.phase == "steady" and event.values and not event.disturbed:
            runs.setdefault(event.variant, []).append(event)
    for variant, blocks in runs.items():
        for direction, counted in _DIRECTIONS.items():
            moved = [(block.values.get(counted, 0.0), block.seconds) for block in blocks]
            rates = [size / seconds for size, seconds in moved if size >= MIN_MOVED_BYTES and seconds > 0]
            if len(rates) < len(blocks):
                continue
            rate, ends = median_and_interval(rates)
            yield ApplicationPoint(
                name=f"{name}: {variant}" if len(runs) > 1 else name, direction=direction, bandwidth=rate,
                ci95=ends, computing=_user_cpu_share(blocks),
            )  # fmt: skip


def _user_cpu_share(blocks: Iterable[ev.Block]) -> float | None:
    """Of user CPU over the time; several threads count as one that always computes."""
    shares = [
        min(1.0, block.values[USER_CPU] / block.seconds)
        for block in blocks
        if USER_CPU in block.values and block.seconds > 0
    ]
    return median(shares) if shares else None

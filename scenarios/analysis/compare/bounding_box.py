"""The bounding box of user expectation (IO500): from hard to easy, in bandwidth and in metadata operations.

What an application reaches lies between the hard and the easy pattern of the same benchmark. So a run whose easy
lies below its hard is broken, whatever the other runs say: that needs no vote. Where such runs are named, they are
left out before the others are held against each other (`scenarios/analysis/compare/odd.py`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Literal

import msgspec

from hostdx.probes.imports.model import ImportResult as Imports
from hostdx.probes.imports.numbers import MIB
from hostdx.probes.imports.storage.darshan import DarshanLog, DarshanModule
from hostdx.probes.imports.storage.ior import IorRuns
from hostdx.scenarios.analysis.compare.odd import RunOutliers
from hostdx.scenarios.analysis.compare.snapshot import RunSnapshot
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.result import Result


class BoxCorner(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark over the runs. Units as measured: B/s or operations a second; None: not in that run.

    `ci95`: of the run that the box is made for, where it measured its own interval.
    """

    workload: str
    unit: str
    values: tuple[of.Value | None, ...]
    median: of.Value
    low: of.Value
    high: of.Value
    ci95: tuple[of.Value, of.Value] | None = None


class BoxOutlier(msgspec.Struct, frozen=True, kw_only=True):
    """A run that does not belong: `kind` is "easy below hard" by the box's law, "elsewhere" by the other runs."""

    run: str
    index: of.Number
    workload: str
    kind: Literal["easy below hard", "elsewhere"]
    value: of.Value
    other: of.Value  # hard of the same run, or the centre of the other runs
    unit: str


class AccessPattern(msgspec.Struct, frozen=True, kw_only=True):
    """How an application moves its bytes. Shares are of its calls in that direction; None: not counted."""

    mean_bytes: of.Value | None = None  # of a call
    small: of.Share | None = None  # calls of less than `SMALL_BYTES`
    unaligned: of.Share | None = None  # to the file's block, of all calls of both directions
    shared_files: of.Count = 0  # opened by all processes together
    files: of.Count = 0


class ApplicationPoint(msgspec.Struct, frozen=True, kw_only=True):
    """An application: bytes a second and metadata operations a second, each where it was measured.

    `ci95` is the bandwidth's over several runs; `computing`: the share of its time that it
    computed, which is in its bandwidth.
    """

    name: str
    bandwidth: of.Value | None
    ci95: tuple[of.Value, of.Value] | None = None
    metadata: of.Value | None = None
    direction: str = ""  # "read" or "write"
    processes: of.Count | None = None
    computing: of.Share | None = None
    pattern: AccessPattern | None = None


class BoundingBoxFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`corners` in the order hard, easy (bandwidth), hard, easy (metadata); medians are of the sound runs."""

    title: str
    runs: tuple[str, ...]
    version: str = ""  # of IO500, where the results are of several
    processes: of.Count | None = None  # where all runs have so many
    corners: tuple[BoxCorner, BoxCorner, BoxCorner, BoxCorner]
    odd: tuple[BoxOutlier, ...] = ()
    placed: tuple[ApplicationPoint, ...] = ()


class Boxed(Result, frozen=True):
    """What is drawn as boxes, whoever found them."""

    value: tuple[BoundingBoxFigures, ...]


EASY_BELOW_HARD = 0.95  # of hard: within 5 % the two are the same

# title → corner workloads: bandwidth hard, bandwidth easy, metadata hard, metadata easy
_BOXES: dict[str, tuple[str, str, str, str]] = {
    "": ("ior-hard", "ior-easy", "mdtest-hard", "mdtest-easy"),
    "write": ("ior-hard-write", "ior-easy-write", "mdtest-hard-write", "mdtest-easy-write"),
    "read": ("ior-hard-read", "ior-easy-read", "mdtest-hard-stat", "mdtest-easy-stat"),
}


def boxes_by_version(run_snapshots: Sequence[RunSnapshot]) -> list[BoundingBoxFigures]:
    """The boxes that the runs have all four corners for, one for each version of IO500; the law alone has spoken."""
    all_boxes = []
    for title, names in _BOXES.items():
        runs = [s for s in run_snapshots if all(s.value(name) is not None for name in names)]
        versions = dict.fromkeys(_version_of_corner(run, names[0]) for run in runs)
        for version in versions:
            own = [run for run in runs if _version_of_corner(run, names[0]) == version]
            all_boxes.append(_bounding_box(title, names, own, version if len(versions) > 1 else ""))
    return all_boxes


def _version_of_corner(run: RunSnapshot, corner: str) -> str:
    return next(m.conditions.get("version", "") for m in run.measures if m.workload == corner)


def _bounding_box(
    title: str, corner_names: tuple[str, str, str, str], runs: Sequence[RunSnapshot], version: str
) -> BoundingBoxFigures:
    values: dict[str, list[float]] = {n: [run.value(n) or 0.0 for run in runs] for n in corner_names}
    labels = tuple(run.name for run in runs)
    odd = _easy_below_hard_outliers(corner_names, values, labels)
    broken = {(o.workload, o.index) for o in odd}
    corners = [_box_corner(n, values[n], {i for w, i in broken if w == n}) for n in corner_names]
    processes = {run.process_count for run in runs}
    return BoundingBoxFigures(
        title=title, runs=labels, version=version, corners=(corners[0], corners[1], corners[2], corners[3]),
        odd=tuple(odd), processes=processes.pop() if len(processes) == 1 else None,
    )  # fmt: skip


def mark_outliers(boxes: Sequence[BoundingBoxFigures], odd: RunOutliers | None) -> list[BoundingBoxFigures]:
    """With the corners that lie apart from the other runs'."""
    return [
        msgspec.structs.replace(box, odd=(*box.odd, *(_corner_outliers(box, odd) if odd is not None else ())))
        for box in boxes
    ]


def _corner_outliers(box: BoundingBoxFigures, odd: RunOutliers) -> Iterator[BoxOutlier]:
    for load in odd.found:
        corner = next(
            (c.workload for c in box.corners if load.key.workload in _names_of_corner(c.workload, box)), None
        )
        if corner is None or load.groups:
            continue
        for outlier in load.apart:
            if outlier.run in box.runs:
                yield BoxOutlier(
                    run=outlier.run,
                    index=box.runs.index(outlier.run),
                    workload=corner,
                    kind="elsewhere",
                    value=outlier.value,
                    other=load.centre,
                    unit=_corner_unit(corner),
                )


def _names_of_corner(corner: str, box: BoundingBoxFigures) -> tuple[str, str]:
    return corner, f"{corner} (version {box.version})"


def _corner_unit(name: str) -> str:
    return "B/s" if name.startswith("ior") else "IOPS"


def _easy_below_hard_outliers(
    names: tuple[str, str, str, str], values: Mapping[str, Sequence[float]], labels: Sequence[str]
) -> list[BoxOutlier]:
    outliers = []
    for hard, easy in ((names[0], names[1]), (names[2], names[3])):
        for i, (low, high) in enumerate(zip(values[hard], values[easy], strict=True)):
            if high < EASY_BELOW_HARD * low:
                outliers.append(
                    BoxOutlier(
                        run=labels[i], index=i, workload=easy, kind="easy below hard", value=high, other=low,
                        unit=_corner_unit(easy),
                    )
                )  # fmt: skip
    return outliers


def _box_corner(name: str, values: Sequence[float], left_out: set[int]) -> BoxCorner:
    sound = sorted(v for i, v in enumerate(values) if i not in left_out) or sorted(values)
    return BoxCorner(
        workload=name,
        unit=_corner_unit(name),
        values=tuple(values),
        median=median(sound),
        low=sound[0],
        high=sound[-1],
    )


def log_position(value: float, hard: BoxCorner, easy: BoxCorner) -> float | None:
    """0 at hard, 1 at easy, on a logarithmic scale; None where the box has no extent."""
    if min(value, hard.median, easy.median) <= 0 or easy.median <= hard.median * 1.001:
        return None
    hard_log = math.log(hard.median)  # of a quotient: 1e-300 of 1e300 is none
    return (math.log(value) - hard_log) / (math.log(easy.median) - hard_log)


MIN_OPENS_FOR_RATE = 1000  # fewer make no rate of metadata operations
SMALL_BYTES = 1 << 20
_SMALL = ("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M")  # Darshan's classes below it


def place_applications(
    empty_boxes: Sequence[BoundingBoxFigures], points: Sequence[ApplicationPoint]
) -> list[BoundingBoxFigures]:
    """The boxes with the applications that were measured in their direction; one without a direction takes all."""
    return [
        msgspec.structs.replace(
            box,
            placed=tuple(p for p in points if not box.title or not p.direction or p.direction == box.title),
        )
        for box in empty_boxes
    ]


def bounding_box_points_of(name: str, result: Imports) -> list[ApplicationPoint]:
    if isinstance(result.detail, DarshanLog):
        return _points_of_darshan(name, result.detail)
    if isinstance(result.detail, IorRuns):
        return _points_of_ior(name, result.detail)
    return []


def _points_of_darshan(name: str, detail: DarshanLog) -> list[ApplicationPoint]:
    """Of the lowest layer that was watched; bytes ÷ the mean time that a process spent reading (or writing)."""
    module = next((detail.io[m] for m in ("POSIX", "MPI-IO", "STDIO") if m in detail.io), None)
    if module is None:
        return []
    processes = max(1, detail.nprocs or 1)
    metadata = None
    if (module.opens or 0) >= MIN_OPENS_FOR_RATE and module.meta_time_s > 0:
        metadata = (module.opens or 0) / (module.meta_time_s / processes)
    points = []
    for direction, moved, calls, busy, sizes in module.directions:
        if moved > 0 and busy > 0:
            points.append(
                ApplicationPoint(
                    name=name, direction=direction, bandwidth=moved / (busy / processes), metadata=metadata,
                    processes=detail.nprocs, pattern=_access_pattern(module, moved, calls, sizes),
                )
            )  # fmt: skip
    return points


def _access_pattern(module: DarshanModule, moved: int, calls: int, sizes: Mapping[str, int]) -> AccessPattern:
    """A record of rank -1 is Darshan's sum over a file that all processes opened."""
    classed, both = sum(sizes.values()), module.reads + module.writes
    return AccessPattern(
        mean_bytes=moved / calls if calls > 0 else None,
        small=sum(sizes.get(name, 0) for name in _SMALL) / classed if classed else None,
        unaligned=min(1.0, module.not_aligned / both) if both > 0 else None,
        shared_files=module.shared_records,
        files=module.files,
    )


def _points_of_ior(name: str, detail: IorRuns) -> list[ApplicationPoint]:
    points = []
    for run in detail.runs:
        for direction in ("read", "write"):
            rates = [row.mib_s for row in run.rows if row.op == direction]
            best = run.max.get(direction, max(rates, default=0.0))
            if best > 0:
                bandwidth = best * MIB
                points.append(
                    ApplicationPoint(name=name, direction=direction, bandwidth=bandwidth, processes=run.tasks)
                )
    return points[:20]

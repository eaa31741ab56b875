"""A job in the box: where it lies with its interval, of how many processes, and which way tuning should go."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hostdx.app.recordings.reader import load_recording
from hostdx.probes.reading.host import Host
from hostdx.scenarios.analysis.compare.bounding_box import (
    AccessPattern,
    ApplicationPoint,
    BoxCorner,
    log_position,
    place_applications,
)
from hostdx.scenarios.analysis.compare.placing import placing_finding
from hostdx.scenarios.box.bounds import own_boxes
from hostdx.scenarios.box.jobs import Unread, read_job_file, read_job_recording
from hostdx.scenarios.box.plan import BoxSetup
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import Options
from tests.every_case import every_case
from tests.probes.imports.originals import _DARSHAN
from tests.scenarios.box.test_bounds import draw_corners

MB = 1e6


def darshan_text(**counters: float) -> str:
    """Four processes that write one shared file, 47,008 bytes a call: 100 MB in 1 s of each one's time."""
    usual = {
        "READS": 0, "WRITES": 2127, "OPENS": 4, "BYTES_WRITTEN": 100_000_000, "BYTES_READ": 0,
        "SIZE_WRITE_10K_100K": 2127, "FILE_NOT_ALIGNED": 2100, "F_WRITE_TIME": 4.0,
        "F_META_TIME": 0.1, "F_READ_TIME": 0.0,
    }  # fmt: skip
    head = _DARSHAN.replace("nprocs: 2", "nprocs: 4")
    return head + "".join(
        f"POSIX\t-1\t1\tPOSIX_{name}\t{value}\t/f\t/\text4\n" for name, value in (usual | counters).items()
    )


def placing_findings(points: Sequence[ApplicationPoint], share: float = 0.1) -> list[Finding]:
    """In a box of 4 workers whose corners are known to that share of themselves."""
    figures = draw_corners(1)
    levels = tuple(
        msgspec.structs.replace(
            level, ci95=(level.median * (1 - share), level.median * (1 + share)) if level.median else None
        )
        for level in figures.levels
    )
    boxes = own_boxes(msgspec.structs.replace(figures, levels=levels))
    return [placing_finding(box, point) for box in place_applications(boxes, points) for point in box.placed]


def advice_titles(finding: Finding) -> list[str]:
    return [remedy.title for remedy in finding.remedy]


def test_small_calls_in_a_shared_file_are_tuned_towards_larger_ones_and_own_files(tmp_path: Path) -> None:
    log = tmp_path / "job.txt"
    log.write_text(darshan_text())
    [point] = read_job_file(str(log))
    assert point.direction == "write" and point.processes == 4 and point.bandwidth == pytest.approx(100e6)
    assert point.pattern == AccessPattern(
        mean_bytes=pytest.approx(47_015, rel=1e-3), small=1.0, unaligned=pytest.approx(0.987, abs=0.01),
        shared_files=1, files=1,
    )  # fmt: skip
    [finding] = placing_findings([point])
    assert finding.severity == "notice" and len(advice_titles(finding)) == 3


@every_case(
    ("change", "processes", "count"),
    [
        ({"small": 0.1}, 4, 2),
        ({"unaligned": 0.1}, 4, 2),
        ({"shared_files": 0}, 4, 2),
        ({"small": 0.1, "unaligned": 0.0, "shared_files": 0}, 4, 1),  # nothing in its pattern: what else
        ({}, 1, 0),  # one process against four says nothing
    ],
)
def test_each_direction_comes_from_what_was_counted(
    change: dict[str, float], processes: int, count: int
) -> None:
    pattern = AccessPattern(mean_bytes=47_008, small=1.0, unaligned=1.0, shared_files=1, files=1)
    point = ApplicationPoint(
        name="job", direction="write", bandwidth=450 * MB, processes=processes,
        pattern=msgspec.structs.replace(pattern, **change),
    )  # fmt: skip
    [finding] = placing_findings([point])
    assert len(advice_titles(finding)) == count


def test_near_the_easy_corner_nothing_is_advised() -> None:
    [finding] = placing_findings(
        [ApplicationPoint(name="job", direction="write", bandwidth=880 * MB, processes=4)]
    )
    assert finding.severity == "ok" and not finding.remedy


def write_run(directory: Path, rates: Sequence[float], user_s: float = 0.1) -> Path:
    """A workload that writes in runs of 2 s."""
    path = directory / "work.jsonl"
    head = ev.Began(
        t=0.0, schema=ev.SCHEMA, version="0", scenario="workload", command=[], host="h", wall="", seed=1, pid=1,
        pid_start=1, boot_id="",
    )  # fmt: skip
    blocks = [
        ev.Block(
            t=float(n), workload="command", variant="a", group=n, index=0, seconds=2.0,
            values={"wall time": 2.0, "written": 2.0 * rate, "read": 0.0, "user CPU": user_s},
        )
        for n, rate in enumerate(rates, 1)
    ]  # fmt: skip
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in (head, *blocks)))
    return path


@pytest.mark.parametrize(("user_s", "advised"), [(0.2, True), (1.8, False)])
def test_what_computes_most_of_its_time_is_not_held_up_by_its_files(
    tmp_path: Path, user_s: float, advised: bool
) -> None:
    blocks = load_recording(write_run(tmp_path, [100 * MB] * 8, user_s)).blocks["command"]
    [finding] = placing_findings(list(read_job_recording("work", blocks)))
    assert bool(finding.remedy) is advised


def test_runs_that_moved_nothing_and_other_scenarios_are_no_point(tmp_path: Path) -> None:
    idle_blocks = load_recording(write_run(tmp_path, [0.0] * 8)).blocks["command"]
    assert list(read_job_recording("work", idle_blocks)) == []
    other = ev.Began(
        t=0.0, schema=ev.SCHEMA, version="0", scenario="storage", command=[], host="h", wall="", seed=1, pid=1,
        pid_start=1, boot_id="",
    )  # fmt: skip
    busy = load_recording(write_run(tmp_path, [100 * MB] * 8)).blocks["command"]
    assert list(read_job_recording("work", [other, *busy])) == []


def test_what_is_no_job_is_refused_in_the_plan(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("hello\n")
    with pytest.raises(Unread):
        read_job_file(str(tmp_path / "job"))
    setup = BoxSetup(Host(Path("/")), Options({"dir": str(tmp_path), "job": [str(tmp_path / "job")]}, ()))
    assert str(tmp_path / "job") in setup.refusal_reason


def test_a_value_beyond_all_measure_has_a_place_too() -> None:
    """A recording may hold any positive number; of 1e-300 and 1e300 no quotient exists."""
    hard, easy = (
        BoxCorner(workload=name, unit="GB/s", values=(value,), median=value, low=value, high=value)
        for name, value in (("hard", 1e300), ("easy", 1e305))
    )
    assert log_position(1e-300, hard, easy) == pytest.approx(-120)

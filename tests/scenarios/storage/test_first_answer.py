"""The first answer about one or two directories."""

import datetime
import re
from pathlib import Path
from typing import cast

import msgspec
import pytest

from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.measured import Measured, MeasurementInvalid, WriteBudgetSpent
from hostdx.probes.engine.workloads import engine_load
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice
from hostdx.probes.system.disk.drive.ebs import COUNTED
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding, Remedy, Severity
from hostdx.scenarios.contract.knowledge_file import load_entries
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.storage.findings import build_level
from hostdx.scenarios.storage.first_answer import first_answer, rank_classes, suspicion_findings
from hostdx.scenarios.storage.plan import build_workloads
from hostdx.scenarios.storage.results import DirectoryLevel
from hostdx.scenarios.storage.scenario import StorageMeasurement
from hostdx.scenarios.storage.throttling.caps import Throttle
from hostdx.scenarios.storage.throttling.findings import ebs_findings, limits_below, lower_levels_to_caps
from hostdx.scenarios.triage.knowledge.disks import CloudDisk, DiskClass, DiskUse, cloud_disks, disk_class
from tests.fakes.clock import FakeClock
from tests.fakes.hosts.tree import Tree
from tests.fakes.run import FakeRun
from tests.fakes.watch import FakeWatch
from tests.scenarios.storage.test_findings import DISK, NONE, target

GIB = 1 << 30
VIRTUAL = msgspec.structs.replace(
    DISK, name="vda", transport="virtio", model=NONE, rotational=True, link=NONE, size_bytes=256 * GIB
)
EBS = msgspec.structs.replace(
    DISK,
    name="nvme1n1",
    transport="nvme",
    model="Amazon Elastic Block Store",
    link=NONE,
    size_bytes=500 * GIB,
)
# By load: value, unit, median and 99th percentile of the latency in ns.
SSD = {
    "randread-4k-qd1": (9000.0, "IOPS", 90_000, 150_000),
    "randread-4k-qd16": (70000.0, "IOPS", 200_000, 900_000),
    "fsync-4k-qd1": (900.0, "IOPS", 900_000, 4_000_000),
    "read-1m-qd8": (520.0, "MB/s", 15_000_000, 20_000_000),
    "write-1m-qd8": (480.0, "MB/s", 16_000_000, 30_000_000),
}


HERE = Host("/nonexistent")


def levels(device: BlockDevice = DISK, **changed: float) -> list[DirectoryLevel]:
    made_levels = []
    for name, (value, unit, p50, p99) in SSD.items():
        counts = [(p50, 90), (p99, 10)]
        median = changed.get(name.replace("-", "_"), value)
        made_levels.append(build_level(target(device), name, unit, unit, median, None, 12, [], counts))
    return made_levels


def throttle() -> Finding:
    remedy = Remedy(title="Raise it", commands=("cat /limit", "second"), undo=("undone",))
    title = "sda is throttled to 200 MB/s"
    return Finding(id="storage.throttled", severity="warning", subject="sda", title=title, remedy=(remedy,))


def test_a_disk_as_its_class_should_be_is_ok_and_one_command_follows() -> None:
    [answer] = first_answer(HERE, target(), levels(), (), 62.0, single=True)
    assert (answer.severity, answer.id) == ("ok", "storage.levels")
    assert len(answer.remedy) == 1 and len(answer.remedy[0].commands) == 1
    assert "--pid" in answer.remedy[0].commands[0]
    text = " ".join(e.text for e in answer.evidence)
    assert re.search(r"900 µs.* 99 % .*\b4 ms\b", text) and "62 s" in text  # the half first, then the 99 %
    assert "SATA SSD" in text and "randread" not in text + answer.title


def test_the_worst_that_was_found_decides_the_next_command() -> None:
    def fault(severity: Severity, *commands: str) -> Finding:
        return Finding(
            id="x", severity=severity, title=severity, remedy=(Remedy(title="r", commands=commands),)
        )

    def advice(*others: Finding) -> tuple[str, ...]:
        [answer] = first_answer(HERE, target(), levels(), others, 62.0, single=True)
        return answer.remedy[0].commands

    assert advice(fault("notice", "echo 1")) == ("echo 1",)
    assert advice(fault("notice", "echo 1"), throttle()) == ("cat /limit",)
    assert advice(fault("warning", "echo 1"), throttle()) == ("cat /limit",)
    assert advice(throttle(), fault("critical", "echo 2")) == ("echo 2",)
    assert advice(fault("warning", "cat <<E\nx\nE", "echo 3"), fault("notice", "echo 1")) == ("echo 3",)
    [answer] = first_answer(HERE, target(), levels(), [fault("warning"), throttle()], 62.0, single=True)
    assert answer.remedy[0].undo == ("undone",)
    assert any("200 MB/s" in e.text for e in answer.evidence)
    assert not any("suspicious" in e.text for e in answer.evidence)  # a finding of its own says it, once


def test_a_disk_whose_class_is_unknown_is_judged_by_what_it_is_good_for() -> None:
    [answer] = first_answer(HERE, target(VIRTUAL), levels(VIRTUAL, read_1m_qd8=50.0), (), 0.0, single=True)
    assert answer.severity == "notice"
    good, _, rest = answer.title.partition("; ")
    assert "good for" in good and "synced writes" in good and "poor for streamed reads" in rest
    assert not any("throttled" in e.text for e in answer.evidence)  # nobody looked for it


def test_nothing_measured_says_nothing() -> None:
    assert first_answer(HERE, target(), [], (), 62.0, single=True) == []
    assert first_answer(HERE, target(letter="B"), levels(), (), 62.0, single=True) == []


def machine_host(root: Path, **dmi: str) -> Host:
    return Host(Tree(root).files("/sys/class/dmi/id", **dmi).root)


def test_a_clouds_volume_is_compared_with_what_is_published_of_it_and_is_no_ssd_of_our_own(
    tmp_path: Path,
) -> None:
    assert disk_class(EBS) is None
    assert disk_class(msgspec.structs.replace(EBS, model="Samsung PM9A3")) is not None
    amazon = machine_host(tmp_path, sys_vendor="Amazon EC2", product_name="m5.large")
    assert {cloud_disk.title for cloud_disk in cloud_disks(amazon, EBS)} == {
        "AWS gp3",
        "AWS gp2",
        "AWS st1",
        "AWS sc1",
    }
    gp3 = levels(EBS, randread_4k_qd1=1900, randread_4k_qd16=3010, read_1m_qd8=131, write_1m_qd8=130)
    (title, distance), *others = rank_classes(amazon, target(EBS), gp3)
    assert title == "AWS gp3" and distance < 0.01 and {name.split()[0] for name, _ in others} == {"AWS"}
    caps = {(limit.unit, limit.value) for limit in limits_below(amazon, target(EBS)) if "gp2" in limit.source}
    assert caps == {("IOPS", 1500.0), ("MB/s", 262.0)}


def test_every_class_offer_and_use_is_dated_and_sourced() -> None:
    for key, kind in (("class", DiskClass), ("offer", CloudDisk), ("job", DiskUse)):
        entries = load_entries("storage", key, kind).entries
        assert entries
        for entry in entries:
            assert entry.source and entry.dated <= datetime.date.today()


def test_flushes_faster_than_the_medium_and_flash_that_is_said_to_turn_are_hints(tmp_path: Path) -> None:
    def suspicions(device: BlockDevice, rotational: int) -> dict[str, Finding]:
        tree = Tree(tmp_path / f"{device.name}{rotational}").put(
            f"{device.path}/queue/rotational", f"{rotational}\n"
        )
        return {f.id: f for f in suspicion_findings(Host(tree.root), target(device), levels(device))}

    hints = suspicions(msgspec.structs.replace(DISK, rotational=True), 1)
    assert set(hints) == {"storage.flush-too-fast", "storage.not-rotating"}
    assert all(f.confidence == "hint" for f in hints.values())
    assert suspicions(DISK, 0) == {}
    assert set(suspicions(VIRTUAL, 1)) == {"storage.not-rotating"}
    assert suspicions(VIRTUAL, 0) == {}


def test_the_clouds_own_counters_are_told() -> None:
    none = dict.fromkeys(COUNTED, 5.0)
    grown = none | {COUNTED[0]: 17.0, COUNTED[2]: 5.02}
    [ebs_finding] = ebs_findings({"nvme1n1": none}, {"nvme1n1": grown})
    assert COUNTED[0] in ebs_finding.title and not any(other in ebs_finding.title for other in COUNTED[1:])
    assert ebs_findings({"nvme1n1": none}, {"nvme1n1": none}) == [] == ebs_findings({"nvme1n1": none}, {})


def test_what_a_burst_gave_beyond_the_cap_is_no_level() -> None:
    caps = [
        Throttle(unit="MB/s", value=200.0, loads=("read-1m-qd8",), caps=()),
        Throttle(unit="MB/s", value=8.192, loads=("randread-4k-qd16",), caps=()),
    ]
    linked = [msgspec.structs.replace(value, link_share=0.9) for value in levels()]
    lower_levels_by_workload = {value.workload: value for value in lower_levels_to_caps(linked, caps)}
    assert lower_levels_by_workload["read-1m-qd8"].link_share == pytest.approx(0.9 * 200 / 520)
    assert lower_levels_by_workload["write-1m-qd8"].link_share == 0.9
    true = {name: value.median for name, value in lower_levels_by_workload.items()}
    assert true["read-1m-qd8"] == pytest.approx(200.0) and true["write-1m-qd8"] == 480.0
    assert true["randread-4k-qd16"] == pytest.approx(2000.0)
    measured = levels()
    assert lower_levels_to_caps(measured, []) == measured


class RaisingBench:
    """Blocks of half a second until `error` is raised."""

    def __init__(self, clock: FakeClock, blocks: int, error: Exception | None) -> None:
        self.clock, self.left, self.why = clock, blocks, error
        self.late_s = 0.0

    async def start_workers_and_rehearse(self, _load: str) -> None:
        return

    async def measure_block(self, load: str, seconds: float) -> Measured:
        if not self.left and self.why is not None:
            raise self.why
        self.left -= 1
        self.clock.advance(seconds + self.late_s)
        return Measured(seconds=seconds, values={engine_load(load).metric: 100.0})


@pytest.mark.parametrize("blocks", [0, 3])
@pytest.mark.parametrize("error", [WriteBudgetSpent("nothing is left"), MeasurementInvalid("not here"), None])
async def test_why_a_load_ended_is_one_line(blocks: int, error: Exception | None) -> None:
    """As a note beside what was measured, else as the reason why the step was skipped; None: its watch stopped it."""
    clock = FakeClock()
    run = FakeRun(clock=clock)
    load = build_workloads(1 << 30, "/data", 1)[0]
    watch = FakeWatch(run, stop_after=None if error else max(1, blocks))
    bench = cast(StorageBench, RaisingBench(clock, blocks, error))
    measurement = StorageMeasurement(run, [target()], [load], {"A": bench}, watch)
    await measurement.measure_loads(TimeBudget(60.0, clock))
    [_, ended] = run.of(ev.RunStep)
    assert len(measurement.levels) == (blocks > 0) == (ended.state == "done")
    assert len(run.of(ev.Note)) == (blocks > 0) and bool(ended.reason) == (blocks == 0)


async def test_a_block_that_ends_late_leaves_no_time_below_none() -> None:
    clock = FakeClock()
    run = FakeRun(clock=clock)
    bench = RaisingBench(clock, 99, None)
    bench.late_s = 0.049  # the eleventh begins in time for half a second
    load = build_workloads(1 << 30, "/data", 1)[0]
    benches = {"A": cast(StorageBench, bench)}
    measurement = StorageMeasurement(run, [target()], [load], benches, FakeWatch(run))
    await measurement.measure_loads(TimeBudget(6.0, clock))
    left = [progress.seconds_left for progress in run.of(ev.Progress)]
    assert left[-1] == 0.0 and min(filter(None, left)) > 0

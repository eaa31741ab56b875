"""What a stuck task waits for: rows of wait channels, places and device states."""

from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.tasks import BlockedTask
from hostdx.probes.types import Absent
from hostdx.scenarios.dstate.cause import (
    DeviceLimit,
    StuckTaskDetails,
    TaskSleep,
    TaskSleeps,
    TaskWaitCause,
    wait_cause_of,
)
from hostdx.scenarios.dstate.findings import group_by_cause, stuck_group_finding
from hostdx.scenarios.dstate.location import (
    DeviceActivity,
    DeviceState,
    MountedDirectory,
    count_scheduler_requests,
    is_suspended,
)
from hostdx.scenarios.triage.knowledge.kernels import kernel_faults_of_release
from tests.every_case import every_case

NO = Absent("not readable")
XFS = MountedDirectory(
    mountpoint="/data", fstype="xfs", source="/dev/sdb1", device="sdb1", devices=("sdb",), how="syscall"
)
NFS = MountedDirectory(mountpoint="/nfs", fstype="nfs4", source="srv:/export", how="fd")
LVM = MountedDirectory(
    mountpoint="/lv", fstype="ext4", source="/dev/vg/lv", device="dm-0", devices=("sdb",), how="fd"
)
MD = MountedDirectory(
    mountpoint="/md",
    fstype="ext4",
    source="/dev/vg/lv",
    device="dm-1",
    devices=("sdb",),
    how="fd",
    layers=("dm-1", "md0", "sdb"),
)
LIMIT = DeviceLimit("sdb", "wbps 1024 for sdb in /sys/fs/cgroup/blkio/slow", "/sys/fs/cgroup/blkio/slow")


def task(
    tid: int = 7, comm: str = "xrootd", wchan: str | Absent = "io_schedule", switches: int = 5
) -> BlockedTask:
    return BlockedTask(tid, tid, comm, 100, False, wchan, switches)


def stuck(
    *functions: str,
    place: MountedDirectory | None = None,
    seconds: float = 5.0,
    tid: int = 7,
    limits: tuple[DeviceLimit, ...] = (),
) -> StuckTaskDetails:
    stuck_task = task(tid, wchan=functions[0] if functions else NO)
    return StuckTaskDetails(TaskSleep(stuck_task, 0.0, seconds, 6), functions, place, functions[1:], limits)


def device(
    name: str = "sdb",
    quiet_s: float = 20.0,
    holds: int | Absent = 0,
    scheduler: str = "bfq",
    hw_queues: int = 16,
    suspended: bool = False,
    tags: int | Absent = NO,
    multipath: bool = False,
) -> DeviceState:
    return DeviceState(
        name=name,
        quiet_s=quiet_s,
        driver_holds=holds,
        scheduler=scheduler,
        hw_queues=hw_queues,
        suspended=suspended,
        scheduler_holds=tags,
        multipath=multipath,
    )


TOP = device("sdb1", scheduler="none")
ROWS = [
    # a file server: by its functions, or by the file system of what it has open
    (
        stuck("rpc_wait_bit_killable", "nfs4_proc_getattr"),
        [],
        TaskWaitCause("network", "", "rpc_wait_bit_killable"),
    ),
    (
        stuck("folio_wait_bit_common", place=NFS),
        [],
        TaskWaitCause("network", "srv:/export", "folio_wait_bit_common"),
    ),
    (stuck("request_wait_answer"), [], TaskWaitCause("fuse", "", "request_wait_answer")),
    # a frozen file system: sure with the caller in the stack, or with an idle device; else a hint
    (
        stuck("percpu_rwsem_wait", "__percpu_down_read", "mnt_want_write", place=XFS),
        [],
        TaskWaitCause("frozen", "/data", "percpu_rwsem_wait"),
    ),
    (
        stuck("percpu_rwsem_wait", place=XFS),
        [TOP, device()],
        TaskWaitCause("frozen", "/data", "percpu_rwsem_wait"),
    ),
    (stuck("percpu_rwsem_wait"), [], TaskWaitCause("frozen", "", "percpu_rwsem_wait", False)),
    (
        stuck("percpu_rwsem_wait", place=XFS),
        [TOP, device(quiet_s=0.5)],
        TaskWaitCause("frozen", "/data", "percpu_rwsem_wait", False),
    ),
    # the device holds requests and completes none
    (stuck("io_schedule", place=XFS), [TOP, device(holds=31)], TaskWaitCause("device", "sdb", "io_schedule")),
    # the driver holds nothing and nothing moves: the scheduler has it only where it is seen to
    (
        stuck("blk_mq_get_tag", place=XFS),
        [TOP, device(tags=12)],
        TaskWaitCause("scheduler", "sdb", "blk_mq_get_tag"),
    ),
    (
        stuck("io_schedule", place=XFS),
        [TOP, device(quiet_s=60)],
        TaskWaitCause("idle", "sdb", "io_schedule", False),
    ),
    (
        stuck("io_schedule", place=XFS),
        [TOP, device(tags=0)],
        TaskWaitCause("idle", "sdb", "io_schedule", False),
    ),
    (
        stuck("wbt_wait", place=XFS),
        [TOP, device(scheduler="none")],
        TaskWaitCause("idle", "sdb", "wbt_wait", False),
    ),
    # its control group has a limit for the disk: also where a request is let through now and then
    (
        stuck("io_schedule", place=XFS, limits=(LIMIT,)),
        [TOP, device(quiet_s=20)],
        TaskWaitCause("throttled", "sdb", "io_schedule", False),
    ),
    (
        stuck("io_schedule", place=XFS, limits=(LIMIT,)),
        [TOP, device(quiet_s=1)],
        TaskWaitCause("throttled", "sdb", "io_schedule", False),
    ),
    # a limit does not excuse a device that holds what it was given
    (
        stuck("io_schedule", place=XFS, limits=(LIMIT,)),
        [TOP, device(holds=3)],
        TaskWaitCause("device", "sdb", "io_schedule"),
    ),
    # multipath over idle paths
    (
        stuck("io_schedule", place=LVM),
        [device("dm-0", multipath=True), device(scheduler="mq-deadline")],
        TaskWaitCause("paths", "dm-0", "io_schedule", False),
    ),
    # a layer between the top and the disk is suspended
    (
        stuck("io_schedule", place=MD),
        [device("dm-1"), device("md0", suspended=True), device()],
        TaskWaitCause("suspended", "md0", "io_schedule"),
    ),
    # it completes requests: slow
    (
        stuck("xfs_buf_iowait", place=XFS),
        [TOP, device(quiet_s=0.1, holds=31)],
        TaskWaitCause("busy", "sdb", "xfs_buf_iowait"),
    ),
    # something in the middle is suspended
    (
        stuck("io_schedule", place=LVM),
        [device("dm-0", suspended=True), device()],
        TaskWaitCause("suspended", "dm-0", "io_schedule"),
    ),
    (
        stuck("throttle_direct_reclaim", "shrink_node"),
        [],
        TaskWaitCause("memory", "", "throttle_direct_reclaim"),
    ),
    (
        stuck("rwsem_down_write_slowpath", place=XFS),
        [],
        TaskWaitCause("lock", "/data", "rwsem_down_write_slowpath"),
    ),
    (stuck("my_driver_wait"), [], TaskWaitCause("unknown", "", "my_driver_wait")),
    (stuck(), [], TaskWaitCause("unknown", "", "")),
    # the driver's count cannot be read: no guess
    (stuck("io_schedule", place=XFS), [TOP, device(holds=NO)], TaskWaitCause("block", "sdb", "io_schedule")),
]


@every_case(("details", "devices", "expected"), ROWS)
def test_a_stuck_task_gets_its_cause(
    details: StuckTaskDetails, devices: list[DeviceState], expected: TaskWaitCause
) -> None:
    assert wait_cause_of(details, {d.name: d for d in devices}) == expected


def test_without_a_place_a_single_silent_device_is_a_hint() -> None:
    silent = device(holds=3)
    assert wait_cause_of(stuck("io_schedule"), {}, [silent]) == TaskWaitCause(
        "device", "sdb", "io_schedule", False
    )
    assert wait_cause_of(stuck("io_schedule"), {}, [silent, device("sdc", holds=1)]).kind == "block"


def test_the_kernels_fault_is_not_claimed_for_one_queue_or_another_scheduler() -> None:
    for state in (device(hw_queues=1, tags=3), device(scheduler="mq-deadline", tags=3)):
        states = {d.name: d for d in (TOP, state)}
        details = stuck("blk_mq_get_tag", place=XFS)
        (group,) = group_by_cause([(details, wait_cause_of(details, states))])
        finding = stuck_group_finding(group, states, kernel_faults_of_release("4.18.0-348.el8.x86_64"))
        assert finding.id == "dstate.scheduler" and not finding.references


@every_case(
    "kind",
    [
        "network",
        "fuse",
        "frozen",
        "suspended",
        "device",
        "scheduler",
        "throttled",
        "paths",
        "idle",
        "busy",
        "memory",
        "lock",
    ],
)
def test_every_cause_says_what_to_do_with_names_quoted(kind: str) -> None:
    place = MountedDirectory(mountpoint="/a b;reboot", fstype="xfs", how="fd")
    cause = TaskWaitCause(kind, "/a b;reboot")  # type: ignore[arg-type]
    (group,) = group_by_cause([(stuck("x", place=place), cause)])
    finding = stuck_group_finding(group, {})
    assert finding.remedy
    for remedy in finding.remedy:
        for command in (*remedy.commands, *remedy.persistent):
            assert "/a b;reboot" not in command or "'/a b;reboot'" in command


@every_case("active", ["mq-deadline", "bfq", "none", "kyber"])
def test_no_remedy_sets_what_is_set_already(active: str) -> None:
    state = device(scheduler=active, tags=4)
    (group,) = group_by_cause([(stuck("io_schedule", place=XFS), TaskWaitCause("scheduler", "sdb"))])
    for remedy in stuck_group_finding(group, {"sdb": state}).remedy:
        assert not any(f'scheduler}}="{active}"' in line for line in remedy.persistent)


def test_what_the_scheduler_holds_is_read_from_its_tags(tmp_path: Path) -> None:
    host = Host(str(tmp_path))
    assert isinstance(count_scheduler_requests(host, "sdb"), Absent)
    for queue, busy in ((0, 3), (1, 9)):
        folder = tmp_path / f"sys/kernel/debug/block/sdb/hctx{queue}"
        folder.mkdir(parents=True)
        (folder / "sched_tags").write_text(
            f"nr_tags=256\nnr_reserved_tags=0\nactive_queues=0\n\nbitmap_tags:\ndepth=256\nbusy={busy}\ncleared=1\n"
        )
    assert count_scheduler_requests(host, "sdb") == 12
    host.close()


def test_an_array_that_holds_back_writes_and_a_multipath_device_are_known(tmp_path: Path) -> None:
    for path, text in (
        ("md0/md/suspend_lo", "0"),
        ("md0/md/suspend_hi", "2048"),
        ("md1/md/suspend_lo", "0"),
        ("md1/md/suspend_hi", "0"),
        ("dm-0/dm/suspended", "0"),
        ("dm-0/dm/uuid", "mpath-3600"),
        ("dm-0/queue/scheduler", "[none] bfq"),
    ):
        file = tmp_path / "sys/block" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    host = Host(str(tmp_path))
    assert is_suspended(host, "md0") and not is_suspended(host, "md1") and not is_suspended(host, "dm-0")
    state = DeviceActivity().device_state(host, "dm-0")
    assert state.multipath and state.offered == ("none", "bfq")


def test_three_samples_of_one_sleep_are_stuck_and_new_sleeps_are_not() -> None:
    sleeps = TaskSleeps()
    for second in range(3):
        assert not sleeps.add([task()], float(second)).stuck
    assert [s.task.tid for s in sleeps.add([task()], 3.0).stuck] == [7]
    assert not sleeps.add([task()], 4.0).stuck  # said once
    assert [s.watched_seconds for s in sleeps.stuck_sleeps()] == [4.0]
    change = sleeps.add([task(switches=6)], 5.0)  # it ran in between
    assert [s.watched_seconds for s in change.ended] == [4.0] and not sleeps.stuck_sleeps()
    assert not sleeps.add([], 6.0).ended


def test_a_busy_task_is_never_stuck() -> None:
    sleeps = TaskSleeps()
    for second in range(20):
        assert not sleeps.add([task(switches=second)], float(second)).stuck
    for second in range(20, 30):
        assert not sleeps.add([task(wchan=f"f{second}")], float(second)).stuck

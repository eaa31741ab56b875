"""The watch on a captured tree that changes between the gaps: what it says, whom it names, when it stops."""

from pathlib import Path

import pytest

from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.throttle import ThrottleReader, find_quota_files
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance, InterferenceCulprit
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch, emit_disturbance, watch_for
from tests.fakes import FakeClock, FakeRun


class Machine:
    """A two-CPU machine as a tree; every method moves its counters on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = FakeClock()
        self.busy = self.idle = self.steal = 0
        self.operations = {"vda": 0, "vdb": 0}
        self.used: dict[int, tuple[str, int, int]] = {1: ("init", 0, 0)}
        self.io_readable = True
        self.write("proc/self/cgroup", "0::/job\n")
        self.quota(0)
        self.save()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def quota(self, microseconds: int) -> None:
        self.write(
            "sys/fs/cgroup/job/cpu.stat", f"usage_usec 9\nnr_throttled 1\nthrottled_usec {microseconds}\n"
        )

    def save(self) -> None:
        self.write(
            "proc/stat",
            f"cpu {self.busy} 0 0 {self.idle} 0 0 0 {self.steal} 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\n",
        )
        self.write("proc/uptime", f"{1000 + self.clock.now():.2f} 1.00\n")
        lines = [f"8 0 {name} {n} 0 {n * 8} 0 0 0 0 0 0 {n} 0" for name, n in self.operations.items()]
        self.write("proc/diskstats", "\n".join(lines) + "\n")
        for pid, (name, ticks, amount) in self.used.items():
            kernel = 0x00200000 if name.startswith("kworker") else 0  # PF_KTHREAD
            fields = f"S 1 0 0 0 -1 {kernel} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 500 1 1"
            self.write(f"proc/{pid}/stat", f"{pid} ({name}) {fields}\n")
            if self.io_readable:
                self.write(f"proc/{pid}/io", f"read_bytes: {amount}\nwrite_bytes: 0\n")
            else:
                (self.root / f"proc/{pid}/io").unlink(missing_ok=True)

    def spend(self, *, ticks: int = 0, of: int = 100, steal: int = 0, by: int = 1, **operations: int) -> None:
        """Half a second: `ticks` of CPU (of 100 on two CPUs) by a process, and operations by device."""
        self.busy += ticks
        self.steal += steal
        self.idle += of - ticks - steal
        name, used, amount = self.used.get(by, ("", 0, 0))
        self.used[by] = (name, used + ticks, amount + 4096 * sum(operations.values()))
        for device, count in operations.items():
            self.operations[device] += count
        self.clock.advance(0.5)
        self.save()


def start_watch(
    tmp_path: Path, devices: tuple[str, ...] = ("vda",)
) -> tuple[Machine, FakeRun, InterferenceWatch]:
    machine = Machine(tmp_path)
    run = FakeRun(host=Host(str(tmp_path)), clock=machine.clock)
    return machine, run, watch_for(run, devices)


def watch_block(
    machine: Machine, watch: InterferenceWatch, foreign: int = 0, by: int = 1, **more: int
) -> Disturbance | None:
    """5000 of our reads, and `foreign` ones by process `by`."""
    watch.begin_block()
    machine.operations["vda"] += 5000
    machine.spend(by=by, vda=foreign, **more)
    return watch.end_block(
        "randread", "A", Measured(seconds=0.5, values={}, operations=5000, device_bytes=5000 * 4096)
    )


async def test_the_process_behind_foreign_io_is_named(tmp_path: Path) -> None:
    machine, run, watch = start_watch(tmp_path)
    machine.used[77] = ("rsync", 0, 0)
    machine.save()
    await watch.look_before_first_block()
    assert [watch_block(machine, watch) for _ in range(5)] == [None] * 5
    disturbance = watch_block(machine, watch, foreign=4000, by=77)
    assert disturbance is not None and disturbance.kind == "device"
    assert disturbance.culprit is not None and disturbance.culprit.label == "rsync [77]"
    assert (disturbance.figure, disturbance.unit) == (4000 * 4096 / 0.5, "B/s")
    emit_disturbance(disturbance, run, "randread", 4)
    event = run.of(ev.Guard)[-1]
    assert (event.group, event.disturbance) == (4, disturbance)
    assert "32.8 MB/s" in event.guard_sentence and "rsync [77]" in event.guard_sentence
    assert event.again == "group"


async def test_who_is_there_from_the_first_moment_on_is_loud_though_nothing_is_sudden(tmp_path: Path) -> None:
    machine, _, watch = start_watch(tmp_path)
    machine.used[77] = ("dd", 0, 0)
    machine.save()
    assert watch_block(machine, watch, foreign=40_000, by=77) is None and watch.loud
    assert watch_block(machine, watch) is None and not watch.loud


async def test_without_the_right_to_read_others_io_it_says_so(tmp_path: Path) -> None:
    machine, run, watch = start_watch(tmp_path)
    machine.io_readable = False
    machine.used[79] = ("hidden", 0, 0)
    machine.save()
    await watch.look_before_first_block()
    for _ in range(5):
        watch_block(machine, watch)
    disturbance = watch_block(machine, watch, foreign=4000, by=79)
    assert disturbance is not None
    assert disturbance.culprit in [
        InterferenceCulprit(devices=("vda",), unnamed="unreadable"),
        InterferenceCulprit(devices=("vda",), unnamed="another user's"),
    ]
    assert ["0 of 2 processes" in note.text for note in run.of(ev.Note)] == [True]


async def test_a_device_that_the_variant_does_not_use_disturbs_nobody(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    run = FakeRun(host=Host(str(tmp_path)), clock=machine.clock)
    watch = watch_for(run, ["vda", "vdb"], by_variant={"A": ["vda"], "B": ["vdb"]})
    await watch.look_before_first_block()
    for _ in range(5):
        assert watch_block(machine, watch) is None
    watch.begin_block()
    machine.operations["vda"] += 5000
    machine.spend(vdb=50_000)
    measured = Measured(seconds=0.5, values={}, operations=5000, device_bytes=5000 * 4096)
    assert watch.end_block("randread", "A", measured) is None
    assert run.of(ev.Watched)[-1].told == ()


async def test_a_load_that_used_no_device_is_disturbed_by_none(tmp_path: Path) -> None:
    machine, run, watch = start_watch(tmp_path)
    await watch.look_before_first_block()
    for foreign in (0, 0, 0, 0, 50_000):
        watch.begin_block()
        machine.spend(vda=foreign)
        assert watch.end_block("cpu", "A", Measured(seconds=0.5, values={}, operations=5000)) is None
    assert run.of(ev.Watched)[-1].told == ()


@pytest.mark.parametrize(
    ("size_kib", "free_kib", "stops"),
    [
        (1 << 20, 300 << 10, False),
        (1 << 20, 200 << 10, True),  # a fifth, and less than 256 MiB
        (1 << 30, 12 << 20, False),
        (1 << 30, 8 << 20, True),  # 8 GiB, and less than 1 %
    ],
)
async def test_a_run_stops_before_the_file_system_is_full(
    tmp_path: Path, size_kib: int, free_kib: int, stops: bool
) -> None:
    machine = Machine(tmp_path)
    machine.write(
        "sos_commands/filesys/df_-al_-x_autofs",
        f"F 1K-blocks Used Available Use% Mounted on\n/dev/vda {size_kib} {size_kib - free_kib} {free_kib} 1% /data\n",
    )
    run = FakeRun(host=Host(str(tmp_path)), clock=machine.clock)
    watch = watch_for(run, ["vda"], directories=["/data"])
    await watch.look_before_first_block()
    assert bool(watch.stopped) == stops
    assert [guard.kind for guard in run.of(ev.Guard)] == ["space"] * stops


async def test_another_file_system_over_the_directory_ends_the_run(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    line = "{} 1 {} / {} rw - {} /dev/vda rw\n"
    machine.write("proc/self/mountinfo", line.format(30, "8:1", "/", "ext4"))
    run = FakeRun(host=Host(str(tmp_path)), clock=machine.clock)
    watch = watch_for(run, ["vda"], directories=["/data"])
    await watch.look_before_first_block()
    assert not watch.stopped
    for _ in range(20):
        watch_block(machine, watch)
    assert not watch.stopped
    mounts = line.format(30, "8:1", "/", "ext4") + line.format(31, "8:2", "/data", "xfs")
    machine.write("proc/self/mountinfo", mounts)
    for _ in range(20):
        watch_block(machine, watch)
    assert watch.stopped and [guard.kind for guard in run.of(ev.Guard)] == ["filesystem"]


async def test_a_quota_of_our_own_group_is_found_at_any_height(tmp_path: Path) -> None:
    machine, _, watch = start_watch(tmp_path)
    assert find_quota_files(Host(str(tmp_path))) == ("/sys/fs/cgroup/job/cpu.stat",)
    for _ in range(5):
        assert watch_block(machine, watch) is None
    watch.begin_block()
    machine.quota(200_000)
    machine.operations["vda"] += 5000
    machine.spend()
    end_block = watch.end_block(
        "randread", "A", Measured(seconds=0.5, values={}, operations=5000, device_bytes=1)
    )
    assert end_block is not None
    assert end_block.kind == "quota"
    assert "40 %" in end_block.full_sentence


def test_quota_files_of_both_versions(tmp_path: Path) -> None:
    for path in ("cpu,cpuacct/slurm/job_1", "cpu,cpuacct/slurm", "cpu,cpuacct"):
        (tmp_path / "sys/fs/cgroup" / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / "sys/fs/cgroup" / path / "cpu.stat").write_text(
            "nr_throttled 3\nthrottled_time 5000000000\n"
        )
    (tmp_path / "sys/fs/cgroup/cpu").symlink_to("cpu,cpuacct")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("4:cpuacct,cpu:/slurm/job_1\n1:name=systemd:/\n0::/\n")
    files = find_quota_files(Host(str(tmp_path)))
    assert [f.removeprefix("/sys/fs/cgroup/cpu,cpuacct") for f in files] == [
        "/slurm/job_1/cpu.stat",
        "/slurm/cpu.stat",
        "/cpu.stat",
    ]
    assert ThrottleReader(Host(str(tmp_path))).read().quota_s == 3 * 5.0  # nanoseconds in version 1


async def test_a_busy_host_is_told_before_the_first_block_and_once_only(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    class BusyClock(FakeClock):
        async def sleep(self, seconds: float) -> None:
            machine.spend(ticks=60, steal=20, vda=9000)

    machine.clock = BusyClock()
    run = FakeRun(host=Host(str(tmp_path)), clock=machine.clock)
    watch = watch_for(run, ["vda"])
    await watch.look_before_first_block()
    by_kind = {guard.kind: guard for guard in run.of(ev.Guard)}
    assert set(by_kind) == {"cpu", "steal", "device"} and all(guard.early for guard in by_kind.values())
    cpu = by_kind["cpu"].disturbance
    assert cpu is not None and cpu.culprit is None  # half a second names nobody
    assert cpu.figure == pytest.approx(0.6)
    await watch.look_before_first_block()
    assert len(run.of(ev.Guard)) == 3


async def test_a_run_that_could_not_decide_is_told_what_stood_out(tmp_path: Path) -> None:
    machine, _, watch = start_watch(tmp_path)
    assert watch.blame_text("randread") == ""
    machine.used[77] = ("rsync", 0, 0)
    machine.save()
    await watch.look_before_first_block()
    for number in range(30):
        watch_block(machine, watch, foreign=4000 + number if number % 3 == 2 else 0, by=77)
    blame = watch.blame_text("randread")
    assert blame.startswith("I/O of other programs on the measured disk disturbed ")
    assert blame.endswith("(most often rsync [77])")
    assert watch.blame_text("fsync") == ""


async def test_a_file_system_that_changes_under_the_run_stops_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    line = "21 1 8:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
    machine.write("proc/self/mountinfo", line)
    run = FakeRun(host=Host(str(tmp_path)), clock=machine.clock)
    watch = watch_for(run, ["vda"], directories=["/"])
    await watch.look_before_first_block()
    watch_block(machine, watch)
    assert watch.stopped == ""
    machine.write("proc/self/mountinfo", line.replace("ext4 /dev/vda1", "tmpfs tmpfs").replace("8:1", "0:30"))
    for _ in range(11):
        watch_block(machine, watch)
    assert "another file system is mounted at /" in watch.stopped
    assert [g.severity for g in run.of(ev.Guard) if g.kind == "filesystem"] == ["warning"]


class Writers(FakeClock):
    """Others who write 200 times a second; `each_ms` tells how long each waits, `alone_ms` without our load."""

    def __init__(self, machine: Machine, alone_ms: int) -> None:
        super().__init__()
        self.machine, self.alone_ms = machine, alone_ms
        self.reads = self.writes = self.waited_ms = 0
        self.pass_on(0.0, 0, 0)

    def pass_on(self, seconds: float, our_reads: int, each_ms: int) -> None:
        self.advance(seconds)
        self.reads += our_reads
        self.writes += int(200 * seconds)
        self.waited_ms += int(200 * seconds) * each_ms
        fields = f"{self.reads} 0 {self.reads * 8} 0 {self.writes} 0 {self.writes * 8} {self.waited_ms} 0 0 0"
        self.machine.write("proc/diskstats", f"8 0 vda {fields}\n")

    async def sleep(self, seconds: float) -> None:
        self.pass_on(seconds, 0, self.alone_ms)


async def blocks_until_it_pauses(
    machine: Machine, writers: Writers, watch: InterferenceWatch, each_ms: int
) -> tuple[int, Disturbance | None]:
    for number in range(1, 20):
        watch.begin_block()
        writers.pass_on(0.5, 5000, each_ms)
        histogram = [(100_000, 5000)]
        measured = Measured(seconds=0.5, values={}, operations=5000, device_bytes=1, histogram=histogram)
        watch.end_block("randread-4k-qd1", "A", measured)
        disturbance = await watch.pause_to_spare_others()
        if disturbance or watch.stopped:
            return number, disturbance
    return 0, None


async def test_others_who_wait_because_of_us_stop_the_run_after_three_seconds(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    writers = Writers(machine, alone_ms=1)
    run = FakeRun(host=Host(str(tmp_path)), clock=writers)
    watch = watch_for(run, ["vda"])
    await watch.look_before_first_block()
    blocks, disturbance = await blocks_until_it_pauses(machine, writers, watch, each_ms=5)
    assert (blocks, disturbance) == (6, None)
    assert "5.0 times slower" in watch.stopped
    assert [g.severity for g in run.of(ev.Guard) if g.kind == "bystanders"] == ["warning"]


async def test_others_who_wait_without_us_as_well_do_not_stop_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    writers = Writers(machine, alone_ms=1)
    run = FakeRun(host=Host(str(tmp_path)), clock=writers)
    watch = watch_for(run, ["vda"])
    await watch.look_before_first_block()
    writers.alone_ms = 5  # a backup begins
    blocks, disturbance = await blocks_until_it_pauses(machine, writers, watch, each_ms=6)
    assert blocks == 6
    assert disturbance is not None and disturbance.kind == "bystanders"
    assert watch.stopped == ""
    assert await blocks_until_it_pauses(machine, writers, watch, each_ms=6) == (0, None)  # it is usual now
    writers.alone_ms = 5
    blocks, _ = await blocks_until_it_pauses(machine, writers, watch, each_ms=30)
    assert blocks == 6 and watch.stopped

"""The scheduler experiment on a captured tree whose scheduler file follows the changes; no device is touched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import Mount
from hostdx.probes.system.disk.scheduler import SchedulerState, read_scheduler_state
from hostdx.probes.system.disk.topology import DirectoryPlacement
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import AppliedChange, OptionMap, RunRefused, UsageError
from hostdx.scenarios.experiment.guards.system_disks import system_uses_by_leaf
from hostdx.scenarios.experiment.schedule.switch import scheduler_change
from hostdx.scenarios.iosched.findings import OnsetComparison, onset_finding, throttling_finding
from hostdx.scenarios.iosched.measurement.mixed import MIXES, WorkerMix
from hostdx.scenarios.iosched.scenario import Iosched
from hostdx.scenarios.iosched.scheduler_setup import PairLoad, SchedulerSetup, build_workload
from hostdx.scenarios.iosched.switch import QueueFileTracker, Switcher, queue_files
from hostdx.scenarios.iosched.target import ScheduledDisks, find_switch_refusal
from tests.every_case import every_case
from tests.fakes import FakeRun
from tests.fakes.noise import Noise, ar1_noise

QUEUE = "sys/devices/virtual/block/loop7/queue"


def host_of(root: Path, active: str = "mq-deadline", wbt: str = "2000") -> Host:
    files = {
        f"{QUEUE}/scheduler": bracket_active(active),
        f"{QUEUE}/nr_requests": "64",
        f"{QUEUE}/wbt_lat_usec": wbt,
        f"{QUEUE}/rotational": "1",
        f"{QUEUE}/iosched/read_expire": "80",
        f"{QUEUE}/../size": "2000000",
        f"{QUEUE}/../dev": "7:7",
    }
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")
    (root / "sys/block").mkdir(exist_ok=True)
    (root / "sys/block/loop7").symlink_to("../devices/virtual/block/loop7")
    return Host(str(root))


def bracket_active(active: str) -> str:
    return " ".join(f"[{s}]" if s == active else s for s in ("none", "mq-deadline", "kyber", "bfq"))


class TreeRun(FakeRun):
    """Carries attribute actions out in the tree, as the kernel would: a switch resets nr_requests."""

    def __init__(self, host: Host, **more: object) -> None:
        super().__init__(host=host, **more)  # type: ignore[arg-type]
        self.stubborn = False
        self.finished_results = ""  # why the undoing leaves what it finds

    def apply_change(self, action: Action):  # type: ignore[no-untyped-def]
        return self._write(action) if action.kind == "attribute" else super().apply_change(action)

    @asynccontextmanager
    async def _write(self, action: Action) -> AsyncIterator[AppliedChange]:
        assert self.host.root is not None and action.new is not None and action.old is not None
        path = Path(self.host.root + action.target)
        depth = path.parent / "nr_requests"
        before = depth.read_text()
        if not self.stubborn:
            path.write_text(bracket_active(action.new))
        depth.write_text("256")
        self.applied.append(action)
        applied = AppliedChange(id="a", action=action, value=action.new)
        try:
            yield applied
        finally:
            applied.endings.append(("kept" if self.finished_results else "reverted", self.finished_results))
            if not self.finished_results:
                path.write_text(bracket_active(action.old))
                depth.write_text(before)
            self.reverted.append(action)


class FakeMixed:
    """Gives what the planted `speed` of the scheduler that is active says, times the noise."""

    def __init__(self, run: TreeRun, speed: dict[str, float], noise: Noise) -> None:
        self.run, self.speed, self.noise = run, speed, noise
        self.budget = WriteBudget()
        self.last = None
        self.settled = 0

    def active(self) -> str:
        state = read_scheduler_state(self.run.host, "loop7")
        assert isinstance(state, SchedulerState) and isinstance(state.active, str)
        return state.active

    async def measure_block(self, mix: WorkerMix, seconds: float, onset_s: float = 0.0) -> Measured:
        factor = self.noise(self.run.clock.now()) * (1.0 if mix.control else self.speed[self.active()])
        await self.run.clock.sleep(seconds)
        values = {role.load.metric: 1000.0 * factor for role in mix.roles}
        onset = Measured(seconds=onset_s, values={k: 5 * v for k, v in values.items()}) if onset_s else None
        return Measured(seconds=seconds - onset_s, values=values, operations=int(1000 * seconds), onset=onset)

    async def wait_until_settled(self) -> bool:
        self.settled += 1
        return True


def target_on(host: Host, current: str = "mq-deadline") -> ScheduledDisks:
    mount = Mount(mountpoint="/d", root="/", devno="7:7", source="/dev/loop7", fstype="xfs", options=())
    place = DirectoryPlacement(
        directory="/d", mount=mount, device="loop7", layers=("loop7",), leaves=("loop7",)
    )
    state = read_scheduler_state(host, "loop7")
    assert isinstance(state, SchedulerState)
    return ScheduledDisks(
        directory="/d", place=place, devices=(), states=(state,), current=current, offered=state.offered
    )


def measure_loads(tmp_path: Path, speed: dict[str, float], seed: int = 1, budget_s: float = 900.0) -> TreeRun:
    host = host_of(tmp_path)
    mixes = tuple(next(m for m in MIXES if m.id == name) for name in ("writers-reader", "cpu", "readers"))
    jobs = tuple(
        PairLoad(
            mix=m,
            variant="bfq",
            workload=build_workload(m, "bfq", 1, 1 << 28, "/d", 10_000_000),
            write_rate=2_000_000,
        )
        for m in mixes
    )
    target = target_on(host)
    scheduler_setup = SchedulerSetup(
        target=target, variants=("bfq",), jobs=jobs, mixes=mixes, budget_s=budget_s
    )
    run = TreeRun(host, seed=seed, options={}, declared=Iosched.options)
    bench = FakeMixed(run, speed, ar1_noise(seed, 0.5, 0.04))
    switcher = Switcher(run, ("loop7",), "mq-deadline")

    async def run_loads() -> None:
        await Iosched()._measure_jobs(run, bench, scheduler_setup, target, switcher)  # type: ignore[arg-type]

    import asyncio

    asyncio.run(run_loads())
    return run


def verdicts_of(run: TreeRun) -> dict[str, ev.RunVerdict]:
    return {v.workload: v for v in run.of(ev.RunVerdict)}


@pytest.mark.parametrize(("factor", "word"), [(0.5, "slower"), (2.0, "faster")])
def test_a_planted_scheduler_is_judged_with_the_right_sign(tmp_path: Path, factor: float, word: str) -> None:
    run = measure_loads(tmp_path, {"mq-deadline": 1.0, "bfq": factor})
    verdicts = verdicts_of(run)
    assert verdicts["writers-reader"].verdict == word and verdicts["readers"].verdict == word
    assert verdicts["cpu"].control and verdicts["cpu"].verdict not in ("slower", "faster")
    assert verdicts["readers"].baseline == "mq-deadline" and verdicts["readers"].ratio == pytest.approx(
        factor, rel=0.1
    )
    finding = next(f.finding for f in run.of(ev.Found) if f.finding.id == "iosched.compared")
    assert finding.severity == ("warning" if word == "faster" else "ok")
    assert bool(finding.remedy) == (word == "faster")


def test_the_queue_is_as_it_was_and_every_stay_was_a_change(tmp_path: Path) -> None:
    run = measure_loads(tmp_path, {"mq-deadline": 1.0, "bfq": 0.5})
    assert queue_files(run.host, "loop7")["/sys/block/loop7/queue/nr_requests"] == "64"
    assert bracket_active("mq-deadline") in (tmp_path / QUEUE / "scheduler").read_text()
    assert len(run.applied) == len(run.reverted) > 4
    for action in run.applied:
        assert action.consent and action.new == "bfq" and action.old == "mq-deadline"
        assert "/sys/block/loop7/queue/nr_requests" in action.side_paths
        assert not any("wbt" in path for path in (*action.side_paths, action.target))


async def test_a_scheduler_that_does_not_take_is_refused(tmp_path: Path) -> None:
    host = host_of(tmp_path)
    run = TreeRun(host)
    run.stubborn = True
    switcher = Switcher(run, ("loop7",), "mq-deadline")
    with pytest.raises(RunRefused, match="another program changes it"):
        await switcher.switch_to("bfq")
    await switcher.switch_back()
    assert len(run.applied) == len(run.reverted) == 1


async def test_what_a_switch_does_to_write_back_throttling_is_told(tmp_path: Path) -> None:
    host = host_of(tmp_path)
    run = TreeRun(host)
    switcher = Switcher(run, ("loop7",), "mq-deadline")
    await switcher.switch_to("mq-deadline")
    await switcher.switch_to("bfq")
    state = switcher.states_by_scheduler["bfq"][0]
    switcher.states_by_scheduler["bfq"] = (msgspec.structs.replace(state, wbt_lat_usec=0),)
    await switcher.switch_back()
    finding = throttling_finding(switcher.states_by_scheduler, "mq-deadline")
    assert finding is not None and all(
        word in finding.evidence[0].text for word in ("2000", "mq-deadline", "bfq")
    )
    assert (
        throttling_finding({"mq-deadline": switcher.states_by_scheduler["mq-deadline"]}, "mq-deadline")
        is None
    )


ROWS = [
    ({}, "mq-deadline", "2000", True, ""),
    ({}, "mq-deadline", "2000", False, "needs root"),
    ({}, "mq-deadline", "5000", True, "set by hand"),
]


@every_case(("more", "active", "wbt", "root", "words"), ROWS)
def test_refusals(
    tmp_path: Path,
    more: dict[str, str],
    active: str,
    wbt: str,
    root: bool,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = host_of(tmp_path, active, wbt)
    monkeypatch.setattr(host, "live", True)
    refusal = find_switch_refusal(host, target_on(host, active), system_disk=False, has_root=root)
    assert words in refusal and bool(refusal) == bool(words)


def test_a_system_disk_needs_the_word_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = host_of(tmp_path)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("20 1 7:7 / / rw - ext4 /dev/loop7 rw\n")
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    (tmp_path / "sys/dev/block/7:7").symlink_to("../../devices/virtual/block/loop7")
    assert system_uses_by_leaf(host) == {"loop7": "/"}
    monkeypatch.setattr(host, "live", True)
    target = target_on(host)
    assert "carries /" in find_switch_refusal(host, target, system_disk=False, has_root=True)
    assert find_switch_refusal(host, target, system_disk=True, has_root=True) == ""


def test_swap_makes_a_system_disk(tmp_path: Path) -> None:
    host = host_of(tmp_path)
    (tmp_path / "proc").mkdir(exist_ok=True)
    (tmp_path / "proc/swaps").write_text("Filename Type Size Used Priority\n/dev/loop7 partition 1 0 -2\n")
    assert system_uses_by_leaf(host) == {"loop7": "swap"}


def queue_file(tmp_path: Path, name: str) -> Path:
    return tmp_path / QUEUE / name


async def test_a_queue_that_nobody_else_touched_is_as_it_was(tmp_path: Path) -> None:
    switcher = Switcher(TreeRun(host_of(tmp_path)), ("loop7",), "mq-deadline")
    await switcher.switch_to("bfq")
    await switcher.switch_back()
    (finding,) = switcher.untouched.build_findings()
    assert (finding.id, finding.severity) == ("iosched.restored", "ok")


async def test_a_setting_that_somebody_else_changed_between_is_no_fault_of_ours(tmp_path: Path) -> None:
    switcher = Switcher(TreeRun(host_of(tmp_path)), ("loop7",), "mq-deadline")
    await switcher.switch_to("bfq")
    await switcher.switch_back()
    queue_file(tmp_path, "iosched/read_expire").write_text("500\n")
    await switcher.switch_to("bfq")
    await switcher.switch_back()
    (finding,) = switcher.untouched.build_findings()
    assert (finding.id, finding.severity, finding.remedy) == ("iosched.changed-meanwhile", "notice", ())
    assert any("read_expire" in e.text and "'80'" in e.text and "'500'" in e.text for e in finding.evidence)


async def test_a_scheduler_that_somebody_else_set_is_kept_and_said_so(tmp_path: Path) -> None:
    run = TreeRun(host_of(tmp_path))
    switcher = Switcher(run, ("loop7",), "mq-deadline")
    await switcher.switch_to("bfq")
    run.finished_results = "is now 'kyber': somebody else changed it"
    queue_file(tmp_path, "scheduler").write_text(bracket_active("kyber"))
    with pytest.raises(RunRefused):
        switcher.check_and_record_states("bfq")
    await switcher.switch_back()
    (finding,) = switcher.untouched.build_findings()
    assert (finding.id, finding.severity, finding.remedy) == ("iosched.changed-meanwhile", "notice", ())
    assert finding.evidence


@pytest.mark.parametrize(("state", "command"), [("failed", "hostdx undo"), ("reverted", "echo 256")])
async def test_what_we_left_wrong_is_critical_and_can_be_put_right(
    tmp_path: Path, state: str, command: str
) -> None:
    """`hostdx undo` only where the journal holds something; else the value itself."""
    switcher = Switcher(TreeRun(host_of(tmp_path)), ("loop7",), "mq-deadline")
    queue_file(tmp_path, "nr_requests").write_text("256\n")
    switcher.untouched = QueueFileTracker(switcher.run.host, ("loop7",))
    await switcher.switch_to("bfq")
    await switcher.switch_back()
    queue_file(tmp_path, "nr_requests").write_text("64\n")  # a restoring that went wrong
    switcher.untouched.record_own_switch()
    switcher.untouched.record_undo("loop7", [(state, "")])  # type: ignore[list-item]
    (finding,) = switcher.untouched.build_findings()
    assert (finding.id, finding.severity) == ("iosched.not-restored", "critical")
    assert any(command in line for line in finding.remedy[0].commands)


def test_an_onset_that_agrees_is_not_worth_a_word() -> None:
    assert onset_finding("sda", OnsetComparison("w", "bfq", (100.0, 110.0), (90.0, 95.0), "IOPS")) is None
    finding = onset_finding("sda", OnsetComparison("w", "bfq", (9835.0, 5256.0), (22.0, 9.0), "IOPS"))
    assert finding is not None and "bfq" in finding.title


def test_the_plan_asks_for_a_directory() -> None:
    with pytest.raises(UsageError, match="--dir"):
        Iosched().prepare(Host(), OptionMap({}, Iosched.options))


def test_the_change_restores_what_a_switch_resets() -> None:
    action = scheduler_change("sdb", "bfq", "none")
    assert action.side_paths == ("/sys/block/sdb/queue/nr_requests", "/sys/block/sdb/queue/iosched/*")
    assert action.consent and action.rights == "root" and not action.survives_reboot

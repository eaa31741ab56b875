"""A disk that stops answering in the middle of a run, really: the run ends, and once it answers all is as it was."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.app.terminal.failure import UndoIncomplete
from hostdx.app.terminal.process import process_identity
from hostdx.app.undo import changes
from hostdx.app.undo.journal import SCHEMA, JournalHeader
from hostdx.app.undo.kinds import attribute
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.experiment.schedule.switch import scheduler_change
from tests.app.launcher import run_hostdx
from tests.real.iosched_kill import ONLY_SWITCHED, left_behind, list_journals, own_processes, start
from tests.real.loop_disk import LoopDisk
from tests.real.own_disk import sh
from tests.real.polled import happens

pytestmark = pytest.mark.real("cpu")
ENDS_S = 60.0  # four bounds of 5 s, and what a busy host adds


class StuckDisk:
    """A loop disk whose image lies on an XFS on another one: frozen, that takes every write and answers none."""

    def __init__(self, below: LoopDisk, disk: LoopDisk) -> None:
        self.below = below
        self.disk = disk
        self.frozen = False
        self._writer: subprocess.Popen[bytes] | None = None

    def freeze(self) -> None:
        sh("fsfreeze", "-f", str(self.below.mountpoint))
        self.frozen = True
        # one write in flight, that a switch of the scheduler has to wait for
        self._writer = subprocess.Popen(
            ["dd", "if=/dev/zero", f"of={self.disk.mountpoint}/dd", "bs=1M", "count=1", "oflag=direct"],
            stderr=subprocess.DEVNULL,
        )

    def thaw(self) -> None:
        if self.frozen:
            sh("fsfreeze", "-u", str(self.below.mountpoint))
            self.frozen = False
        if self._writer is not None:
            self._writer.wait(30)


@pytest.fixture
def stuck(tmp_path: Path) -> Iterator[StuckDisk]:
    with LoopDisk(tmp_path, "6G", "xfs") as below, LoopDisk(below.mountpoint, "3G") as disk:
        stuck_disk = StuckDisk(below, disk)
        (disk.mountpoint / "dd").write_bytes(bytes(1 << 20))  # or creating it would be what hangs
        sh("sync", "-f", str(disk.mountpoint))
        try:
            yield stuck_disk
        finally:
            stuck_disk.thaw()
            happens(lambda: not own_processes(tmp_path), 30.0)


@pytest.mark.soak("a switch that hangs")
def test_a_way_back_that_hangs_is_finished_once_the_device_answers(tmp_path: Path, stuck: StuckDisk) -> None:
    disk = stuck.disk
    before = disk.queue()
    runner = start(tmp_path, disk, ONLY_SWITCHED)
    assert happens(lambda: "[bfq]" in disk.read("scheduler"), 60.0)
    stuck.freeze()
    runner.terminate()
    assert runner.wait(ENDS_S) == 143
    (journal,) = list_journals(tmp_path)
    dry_run = run_hostdx(tmp_path, "undo", "--dry-run")
    assert "would write 'mq-deadline' back" in dry_run.stdout
    events = [json.loads(line) for line in recording_of(tmp_path).read_text().splitlines()]
    assert events[-1]["status"] == "interrupted" and "still in the undo journal" in events[-1]["reason"]
    findings = [
        e["finding"] for e in events if e["type"] == "finding" and e["finding"]["id"] == "hostdx.not-undone"
    ]
    assert any("scheduler" in finding["subject"] for finding in findings)
    assert journal.exists()
    stuck.thaw()
    # the write that was given up happens now; the supervisor, asleep until then, finishes what is left
    assert happens(lambda: left_behind(tmp_path, disk, before) == [], 60.0), left_behind(
        tmp_path, disk, before
    )
    assert run_hostdx(tmp_path, "undo").stdout.startswith("nothing to undo in ")


def test_a_switch_that_hangs_is_not_taken_for_undone(
    tmp_path: Path, stuck: StuckDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old value can be read all the while; the abandoned write is carried out when the device answers."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(attribute, "TIMEOUT_S", 1.0)
    monkeypatch.setattr(changes, "END_S", 0.0)
    disk = stuck.disk
    before = disk.queue()
    action = scheduler_change(disk.device, "mq-deadline", "bfq")
    header = JournalHeader(
        schema=SCHEMA, run="r", who=process_identity(), command=["hostdx"], recording="", began_s=0.0
    )
    host_changes = changes.HostChanges(
        plan=Plan(scenario="s", title="t", question="q", actions=(action,)),
        consented=True,
        header=header,
        lies_on=lambda _: "",
        warn=lambda _: None,
    )
    stuck.freeze()
    assert happens(lambda: in_flight(disk))
    with pytest.raises(UndoIncomplete, match="stuck; it may still happen"):
        host_changes.apply_action(action)
    assert "[mq-deadline]" in disk.read("scheduler")
    assert [change.outcome.state for change in host_changes.retry_open()] == ["failed"]
    stuck.thaw()
    monkeypatch.setattr(attribute, "TIMEOUT_S", 30.0)
    monkeypatch.setattr(changes, "END_S", 30.0)
    assert [change.outcome.state for change in host_changes.retry_open()] == ["reverted"]
    assert host_changes.close_journal() == [] and disk.queue() == before


def recording_of(place: Path) -> Path:
    (path,) = (place / "state/hostdx/recordings").glob("*.jsonl")
    return path


def in_flight(disk: LoopDisk) -> bool:
    counts = Path(f"/sys/block/{disk.device}/inflight").read_text().split()
    return any(int(count) for count in counts)

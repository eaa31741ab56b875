"""The queue is called as it was only where everything was undone: a write that hangs shows the old value."""

from __future__ import annotations

from pathlib import Path

from probes.reading.host import Host
from scenarios.contract.events import ActionState
from scenarios.iosched.restoration import QueueFileTracker
from tests.every_case import every_case


@every_case(
    ("state", "ids"), [("reverted", ["iosched.restored"]), ("failed", []), ("kept", ["iosched.restored"])]
)
def test_ok_is_said_only_where_nothing_is_left_open(
    tmp_path: Path, state: ActionState, ids: list[str]
) -> None:
    queue = tmp_path / "sys/block/sdz/queue"
    queue.mkdir(parents=True)
    (queue / "scheduler").write_text("[mq-deadline] bfq\n")
    untouched = QueueFileTracker(Host(str(tmp_path)), ("sdz",))
    untouched.record_undo("sdz", [(state, "the device is stuck")])
    assert [finding.id for finding in untouched.build_findings()] == ids

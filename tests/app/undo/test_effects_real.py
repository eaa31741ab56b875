"""Mounts below a directory of ours, a scheduler that is really switched, and a device that does not answer."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hostdx.app.undo import effects
from hostdx.app.undo.journal import JournalEntry
from hostdx.app.undo.kinds import attribute
from hostdx.app.undo.kinds.attribute import AttributeTrouble
from hostdx.scenarios.contract.action import Action, private_directory
from tests.needs import LOOP, ROOT, need, not_here, program
from tests.real.own_disk import detach, unmount

pytestmark = [pytest.mark.real]


def applied(action: Action) -> JournalEntry:
    return effects.carry_out_entry(effects.prepare_entry(action, "x"), ())


def test_a_file_system_mounted_in_a_directory_is_not_crossed(tmp_path: Path) -> None:
    need(ROOT, program("mount"))
    entry = applied(private_directory(str(tmp_path)))
    mounted = Path(entry.value, "mnt")
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", str(mounted)], check=True)
    try:
        (mounted / "file").write_text("x")
        stuck = effects.revert_entry(entry)
        assert stuck.state == "failed" and "mounted" in stuck.reason
        assert (mounted / "file").read_text() == "x"
    finally:
        unmount(mounted)
    assert effects.revert_entry(entry).state == "reverted"
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child that should write hangs: it is abandoned, and that is said."""
    slow = tmp_path / "python"
    slow.write_text(f'#!{sys.executable}\nimport os, time\nos.write(1, b"\\n")\ntime.sleep(60)\n')
    slow.chmod(0o700)
    target = tmp_path / "scheduler"
    target.write_text("old\n")
    entry = applied(Action(kind="attribute", title="set", target=str(target), new="new"))
    monkeypatch.setattr(attribute, "TIMEOUT_S", 0.2)
    monkeypatch.setattr(sys, "executable", str(slow))
    with pytest.raises(AttributeTrouble, match="stuck"):
        attribute.write_attribute(str(target), "old")
    outcome = effects.revert_entry(entry)
    assert outcome.state == "failed" and "stuck" in outcome.reason
    monkeypatch.undo()
    assert effects.revert_entry(entry) == effects.UNDONE


def test_the_scheduler_of_a_loop_device(tmp_path: Path) -> None:
    """Byte for byte, with what a switch resets: nr_requests and the tunables."""
    need(LOOP)
    (tmp_path / "disk").write_bytes(b"")
    os.truncate(tmp_path / "disk", 16 << 20)
    device = subprocess.check_output(
        ["losetup", "--find", "--show", str(tmp_path / "disk")], text=True
    ).strip()
    queue = Path("/sys/block", Path(device).name, "queue")
    try:
        offered = (queue / "scheduler").read_text().replace("[", "").replace("]", "").split()
        if not {"mq-deadline", "none"} <= set(offered):
            not_here(f"this kernel offers {offered} only")
        (queue / "scheduler").write_text("mq-deadline")
        (queue / "nr_requests").write_text("64")
        (queue / "iosched/read_expire").write_text("80")
        before = contents(queue)
        sides = (str(queue / "nr_requests"), str(queue / "iosched/*"))
        action = Action(
            kind="attribute", title="s", target=str(queue / "scheduler"), new="none", side_paths=sides
        )
        entry = applied(action)
        assert "[none]" in (queue / "scheduler").read_text()
        assert effects.revert_entry(entry) == effects.UNDONE
        assert contents(queue) == before
        with pytest.raises(effects.NotDone, match="Invalid argument"):
            effects.carry_out_entry(
                effects.prepare_entry(msgspec.structs.replace(action, new="nonsense"), "y"), ()
            )
        assert contents(queue) == before
    finally:
        detach(device, tmp_path / "disk")


def contents(directory: Path) -> dict[str, str]:
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            try:
                found[str(path)] = path.read_text()
            except OSError as error:
                found[str(path)] = str(error.strerror)
    return found

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
from hostdx.scenarios.contract.action import Action, private_directory_action
from tests.needs import LOOP, ROOT, need, not_here, program
from tests.real.own_disk import detach_loop, unmount

pytestmark = [pytest.mark.real]


def apply_action(action: Action) -> JournalEntry:
    return effects.carry_out_entry(effects.prepare_entry(action, "x"), ())


def test_a_file_system_mounted_in_a_directory_is_not_crossed(tmp_path: Path) -> None:
    need(ROOT, program("mount"))
    entry = apply_action(private_directory_action(str(tmp_path)))
    mountpoint = Path(entry.value, "mnt")
    mountpoint.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", str(mountpoint)], check=True)
    try:
        (mountpoint / "file").write_text("x")
        stuck = effects.revert_entry(entry)
        assert stuck.state == "failed" and "mounted" in stuck.reason
        assert (mountpoint / "file").read_text() == "x"
    finally:
        unmount(mountpoint)
    assert effects.revert_entry(entry).state == "reverted"
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child that should write hangs: it is abandoned, and that is said."""
    slow = tmp_path / "python"
    slow.write_text(f'#!{sys.executable}\nimport os, time\nos.write(1, b"\\n")\ntime.sleep(60)\n')
    slow.chmod(0o700)
    target = tmp_path / "scheduler"
    target.write_text("old\n")
    entry = apply_action(Action(kind="attribute", title="set", target=str(target), new="new"))
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
        before = read_texts(queue)
        sides = (str(queue / "nr_requests"), str(queue / "iosched/*"))
        action = Action(
            kind="attribute", title="s", target=str(queue / "scheduler"), new="none", side_paths=sides
        )
        entry = apply_action(action)
        assert "[none]" in (queue / "scheduler").read_text()
        assert effects.revert_entry(entry) == effects.UNDONE
        assert read_texts(queue) == before
        with pytest.raises(effects.ChangeNotMade, match="Invalid argument"):
            effects.carry_out_entry(
                effects.prepare_entry(msgspec.structs.replace(action, new="nonsense"), "y"), ()
            )
        assert read_texts(queue) == before
    finally:
        detach_loop(device, tmp_path / "disk")


def read_texts(directory: Path) -> dict[str, str]:
    texts = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            try:
                texts[str(path)] = path.read_text()
            except OSError as error:
                texts[str(path)] = str(error.strerror)
    return texts

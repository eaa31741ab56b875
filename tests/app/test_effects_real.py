"""Namespaces, loop devices and mounts, really made and really removed; and a device that does not answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from app import attribute, effects
from app.attribute import AttributeTrouble
from app.journal import Entry
from probes.action import Action, private_directory

pytestmark = pytest.mark.real
NAME = f"hostdx-t{os.getpid()}"


def resource(kind: str, target: str, **parameters: str) -> Action:
    return Action(kind="resource", resource=kind, title=kind, target=target, parameters=parameters)  # type: ignore[arg-type]


def applied(action: Action) -> Entry:
    return effects.carry_out(effects.prepare(action, "x"), ())


def need(*argv: str) -> None:
    if os.geteuid() != 0:
        pytest.skip(f"{argv[0]} needs root")
    try:
        done = subprocess.run(argv, capture_output=True, timeout=20)
    except OSError as error:
        pytest.skip(f"{argv[0]}: {error.strerror}")
    if done.returncode != 0:
        pytest.skip(f"{' '.join(argv)}: {done.stderr.decode().strip()}")


def test_namespace_with_a_process_in_it() -> None:
    need("ip", "netns", "list")
    entry = applied(resource("namespace", f"{NAME}-*"))
    try:
        assert Path("/run/netns", entry.value).exists()
        inside = subprocess.Popen(["ip", "netns", "exec", entry.value, "sleep", "60"])
        deadline = time.monotonic() + 10
        while (
            not subprocess.check_output(["ip", "netns", "pids", entry.value]) and time.monotonic() < deadline
        ):
            time.sleep(0.02)
    finally:
        outcome = effects.revert(entry)
    assert outcome == effects.UNDONE
    assert inside.wait(timeout=10) == -signal.SIGKILL
    assert not Path("/run/netns", entry.value).exists()
    assert "gone" in effects.revert(entry).reason


def test_file_loop_and_mount(tmp_path: Path) -> None:
    need("losetup", "--list")
    made: list[Entry] = []
    try:
        made.append(applied(private_directory(str(tmp_path))))
        directory = made[0].value
        made.append(applied(resource("file", f"{directory}/disk", bytes=str(16 << 20))))
        made.append(applied(resource("loop", "/dev/loop*", file=f"{directory}/disk")))
        device = made[-1].value
        assert device.startswith("/dev/loop")
        subprocess.run(["mkfs.ext4", "-q", device], check=True)
        Path(directory, "mnt").mkdir()
        made.append(
            applied(resource("mount", f"{directory}/mnt", source=device, fstype="ext4", options="noatime"))
        )
        Path(directory, "mnt/file").write_text("x")
        stuck = effects.revert(made[0])  # the directory first, with a file system mounted in it: not crossed
        assert stuck.state == "failed" and "mounted" in stuck.reason
        assert Path(directory, "mnt/file").read_text() == "x"
    finally:
        # as after a crash: nobody knows how far it came, and which loop device it was
        outcomes = [effects.revert(msgspec.structs.replace(entry, made=False)) for entry in reversed(made)]
    assert [outcome.state for outcome in outcomes] == ["reverted"] * 4, outcomes
    assert list(tmp_path.iterdir()) == []
    assert device not in subprocess.check_output(["losetup", "--list", "--noheadings"], text=True).split()
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


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
        attribute.write(str(target), "old")
    outcome = effects.revert(entry)
    assert outcome.state == "failed" and "stuck" in outcome.reason
    monkeypatch.undo()
    assert effects.revert(entry) == effects.UNDONE


def test_the_scheduler_of_a_loop_device(tmp_path: Path) -> None:
    """Byte for byte, with what a switch resets: nr_requests and the tunables."""
    need("losetup", "--list")
    (tmp_path / "disk").write_bytes(b"")
    os.truncate(tmp_path / "disk", 16 << 20)
    device = subprocess.check_output(
        ["losetup", "--find", "--show", str(tmp_path / "disk")], text=True
    ).strip()
    queue = Path("/sys/block", Path(device).name, "queue")
    try:
        offered = (queue / "scheduler").read_text().replace("[", "").replace("]", "").split()
        if not {"mq-deadline", "none"} <= set(offered):
            pytest.skip(f"this kernel offers {offered} only")
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
        assert effects.revert(entry) == effects.UNDONE
        assert contents(queue) == before
        with pytest.raises(effects.NotDone, match="Invalid argument"):
            effects.carry_out(effects.prepare(msgspec.structs.replace(action, new="nonsense"), "y"), ())
        assert contents(queue) == before
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def contents(directory: Path) -> dict[str, str]:
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            try:
                found[str(path)] = path.read_text()
            except OSError as error:
                found[str(path)] = str(error.strerror)
    return found

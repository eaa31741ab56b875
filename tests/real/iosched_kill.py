"""Kills an iosched run with SIGKILL and looks at what is left: shared by the test and the benchmark of 100 moments."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.app import forked
from tests.app.launcher import run_hostdx, start_hostdx
from tests.real.loop_disk import LoopDisk
from tests.real.polled import happens

BRIEF = ("--yes", "--scale", "0.03", "--size", "64M", "--scheduler", "bfq")
BRIEF_40_S = (*BRIEF, "--budget", "40")
# its workers meet no disk, so what counts, the switches, begins at once
ONLY_SWITCHED = (
    "--yes",
    "--load",
    "cpu",
    "--scale",
    "2",
    "--budget",
    "60",
    "--size",
    "64M",
    "--scheduler",
    "bfq",
)
SETTLED_S = 20.0


def run_arguments(disk: LoopDisk, *more: str) -> tuple[str, ...]:
    return ("run", "iosched", "--dir", str(disk.directory), *BRIEF_40_S, *more)


def start(place: Path, disk: LoopDisk, options: tuple[str, ...] = BRIEF_40_S) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return start_hostdx(place, "run", "iosched", "--dir", str(disk.directory), *options, **quiet)


def own_processes(place: Path) -> list[int]:
    """Every process that was started with this place's state directory: runner, workers, supervisor."""
    mark = f"XDG_STATE_HOME={place / 'state'}".encode()
    commands = forked.list_commands("XDG_STATE_HOME", str(place / "state"))
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                commands.append(int(entry.name))
        except OSError:
            continue
    return commands


def list_journals(place: Path) -> list[Path]:
    folder = place / "state/hostdx/journal"
    return list(folder.iterdir()) if folder.exists() else []


def kill_all(place: Path) -> None:
    """The supervisor too, as a power cut would; twice, for what was being started meanwhile."""
    for _ in range(2):
        for pid in sorted(own_processes(place)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def left_behind(place: Path, disk: LoopDisk, before: dict[str, bytes]) -> list[str]:
    """One line for each thing that is not as it was."""
    after = disk.queue()
    problems = [
        f"{path}: {before.get(path)!r} is now {after.get(path)!r}"
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    ]
    problems += [f"file left: {path}" for path in disk.directory.iterdir()]
    problems += [f"journal left: {path}" for path in list_journals(place)]
    problems += [f"process left: {pid}" for pid in own_processes(place)]
    return problems


def killed_while_switched(argv: Sequence[str], env: Mapping[str, str], place: Path, disk: LoopDisk) -> None:
    """Starts the words of `hostdx` with an iosched run, and kills the runner once the scheduler is another one."""
    quiet = subprocess.DEVNULL
    runner = subprocess.Popen(
        [*argv, "run", "iosched", "--dir", str(disk.directory), *ONLY_SWITCHED],
        env=env, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd="/",
    )  # fmt: skip
    try:
        assert happens(lambda: "[bfq]" in disk.read("scheduler") or runner.poll() is not None, 60)
        assert runner.poll() is None and list_journals(place)
        os.kill(runner.pid, signal.SIGKILL)
    finally:
        runner.kill()
        runner.wait()


def kill_once(place: Path, disk: LoopDisk, after_s: float, *, supervisor_too: bool = False) -> list[str]:
    """One run, one SIGKILL `after_s` seconds after it began, `hostdx undo`; what is left then."""
    before = disk.queue()
    runner = start(place, disk)
    try:
        runner.wait(after_s)
    except subprocess.TimeoutExpired:
        runner.kill()
        if supervisor_too:
            kill_all(place)
    if runner.wait() not in (0, -signal.SIGKILL):
        return [f"the run ended by itself with status {runner.returncode}: nothing was tried"]
    deadline = time.monotonic() + SETTLED_S
    while True:
        undo = run_hostdx(place, "undo")
        problems = left_behind(place, disk, before)
        if not problems or time.monotonic() > deadline:
            return problems + ([f"undo: {undo.stderr.strip()}"] if problems else [])
        time.sleep(0.2)

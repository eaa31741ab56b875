"""Starts a runner that outlives the viewer, and stops one: by its pid, after its start time was checked (law 2)."""

import os
import signal
import subprocess
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from hostdx.app.state import make_private_dir, recordings_dir, remove_leftovers_and_check_room
from hostdx.app.terminal.process import (
    ProcessIdentity,
    has_file_open_for_writing,
    is_living,
    is_running_hostdx,
)
from hostdx.probes.children.environment import hostdx_environment
from hostdx.probes.children.own_module import own_module
from hostdx.probes.files.safe_read import reopen_regular
from hostdx.scenarios.contract.events import Began

HOSTDX = own_module("hostdx.app.cli")
GONE = "the runner is gone"


def new_recording_path(scenario: str) -> Path:
    """A name in the recordings' directory that nothing has yet. Raises Failure, also where the disk
    is full: the runner's own words about it would have no place either.
    """
    remove_leftovers_and_check_room()
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return make_private_dir(recordings_dir()) / f"{stamp}-{scenario}-{uuid.uuid4().hex[:6]}.jsonl"


def start_runner(
    scenario: str, options: Sequence[str], *, digest: str, recording: Path, tied: bool = False
) -> subprocess.Popen[bytes]:
    """`hostdx run` in a session of its own: a dropped line, a closed terminal and Ctrl-C here do not reach it.

    What it says on stderr goes to a file beside the recording, for the case that it never gets to
    record anything. `tied`: it stops, and undoes its changes, where this process is killed.
    """
    argv = [*HOSTDX, "run", scenario, *options, "--recording", str(recording)]
    if tied:
        argv += ["--tied", str(os.getpid())]
    if digest:
        argv += ["--consent", digest]
    with open(runner_log_path(recording), "wb", opener=partial(os.open, mode=0o600)) as log:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
            env=hostdx_environment(),
        )


def runner_log_path(recording: Path) -> Path:
    return recording.with_suffix(".log")


def read_runner_error(recording: Path) -> str:
    """The runner's last line on stderr; empty where it said nothing."""
    try:
        lines = (
            runner_log_path(recording)
            .read_bytes()[-4096:]
            .decode("utf-8", "backslashreplace")
            .strip()
            .splitlines()
        )
    except OSError:
        return ""
    return lines[-1] if lines else ""


def is_running(began: Began | None) -> bool:
    """Return whether the runner that wrote this first line still runs."""
    return began is not None and is_living(ProcessIdentity(began.pid, began.pid_start, began.boot_id))


def stop_runner(recording: Path, began: Began) -> str:
    """Asks the runner to stop and undo (SIGINT); empty where it was asked, else why not.

    A recording names any process it likes: only one that is a run of ours and writes this very file is signalled.
    """
    try:
        # the pidfd pins the process: what is checked from here on is what is hit, or nothing is
        pidfd = os.pidfd_open(began.pid)
    except (OSError, OverflowError):
        return GONE
    try:
        why = _must_not_stop_reason(recording, began)
        if not why:
            signal.pidfd_send_signal(pidfd, signal.SIGINT)
        return why
    except ProcessLookupError:
        return GONE
    except OSError as error:
        return f"pid {began.pid} cannot be signalled: {error.strerror}"
    finally:
        os.close(pidfd)


def _must_not_stop_reason(recording: Path, began: Began) -> str:
    """Return why the process that a recording names is not to be stopped; empty for our own run that writes it."""
    if not is_running(began):
        return GONE
    try:
        inside = recording.parent.resolve() == recordings_dir().resolve()
        descriptor = reopen_regular(
            os.open(recording, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW), str(recording)
        )
    except OSError as error:
        return f"{recording}: cannot be read: {error.strerror}"
    try:
        file = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if not inside or file.st_uid != os.geteuid():
        return f"the recording is not one of yours in {recordings_dir()}; stop the run where it was started"
    if not is_running_hostdx(began.pid) or not has_file_open_for_writing(began.pid, file.st_dev, file.st_ino):
        return f"pid {began.pid}, which the recording names, is no hostdx that writes it"
    return ""

"""What ends a command without our having foreseen it: a file for whoever mends it, or the limit that was met."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.app import bug_report
from hostdx.app.state import state_dir
from tests.app.launcher import ROOT, own_env
from tests.needs import one_always

pytestmark = pytest.mark.usefixtures("own_state")


def test_the_file_is_ours_alone_whatever_the_umask() -> None:
    before = os.umask(0)
    try:
        assert "a bug in hostdx: KeyError" in bug_report.save_traceback_and_get_line(KeyError("x"))
    finally:
        os.umask(before)
    (file,) = (state_dir() / "bugs").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "error",
    [
        *(OSError(number, "x") for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)),
        MemoryError(),
        RuntimeError("can't start new thread"),
    ],
    ids=repr,
)
def test_a_limit_is_one_line_and_no_bug(error: Exception) -> None:
    assert "bug" not in bug_report.save_traceback_and_get_line(error) and not (state_dir() / "bugs").exists()


@pytest.mark.parametrize("limit, bound", [(resource.RLIMIT_NOFILE, 10), (resource.RLIMIT_AS, 45 << 20)])
@pytest.mark.parametrize(
    "command",
    one_always("triage", "plan storage", "run null --dir /var/tmp --budget 5", "report demo:storage"),
)
def test_a_process_with_little_says_so_in_one_line(
    tmp_path: Path, limit: int, bound: int, command: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "hostdx.app.cli", *command.split()],
        env=own_env(tmp_path) | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: resource.setrlimit(limit, (bound, bound)), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode in ((3,) if limit == resource.RLIMIT_AS else (0, 3)), done.stderr
    assert "a bug in hostdx" not in done.stderr and "Traceback" not in done.stderr

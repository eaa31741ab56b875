"""`hostdx pin`: the command gets the cores it was given, and its own exit status comes back."""

import os
import signal
import subprocess
import sys

import pytest

from tests.app import forked

CHILD = "import os; print(sorted(os.sched_getaffinity(0)))"


def _run_pin(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "hostdx.app.cli", "pin", *arguments]
    return forked.run(
        command, env=os.environ | {"LC_ALL": forked.LOCALE}, capture_output=True, text=True, check=False
    )


@pytest.mark.real
def test_a_command_on_one_core() -> None:
    done = _run_pin("--cores", "1", "--", sys.executable, "-c", CHILD)
    cpus = eval(done.stdout)
    assert (done.returncode == 0 and set(cpus) < set(os.sched_getaffinity(0))) or len(cpus) == os.cpu_count()
    assert done.stderr.startswith("hostdx: pin: 1 core, CPU") and done.stderr.count("\n") == 1


@pytest.mark.real
@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (("--cores", "1", "--", "false"), 1, "1 core"),
        (("--cores", "1", "--", "/nonexistent/x"), 127, "No such file"),
        (("--cores", "100000", "--", "true"), 3, "100000"),
        (("--cores", "0", "--", "true"), 2, "--cores"),
        (("--cores", "1"), 2, "name a command"),
    ],
)
def test_how_it_ends(arguments: tuple[str, ...], status: int, part: str) -> None:
    done = _run_pin(*arguments)
    assert done.returncode == status and part in done.stderr, done.stderr


@pytest.mark.real
def test_the_command_gets_its_signals_as_a_shell_gives_them() -> None:
    done = _run_pin("--cores", "1", "--", "grep", "^SigIgn", "/proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)), done.stdout

"""`hostdx pin`: the command gets the cores it was given, and its own exit status comes back."""

import os
import signal
import subprocess
import sys

import pytest

from tests.app import forked

CHILD = "import os; print(sorted(os.sched_getaffinity(0)))"


def _pin(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "hostdx.app.cli", "pin", *arguments]
    return forked.run(
        command, env=os.environ | {"LC_ALL": forked.LOCALE}, capture_output=True, text=True, check=False
    )


@pytest.mark.real
def test_a_command_on_one_core() -> None:
    ran = _pin("--cores", "1", "--", sys.executable, "-c", CHILD)
    cpus = eval(ran.stdout)
    assert (ran.returncode == 0 and set(cpus) < set(os.sched_getaffinity(0))) or len(cpus) == os.cpu_count()
    assert ran.stderr.startswith("hostdx: pin: 1 core, CPU") and ran.stderr.count("\n") == 1


@pytest.mark.real
@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("--cores", "1", "--", "false"), 1, "1 core"),
        (("--cores", "1", "--", "/nonexistent/x"), 127, "No such file"),
        (("--cores", "100000", "--", "true"), 3, "100000"),
        (("--cores", "0", "--", "true"), 2, "--cores"),
        (("--cores", "1"), 2, "name a command"),
    ],
)
def test_how_it_ends(arguments: tuple[str, ...], status: int, says: str) -> None:
    ran = _pin(*arguments)
    assert ran.returncode == status and says in ran.stderr, ran.stderr


@pytest.mark.real
def test_the_command_gets_its_signals_as_a_shell_gives_them() -> None:
    ran = _pin("--cores", "1", "--", "grep", "^SigIgn", "/proc/self/status")
    ignored = int(ran.stdout.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)), ran.stdout

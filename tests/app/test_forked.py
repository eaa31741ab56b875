"""A command that the forking parent makes is what a start makes: in all that it can see of itself, and in its end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hostdx.probes.children.own_module import own_module
from tests.app import forked

SEEN = """
import gc, json, locale, os, resource, signal, sys, threading
streams = [
    [f.fileno(), f.name, f.mode, f.encoding, f.errors, f.line_buffering, f.isatty(), f is g]
    for f, g in ((sys.stdin, sys.__stdin__), (sys.stdout, sys.__stdout__), (sys.stderr, sys.__stderr__))
]
mask = os.umask(0)
print(json.dumps({
    "words": [sys.argv, sys.orig_argv, __name__, sys.executable, list(sys.flags), sys.path],
    "environment": dict(os.environ), "directory": os.getcwd(), "mask": mask, "read": sys.stdin.read(),
    "parent": os.getppid(), "leads": [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid()],
    "streams": streams, "open": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
    "signals": [repr(signal.getsignal(n)) for n in range(1, 32)],
    "status": [x for x in open("/proc/self/status") if x.startswith(("Sig", "Shd", "Cap", "Thr")) and x[3] != "Q"],
    "limits": [resource.getrlimit(n) for n in range(16)], "nice": os.nice(0), "cpus": sorted(os.sched_getaffinity(0)),
    "locale": locale.setlocale(locale.LC_CTYPE), "gc": [gc.isenabled(), gc.get_threshold()],
    "threads": threading.active_count(),
}))
"""
ENDS = {
    "a status": ("import sys; sys.exit(3)", 3),
    "a text": ("import sys; sys.exit('why')", 1),
    "an error": ("raise OSError('why')", 1),
    "a signal": ("import os; os.kill(os.getpid(), 15)", -signal.SIGTERM),
    "what is left to do": ("import atexit; atexit.register(print, 'last'); print('first')", 0),
    "nobody reads": ("import os, sys; os.close(1); print('lost')", 120),
    "Ctrl-C": ("raise KeyboardInterrupt", -signal.SIGINT),
    "a thread goes on": (
        "import threading as t; t.Thread(target=lambda: (t.Event().wait(0.1), print(1))).start()",
        0,
    ),
}


def outcome_of(
    run: Callable[..., subprocess.CompletedProcess[Any]], code: str, **options: Any
) -> tuple[Any, ...]:
    done = run([sys.executable, "-P", "-c", code, "a", "b c"], capture_output=True, timeout=60, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": forked.LOCALE, "ONLY": "here"}


@pytest.mark.parametrize("new_session", [False, True])
def test_it_sees_what_a_start_sees(environment: dict[str, str], tmp_path: Path, new_session: bool) -> None:
    options = {"env": environment, "cwd": tmp_path, "input": b"in", "start_new_session": new_session}
    if new_session:
        options["pass_fds"] = [2**8 + 1]
        os.dup2(0, 2**8 + 1)
    start, fork = (outcome_of(run, SEEN, **options) for run in (subprocess.run, forked.run))
    assert start[0] == fork[0] == 0, fork[2]
    loads = json.loads(fork[1])
    assert loads == json.loads(start[1])
    assert (loads["parent"], loads["directory"], loads["read"]) == (os.getpid(), str(tmp_path), "in")


def test_an_own_module_sees_what_a_start_of_it_sees(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "seen.py").write_text(SEEN)
    environment["PYTHONPATH"] = str(tmp_path)
    outputs = []
    for popen in (forked.StartingPopen, forked.Popen):
        with popen(own_module("seen", "a"), env=environment, stdin=-1, stdout=-1, stderr=-1) as process:
            out, error = process.communicate(b"in", 60)
        assert process.returncode == 0, error
        outputs.append(json.loads(out))
    assert outputs[0] == outputs[1] and outputs[0]["words"][0] == [str(tmp_path / "seen.py"), "a"]


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_as_a_start_ends(environment: dict[str, str], end: str) -> None:
    code, status = ENDS[end]
    start, fork = (outcome_of(run, code, env=environment) for run in (subprocess.run, forked.run))
    assert start[0] == fork[0] == status
    assert start[1] == fork[1]
    assert fork[2].splitlines()[-1:] == start[2].splitlines()[-1:]  # the lines above name other files


def test_hostdx_itself_says_the_same(environment: dict[str, str]) -> None:
    for words in (("no-such-command",), ("report", "demo:null")):
        argv = [sys.executable, "-P", "-m", "hostdx.app.cli", *words]
        start, fork = (
            run(argv, env=environment, capture_output=True, timeout=60)
            for run in (subprocess.run, forked.run)
        )
        assert (fork.returncode, fork.stdout, fork.stderr) == (start.returncode, start.stdout, start.stderr)


def test_its_pid_is_a_child_that_is_signalled_and_times_out(environment: dict[str, str]) -> None:
    argv = [sys.executable, "-P", "-c", "import time; print(flush=True); time.sleep(60)"]
    with forked.Popen(argv, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.read(1) == b"\n"
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
    with pytest.raises(subprocess.TimeoutExpired):
        forked.run(argv, env=environment, stdout=subprocess.DEVNULL, timeout=0.2)


@pytest.mark.parametrize(
    "options",
    [
        {"preexec_fn": lambda: os.environ.update(MADE="by a start")},
        {"env": {"LC_ALL": "C"}},
        {"env": {"PYTHONOPTIMIZE": "1"}},
        {"pass_fds": [2]},
        {"umask": 0o27},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_a_fork_cannot_give_is_started(environment: dict[str, str], options: dict[str, Any]) -> None:
    settings = {"env": environment} | options
    argv = [sys.executable, "-P", "-c", "print(open('/proc/self/cmdline').read())"]
    done = forked.run(argv, capture_output=True, text=True, **settings)
    assert "forked.py" not in done.stdout and "cmdline" in done.stdout


def test_a_changed_mask_is_a_childs_too(environment: dict[str, str]) -> None:
    code = "import os; print(os.umask(0))"
    assert outcome_of(forked.run, code, env=environment)[0] == 0  # the parent has started with another
    before = os.umask(0o27)
    try:
        assert outcome_of(forked.run, code, env=environment)[1] == b"23\n"
    finally:
        os.umask(before)


def test_the_parent_ends_with_its_owner(environment: dict[str, str]) -> None:
    code = (
        f"import os, sys; sys.path.insert(0, {str(forked.ROOT)!r}); from tests.app import forked\n"
        "done = forked.run([sys.executable, '-P', '-c', 'print(1)'], capture_output=True, check=True)\n"
        "assert done.stdout == b'1\\n'; print(forked.parent_of_this_process()._process.pid)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    parent = Path("/proc", done.stdout.strip(), "cmdline")
    for _ in range(100):
        if not parent.exists() or not parent.read_bytes():
            return
        signal.sigtimedwait([], 0.1)
    raise AssertionError(f"{parent}: goes on without its owner")

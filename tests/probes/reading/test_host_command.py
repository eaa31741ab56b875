"""Commands on the live host: bounded, without a shell, their failures told."""

import os
from functools import partial
from pathlib import Path

import pytest

from hostdx.app.undo.kinds.command import ChangingCommandFailed, run_changing_command
from hostdx.probes.children import command as module
from hostdx.probes.children.command import find_tool, run_command
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from tests.needs import ROOT, needs
from tests.real.polled import happens


def script(folder: Path, name: str, body: str) -> str:
    place = folder / name
    place.write_text(f"#!/bin/sh\n{body}\n")
    place.chmod(0o755)
    return str(place)


def test_the_current_folder_is_never_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, "hostdx-trap", "echo trapped")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".::{tmp_path.name}:/usr/bin")
    assert find_tool("hostdx-trap") is None and find_tool("./hostdx-trap") is None
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin")
    assert find_tool("hostdx-trap") == f"{tmp_path}/hostdx-trap"


@needs(ROOT)
def test_root_runs_nothing_that_others_could_have_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(script(tmp_path, "hostdx-trap", "echo trapped"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin")
    assert find_tool("hostdx-trap") == str(path)
    path.chmod(0o777)
    assert find_tool("hostdx-trap") is None
    path.chmod(0o755)
    os.chown(path, 1234, 1234)
    assert find_tool("hostdx-trap") is None
    os.chown(path, 0, 0)
    os.chown(tmp_path, 1234, 1234)
    assert find_tool("hostdx-trap") is None
    with pytest.raises(ChangingCommandFailed, match="not installed"):
        run_changing_command(["hostdx-trap"])


def test_failures_say_what_the_command_said(tmp_path: Path) -> None:
    message = "no such volume"
    path = script(tmp_path, "fails", f"echo partial; echo; echo '{message}' >&2; exit 3")
    value = Host().read_command(path)
    assert isinstance(value, Absent) and value.kind == "unsupported"
    assert message in value.reason and "3" in value.reason
    assert Host().read_command(path, any_status=True) == "partial"
    denied = Host().read_command(script(tmp_path, "denied", "echo 'open: Permission denied' >&2; exit 1"))
    assert isinstance(denied, Absent) and denied.kind == "permission"


def has_ended(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def test_a_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    marks = tmp_path / "pids"
    path = script(tmp_path, "hangs", f"sleep 600 & echo $! > {marks}; echo $$ >> {marks}; wait")
    value = run_command((path,), 0.5)
    assert isinstance(value, Absent) and value.kind == "timeout"
    for pid in marks.read_text().split():
        assert happens(partial(has_ended, pid)), f"{pid} still runs"  # killed at once, gone when it has a CPU


def test_a_child_that_keeps_the_pipe_open_does_not_hold_us(tmp_path: Path) -> None:
    path = script(tmp_path, "leaves", "sleep 600 & exit 0")
    value = run_command((path,), 0.5)
    assert isinstance(value, Absent) and value.kind == "timeout"


def test_too_much_output_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OUTPUT_BYTES", 1000)
    value = Host().read_command(script(tmp_path, "talks", "yes"), timeout_s=20)
    assert isinstance(value, Absent) and value.kind == "invalid"


def test_what_is_no_program_is_absent(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\0\0\0\0")
    broken.chmod(0o755)
    for argv in ((str(broken),), (str(tmp_path / "none"),), ("sh", "-c", "a\0b"), ()):
        assert isinstance(run_command(argv, 2), Absent)
    assert os.access(broken, os.X_OK)

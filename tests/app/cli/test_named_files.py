"""Every command that reads a file that is named to it: a FIFO is not waited for, a device not touched, no link of
another user's followed, and nothing of what is no such file is quoted. Each in one line.
"""

import os
import socket
from contextlib import chdir
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.probes.reading.time_limit import limit_time
from tests.every_case import every_case
from tests.needs import ROOT, needs

pytestmark = pytest.mark.usefixtures("own_state")
ALICE = 65534
SECRET = "CANARY"
SHADOW = "root:$6$CANARY$CANARY/abc:19000:0:99999:7:::\n"
COMMANDS = (
    ("report", "{}"),
    ("compare", "demo:null", "--", "{}"),
    ("import", "{}"),
    ("import", "--kind", "fio", "{}"),
    ("baseline", "save", "site", "{}"),
    ("plan", "workload", "--file", "{}"),
    ("run", "workload", "--file", "{}"),
    ("plan", "numa", "--bios", "{}"),
    ("run", "numa", "--budget", "1", "--redfish", "https://127.0.0.1:1", "--redfish-ca", "{}"),
    ("triage", "--root", "{}"),
)


def output_of(capsys: pytest.CaptureFixture[str], command: tuple[str, ...], path: Path) -> str:
    """All that it says; it says it soon, and not as a mistake of ours."""
    capsys.readouterr()
    with limit_time(20.0):
        status = run_command_line([word.format(path) for word in command])
    captured = capsys.readouterr()
    text = captured.out + captured.err
    assert "bug" not in captured.err, text
    if command[0] != "plan":
        assert status in (2, 3), (status, text)
        assert len(captured.err.strip().splitlines()) == 1, captured.err
    return text


@every_case("command", COMMANDS)
def test_what_is_no_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    os.mkfifo(tmp_path / "run.jsonl")
    with socket.socket(socket.AF_UNIX) as server:
        with chdir(tmp_path):
            server.bind("socket.jsonl")
        (tmp_path / "null.jsonl").symlink_to("/dev/null")
        for name, file_kind in (("run", "a pipe"), ("socket", "a socket"), ("null", "a device")):
            text = output_of(capsys, command, tmp_path / f"{name}.jsonl")
            assert f"{file_kind}, not a regular file" in text or "is neither a directory nor a tar" in text


@every_case("command", COMMANDS)
def test_nothing_of_it_is_quoted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "run.jsonl").write_text(SHADOW)
    assert SECRET not in output_of(capsys, command, tmp_path / "run.jsonl")


@needs(ROOT)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_link_of_another_user_is_followed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "shadow.jsonl").write_text(SHADOW)
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice/run.jsonl").symlink_to("../shadow.jsonl")
    os.chown(tmp_path / "alice", ALICE, ALICE)
    text = output_of(capsys, command, tmp_path / "alice/run.jsonl")
    assert "is a link in a folder that others may write to" in text and SECRET not in text

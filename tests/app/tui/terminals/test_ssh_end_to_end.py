"""Through a real sshd on loopback: a run is started, the line is cut, the next login follows it and saves a report."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.fakes.terminals.terminal import Terminal
from tests.needs import needs, program
from tests.real.polled import happens

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
pytestmark = [pytest.mark.real, needs(program("sshd", "ssh", "ssh-keygen"))]
WATCHED_S = 300  # longer than any login takes: the second one stops it


@pytest.fixture
def line(tmp_path: Path) -> Iterator[list[str]]:
    """The ssh command that logs in to a throw-away sshd."""
    assert SSHD is not None
    tmp_path.chmod(0o700)
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = tmp_path / "sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {tmp_path}/host\nPidFile none\n"
        f"AuthorizedKeysFile {tmp_path}/user.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
        "PermitRootLogin prohibit-password\nPrintMotd no\n"
    )
    is_own_folder = os.geteuid() == 0 and not Path("/run/sshd").exists()
    if is_own_folder:
        Path("/run/sshd").mkdir(mode=0o755)
    with (tmp_path / "sshd.log").open("wb") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=log, stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield [
            "ssh", "-tt", "-F", "none", "-p", str(port), "-i", f"{tmp_path}/user", "-o", "IdentitiesOnly=yes",
            "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={tmp_path}/known", "-o", "LogLevel=ERROR",
            "127.0.0.1",
        ]  # fmt: skip
    finally:
        server.terminate()
        server.wait(10)
        if is_own_folder:
            Path("/run/sshd").rmdir()


def list_own(mark: str) -> dict[int, list[str]]:
    """Processes that carry the test's directory in their environment: the app, the runner and its helpers."""
    commands = {}
    for process in psutil.process_iter():
        try:
            if process.environ().get("XDG_STATE_HOME") == mark and "hostdx.app.cli" in " ".join(
                process.cmdline()
            ):
                commands[process.pid] = process.cmdline()
        except (psutil.Error, OSError):
            continue
    return commands


def test_a_cut_line_loses_nothing(line: list[str], tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    command = (
        f"cd {tmp_path} && env LC_ALL=C.UTF-8 XDG_STATE_HOME={state} XDG_RUNTIME_DIR={tmp_path}/run "
        f"{sys.executable} -P -m hostdx.app.cli"
    )
    first = Terminal([*line, command], (100, 30))
    first.wait("WHAT IS WRONG?")
    first.wait("checks found")
    first.press("/dstate\r")
    first.expect(lambda: "/dstate" in first.content and "rpfilter" not in first.content, "the filtered list")
    first.press("\r")
    first.wait("Enter start")
    first.wait("takes")
    first.press("O")
    first.wait("OPTIONS")
    first.press("/seconds\r")
    first.expect(lambda: "/seconds" in first.content, "the option")
    first.press("\r")
    first.wait("seconds:")
    first.press("\x7f" * 6 + f"{WATCHED_S}\r")
    first.expect(
        lambda: "Enter change" in first.content and f" {WATCHED_S} " in first.content, "the value taken"
    )
    first.press("\x1b")  # the filter
    first.expect(lambda: "/seconds" not in first.content, "all options")
    first.press("\x1b")
    first.wait(f"--seconds={WATCHED_S}")
    first.press("\r")
    first.wait("● live")
    runner = {pid for pid, argv in list_own(state).items() if "run" in argv}
    assert runner, list_own(state)

    first.close(hang_up=True)  # the client dies, the server hangs up on the app
    assert happens(lambda: all("run" in argv for argv in list_own(state).values()), 60.0), list_own(state)
    assert runner <= set(list_own(state)), "the runner went down with the line"

    second = Terminal([*line, command], (100, 30))
    try:
        second.wait("● dstate")  # the offer
        second.press("a")
        second.wait("● live")
        second.press("s")
        second.wait("press s again to stop the run")
        second.press("s")
        second.wait("verdict", 60.0)
        second.wait("interrupted after")
        second.press("m")
        second.wait("saved")
        reports = list(tmp_path.glob("hostdx-*-dstate-*.md"))
        assert len(reports) == 1
        second.expect(lambda: reports[0].name in "".join(second.content.split()), "the whole path")
        assert "Which tasks hang in D" in reports[0].read_text()
        second.press("q")
        second.wait("WHAT IS WRONG?")
        second.press("q")
    finally:
        second.close()
    assert happens(lambda: not list_own(state), 60.0), list_own(state)
    assert not (tmp_path / "state" / "hostdx" / "bugs").exists()
    recordings = list((tmp_path / "state" / "hostdx" / "recordings").glob("*.jsonl"))
    assert len(recordings) == 1 and b'"status":"interrupted"' in recordings[0].read_bytes().splitlines()[-1]

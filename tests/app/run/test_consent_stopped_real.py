"""Ctrl-Z at the question whether to go ahead: nothing is changed or held meanwhile, and `fg` goes on."""

import os
import pty
import select
import shlex
import time
from pathlib import Path

import pytest

from tests.app.launcher import argv, own_env
from tests.app.run.test_runner_real import fake_run
from tests.needs import needs, program

pytestmark = [pytest.mark.real, needs(program("bash"))]


def read_until(terminal: int, text: bytes, seconds: float = 30.0) -> bytes:
    output, end = b"", time.monotonic() + seconds
    while text not in output:
        assert time.monotonic() < end, output[-500:]
        if select.select([terminal], [], [], 0.2)[0]:
            output += os.read(terminal, 65536)
    return output


def test_nothing_is_held_while_it_is_stopped_and_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "attribute").write_text("old\n")
    words = [word for word in fake_run(tmp_path, "--how", "finding") if word != "--yes"]
    (tmp_path / "job").write_text(f"{shlex.join(argv(*words))}\n")
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("bash", ["bash", "--norc", "-i"], {**own_env(tmp_path), "TERM": "xterm"})
    try:
        os.write(terminal, f". {tmp_path / 'job'}; echo status-$?-\n".encode())
        read_until(terminal, b"[y/N]")
        os.write(terminal, b"\x1a")
        read_until(terminal, b"Stopped")
        files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
        assert files == {"attribute", "job"} and (tmp_path / "attribute").read_text() == "old\n"
        os.write(terminal, b"fg; echo end-$?-\n")
        time.sleep(0.5)
        os.write(terminal, b"y\n")
        read_until(terminal, b"end-0-")
        assert len(list((tmp_path / "state/hostdx/recordings").iterdir())) == 1
        assert (tmp_path / "attribute").read_text() == "old\n"
    finally:
        os.close(terminal)
        os.waitpid(child, 0)

"""The agent on a node: a stand-in for the bundle, which is any file that a Python runs, shows what it does with it."""

import fcntl
import hashlib
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from hostdx.app.features.fleet.launch.agent import (
    MARK,
    PREFIX,
    delete_dead_agents_folders,
    environment_and_state_folder,
    make_locked_folder,
)
from hostdx.app.features.fleet.launch.errand import NodeOrder
from tests.every_case import every_case

ECHO = b"import sys, os; print(os.path.dirname(__file__)); print(sys.argv[1:]); sys.stderr.write('words'); sys.exit(3)"
WAITS = b"""import signal, os
signal.signal(signal.SIGINT, lambda *_: (os.write(1, b"undone\\n"), os._exit(130)))
os.write(1, b"pid %d %s\\n" % (os.getpid(), os.fsencode(os.path.dirname(__file__))))
while True: signal.pause()
"""


def make_errand(program: bytes, **fields: object) -> NodeOrder:
    defaults = {
        "argv": ("a b", "$x"),
        "size": len(program),
        "sha256": hashlib.sha256(program).hexdigest(),
        **fields,
    }
    return NodeOrder(**{"python": sys.executable, **defaults})  # type: ignore[arg-type]


class Agent:
    """One at work, as a login shell starts it."""

    def __init__(self, errand: NodeOrder, *, send: bytes, shell: str = "sh") -> None:
        self.process = subprocess.Popen(
            [shell, "-c", errand.shell_command()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(errand.order_header_line("n1") + send)
        self.process.stdin.flush()

    def line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def rest(self) -> tuple[list[bytes], dict[str, object]]:
        """What the command printed, and the agent's last word."""
        limit = threading.Timer(LONGEST_S, self.process.kill)
        limit.start()
        with self.process:  # its input stays open until it has ended
            assert self.process.stdout is not None and self.process.stderr is not None
            out, err = self.process.stdout.read(), self.process.stderr.read()
        limit.cancel()
        assert not err, err
        lines = out.splitlines()
        assert lines[-1].startswith(MARK)
        return [line for line in lines if not line.startswith(MARK)], msgspec.json.decode(
            lines[-1][len(MARK) :]
        )


LONGEST_S = 60.0  # one that does not end is killed, and the test fails

READY = b"""import sys
print(sys.argv[1:])
"""


@pytest.mark.parametrize("is_begun", [True, False])
def test_a_node_that_is_made_ready_ahead_waits_for_its_turn(is_begun: bool) -> None:
    agent = Agent(make_errand(READY, argv=("run",), ahead=("plan",)), send=READY)
    while not (line := agent.line()).startswith(MARK + b'{"ready"'):
        assert line.startswith(MARK), "of what made it ready nothing is handed on"
    stdin = agent.process.stdin
    assert stdin is not None and not select.select([agent.process.stdout], [], [], 0.2)[0]
    if is_begun:
        stdin.write(b"g")
        stdin.flush()
        out, last = agent.rest()
        assert out == [b"['run']"] and last["exit"] == 0
    else:
        stdin.close()
        agent.process.stdin = None
        out, last = agent.rest()
        assert not out and last["trouble"]


def at_work(agent: Agent) -> tuple[int, Path]:
    """The command's process and directory, once it says them."""
    while not (line := agent.line()).startswith(b"pid"):
        pass
    _, pid, folder = line.split()
    return int(pid), Path(os.fsdecode(folder))


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_it_runs_what_it_was_sent_and_clears_up(shell: str) -> None:
    out, last = Agent(make_errand(ECHO), send=ECHO, shell=shell).rest()
    assert out[1:] == [b"['a b', '$x']"] and last == {"exit": 3, "said": "words", "cut": False}
    folder = Path(os.fsdecode(out[0]))
    assert folder.name.startswith(PREFIX) and not folder.exists()


def test_it_reads_a_shared_bundle_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "hostdx.pyz").write_bytes(ECHO)
    out, last = Agent(make_errand(ECHO, shared=str(tmp_path / "hostdx.pyz")), send=b"").rest()
    assert last["exit"] == 3 and Path(os.fsdecode(out[0])) != tmp_path


@pytest.mark.parametrize("damaged", [ECHO[::-1], ECHO[:-1]])
def test_what_came_damaged_is_not_run(damaged: bytes) -> None:
    agent = Agent(make_errand(ECHO), send=damaged)
    assert agent.process.stdin is not None
    agent.process.stdin.close()
    agent.process.stdin = None
    out, last = agent.rest()
    assert out == [] and "trouble" in last


def test_the_end_of_its_input_stops_the_command_which_undoes() -> None:
    agent = Agent(make_errand(WAITS), send=WAITS)
    _, folder = at_work(agent)
    assert agent.process.stdin is not None
    agent.process.stdin.close()
    agent.process.stdin = None
    out, last = agent.rest()
    assert out == [b"undone"] and last["exit"] == 130 and not folder.exists()


@every_case("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_stops_the_command_too(number: int) -> None:
    agent = Agent(make_errand(WAITS), send=WAITS)
    _, folder = at_work(agent)
    agent.process.send_signal(number)
    out, last = agent.rest()
    assert out == [b"undone"] and last["exit"] == 130 and not folder.exists()


@pytest.mark.parametrize("line", ["'x' * 99", "'x' * 99, end=''"])
def test_it_hands_on_so_much_and_no_more(line: str) -> None:
    program = f"while True: print({line})".encode()
    out, last = Agent(make_errand(program, most_bytes=100_000), send=program).rest()
    assert last["cut"] is True and 0 < sum(len(line) + 1 for line in out) <= 100_001


def test_a_run_is_tied_to_it_and_recorded_where_it_is_cleared_up() -> None:
    program = b"import sys; print(sys.argv[1:])"
    out, _ = Agent(make_errand(program, records=True), send=program).rest()
    words = out[0].decode()
    assert PREFIX in words and "--recording" in words and "--tied" in words


def test_the_next_one_clears_up_after_one_that_was_killed() -> None:
    agent = Agent(make_errand(WAITS), send=WAITS)
    with agent.process:
        command, folder = at_work(agent)
        agent.process.kill()
    delete_dead_agents_folders("/dev/shm")
    assert folder.exists(), "its command is still at work there"
    fd = os.pidfd_open(command)
    os.kill(command, signal.SIGKILL)
    select.select([fd], [], [])
    os.close(fd)
    out, _ = Agent(make_errand(ECHO), send=ECHO).rest()
    assert out and not folder.exists()


def test_a_directory_of_somebody_elses_is_not_swept(tmp_path: Path) -> None:
    prefix = f"{PREFIX}{os.geteuid()}-"
    (tmp_path / f"{PREFIX}{os.geteuid() + 1}-x").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / f"{prefix}link").symlink_to(tmp_path / "target")
    (tmp_path / f"{prefix}busy").mkdir()
    (tmp_path / f"{prefix}old/inside").mkdir(parents=True)
    fd = os.open(tmp_path / f"{prefix}busy", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    delete_dead_agents_folders(str(tmp_path))
    os.close(fd)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{PREFIX}{os.geteuid() + 1}-x", "target", f"{prefix}link", f"{prefix}busy"
    }  # fmt: skip


def test_a_place_without_room_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hostdx.app.features.fleet.launch import agent

    monkeypatch.setattr(agent, "candidate_bundle_folders", lambda: [str(tmp_path / "none"), str(tmp_path)])
    folder, fd = make_locked_folder(1)
    os.close(fd)
    assert Path(folder).parent == tmp_path and Path(folder).stat().st_mode & 0o777 == 0o700
    with pytest.raises(agent.AgentTrouble):
        make_locked_folder(1 << 60)


def test_a_users_journals_of_each_node_are_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    first, second = (environment_and_state_folder("/x", node)[0]["XDG_STATE_HOME"] for node in ("n1", "n2"))
    assert first != second and first.startswith(str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "XDG_STATE_HOME" not in environment_and_state_folder("/x", "n1")[0]


def test_a_shell_without_a_python(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", make_errand(ECHO, python="/no/python").shell_command()],
        input=b"",
        capture_output=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert [msgspec.json.decode(line[len(MARK) :]) for line in lines] == [{"shell": 1}, {"absent": 1}]

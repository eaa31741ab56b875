"""Reading a host: what is there, what is not and why, and what must never be opened."""

import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hostdx.probes.files import rights
from hostdx.probes.reading.host import Host, captured_root_problem
from hostdx.probes.types import Absent
from tests.fakes.hosts.tree import Tree
from tests.needs import ROOT, need


def require_absent(value: object) -> Absent:
    assert isinstance(value, Absent), value
    return value


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path) -> None:
    fifo, sock = tmp_path / "fifo", tmp_path / "socket"
    os.mkfifo(fifo)
    with socket.socket(socket.AF_UNIX) as server:
        place = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
        server.bind(
            f"/proc/self/fd/{place}/socket"
        )  # a socket's name has 107 bytes at most, a path may have more
        os.close(place)
        host = Host()
        for path in (str(fifo), str(sock), "/dev/zero", str(tmp_path)):
            assert require_absent(host.read_file_text(path)).kind == "unsupported"
            assert path in require_absent(host.read_file_text(path)).reason


def test_a_fifo_of_a_captured_tree_does_not_block(tree: Tree) -> None:
    os.mkfifo(tree.root / "sys" / "fifo")
    assert require_absent(tree.host().read_file_text("/sys/fifo")).kind == "unsupported"


@pytest.mark.parametrize("path", ["/sys/a\0b", "/sys/\ud800", "", "/" + "x" * 300, "/" + "a/" * 5000])
def test_paths_that_cannot_be_do_not_raise(tree: Tree, path: str) -> None:
    for host in (tree.host(), Host()):
        assert isinstance(host.read_file_text(path), Absent)
        assert isinstance(host.read_file_text(path, may_hang=True), Absent)
        assert isinstance(host.read_link(path), Absent)
        assert host.glob_paths(path + "/*") == () or path == ""


def as_nobody(read: Callable[[], str]) -> str:
    """What `read` returns in a child process that is not root (setuid changes every thread, so not in this one)."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.write(into, read().encode())
        finally:
            os._exit(0)
    os.close(into)
    os.waitpid(pid, 0)
    with os.fdopen(out) as pipe:
        return pipe.read()


def test_permission_names_the_right() -> None:
    with tempfile.TemporaryDirectory(
        dir="/var/tmp"
    ) as folder:  # pytest's own folders are closed to other users
        secret = Path(folder) / "secret"
        secret.write_text("x")
        Path(folder).chmod(0o755)
        secret.chmod(0o400 if os.geteuid() == 0 else 0)

        def read() -> str:
            absent = require_absent(Host().read_file_text(str(secret)))
            return f"{absent.kind}|{absent.reason}"

        assert as_nobody(read) == f"permission|{secret}: needs root"


def test_permission_knows_the_files_of_other_processes() -> None:
    need(ROOT)
    pid = os.getpid()
    reason = as_nobody(lambda: require_absent(Host().read_file_text(f"/proc/{pid}/io")).reason)
    assert reason == f"/proc/{pid}/io: needs root or CAP_SYS_PTRACE"


def test_listing_link_real_exists(tree: Tree) -> None:
    host = tree.put("/sys/devices/x/b").put("/sys/devices/x/a").link("/sys/block/x", "../devices/x").host()
    assert host.list_names("/sys/block/x") == ("a", "b")
    assert host.read_link("/sys/block/x") == "../devices/x"
    assert require_absent(host.read_link("/sys/devices/x/a")).kind == "invalid"
    assert host.resolve_path("/sys/block/x/a") == "/sys/devices/x/a"
    assert host.path_exists("/sys/block/x/a")
    assert not host.path_exists("/sys/block/x/c")


def test_a_live_file_that_waits_for_input_does_not_block() -> None:
    """/proc/kmsg is a regular file by its mode, and waits when it was read to its end."""
    assert isinstance(Host().read_file_text("/proc/kmsg"), str | Absent)


def test_root_may_be_one_folder_too_high(tmp_path: Path) -> None:
    Tree(tmp_path / "archive" / "host-2026").put("/proc/version", "Linux")
    assert Host(str(tmp_path / "archive")).read_file_text("/proc/version") == "Linux"
    assert captured_root_problem(str(tmp_path / "archive")) == ""


def test_root_problem_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "No such file" in captured_root_problem(str(tmp_path / "nothing"))
    assert "Not a directory" in captured_root_problem(str(tmp_path / "file"))
    assert "neither sys nor proc" in captured_root_problem(str(tmp_path))
    assert isinstance(Host(str(tmp_path / "nothing")).read_file_text("/proc/version"), Absent)
    Tree(tmp_path / "host").put("/proc/sys/vm/swappiness", "60")
    assert "neither sys nor proc" in captured_root_problem(str(tmp_path / "host/proc"))
    assert captured_root_problem(str(tmp_path / "host")) == ""


def test_what_a_container_hides_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rights, "is_in_container", lambda: True)
    hidden = require_absent(Host().read_file_text("/sys/firmware/hostdx-no-such-file"))
    assert hidden.kind == "container"
    assert require_absent(Host().read_file_text("/sys/block/hostdx-no-such-disk/size")).kind == "missing"
    assert rights.explain_denied_read("/proc/1/io", "/proc/1/io", "x").kind == (
        "container" if os.geteuid() == 0 else "permission"
    )


def test_a_root_without_its_capabilities_is_told_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rights, "is_in_container", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    reason = rights.explain_denied_read("/proc/1/environ", "/proc/1/environ", "x")
    assert reason.kind == "permission" and "CAP_SYS_PTRACE" in reason.reason


def test_names_that_are_no_utf_8_can_be_opened(tmp_path: Path) -> None:
    raw = os.fsdecode(b"r\xe9s\\x")
    (tmp_path / raw).mkdir()
    (tmp_path / raw / "file").write_text("1")
    (tmp_path / "link").symlink_to(raw)
    host = Host()
    assert host.list_names(str(tmp_path)) == ("link", raw) == host.list_names(str(tmp_path), may_hang=True)
    assert host.read_link(f"{tmp_path}/link") == raw and host.list_subfolders(str(tmp_path)) == (raw,)
    assert host.resolve_path(f"{tmp_path}/link", may_hang=True) == str(tmp_path / raw)
    assert host.read_integer(f"{tmp_path}/{raw}/file") == 1
    assert host.read_file_text(f"{tmp_path}/{raw}/file", 9, may_hang=True) == "1"

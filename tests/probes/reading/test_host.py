"""Reading a host, live, captured and recorded."""

import io
import os
import socket
import tarfile
import tempfile
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import pytest

from hostdx.app.undo.kinds.command import ChangingCommandFailed, run_changing_command
from hostdx.probes.children import command as module
from hostdx.probes.children.command import find_tool, run_command
from hostdx.probes.files import rights
from hostdx.probes.reading.captured.archive import unpack_archive
from hostdx.probes.reading.host import Host, captured_root_problem
from hostdx.probes.reading.recording_host import RecordingHost, write_archive
from hostdx.probes.reading.secrecy.redaction import Redaction, strip_secrets
from hostdx.probes.types import Absent, is_present
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree
from tests.needs import ROOT, need, needs
from tests.real.polled import happens


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


def test_a_command_file_may_not_lead_out(tree: Tree) -> None:
    host = tree.link("/sos_commands/kernel/uname_-a", "/etc/hostname").host()
    assert isinstance(host.read_command("uname", "-a"), Absent)


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


def test_what_was_read_is_read_again_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    (folder / "real").mkdir(parents=True)
    (folder / "real/size").write_text("12\n")
    (folder / "real/secret").write_text("not asked for\n")
    (folder / "link").symlink_to("real")
    host = RecordingHost()
    assert host.read_file_text(f"{folder}/link/size") == "12" and host.list_names(f"{folder}/link") == (
        "secret",
        "size",
    )
    assert host.list_subfolders(str(folder)) == ("real",)
    space = host.read_statvfs(str(folder))
    with (tmp_path / "c.tgz").open("wb") as file:
        write_archive(host, file, strip_secrets)
    host.close()
    out = tmp_path / "out"
    out.mkdir()
    unpack_archive(str(tmp_path / "c.tgz"), str(out))
    (out / "proc").mkdir(exist_ok=True)
    recorded = Host(str(out))
    assert recorded.read_file_text(f"{folder}/link/size") == "12"
    assert (
        recorded.list_names(f"{folder}/link") == ("secret", "size")
        and recorded.read_file_text(f"{folder}/real/secret") == ""
    )
    assert recorded.list_subfolders(str(folder)) == ("real",)
    kept_space = recorded.read_statvfs(str(folder))
    assert is_present(space) and is_present(kept_space) and kept_space.f_files == space.f_files


def test_an_environment_is_never_kept_but_for_the_containers_mark() -> None:
    assert strip_secrets("/proc/1/environ", "TOKEN=x\0container=lxc\0A=b") == "container=lxc\0"
    assert strip_secrets("/proc/1/environ", "TOKEN=x") is None
    for path in ("/var/log/secure", "/sos_commands/hostdx/journalctl_-b_-q_--no-pager_-n_2000"):
        assert strip_secrets(path, "Nov 24 02:11:00 h CROND[1]: (root) CMD (backup)") is None
    assert (
        strip_secrets("/etc/sssd/sssd.conf", "ldap_default_authtok = S3cr3t word")
        == "ldap_default_authtok = ***"
    )
    assert strip_secrets("/proc/cmdline", "root=/dev/sda password=hunter2") == "root=/dev/sda password=***"


def test_names_and_addresses_become_others_of_the_same_form() -> None:
    redact = Redaction("db7.example.org")
    text = redact("/x", "db7 10.1.2.3 10.1.2.3 10.1.2.4 52:54:00:aa:bb:cc fe80::1:2 127.0.0.1 6.1.0-13") or ""
    assert text == "host 192.0.2.3 192.0.2.3 192.0.2.4 02:00:00:00:00:01 2001:db8::4 127.0.0.1 6.1.0-13"
    assert redact("/sys/class/dmi/id/product_serial", "ABC") == "redacted\n"
    assert redact("/sys/block/dm-0/dm/uuid", "LVM-abc") == "LVM-abc"


ROUTE = "Iface\tDestination\tGateway \tFlags\tMask\neth0\t00000000\t0101A8C0\t0003\t00000000\n"
ROUTE += "eth0\t0001A8C0\t00000000\t0001\t00FFFFFF\n"
LINKS = "00000000000000000000000000000001 01 80 10 80 lo\n20010db800aa00000000000000001234 02 40 00 80 eth0\n"


@every_case(
    ("path", "text", "hidden_words", "kept_words"),
    [
        ("/proc/net/route", ROUTE, ("A8C0",), ("00FFFFFF", "00000000", "\t0003\t")),
        ("/proc/1/net/if_inet6", LINKS, ("00aa", "1234"), ("0" * 31 + "1 01 80", " 02 40 00 80 eth0")),
        ("/proc/net/ipv6_route", f"{'f' * 32} 40 {'0' * 32} 00 {'0' * 32} 00000400 00000001",
         ("ffff",), ("00000400 00000001",)),
        ("/proc/self/mounts", "nas7:/vol/a /data nfs4 rw,addr=10.9.8.7 0 0\n",
         ("nas7", "10.9"), (":/vol/a /data nfs4",)),
        ("/proc/self/mountinfo", "36 35 0:9 / /x rw - cifs //fs-9.example.org/s rw,username=alice",
         ("fs-9", "alice"), ("/s rw",)),
        ("/proc/self/mountstats", "device nas7.example.org:/vol mounted on /data",
         ("nas7",), (":/vol mounted on /data",)),
        ("/proc/mounts", "mds1@tcp:mds2@tcp:/lus /lus lustre rw", ("mds1", "mds2"), ("@tcp:", ":/lus /lus lustre")),
        ("/proc/fs/nfsfs/servers", "NV SERVER   PORT USE HOSTNAME\nv4 0a090807  801   1 10.9.8.7",
         ("0a090807", "10.9"), (" 801",)),
        ("/proc/7/cmdline", "rsync\0carol@nas7:/vol\0/home/dave/x", ("nas7", "carol", "dave"), ("rsync", ":/vol")),
        ("/proc/self/mounts", "/dev/sda1 /home/alice/data ext4 rw 0 0",
         ("alice",), ("/dev/sda1 /home/", "/data ext4")),
        ("/x", "bob's job, /run/user/1234, enx525400aabbcc", ("bob", "1234", "525400"), ("'s job", "enx02")),
    ],
)  # fmt: skip
def test_who_and_where_is_given_away_by_no_file(
    path: str, text: str, hidden_words: tuple[str, ...], kept_words: tuple[str, ...]
) -> None:
    redacted = Redaction("db7.example.org", users=("bob",))(path, text) or ""
    assert not [word for word in hidden_words if word in redacted], redacted
    assert not [word for word in kept_words if word not in redacted], redacted


def test_an_address_is_the_same_one_in_digits_of_either_kind_and_a_server_in_the_log() -> None:
    redact = Redaction("db7.example.org")
    gateway = redact("/x", "192.168.1.1") or ""
    assert f"{ip_address(gateway).packed[::-1].hex().upper()}\t0003" in (
        redact("/proc/net/route", ROUTE) or ""
    )
    assert redact("/proc/net/route", "eth0\t000000F0\t0\n") == "eth0\t000000F0\t0\n"  # a mask, 240.0.0.0
    server = (redact("/proc/mounts", "nas7.lan:/v /v nfs4 rw 0 0") or "").partition(":")[0]
    assert (
        redact("/sos_commands/hostdx/dmesg", "nfs: server nas7.lan not responding")
        == f"nfs: server {server} not responding"
    )
    assert "nas7" not in (redact("/sos_commands/hostdx/dmesg", "mount of nas7 failed") or "")


def test_names_of_files_and_what_links_lead_to_are_replaced_too() -> None:
    redact = Redaction("node1", users=("alice",))
    assert redact.name("/home/alice/node1/log") == f"/home/{redact.name('alice')}/host/log"
    assert "alice" not in redact.name("alice")
    assert redact.name("/sys/devices/system/node/node1") == "/sys/devices/system/node/node1"
    assert "525400" not in redact.name("/sys/class/net/enx525400aabbcc")


def test_a_device_or_a_pipe_is_never_in_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    host = RecordingHost()
    host.list_names(str(tmp_path))
    data = io.BytesIO()
    write_archive(host, data, strip_secrets)
    data.seek(0)
    with tarfile.open(fileobj=data) as tar:
        assert all(member.isfile() or member.isdir() or member.issym() for member in tar)
        assert not any(member.name.endswith("pipe") for member in tar)


def test_the_word_after_a_password_option_is_masked_in_a_command_line() -> None:
    secrets = strip_secrets("/proc/123/cmdline", "job\0--password\0hunter2\0-v\0")
    assert secrets == "job\0--password\0***\0-v\0"

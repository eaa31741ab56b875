"""A capture holds what was read, and is read as the host was."""

import io
import os
import tarfile
from ipaddress import ip_address
from pathlib import Path

from hostdx.probes.reading.captured.archive import unpack_archive
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.recorded_host import RecordedHost, write_archive
from hostdx.probes.reading.secrecy.redaction import Redaction, strip_secrets
from hostdx.probes.types import is_present
from tests.every_case import every_case


def test_what_was_read_is_read_again_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    (folder / "real").mkdir(parents=True)
    (folder / "real/size").write_text("12\n")
    (folder / "real/secret").write_text("not asked for\n")
    (folder / "link").symlink_to("real")
    host = RecordedHost()
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
    host = RecordedHost()
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

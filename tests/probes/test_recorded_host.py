"""A capture holds what was read, and is read as the host was."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

from probes.archive import unpack
from probes.host import Host
from probes.recorded_host import RecordedHost, write
from probes.redaction import Redaction, kept
from probes.types import present


def test_what_was_read_is_read_again_and_nothing_else(tmp_path: Path) -> None:
    there = tmp_path / "there"
    (there / "real").mkdir(parents=True)
    (there / "real/size").write_text("12\n")
    (there / "real/secret").write_text("not asked for\n")
    (there / "link").symlink_to("real")
    host = RecordedHost()
    assert host.text(f"{there}/link/size") == "12" and host.listing(f"{there}/link") == ("secret", "size")
    space = host.statvfs(str(there))
    with (tmp_path / "c.tgz").open("wb") as file:
        write(host, file, kept)
    host.close()
    out = tmp_path / "out"
    out.mkdir()
    unpack(str(tmp_path / "c.tgz"), str(out))
    (out / "proc").mkdir(exist_ok=True)
    again = Host(str(out))
    assert again.text(f"{there}/link/size") == "12"
    assert again.listing(f"{there}/link") == ("secret", "size") and again.text(f"{there}/real/secret") == ""
    kept_space = again.statvfs(str(there))
    assert present(space) and present(kept_space) and kept_space.f_files == space.f_files


def test_an_environment_is_never_kept_but_for_the_containers_mark() -> None:
    assert kept("/proc/1/environ", "TOKEN=x\0container=lxc\0A=b") == "container=lxc\0"
    assert kept("/proc/1/environ", "TOKEN=x") is None
    assert kept("/proc/cmdline", "root=/dev/sda password=hunter2") == "root=/dev/sda password=***"


def test_names_and_addresses_become_others_of_the_same_form() -> None:
    redact = Redaction("db7.example.org")
    told = redact("/x", "db7 10.1.2.3 10.1.2.3 10.1.2.4 52:54:00:aa:bb:cc fe80::1:2 127.0.0.1 6.1.0-13") or ""
    assert told == "host 192.0.2.3 192.0.2.3 192.0.2.4 02:00:00:00:00:01 2001:db8::4 127.0.0.1 6.1.0-13"
    assert redact("/sys/class/dmi/id/product_serial", "ABC") == "redacted\n"
    assert redact("/sys/block/dm-0/dm/uuid", "LVM-abc") == "LVM-abc"


def test_a_device_or_a_pipe_is_never_in_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    host = RecordedHost()
    host.listing(str(tmp_path))
    data = io.BytesIO()
    write(host, data, kept)
    data.seek(0)
    with tarfile.open(fileobj=data) as tar:
        assert all(member.isfile() or member.isdir() or member.issym() for member in tar)
        assert not any(member.name.endswith("pipe") for member in tar)


def test_the_word_after_a_password_option_is_masked_in_a_command_line() -> None:
    told = kept("/proc/123/cmdline", "job\0--password\0hunter2\0-v\0")
    assert told == "job\0--password\0***\0-v\0"

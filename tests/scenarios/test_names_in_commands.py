"""A name from the host stands quoted in every command that a finding shows: it is copied into root's shell.

The server has every planted fault at once, and each of its disks and cards is called as no kernel, but any capture,
could call it; a user names a control group and the label of a stick that is mounted for him.
"""

import os
import re
from pathlib import Path

from hostdx.scenarios.contract.finding import Finding
from tests.fakes.hosts.server import Server
from tests.scenarios import test_planted_faults as planted
from tests.scenarios.test_planted_faults import findings_by_id

NAMES = re.compile(
    r"(?<![A-Za-z0-9])(sd[a-z]|eth[0-9]|bond[0-9]|nvme[0-9]+n[0-9]|md[0-9]+|dm-[0-9]+)(?![A-Za-z0-9])"
)
EVIL = ";pwn"


def test_no_name_is_a_command(tmp_path: Path) -> None:
    server = Server(tmp_path)
    for _, _, files in planted.PLANTED:
        for path, text in files.items():
            server.put(path, text)
    server.put("proc/self/cgroup", "0::/user.slice/alice;pwn").put(
        "sys/fs/cgroup/user.slice/alice;pwn/cpu.stat", "nr_periods 100\nnr_throttled 90\nthrottled_usec 9"
    )
    server.put("sys/class/scsi_host/host3/link_power_management_policy", "min_power")
    rename_all(tmp_path)
    by_id = findings_by_id(tmp_path)
    lines = [(f.id, command) for f in by_id.values() for command in commands_of(f) if EVIL in command]
    assert len({id for id, _ in lines}) > 8, sorted(by_id)
    assert [(id, command) for id, command in lines if EVIL in unquote(command)] == []


def test_what_stands_in_quotes_is_told_from_what_does_not() -> None:
    assert EVIL not in unquote("cat '/sys/block/sda;pwn/x'") and EVIL not in unquote("cat '/a'\\'';pwn'")
    assert EVIL in unquote("grep -E ''sda;pwn'|x'") and EVIL in unquote("cat /sys/block/sda;pwn")


def commands_of(finding: Finding) -> list[str]:
    return [
        line
        for remedy in finding.remedy
        for line in (*remedy.commands, *remedy.verify, *remedy.undo, *remedy.persistent)
        if not line.startswith("#")
    ]


def unquote(command: str) -> str:
    return re.sub(r"'[^']*'|\\.", "", command)


def rename_all(root: Path) -> None:
    def insert_evil(text: str) -> str:
        return NAMES.sub(rf"\1{EVIL}", text)

    for folder, below, files in os.walk(root, topdown=False):
        for name in (*files, *below):
            path = Path(folder, name)
            if path.is_symlink():
                target = insert_evil(str(path.readlink()))
                path.unlink()
                path.symlink_to(target)
            elif path.is_file():
                path.write_text(insert_evil(path.read_text()))
            if insert_evil(name) != name:
                path.rename(path.with_name(insert_evil(name)))

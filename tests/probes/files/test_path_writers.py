"""Who may write beside the user: mode bits, groups, POSIX and NFSv4 access control lists, and what nobody can know."""

import errno
import io
import os
import pwd
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output_file import write_bytes
from hostdx.probes.files import path_writers as module
from hostdx.probes.files.path_ownership import find_root_objection, known_path_writers_text
from hostdx.probes.files.path_walk import UntrustedLink, locate_name
from hostdx.probes.files.path_writers import PathWriters, other_writers
from hostdx.probes.reading.captured.archive import unpack_archive
from hostdx.scenarios.contract.knowledge_file import trusted_files
from tests.needs import ROOT, needs

ALICE = 65534
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
ACCESS, DEFAULT, NFS4 = "system.posix_acl_access", "system.posix_acl_default", "system.nfs4_acl"
NOBODY = 0xFFFFFFFF


def posix_acl(*entries: tuple[int, int, int]) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def for_user(uid: int, allowed: int, mask: int = 7) -> bytes:
    return posix_acl(
        (USER_OBJ, 7, NOBODY), (USER, allowed, uid), (GROUP_OBJ, 5, NOBODY), (MASK, mask, NOBODY), (OTHER, 5, NOBODY)
    )  # fmt: skip


def nfs4_acl(*entries: tuple[int, int, int, str]) -> bytes:
    data = struct.pack(">I", len(entries))
    for kind, flags, allowed, name in entries:
        data += struct.pack(">4I", kind, flags, allowed, len(name)) + name.encode() + b"\0" * (-len(name) % 4)
    return data


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., PathWriters]:
    """What is said of a folder of root's with these bits, group and attributes, on this file system."""

    def judge(
        mode: int = 0o755,
        gid: int = 0,
        fstype: str = "ext4",
        options: tuple[str, ...] = (),
        **acls: bytes | int,
    ) -> PathWriters:
        names = {ACCESS: acls.get("access"), DEFAULT: acls.get("default"), NFS4: acls.get("nfs4")}

        def read_attribute(path: str, name: str) -> bytes:
            value = names[name]
            if isinstance(value, bytes):
                return value
            raise OSError(value or errno.ENODATA, "no")

        monkeypatch.setattr(module.os, "getxattr", read_attribute)
        monkeypatch.setattr(module.os, "geteuid", lambda: 0)
        monkeypatch.setattr(module, "_mount_type_and_options", lambda device: (fstype, options))
        status = list(tmp_path.stat())
        status[0], status[4], status[5] = 0o040000 | mode, 0, gid
        return other_writers(os.stat_result(status), str(tmp_path))

    return judge


@pytest.mark.parametrize(
    ("folder", "others"),
    [
        ({}, False),
        ({"mode": 0o775}, False),  # group 0 has no members here
        ({"mode": 0o775, "gid": 7}, True),
        ({"mode": 0o777}, True),
        ({"mode": 0o1777}, True),  # others make names there
        ({"mode": 0o775, "access": for_user(ALICE, 7)}, True),
        ({"mode": 0o755, "access": for_user(ALICE, 7, mask=5)}, False),  # the mask takes it
        ({"mode": 0o755, "access": for_user(ALICE, 5)}, False),
        ({"mode": 0o775, "access": for_user(0, 7)}, False),  # root himself
        ({"mode": 0o775, "access": posix_acl((GROUP, 6, 1234), (MASK, 7, NOBODY))}, True),
        ({"mode": 0o755, "default": for_user(ALICE, 7)}, True),
        ({"mode": 0o755, "nfs4": nfs4_acl((0, 0, 0x1F01FF, "OWNER@"), (0, 0, 0x1200A9, "EVERYONE@"))}, False),
        ({"mode": 0o755, "nfs4": nfs4_acl((0, 0, 0x02, "alice@example.org"))}, True),
        (
            {"mode": 0o755, "nfs4": nfs4_acl((0, 0, 0x40000, "alice@example.org"))},
            True,
        ),  # may change the list
        ({"mode": 0o755, "nfs4": nfs4_acl((1, 0, 0x02, "alice@example.org"))}, False),  # is denied
        ({"mode": 0o755, "nfs4": nfs4_acl((0, 0x08, 0x02, "alice@example.org"))}, False),  # inherited only
        ({"mode": 0o755, "nfs4": nfs4_acl((0, 0, 0x02, "root@example.org"))}, False),
        ({"mode": 0o755, "nfs4": nfs4_acl((0, 0, 0x02, "EVERYONE@"))}, True),
        ({"fstype": "fuse.sshfs", "options": ("user_id=1000",)}, True),
        ({"fstype": "fuse", "options": ("user_id=0", "default_permissions")}, False),
        ({"fstype": "nfs4"}, False),
    ],
)
def test_who_may_write(ask: Callable[..., PathWriters], folder: dict[str, object], others: bool) -> None:
    writers = ask(**folder)
    assert (bool(writers.others), writers.unknown) == (others, "")


@pytest.mark.parametrize(
    "folder",
    [
        {"fstype": "cifs"},
        {"fstype": "fuse.glusterfs", "options": ("user_id=0",)},
        {"access": b"\x03\0\0\0nonsense"},
        {"access": b"\x02\0\0\0odd"},
        {"nfs4": b"\0\0\0\x01\0\0"},
        {"nfs4": struct.pack(">5I", 1, 0, 0, 2, 1 << 30)},
        {"access": errno.EIO},
        {"access": errno.EACCES},
    ],
)
def test_what_cannot_be_known_is_said(ask: Callable[..., PathWriters], folder: dict[str, object]) -> None:
    writers = ask(**folder)
    assert not writers.others and writers.unknown and writers.objection == writers.unknown


def test_members_of_group_0_are_others(
    ask: Callable[..., PathWriters], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_other_members", lambda gid, primary: ["alice"])
    assert "alice" in ask(mode=0o775).others


def test_a_user_whose_first_group_is_0_is_a_member_of_it(
    ask: Callable[..., PathWriters], monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [
        pwd.struct_passwd((name, "x", uid, 0, "", "/", "")) for name, uid in (("root", 0), ("bob", 1001))
    ]
    monkeypatch.setattr(module.pwd, "getpwall", lambda: users)
    assert ask(mode=0o775).others.endswith("(bob)")


@pytest.fixture
def opened_to_alice(tmp_path: Path) -> Path:
    """A folder of root's, group 0, in which an ACL lets another user write."""
    tmp_path.chmod(0o755)
    folder = tmp_path / "results"
    folder.mkdir(mode=0o755)
    try:
        os.setxattr(folder, ACCESS, for_user(ALICE, 7))
    except OSError as error:
        from tests.needs import not_here

        not_here(f"this file system keeps no ACL: {error.strerror}")
    return folder


@needs(ROOT)
def test_root_writes_through_no_link_in_a_folder_with_an_acl(opened_to_alice: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("as before")
    (opened_to_alice / "report.md").symlink_to(precious)
    with pytest.raises(UntrustedLink):
        locate_name(str(opened_to_alice / "report.md"))
    with pytest.raises(Failure):
        write_bytes("report", str(opened_to_alice / "report.md"), 0o644, b"other")
    assert precious.read_text() == "as before"
    write_bytes("report", str(opened_to_alice / "mine.md"), 0o644, b"a name of its own is written")


def test_an_unpacked_tar_carries_no_access_list_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a capture is made new, with the bits of a file of one's own, whatever the tar says of its rights."""
    archive, folder = tmp_path / "a.tar", tmp_path / "in"
    folder.mkdir(mode=0o755)
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("etc/site.toml")
        info.mode, info.uid, info.size = 0o666, ALICE, 1
        info.pax_headers = {"SCHILY.acl.access": f"user:{ALICE}:rwx"} | {
            f"SCHILY.xattr.{name}": "x" for name in (ACCESS, NFS4)
        }
        tar.addfile(info, io.BytesIO(b"x"))
    attributes: list[str] = []
    monkeypatch.setattr(os, "setxattr", lambda path, name, *_, **__: attributes.append(name))
    assert unpack_archive(str(archive), str(folder))[0] == 1
    member = folder / "etc/site.toml"
    assert (attributes, os.listxattr(member), member.stat().st_mode & 0o022) == ([], [], 0)
    assert member.stat().st_uid == os.geteuid()


@needs(ROOT)  # a user's own temporary directory has a ruler beside root
@pytest.mark.parametrize("folder", [{"fstype": "afs"}, {"nfs4": errno.EIO}])
def test_where_nobody_knows_root_runs_no_command_and_state_is_kept(
    ask: Callable[..., PathWriters], folder: dict[str, object], tmp_path: Path
) -> None:
    """One line says why; `known_path_writers_text`, which decides about state and reports, has nothing to object."""
    assert ask(**folder).unknown
    objection = find_root_objection(str(tmp_path))
    assert objection and "\n" not in objection
    assert not known_path_writers_text(str(tmp_path))


@needs(ROOT)
def test_a_rule_file_with_an_acl_is_not_read_by_root(opened_to_alice: Path, tmp_path: Path) -> None:
    safe = tmp_path / "rules"
    safe.mkdir(mode=0o755)
    rule = safe / "site.toml"
    rule.write_text("")
    assert trusted_files(safe)[0] == (rule,)
    os.setxattr(rule, ACCESS, for_user(ALICE, 6))
    files, problems = trusted_files(safe)
    assert files == () and len(problems) == 1
    (opened_to_alice / "other.toml").write_text("")
    assert trusted_files(opened_to_alice)[0] == ()
    assert known_path_writers_text(str(opened_to_alice)) and find_root_objection(str(rule))

"""Who may write to a file or a folder beside its user: the one answer for everything that root trusts or writes.

Decided by owner, mode bits, POSIX ACLs (acl(5), access and default), NFSv4 ACLs where the file system shows them
(nfs4_acl(5)), and the members of the group. On some file systems nobody but the server knows; then it says so.
"""

import errno
import grp
import os
import pwd
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hostdx.probes.number_text import parse_unsigned

_ACCESS, _DEFAULT, _NFS4 = "system.posix_acl_access", "system.posix_acl_default", "system.nfs4_acl"
_NOT_THERE = frozenset((errno.ENODATA, errno.EOPNOTSUPP, errno.ENOSYS))
_WRITE = 0x02  # the same bit in mode bits, ACL_WRITE and NFSv4's ACE4_WRITE_DATA
# include/uapi/linux/posix_acl.h
_USER_OBJ, _USER, _GROUP_OBJ, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
# RFC 8881, 6.2.1.3: write data, append, delete a child, change the ACL, change the owner
_NFS4_WRITES = 0x02 | 0x04 | 0x40 | 0x40000 | 0x80000
_NFS4_ALLOW, _NFS4_INHERIT_ONLY = 0, 0x08
_NFS4_ROOTS = ("OWNER@", "root", "0")
# File systems whose server decides, whatever the mode bits say, and shows no ACL to the client.
_SERVER_DECIDES = frozenset(("cifs", "smb3", "afs", "gpfs", "coda"))
_MAX_ACL_BYTES = 64 << 10


class PathWriters(NamedTuple):
    """`others`: who else may write ("may be written to by user alice (uid 1000)"), empty for nobody.
    `unknown`: why that cannot be known, empty where it is known."""

    others: str = ""
    unknown: str = ""

    @property
    def objection(self) -> str:
        """Return what speaks against running a command from there: others may write, or nobody knows."""
        return self.others or self.unknown


def other_writers(
    status: os.stat_result, path: str, *, renames_only: bool = False, file_system: bool = True
) -> PathWriters:
    """Return who else than root and the caller may write to what `status` describes and `path` names.

    `path` may be `/proc/self/fd/N`. A symbolic link is judged by its folder: it has no rights of its own. With
    `renames_only` a sticky folder is fine: others make names there and rename nothing (inode(7)). Without
    `file_system` the mount was judged before.
    """
    if status.st_uid not in (0, os.geteuid()):
        return PathWriters(f"belongs to {_describe_user(status.st_uid)}")
    if stat.S_ISLNK(status.st_mode):
        return PathWriters()
    if file_system and (shown := _writers_by_file_system(status.st_dev)) != PathWriters():
        return shown
    if renames_only and stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return PathWriters()
    try:
        access, default, nfs4 = (_read_acl_or_empty(path, name) for name in (_ACCESS, _DEFAULT, _NFS4))
    except OSError as error:
        return PathWriters("", f"has access rights that cannot be read ({error.strerror})")
    try:
        others = next(
            (
                writer
                for writer in (
                    _may_be_written_phrase(status.st_mode, status.st_gid, has_acl=bool(access or nfs4)),
                    *_writers_by_posix_acl(access, status.st_gid),
                    *(f"{writer} (default ACL)" for writer in _writers_by_posix_acl(default, status.st_gid)),
                    *_writers_by_nfs4_acl(nfs4, status.st_gid),
                )
                if writer
            ),
            "",
        )
    except (struct.error, ValueError):
        return PathWriters("", "has an access control list that cannot be read")
    return PathWriters(others)


def _may_be_written_phrase(mode: int, gid: int, *, has_acl: bool) -> str:
    if mode & stat.S_IWOTH:
        return "may be written to by everybody"
    if mode & stat.S_IWGRP and not has_acl:  # with an ACL these bits are its mask
        return _group_writes_phrase(gid)
    return ""


def _writers_by_posix_acl(acl: bytes, gid: int) -> Iterator[str]:
    """Raises struct.error, ValueError."""
    if not acl:
        return
    version, *_ = struct.unpack_from("<I", acl)
    if version != 2 or (len(acl) - 4) % 8:
        raise ValueError("not a POSIX ACL")
    entries = [struct.unpack_from("<HHI", acl, at) for at in range(4, len(acl), 8)]
    mask = next((allowed for tag, allowed, _ in entries if tag == _MASK), 0o7)
    for tag, allowed, number in entries:
        if not allowed & _WRITE or (tag not in (_USER_OBJ, _OTHER) and not mask & _WRITE):
            continue
        if tag == _USER and number not in (0, os.geteuid()):
            yield f"may be written to by {_describe_user(number)}"
        elif tag == _GROUP_OBJ:
            yield _group_writes_phrase(gid)
        elif tag == _GROUP:
            yield _group_writes_phrase(number)
        elif tag == _OTHER:
            yield "may be written to by everybody"


def _writers_by_nfs4_acl(acl: bytes, gid: int) -> Iterator[str]:
    """XDR: a count, then type, flags, mask and name of each entry. Raises struct.error, ValueError."""
    if not acl:
        return
    (count,) = struct.unpack_from(">I", acl)
    at = 4
    for _ in range(count):
        kind, flags, allowed, length = struct.unpack_from(">4I", acl, at)
        at += 16
        if at + length > len(acl):
            raise ValueError("not an NFSv4 ACL")
        name = acl[at : at + length].decode("utf-8", "backslashreplace")
        at += length + -length % 4
        if kind != _NFS4_ALLOW or flags & _NFS4_INHERIT_ONLY or not allowed & _NFS4_WRITES:
            continue
        if name == "GROUP@":
            yield _group_writes_phrase(gid)
        elif name == "EVERYONE@":
            yield "may be written to by everybody"
        elif name.partition("@")[0] not in ("", "root", "0") and name not in _NFS4_ROOTS:
            yield f"may be written to by {name}"


def _read_acl_or_empty(path: str, name: str) -> bytes:
    """Raises OSError where it is there and cannot be read."""
    try:
        return os.getxattr(path, name)[:_MAX_ACL_BYTES]
    except OSError as error:
        if error.errno in _NOT_THERE:
            return b""
        raise


def _group_writes_phrase(gid: int) -> str:
    """Empty for group 0 without members. Of another group a server may know members that are not listed here."""
    members = _other_members(gid, primary=gid == 0)
    if gid == 0 and not members:
        return ""
    return f"may be written to by group {gid}" + (f" ({', '.join(members[:3])})" if members else "")


def _other_members(gid: int, *, primary: bool) -> list[str]:
    """Its members but root and the caller; with `primary` also those whose first group it is (reads all users)."""
    try:
        member_names = list(grp.getgrgid(gid).gr_mem)
    except KeyError:
        member_names = []
    if primary:
        member_names += [user.pw_name for user in pwd.getpwall() if user.pw_gid == gid and user.pw_uid != 0]
    me = {"root", _describe_user(os.geteuid()).partition(" ")[0]}
    return [name for name in dict.fromkeys(member_names) if name not in me]


def _describe_user(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _writers_by_file_system(device: int) -> PathWriters:
    """Of a FUSE mount its user rules all that it shows; a server that shows no rights is not known."""
    kind, options = _mount_type_and_options(device)
    if kind.startswith("fuse") and kind != "fusectl":
        user = next((o.partition("=")[2] for o in options if o.startswith("user_id=")), "")
        if user not in ("", "0") and user != str(os.geteuid()):
            number = parse_unsigned(user)
            return PathWriters(
                f"is shown by a program of {user if number is None else _describe_user(number)}"
            )
        if user and "default_permissions" not in options:
            return PathWriters("", f"lies on {kind}, whose own program decides who may write")
    elif kind in _SERVER_DECIDES:
        return PathWriters("", f"lies on {kind}, whose server decides who may write")
    return PathWriters()


def _mount_type_and_options(device: int) -> tuple[str, tuple[str, ...]]:
    """The file system's type and its options, by its device number; empty where no mount of ours has it."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return "", ()
    for line in (line for line in lines if number.encode() in line):
        before, _, after = line.decode("utf-8", "backslashreplace").partition(" - ")
        fields, rest = before.split(), after.split()
        if len(fields) > 5 and fields[2] == number and rest:
            return rest[0], tuple(rest[-1].split(","))
    return "", ()

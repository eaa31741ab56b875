"""Settings that are no files: read and set by a system call, named as a file is by one word.

ring:CARD/rx          descriptors of a network card's receive or transmit ring (linux/ethtool.h)
coalesce:CARD/NAME    how long, or for how many frames, a card waits before it interrupts
adaptive:CARD/rx      on or off: the driver chooses these times itself
offload:CARD/NAME     on or off: work that the card does for the kernel, or the kernel for many packets at once
qdisc:CARD            the queueing discipline at a card's root (linux/pkt_sched.h)
nice:PID/START        the nice value of all threads of a process that started at START (field 22 of proc_pid_stat(5))
nice-children:PID/START/SINCE/VALUE  what began below that process at SINCE or later with that value; "" for nothing
atime:MOUNTPOINT      when a mount writes access times: relatime, noatime, strictatime (mount_setattr(2))
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hostdx.probes.reading.process_stat import ProcessStat, parse_stat, read_live_stat
from hostdx.probes.system.disk.mounts import unescape_mount_text
from hostdx.probes.system.network.ethtool import GET_COALESCING, GET_RINGS, send_ethtool_command


def read_by_call(target: str) -> str:
    """Return the value as a word. Raises OSError with what the kernel said."""
    kind, _, name = target.partition(":")
    return _KINDS[kind].read(name)


def write_by_call(target: str, value: str) -> None:
    """Set it. Raises OSError with what the kernel said."""
    kind, _, name = target.partition(":")
    _KINDS[kind].write(name, value)


def target_with_process_start(target: str) -> str:
    """Return the target with what tells its object from a later one of the same name: a process by its start.

    Raises OSError where there is none.
    """
    kind, _, name = target.partition(":")
    if kind == "atime":
        _require_mount_setattr()
    return f"nice:{name}/{_start_ticks_text(name)}" if kind == "nice" and "/" not in name else target


class _SettingKind(NamedTuple):
    """How a kind of setting is read and set, by what follows the colon."""

    read: Callable[[str], str]
    write: Callable[[str, str], None]


# --- network cards: linux/ethtool.h. A structure is a row of 32-bit words; the first is the command.

_RING = {"rx": 5, "tx": 8}
_RING_COMMANDS = (GET_RINGS, 0x11, 9)  # get, set, words
_COALESCE = {"rx-usecs": 1, "rx-frames": 2, "tx-usecs": 5, "tx-frames": 6}
_ADAPTIVE = {"rx": 10, "tx": 11}
_COALESCE_COMMANDS = (GET_COALESCING, 0x0F, 23)
# one bit each; ETHTOOL_STSO is not here: it sets four of them (NETIF_F_ALL_TSO), which may have been unlike
_OFFLOADS = {"gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}


def _ethtool_word_setting(
    commands: tuple[int, int, int], places: Mapping[str, int], words: tuple[str, ...] = ()
) -> _SettingKind:
    """One word of a structure, by the setting's name. `words`: what the numbers 0, 1, … are called."""
    get, put, size = commands

    def read_fields(card: str) -> list[int]:
        return list(send_ethtool_command(card, get, *([0] * (size - 1))))

    def read(name: str) -> str:
        card, _, field = name.partition("/")
        value = read_fields(card)[places[field]]
        return words[value] if words else str(value)

    def write(name: str, value: str) -> None:
        card, _, field = name.partition("/")
        values = read_fields(card)
        values[0], values[places[field]] = put, words.index(value) if words else int(value)
        send_ethtool_command(card, *values)

    return _SettingKind(read, write)


def _read_offload(name: str) -> str:
    card, _, offload = name.partition("/")
    _, state = send_ethtool_command(card, _OFFLOADS[offload][0], 0)
    return "on" if state else "off"


def _write_offload(name: str, value: str) -> None:
    card, _, offload = name.partition("/")
    send_ethtool_command(card, _OFFLOADS[offload][1], int(value == "on"))


# --- queueing disciplines: rtnetlink(7), linux/rtnetlink.h. pyroute2 would do it, but not beside a running event loop.

_NEW, _DELETE, _GET, _DUMP_DONE, _ERROR = 36, 37, 38, 3, 2
_REQUEST, _ACK, _REPLACE, _CREATE, _DUMP = 0x1, 0x4, 0x100, 0x400, 0x300
_ROOT = 0xFFFFFFFF
_TCA_KIND = 1
DEFAULT_DISCIPLINE = "default"
_MESSAGE = struct.Struct("=IHHII")  # struct nlmsghdr
_TRAFFIC = struct.Struct("=BxxxiIII")  # struct tcmsg: family, index, handle, parent, info


def _interface_index_or_raise(card: str) -> int:
    try:
        return socket.if_nametoindex(card)
    except OSError:  # without a number
        raise OSError(errno.ENODEV, f"there is no network card {card}") from None


def _read_root_qdisc(card: str) -> str:
    """The discipline at the root that a person set. "default" where the kernel chose it and would choose it again: it
    gives its own no handle, and below `mq` one for each queue.
    """
    index = _interface_index_or_raise(card)
    disciplines: list[tuple[str, int, int]] = []  # kind, handle, parent
    for body in _exchange_netlink(_GET, _DUMP, _TRAFFIC.pack(0, index, 0, 0, 0)):
        _, its_index, handle, parent, _ = _TRAFFIC.unpack_from(body)
        kind = _netlink_attribute_text(body[_TRAFFIC.size :], _TCA_KIND)
        if its_index == index and kind not in ("ingress", "clsact"):
            disciplines.append((kind, handle, parent))
    root = next((kind for kind, _, parent in disciplines if parent == _ROOT), None)
    if root is None:
        raise OSError(errno.ENOENT, f"{card} has no queueing discipline")
    today = _default_discipline()
    is_default = all(not handle and kind in (today, "mq", "noqueue") for kind, handle, _ in disciplines)
    return DEFAULT_DISCIPLINE if is_default else root


def _default_discipline() -> str:
    """What the kernel chooses for a new queue: a kernel without other disciplines has no such setting."""
    try:
        return Path("/proc/sys/net/core/default_qdisc").read_text().strip()
    except OSError:
        return "pfifo_fast"


def _replace_root_qdisc(card: str, value: str) -> None:
    """Set a discipline with its own defaults, or give the choice back to the kernel. What waits in it is dropped."""
    traffic = _TRAFFIC.pack(0, _interface_index_or_raise(card), 0, _ROOT, 0)
    if value == DEFAULT_DISCIPLINE:
        _exchange_netlink(_DELETE, _ACK, traffic)
        return
    kind = value.encode() + b"\0"
    attribute = struct.pack("=HH", 4 + len(kind), _TCA_KIND) + kind + bytes(-len(kind) % 4)
    try:
        _exchange_netlink(_NEW, _ACK | _REPLACE | _CREATE, traffic + attribute)
    except FileNotFoundError:
        raise OSError(errno.EINVAL, f"this kernel has no queueing discipline {value}") from None


def _netlink_attribute_text(data: bytes, wanted: int) -> str:
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        if kind == wanted:
            return data[4:size].rstrip(b"\0").decode("ascii", "replace")
        data = data[max(4, size + 3 & ~3) :]
    return ""


def _exchange_netlink(message: int, flags: int, body: bytes) -> list[bytes]:
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
    ) as link:
        link.settimeout(2.0)
        link.send(_MESSAGE.pack(_MESSAGE.size + len(body), message, flags | _REQUEST, 1, 0) + body)
        bodies: list[bytes] = []
        while True:
            data = link.recv(1 << 16)
            while len(data) >= _MESSAGE.size:
                size, kind, _, _, _ = _MESSAGE.unpack_from(data)
                own, data = data[_MESSAGE.size : size], data[max(_MESSAGE.size, size + 3 & ~3) :]
                if kind == _DUMP_DONE:
                    return bodies
                if kind == _ERROR:
                    [number] = struct.unpack_from("=i", own)
                    if number:
                        raise OSError(-number, os.strerror(-number))
                    return bodies
                bodies.append(own)


# --- processes

_MAX_PASSES = 10  # over threads and children that begin meanwhile
_MAX_NAMES = 8  # of children


def _start_ticks_text(pid: str) -> str:
    """Return the clock tick at which the process started, after boot. Raises FileNotFoundError."""
    try:
        stat = parse_stat(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
    except (ProcessLookupError, FileNotFoundError):
        stat = None
    if stat is None:
        raise FileNotFoundError(errno.ENOENT, f"there is no process {pid}")
    return str(stat.start_ticks)


def _threads_if_same_process(name: str) -> list[int]:
    pid, _, start = name.partition("/")
    if _start_ticks_text(pid) != start:
        raise FileNotFoundError(errno.ENOENT, f"process {pid} has ended; another one has its number now")
    return _list_threads(pid)


def _list_threads(pid: str | int) -> list[int]:
    return [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]


def _read_nice(pid_and_start: str) -> str:
    """The value of its threads; several values where they differ, as after a writer that was killed half-way."""
    values = set()
    for thread in _threads_if_same_process(pid_and_start):
        try:
            values.add(os.getpriority(os.PRIO_PROCESS, thread))
        except ProcessLookupError:
            continue  # a thread that ended meanwhile
    return ",".join(map(str, sorted(values)))


def _write_nice(pid_and_start: str, value: str) -> None:
    """A thread that begins meanwhile has the value of its maker: so again, until all have the new one."""
    for _ in range(_MAX_PASSES):
        if not _change_nice(_threads_if_same_process(pid_and_start), int(value)):
            return


def _change_nice(threads: Iterable[int], value: int, own: int | None = None) -> bool:
    """Set the value of the threads that have another one, or only of those with the value `own`; return whether some
    had.
    """
    changed = False
    for thread in threads:
        try:
            now = os.getpriority(os.PRIO_PROCESS, thread)
            if now != value and own in (None, now):
                os.setpriority(os.PRIO_PROCESS, thread, value)
                changed = True
        except ProcessLookupError:
            continue  # a thread that ended meanwhile
    return changed


def _later_descendants(name: str) -> list[ProcessStat]:
    """The processes that PID made, and those that they made, also in its process group or session where it has ended.

    A process that left all three (a daemon) is not known by it.
    """
    pid, start, since, value = map(int, name.split("/"))
    own = read_live_stat(pid)
    if own is not None and own.start_ticks != start:
        return []  # the number of another process, so nothing of the old one's group is left either
    stats = [stat for path in Path("/proc").glob("[0-9]*") if (stat := read_live_stat(path.name)) is not None]
    family = {pid}
    while new := {
        stat.pid
        for stat in stats
        if stat.pid not in family
        and (stat.parent_pid in family or pid in (stat.field_value(5), stat.field_value(6)))
    }:
        family |= new
    return [
        stat
        for stat in stats
        if stat.pid in family - {pid}
        and stat.start_ticks >= since
        and stat.nice_value == value
        and not stat.has_ended
    ]


def _describe_children(name: str) -> str:
    names = [f"{stat.name} ({stat.pid})" for stat in _later_descendants(name)]
    more = [f"{len(names) - _MAX_NAMES} more"] if len(names) > _MAX_NAMES else []
    return ", ".join(names[:_MAX_NAMES] + more)


def _set_nice_of_children(name: str, value: str) -> None:
    own = int(name.rpartition("/")[2])
    for _ in range(_MAX_PASSES):
        children = _later_descendants(name)
        for stat in children:
            with suppress(FileNotFoundError):  # it has ended
                _change_nice(_list_threads(stat.pid), int(value), own)
        if not children:
            return


# --- mounts: mount_setattr(2), Linux 5.12; linux/mount.h

_ATIME_MASK = 0x70
_ATIME = {"relatime": 0x00, "noatime": 0x10, "strictatime": 0x20}
_MOUNT_SETATTR = 442  # the same on every architecture
_AT_FDCWD = -100


def _require_mount_setattr() -> None:
    """Raise OSError where the kernel does not know the call; a size of 0 is refused by one that does (EINVAL)."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, b"/", 0, None, 0)
    if (number := ctypes.get_errno()) == errno.ENOSYS:
        raise OSError(
            number, "this kernel cannot change one mount's options alone (mount_setattr, Linux 5.12)"
        )


def _read_atime(mountpoint: str) -> str:
    """The kernel names relatime and noatime in mountinfo; without either, every access is written."""
    for line in reversed(Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()):
        columns = line.split()
        if unescape_mount_text(columns[4]) == mountpoint:
            options = columns[5].split(",")
            return next((name for name in ("noatime", "relatime") if name in options), "strictatime")
    raise FileNotFoundError(errno.ENOENT, f"nothing is mounted at {mountpoint}")


def _write_atime(mountpoint: str, value: str) -> None:
    attributes = struct.pack("=QQQQ", _ATIME[value], _ATIME_MASK, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    path = os.fsencode(mountpoint)
    if libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path, 0, attributes, len(attributes)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


_KINDS: Mapping[str, _SettingKind] = {
    "ring": _ethtool_word_setting(_RING_COMMANDS, _RING),
    "coalesce": _ethtool_word_setting(_COALESCE_COMMANDS, _COALESCE),
    "adaptive": _ethtool_word_setting(_COALESCE_COMMANDS, _ADAPTIVE, ("off", "on")),
    "offload": _SettingKind(_read_offload, _write_offload),
    "qdisc": _SettingKind(_read_root_qdisc, _replace_root_qdisc),
    "nice": _SettingKind(_read_nice, _write_nice),
    "nice-children": _SettingKind(_describe_children, _set_nice_of_children),
    "atime": _SettingKind(_read_atime, _write_atime),
}

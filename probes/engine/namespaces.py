"""Two network namespaces of hostdx's own with a veth pair between them.

They have no name in /run/netns: the process that made them holds them, and the kernel removes them with all
interfaces, routes, rules and settings inside when it ends. That process dies with the runner (PR_SET_PDEATHSIG),
so nothing can be left behind, not even by SIGKILL. Without root the same is tried in a user namespace.
"""

from __future__ import annotations

import ctypes
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from pyroute2 import IPRoute

from hostdx.probes.engine.measured import BenchRefused

CLONE_NEWNET = 0x40000000  # linux/sched.h
CLONE_NEWUSER = 0x10000000
_NODAD = 0x02  # IFA_F_NODAD: no duplicate address detection, which would delay the address by a second
_PERMANENT = 0x80  # NUD_PERMANENT: no neighbour discovery within a measurement
SENDER_LINK, RECEIVER_LINK = "hdxs", "hdxr"
_libc = ctypes.CDLL(None, use_errno=True)


class LabAddresses(msgspec.Struct, frozen=True, kw_only=True):
    """Private addresses (RFC 4193, RFC 1918), drawn at random. `spoofed` is the sender's too, but
    the receiver knows no way back to it: a reverse-path check must drop what comes from there."""

    ipv6: tuple[str, str]
    ipv4: tuple[str, str]
    ipv6_net: str
    ipv4_net: str
    spoofed6: str
    spoofed6_net: str
    spoofed4: str
    spoofed4_net: str


def draw_lab_addresses() -> LabAddresses:
    ula = f"fd{secrets.token_hex(1)}:{secrets.token_hex(2)}:{secrets.token_hex(2)}"
    middle, other = 64 + secrets.randbelow(64), 128 + secrets.randbelow(64)
    low = secrets.randbelow(256)
    return LabAddresses(
        ipv6=(f"{ula}:1::1", f"{ula}:1::2"),
        ipv4=(f"10.{middle}.{low}.1", f"10.{middle}.{low}.2"),
        ipv6_net=f"{ula}:1::/64",
        ipv4_net=f"10.{middle}.{low}.0/24",
        spoofed6=f"{ula}:2::1",
        spoofed6_net=f"{ula}:2::/64",
        spoofed4=f"10.{other}.{low}.1",
        spoofed4_net=f"10.{other}.{low}.0/24",
    )


def namespace_inode() -> int:
    """Return which network namespace the calling thread is in."""
    return Path("/proc/thread-self/ns/net").stat().st_ino


class NetNamespaces:
    """Made by `make()` in a process of its own with one thread. `forbidden` are the inodes of
    namespaces that must never be entered again: the host's."""

    def __init__(
        self, sender: int, receiver: int, forbidden: frozenset[int], in_user_namespace: bool
    ) -> None:
        self._handles = {"sender": sender, "receiver": receiver}
        self._forbidden = forbidden
        self.in_user_namespace = in_user_namespace

    @classmethod
    def make(cls) -> NetNamespaces:
        """Raises BenchRefused with one line where the kernel or its settings do not allow it."""
        forbidden = frozenset({namespace_inode()} | _host_network_namespace_inodes())
        in_user_namespace = _enter_new_network_namespace()
        namespaces = cls(*_open_own_and_new_namespace(), forbidden, in_user_namespace)
        namespaces.enter("receiver")
        return namespaces

    def make_second_pair(self) -> NetNamespaces:
        """Two more, beside these."""
        self.enter("receiver")
        _unshare_namespaces(CLONE_NEWNET)
        namespaces = NetNamespaces(*_open_own_and_new_namespace(), self._forbidden, self.in_user_namespace)
        namespaces.enter("receiver")
        return namespaces

    def enter(self, which: str) -> None:
        if _libc.setns(self._handles[which], CLONE_NEWNET) != 0:
            code = ctypes.get_errno()
            raise BenchRefused(f"cannot enter the private network namespace: {os.strerror(code)}")
        self.assert_private()

    def assert_private(self) -> None:
        """Stands before every change: rules, routes and settings never reach the host's own namespace."""
        if namespace_inode() in self._forbidden:
            raise BenchRefused("refusing to change anything: this is the host's own network namespace")

    def namespace_fd(self, which: str) -> int:
        return self._handles[which]

    @contextmanager
    def enter_and_open_netlink(self, which: str) -> Iterator[IPRoute]:
        self.enter(which)
        with IPRoute() as connection:
            yield connection


def _open_own_and_new_namespace() -> tuple[int, int]:
    """The namespace that the calling thread is in, and a new one."""
    first = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    _unshare_namespaces(CLONE_NEWNET)
    return first, os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _enter_new_network_namespace() -> bool:
    """Into a new network namespace; True where that took a user namespace."""
    try:
        _unshare_namespaces(CLONE_NEWNET)
        return False
    except BenchRefused as first:
        user, group = os.geteuid(), os.getegid()
        try:
            _unshare_namespaces(CLONE_NEWUSER | CLONE_NEWNET)
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
        except (BenchRefused, OSError) as second:
            reason = second.strerror if isinstance(second, OSError) else str(second)
            raise BenchRefused(f"{first}; nor in a user namespace: {reason}. Run it as root.") from None
        return True


def _unshare_namespaces(flags: int) -> None:
    if _libc.unshare(flags) != 0:
        code = ctypes.get_errno()
        raise BenchRefused(f"no network namespace can be made here: {os.strerror(code)}")


def _host_network_namespace_inodes() -> set[int]:
    try:
        return {Path("/proc/1/ns/net").stat().st_ino}
    except OSError:  # not root: only the own namespace can be named
        return set()


def connect_by_veth_pair(
    namespaces: NetNamespaces, addresses: LabAddresses, *, ipv6: bool, queues: int = 1
) -> None:
    """The veth pair with addresses, permanent neighbours and the unreachable route back to the spoofed net."""
    shape = {"num_tx_queues": queues, "num_rx_queues": queues} if queues > 1 else {}
    with (
        namespaces.enter_and_open_netlink("receiver") as receiver,
        namespaces.enter_and_open_netlink("sender") as sender,
    ):
        sender.link(
            "add",
            ifname=SENDER_LINK,
            kind="veth",
            peer={"ifname": RECEIVER_LINK, "net_ns_fd": namespaces.namespace_fd("receiver"), **shape},
            **shape,
        )
        ends = ((sender, SENDER_LINK, 0), (receiver, RECEIVER_LINK, 1))
        macs, indexes = [], []
        for netlink, name, _ in ends:
            index = netlink.link_lookup(ifname=name)[0]
            indexes.append(index)
            macs.append(netlink.get_links(index)[0].get_attr("IFLA_ADDRESS"))
        for netlink, _, place in ends:
            index = indexes[place]
            netlink.link("set", index=1, state="up")
            netlink.link("set", index=index, state="up")
            netlink.addr("add", index=index, address=addresses.ipv4[place], prefixlen=24)
            _set_permanent_neighbour(netlink, index, addresses.ipv4[1 - place], macs[1 - place])
            if ipv6:
                netlink.addr("add", index=index, address=addresses.ipv6[place], prefixlen=64, flags=_NODAD)
                _set_permanent_neighbour(netlink, index, addresses.ipv6[1 - place], macs[1 - place])
        sender.addr("add", index=indexes[0], address=addresses.spoofed4, prefixlen=32)
        receiver.route("add", dst=addresses.spoofed4_net, type="unreachable")
        if ipv6:
            sender.addr("add", index=indexes[0], address=addresses.spoofed6, prefixlen=128, flags=_NODAD)
            receiver.route("add", dst=addresses.spoofed6_net, type="unreachable", family=10)
    namespaces.enter("receiver")


def _set_permanent_neighbour(netlink: IPRoute, index: int, address: str, mac: str) -> None:
    netlink.neigh("replace", dst=address, lladdr=mac, ifindex=index, state=_PERMANENT)

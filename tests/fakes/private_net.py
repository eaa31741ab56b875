"""A network namespace of a test's own that looks like a host with a firewall: rules, routes, policy, settings."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.network_state import network_state

_NEWNET = 0x40000000  # CLONE_NEWNET (linux/sched.h)
# Without duplicate address detection: an address is not `tentative` first.
_SETUP = """
set -e
ip link set lo up
echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
ip link add eth7 type veth peer name far7
ip link set eth7 up
ip link set far7 up
ip addr add 198.51.100.7/24 dev eth7
ip addr add 2001:db8:7::7/64 dev eth7 nodad
ip -6 route add default via 2001:db8:7::1 dev eth7
ip route add 203.0.113.0/24 via 198.51.100.1 table 77
ip rule add from 198.51.100.7 table 77
echo 2 > /proc/sys/net/ipv4/conf/all/rp_filter
echo 1 > /proc/sys/net/ipv4/conf/eth7/rp_filter
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
nft -f "$1"
echo ready
exec cat
"""


class PrivateNet:
    """`join` is a preexec_fn: the child lives in the namespace. It ends with the process that holds it."""

    def __init__(self, holder: int) -> None:
        self.name = str(Path(f"/proc/{holder}/ns/net").readlink())
        self._file = os.open(f"/proc/{holder}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._libc = ctypes.CDLL(None, use_errno=True)

    def join(self) -> None:
        if self._libc.setns(self._file, _NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")

    def close(self) -> None:
        os.close(self._file)

    def state(self) -> str:
        return network_state(self.join)


@contextmanager
def private_net(ruleset: Path) -> Iterator[PrivateNet]:
    """Holds the namespace as long as the block lasts. Raises OSError where none can be made."""
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", _SETUP, "sh", str(ruleset)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None and holder.stderr is not None
        if holder.stdout.readline() != "ready\n":
            raise OSError(holder.stderr.read().strip() or "no namespace")
        net = PrivateNet(holder.pid)
        try:
            yield net
        finally:
            net.close()
            holder.terminate()

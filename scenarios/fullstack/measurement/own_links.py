"""Links of our own where there is no peer: two network namespaces and a veth pair for each, with its settings."""

from __future__ import annotations

import ctypes
import os
import select
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from hostdx.probes.children.bounded_wait import reap_or_kill
from hostdx.probes.engine.namespaces import (
    RECEIVER_LINK,
    SENDER_LINK,
    NetNamespaces,
    connect_by_veth_pair,
    draw_lab_addresses,
)
from hostdx.scenarios.fullstack.measurement.messages import OwnLink, PeerAddress

SETTINGS_S = 10.0
SILENT = "writing its settings took too long"
FLOWS = 4096  # rps_flow_cnt: of each queue; it counts where net.core.rps_sock_flow_entries is set, which is the host's
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x00020000, 1 << 14, 1 << 18  # linux/sched.h, linux/mount.h


def own_links(
    links: Sequence[OwnLink],
    serve: Callable[[str], PeerAddress],
    join: Callable[[PeerAddress], None],
) -> tuple[bool, dict[int, str]]:
    """`serve` starts a peer on the address, in the one namespace; `join` goes to it, from the other.

    Connections stay in the namespace that they were made in. Returns whether it took a user namespace, and of which
    links the setting could not be made, and why. Raises BenchRefused.
    """
    first: NetNamespaces | None = None
    unset = {}
    cpus = sorted(os.sched_getaffinity(0))
    for number, link in enumerate(links):
        spaces = NetNamespaces.make() if first is None else first.make_second_pair()
        first = first or spaces
        addresses = draw_lab_addresses()
        connect_by_veth_pair(spaces, addresses, ipv6=False, queues=len(cpus) if link.spread == "xps" else 1)
        for end, name in (("sender", SENDER_LINK), ("receiver", RECEIVER_LINK)):
            with spaces.enter_and_open_netlink(end) as netlink:
                netlink.link("set", index=netlink.link_lookup(ifname=name)[0], mtu=link.mtu)
            if link.spread and (
                why := _apply_sysfs_settings_or_reason(
                    f"/sys/class/net/{name}/queues", _queue_settings(link, cpus)
                )
            ):
                unset[number] = why
        spaces.enter("receiver")
        served = serve(addresses.ipv4[1])
        spaces.enter("sender")
        join(served)
    return first is not None and first.in_user_namespace, unset


def _queue_settings(link: OwnLink, cpus: Sequence[int]) -> dict[str, str]:
    """Files of the queues, and what to write there."""
    if link.spread == "rfs":
        return {"rx-0/rps_cpus": cpu_mask_text(cpus), "rx-0/rps_flow_cnt": str(FLOWS)}
    return {f"tx-{n}/xps_cpus": cpu_mask_text([cpu]) for n, cpu in enumerate(cpus)} if len(cpus) > 1 else {}


def cpu_mask_text(cpus: Sequence[int]) -> str:
    """`1,00000001`: words of 32 CPUs, as bitmap_parse() reads them (lib/bitmap-str.c)."""
    bits = sum(1 << cpu for cpu in cpus)
    words = [bits >> 32 * n & 0xFFFFFFFF for n in reversed(range(max(cpus) // 32 + 1))]
    return ",".join(f"{word:08x}" for word in words)


def _apply_sysfs_settings_or_reason(place: str, settings: dict[str, str]) -> str:
    """Return why not; sysfs shows the network namespace it was mounted from: so in a child with its own mounts."""
    read_end, tell = os.pipe()
    if (child := os.fork()) == 0:
        try:
            _enter_own_mounts_and_write(place, settings)
        except OSError as error:
            os.write(tell, (error.strerror or str(error)).encode())
        finally:
            os._exit(0)
    os.close(tell)
    with os.fdopen(read_end, "rb") as pipe:
        is_done = bool(select.select([pipe], [], [], SETTINGS_S)[0])
        why = os.read(pipe.fileno(), 1 << 12).decode("utf-8", "replace") if is_done else SILENT
    if not is_done:
        os.kill(child, signal.SIGKILL)
    reap_or_kill(child)
    return why


def _enter_own_mounts_and_write(place: str, settings: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for done in (
        libc.unshare(_CLONE_NEWNS),
        libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None),
        libc.mount(b"hostdx", b"/sys", b"sysfs", 0, None),
    ):
        if done != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"its settings cannot be reached: {os.strerror(code)}")
    for name, value in settings.items():
        Path(place, name).write_text(value)

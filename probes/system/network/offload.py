"""Whether an interface merges received frames before the firewall sees them (GRO, LRO).

The reverse-path check runs once for what GRO has merged, so this decides whether it is met 45 times as often.
"""

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.network.ethtool import read_features, send_ethtool_command
from hostdx.probes.types import Absent

_GGRO, _SGRO = 0x2B, 0x2C  # linux/ethtool.h
_GTSO, _STSO = 0x1E, 0x1F
_GGSO, _SGSO = 0x23, 0x24
_GFLAGS = 0x25
_LRO = 1 << 15  # ETH_FLAG_LRO


class Offload(msgspec.Struct, frozen=True, kw_only=True):
    """Merging of received frames, as set now."""

    gro: bool | Absent
    lro: bool | Absent
    source: str

    @property
    def merges_frames(self) -> bool | None:
        """None where it is not known."""
        states = [v for v in (self.gro, self.lro) if not isinstance(v, Absent)]
        return any(states) if states else None


def read_offload(host: Host, interface: str) -> Offload | Absent:
    """By the kernel's own answer on a live host, by `ethtool -k` in a captured tree."""
    if host.live:
        return _read_live_offloads(interface)
    feature_states = read_features(host, interface)
    if isinstance(feature_states, Absent):
        return feature_states
    switches = {name: on for name, (on, _) in feature_states.items()}
    missing = Absent("ethtool -k does not name it", "invalid", f"ethtool -k {interface}")
    gro = switches.get("generic-receive-offload")
    return Offload(
        gro=missing if gro is None else gro or switches.get("rx-gro-hw", False),
        lro=switches.get("large-receive-offload", missing),
        source=f"ethtool -k {interface}",
    )


def _read_live_offloads(interface: str) -> Offload | Absent:
    source = f"ioctl SIOCETHTOOL, {interface}"
    try:
        gro: bool | Absent = bool(_read_ethtool_value(interface, _GGRO))
    except OSError as error:
        return Absent(f"{interface}: {error.strerror}", "unsupported", source)
    try:
        lro: bool | Absent = bool(_read_ethtool_value(interface, _GFLAGS) & _LRO)
    except OSError as error:
        lro = Absent(f"{interface}: {error.strerror}", "unsupported", source)
    return Offload(gro=gro, lro=lro, source=source)


def set_offload(interface: str, *, tso: bool, gso: bool, gro: bool) -> None:
    """Sets an interface of the caller's network namespace. Only the measurement calls it, inside its own."""
    for command, value in ((_STSO, tso), (_SGSO, gso), (_SGRO, gro)):
        send_ethtool_command(interface, command, int(value))


def read_tso_and_gso(interface: str) -> tuple[bool, bool]:
    """TSO and GSO as set, of an interface of the caller's own network namespace."""
    return bool(_read_ethtool_value(interface, _GTSO)), bool(_read_ethtool_value(interface, _GGSO))


def _read_ethtool_value(interface: str, command: int) -> int:
    return send_ethtool_command(interface, command, 0)[1]

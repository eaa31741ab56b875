"""The network cards with what bounds their packets: line rate, MTU, and whether received frames are merged."""

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.network.offload import Offload, read_offload
from hostdx.probes.types import Absent

NET = "/sys/class/net"


class LinkedCard(msgspec.Struct, frozen=True, kw_only=True):
    """A network card with its link up. Virtual ones (bridges, veths, tunnels) are none."""

    name: str
    mbit_per_s: int | Absent  # one direction, as the driver says
    mtu: int | Absent
    offload: Offload | Absent

    @property
    def merges_frames(self) -> bool | None:
        """Return whether GRO or LRO merge frames before the firewall; None where it is not known."""
        return None if isinstance(self.offload, Absent) else self.offload.merges_frames


def list_linked_cards(host: Host) -> tuple[LinkedCard, ...]:
    """The cards that have a device behind them and are not down, fastest first, those of unknown speed last."""
    names = host.list_names(NET)
    linked_cards = []
    for name in names if not isinstance(names, Absent) else ():
        if (
            not host.path_exists(f"{NET}/{name}/device")
            or host.read_file_text(f"{NET}/{name}/operstate") == "down"
        ):
            continue
        speed = host.read_integer(f"{NET}/{name}/speed")  # EINVAL while the link is down
        if not isinstance(speed, Absent) and speed <= 0:
            speed = Absent(f"the driver of {name} reports no speed", "unsupported", f"{NET}/{name}/speed")
        linked_cards.append(
            LinkedCard(
                name=name,
                mbit_per_s=speed,
                mtu=host.read_integer(f"{NET}/{name}/mtu"),
                offload=read_offload(host, name),
            )
        )
    return tuple(
        sorted(linked_cards, key=lambda c: (0 if isinstance(c.mbit_per_s, Absent) else -c.mbit_per_s, c.name))
    )

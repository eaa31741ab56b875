"""Rows about the network: cards, bonds, the packet path, TCP."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial

import msgspec

from hostdx.probes.cpu_list import parse_cpu_mask
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.drive.link import BusLink, pcie_link
from hostdx.probes.system.network.ethtool import (
    ethtool_counters,
    ethtool_output,
    read_channels,
    read_coalescing,
    read_features,
    read_rings,
)
from hostdx.probes.system.network.nic import ROOT, Nic, read_nics
from hostdx.probes.system.network.offload import read_offload
from hostdx.probes.system.network.packet_rates import read_softnet
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.knowledge.counters import known_counters
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.subjects import irq, tcp
from hostdx.scenarios.triage.rules.table import SubjectRow, field_value

# Also a management controller's card on USB, which tells a speed and duplex of no meaning.
_PARAVIRTUAL = frozenset(
    {"virtio_net", "ena", "gve", "xen_netfront", "vif", "hv_netvsc", "vmxnet3"}
    | {"cdc_ether", "cdc_ncm", "cdc_subset", "rndis_host", "usbnet"}
)
_MAX_ASKED_CARDS = 8
_NOT_ASKED = Absent(f"only the first {_MAX_ASKED_CARDS} cards that are up are read", "unsupported")
_PORT_FULL = r"^rx_discards_phy$"  # its own buffer, before any ring
# The same frames by the port, by the driver and by priority: the largest of these sums counts.
_PAUSED = (
    r"^rx_pause_ctrl_phy$",
    r"^rx_(global_)?pause$|^rx_flow_control_xoff$",
    r"^rx_xoff_\w*$",
    r"^rx_prio[0-9]_pause$",
)
_PAUSING = tuple(pattern.replace("rx_", "tx_") for pattern in _PAUSED)
# The same frames by layer: the largest of these sums counts.
_DAMAGED = (
    r"^rx_(crc|fcs)_err(or)?s?$",
    r"^rx_(crc|fcs)_err(or)?s?_phy$",
    r"^port\.rx_(crc|fcs)_err(or)?s?$",
    r"^rx_(pcs_)?symbol_err(or)?s?_phy$",
    r"^(rx_)?fec_uncorrect\w*$",
)
_STUCK = r"^tx_timeout(_count|s)?$"
_COUNTERS = (
    "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped",
    "rx_missed_errors", "rx_fifo_errors", "rx_crc_errors", "rx_frame_errors", "rx_over_errors", "rx_length_errors",
    "tx_carrier_errors", "tx_fifo_errors", "tx_aborted_errors", "tx_heartbeat_errors", "collisions",
)  # fmt: skip


def card_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per card (also a virtual machine's), software interfaces left out. Speeds in bit/s, counts since boot."""
    cards = host.compute_once(read_nics)
    names = host.list_names(ROOT)
    if isinstance(names, Absent) and not cards:
        return names
    emulated = read_virtualisation(host).is_virtual
    return [_card_row(host, card, emulated) for card in cards.values() if card.physical]


def _card_row(host: Host, card: Nic, emulated: bool) -> SubjectRow:
    base = f"{ROOT}/{card.name}"
    ethtool_text = partial(ethtool_output, host, card.name)
    steered = cache(partial(_rps_cpus_by_queue, host, card))  # two columns of one reading
    driver = card.driver if is_present(card.driver) else ""
    columns = {
        "name": card.name,
        "driver": card.driver,
        # Its speed, duplex and errors are made up, or another machine's.
        "paravirtual": driver in _PARAVIRTUAL
        or (emulated and driver in ("e1000", "e1000e", "8139cp", "pcnet32")),
        "kind": card.kind,
        "state": card.state,
        "up": lambda: _is_up(card, host),
        "standby": lambda: _is_standby_of_bond(host, card.name),
        "speed": lambda: _speed_bits(card, ethtool_text()),
        "most": lambda: _max_speed_bits(ethtool_text()),
        "peers": lambda: _peer_speed_bits(host, card),
        "duplex": lambda: _duplex_word(host, base, ethtool_text()),
        "mtu": card.mtu,
        "node": card.numa_node,
        "queues": card.queues_rx,
        "channels": lambda: field_value(read_channels(host, card.name), "now"),
        "most_channels": lambda: field_value(read_channels(host, card.name), "most"),
        "ring": lambda: field_value(read_rings(host, card.name), "rx"),
        "most_ring": lambda: field_value(read_rings(host, card.name), "most_rx"),
        "rx_usecs": lambda: field_value(read_coalescing(host, card.name), "rx_usecs"),
        "rx_frames": lambda: field_value(read_coalescing(host, card.name), "rx_frames"),
        "adaptive_rx": lambda: field_value(read_coalescing(host, card.name), "adaptive_rx"),
        "gro": lambda: field_value(read_offload(host, card.name), "gro"),
        "lro": lambda: field_value(read_offload(host, card.name), "lro"),
        "tso": lambda: _is_feature_on_or_fixed(host, card.name, "tcp-segmentation-offload"),
        "checksums": lambda: _is_feature_on_or_fixed(host, card.name, "rx-checksumming"),
        "sent_checksums": lambda: _is_feature_on_or_fixed(host, card.name, "tx-checksumming"),
        "gso": lambda: _is_feature_on_or_fixed(host, card.name, "generic-segmentation-offload"),
        "gather": lambda: _is_feature_on_or_fixed(host, card.name, "scatter-gather"),
        "queue_length": lambda: host.read_integer(f"{base}/tx_queue_len"),
        "carrier_changes": lambda: host.read_integer(f"{base}/carrier_changes"),
        "link": lambda: field_value(_pcie_link_of_card(host, base), "now"),
        "link_rate": lambda: _pcie_bits_per_s(host, base),
        "steered_queues": lambda: queues if isinstance(queues := steered(), Absent) else list(queues),
        "steered_cpus": lambda: (
            queues if isinstance(queues := steered(), Absent) else frozenset().union(*queues.values())
        ),
        "irq_cpus": lambda: irq.interrupt_cpus(host, _used_irqs_of_card(host, card)),
        "irqs": lambda: len(_used_irqs_of_card(host, card)) or Absent("no interrupt has its name"),
        "irq_nodes": lambda: irq.interrupt_nodes(host, _used_irqs_of_card(host, card)),
        "irq_isolated": lambda: irq.isolated_interrupt_cpus(host, _used_irqs_of_card(host, card)),
        **{name: partial(_spreading_value, host, card, name) for name in irq.BY_HAND},
        "cut_off": lambda: _largest_driver_sum(
            host, card.name, [rf"^(?:{entry.counter})$" for entry in known_counters() if entry.of == "ring"]
        ),
        "port_full": partial(_sum_of_driver_counters, host, card.name, _PORT_FULL),
        "exceeded": partial(_sum_of_driver_counters, host, card.name, r"allowance_exceeded$"),
        "paused": partial(_largest_driver_sum, host, card.name, _PAUSED),
        "pausing": partial(_largest_driver_sum, host, card.name, _PAUSING),
        "damaged": partial(_largest_driver_sum, host, card.name, _DAMAGED),
        "stuck": partial(_sum_of_driver_counters, host, card.name, _STUCK),
        **{name: partial(_card_counter, host, card.name, name) for name in _COUNTERS},
    }
    return SubjectRow(card.name, columns, base)


def _is_standby_of_bond(host: Host, card: str) -> Value:
    """True of a port that its bond keeps for later: what arrives there is dropped by design, and counted.

    Documentation/networking/bonding.rst (active-backup), Documentation/ABI/testing/sysfs-class-net (rx_nohandler).
    """
    state = host.read_word(f"{ROOT}/{card}/bonding_slave/state")
    if is_present(state):
        return state == "backup"
    for path in host.glob_paths("/proc/net/bonding/*"):
        text = host.read_file_text(path, 1 << 18)
        if is_present(text) and "(active-backup)" in text and f"\nSlave Interface: {card}\n" in text:
            return f"Currently Active Slave: {card}\n" not in text
    return False


def _card_counter(host: Host, card: str, name: str) -> Value:
    """Return the kernel's counter; in a captured tree without it the driver's counter of that name."""
    count = host.read_integer(f"{ROOT}/{card}/statistics/{name}")
    if is_present(count) or host.live:
        return count
    counters = ethtool_counters(host, card)
    return counters.get(name, count) if is_present(counters) else count


def _is_up(card: Nic, host: Host) -> Value:
    if isinstance(card.state, Absent):
        return card.state
    if card.state == "unknown":
        carrier = host.read_integer(f"{ROOT}/{card.name}/carrier")
        return carrier if isinstance(carrier, Absent) else carrier == 1
    return card.state == "up"


def _speed_bits(card: Nic, ethtool_text: str | Absent) -> Value:
    if is_present(card.speed_mbit):
        return card.speed_mbit * 1_000_000
    speed_match = re.search(r"Speed: ([0-9]{1,7})Mb/s", ethtool_text) if is_present(ethtool_text) else None
    return int(speed_match[1]) * 1_000_000 if speed_match else card.speed_mbit


def _max_speed_bits(ethtool_text: str | Absent) -> Value:
    """The fastest mode that card and cable support, by `ethtool CARD` (captured)."""
    if isinstance(ethtool_text, Absent):
        return ethtool_text
    modes = re.search(r"Supported link modes:(.*?)\n\s*[A-Z]\w+ [a-z]", ethtool_text, re.DOTALL)
    speeds = [int(n) for n in re.findall(r"([0-9]{2,6})base", modes[1])] if modes else []
    return max(speeds) * 1_000_000 if speeds else Absent("ethtool reports no link modes", "unsupported")


def _peer_speed_bits(host: Host, card: Nic) -> Value:
    """The fastest link of a card of the same make and kind that is up: one driver serves cards of many speeds."""
    made_as = _vendor_and_device(host, card)
    speeds = [
        other.speed_mbit
        for other in host.compute_once(read_nics).values()
        if other.physical
        and (other.driver, other.kind) == (card.driver, card.kind)
        and _vendor_and_device(host, other) == made_as
        and is_present(other.speed_mbit)
        and other.state == "up"
    ]
    return max(speeds) * 1_000_000 if speeds else Absent("no other card is of this make")


def _vendor_and_device(host: Host, card: Nic) -> tuple[str, ...]:
    """Vendor and device of its PCI function; empty texts where they cannot be read."""
    base = f"{ROOT}/{card.name}/device"
    words = (host.read_file_text(f"{base}/{name}") for name in ("vendor", "device"))
    return tuple(word.strip() if is_present(word) else "" for word in words)


def _rps_cpus_by_queue(host: Host, card: Nic) -> dict[str, frozenset[int]] | Absent:
    """By each receive queue whose packets RPS hands to other CPUs, these CPUs (rps_cpus,
    Documentation/networking/scaling.rst).
    """
    names = host.list_names(f"{ROOT}/{card.name}/queues")
    if isinstance(names, Absent):
        return names
    steered: dict[str, frozenset[int]] = {}
    for name in names:
        if not name.startswith("rx-"):
            continue
        mask = host.read_file_text(f"{ROOT}/{card.name}/queues/{name}/rps_cpus")
        if is_present(mask) and (cpus := parse_cpu_mask(mask)):
            steered[name] = cpus
    return steered


def stack_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per bridge, bond or VLAN: its MTU and those of what it is made of."""
    names = host.list_names(ROOT)
    if isinstance(names, Absent):
        return names
    cards = host.compute_once(read_nics)
    rows = []
    for card in cards.values():
        # a capture may keep a port's `master` and not the bridge's `lower_*`
        ports = card.below or (() if card.physical else _ports_of_bridge(host, card.name, cards))
        below = {name: cards[name].mtu for name in ports if name in cards}
        mtus = {mtu for mtu in below.values() if is_present(mtu)}
        if mtus and not card.physical:
            each = ", ".join(f"{name} {mtu}" for name, mtu in below.items() if is_present(mtu))
            uplinks = {name for name in below if _is_over_hardware(host, cards[name])}
            columns: dict[str, Value] = {
                "name": card.name,
                "mtu": card.mtu,
                "least": min(mtus),
                # a container's end of a bridge may have a smaller MTU on purpose: only cards count
                "mtus": tuple(sorted({m for n, m in below.items() if is_present(m) and cards[n].physical})),
                "each": each,
                # a bridge takes the smallest MTU of its ports (net/bridge/br_if.c): the ports of guests and containers
                # that hold it below what its uplinks have
                "held_by": tuple(sorted(n for n, m in below.items() if n not in uplinks and m == min(mtus))),
                "widest": max((m for n, m in below.items() if n in uplinks and is_present(m)), default=0),
                "bridge": card.kind == "bridge" or is_present(host.list_names(f"{ROOT}/{card.name}/bridge")),
            }
            rows.append(SubjectRow(card.name, columns))
    return rows


def _is_over_hardware(host: Host, card: Nic) -> bool:
    """True of a card, and of a bond or VLAN over cards."""
    is_bond = is_present(host.list_names(f"{ROOT}/{card.name}/bonding"))
    return card.physical or bool(card.below) or is_bond or card.kind in ("bond", "vlan", "team")


def _ports_of_bridge(host: Host, bridge: str, names: Iterable[str]) -> tuple[str, ...]:
    masters = ((name, host.read_link(f"{ROOT}/{name}/master")) for name in names if name != bridge)
    by_master = (name for name, to in masters if is_present(to) and to.rsplit("/", 1)[-1] == bridge)
    listed = host.list_names(f"{ROOT}/{bridge}/brif")
    return tuple(dict.fromkeys((*by_master, *(listed if is_present(listed) else ()))))


def _duplex_word(host: Host, base: str, ethtool_text: str | Absent) -> Value:
    text = host.read_file_text(f"{base}/duplex", 64)
    if is_present(text):
        word = text.strip().lower()
        return word if word in ("full", "half") else Absent("the driver reports no duplex", "unsupported")
    duplex_match = re.search(r"Duplex: (\w+)", ethtool_text) if is_present(ethtool_text) else None
    return duplex_match[1].lower() if duplex_match and duplex_match[1].lower() in ("full", "half") else text


def _cards_to_ask_ethtool(host: Host) -> frozenset[str]:
    """The cards of which a live host is asked by ethtool: each question is a process of its own."""
    up = [
        card.name
        for card in host.compute_once(read_nics).values()
        if card.physical and _is_up(card, host) is True
    ]
    return frozenset(up[:_MAX_ASKED_CARDS])


def _is_feature_on_or_fixed(host: Host, card: str, name: str) -> Value:
    """True, too, where it is off and cannot be changed: a card that lacks it is no setting."""
    if host.live and card not in host.compute_once(_cards_to_ask_ethtool):
        return _NOT_ASKED
    states = read_features(host, card)
    if isinstance(states, Absent):
        return states
    if name not in states:
        return Absent(f"ethtool -k names no {name}", "unsupported")
    on, fixed = states[name]
    return on or fixed


def _sum_of_driver_counters(host: Host, card: str, pattern: str) -> Value:
    if host.live and card not in host.compute_once(_cards_to_ask_ethtool):
        return _NOT_ASKED
    driver_counters = ethtool_counters(host, card)
    if isinstance(driver_counters, Absent):
        return driver_counters
    counts = [count for name, count in driver_counters.items() if re.search(pattern, name)]
    return sum(counts) if counts else Absent("its driver has no such counter", "unsupported")


def _largest_driver_sum(host: Host, card: str, patterns: Sequence[str]) -> Value:
    sums = [_sum_of_driver_counters(host, card, pattern) for pattern in patterns]
    known_sums = [count for count in sums if is_present(count)]
    return max(known_sums) if known_sums else sums[0]


def _used_irqs_of_card(host: Host, card: Nic) -> tuple[str, ...]:
    names = [card.name] + ([card.bus] if card.bus else [])
    return irq.used_queue_irqs(host, host.resolve_path(f"{ROOT}/{card.name}/device"), names)


def _spreading_value(host: Host, card: Nic, name: str) -> Value:
    return irq.interrupt_spreading_values(host, _used_irqs_of_card(host, card), card.numa_node)[name]


def _pcie_link_of_card(host: Host, base: str) -> BusLink | Absent:
    folder = host.resolve_path(f"{base}/device")
    return folder if isinstance(folder, Absent) else pcie_link(host, folder)


def _pcie_bits_per_s(host: Host, base: str) -> Value:
    """Bits per second that the card's PCIe link carries, one way."""
    rate = field_value(_pcie_link_of_card(host, base), "bytes_per_s")
    return rate if isinstance(rate, Absent) else rate * 8


def softnet_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row: /proc/net/softnet_stat over all CPUs."""
    rows = read_softnet(host)
    if isinstance(rows, Absent):
        return rows
    processed, dropped, squeezed = (sum(row[n] for row in rows) for n in range(3))
    busiest = max(row[0] for row in rows)
    counts = {"processed": processed, "dropped": dropped, "squeezed": squeezed, "cpus": len(rows)}
    return [SubjectRow("", {**counts, "busiest": busiest / processed if processed else 0.0})]


def bond_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per bond: /proc/net/bonding (Documentation/networking/bonding.rst)."""
    names = host.list_names("/proc/net/bonding")
    if isinstance(names, Absent):
        return [] if names.kind in ("missing", "captured") else names
    rows = []
    for name in names:
        text = host.read_file_text(f"/proc/net/bonding/{name}", 1 << 18)
        if isinstance(text, Absent):
            continue
        parts = re.split(r"\n\s*\n(?=Slave Interface:)", text)
        ports = [p for p in parts if p.startswith("Slave Interface:")]
        members = {m[1]: p for p in ports if (m := re.match(r"Slave Interface: (\S+)", p))}
        speeds = {m[1] for p in ports if (m := re.search(r"^Speed: (.+)$", p, re.MULTILINE))}
        down = [m for m, p in members.items() if not re.search(r"^MII Status: up$", p, re.MULTILINE)]
        aggregators = set(re.findall(r"^Aggregator ID: ([0-9]+)$", "\n".join(ports), re.MULTILINE))
        read = (host.read_integer(f"{ROOT}/{member}/mtu") for member in members)
        mtus = {mtu for mtu in read if is_present(mtu)}
        mode = re.search(r"^Bonding Mode: (.+)$", text, re.MULTILINE)
        speeds_by_member = {
            member: int(speed[1])
            for member, p in members.items()
            if (speed := re.search(r"^Speed: ([0-9]{1,7}) Mbps", p, re.MULTILINE))
        }
        active = re.search(r"^Currently Active Slave: (\S+)", text, re.MULTILINE)
        used = speeds_by_member.get(active[1]) if active else None
        partner = re.search(r"Partner Mac Address: ([0-9a-f:]{17})", text)
        failures = re.findall(r"^Link Failure Count: ([0-9]{1,18})$", "\n".join(ports), re.MULTILINE)
        chosen = re.search(r"^\tAggregator ID: ([0-9]+)$", text, re.MULTILINE)
        other = rf"^Aggregator ID: (?!{chosen[1]}$)[0-9]+$" if chosen else "(?!)"
        unused = tuple(member for member, p in members.items() if re.search(other, p, re.MULTILINE))
        policy = re.search(r"^Transmit Hash Policy: (\S+)", text, re.MULTILINE)
        columns: dict[str, Value] = {
            "name": name,
            "mode": mode[1] if mode else "",
            "policy": policy[1] if policy else "",
            "ports": len(ports),
            "slower": used < max(speeds_by_member.values())
            if used is not None
            else Absent("all ports are used"),
            "down": tuple(down),
            "unused": unused if chosen else Absent("the bond reports no active aggregator", "unsupported"),
            "partner": partner[1] if partner else Absent("the bond reports no partner", "unsupported"),
            "failures": sum(map(int, failures))
            if failures
            else Absent("the bond counts no failures", "unsupported"),
            "speeds": tuple(sorted(speeds)),
            "aggregators": len(aggregators),
            "mtus": tuple(sorted(mtus)),
            "mtu": host.read_integer(f"{ROOT}/{name}/mtu"),
            **_columns_of_bond_ports(host, tuple(members)),
        }
        rows.append(SubjectRow(name, columns, f"{ROOT}/{name}"))
    return rows


def _columns_of_bond_ports(host: Host, members: tuple[str, ...]) -> dict[str, Value]:
    """Return what the ports of a bond are made of: cards (PCI bus and slot), drivers, rings; other cards alike."""
    nics = host.compute_once(read_nics)
    slots = {name: card.bus.rpartition(".")[0] for name, card in nics.items() if ":" in card.bus}
    buses = {slots[name] for name in members if name in slots}
    drivers = {driver for name in members if name in nics and is_present(driver := nics[name].driver)}
    wired = {name for name in slots if nics[name].kind == "ethernet" and nics[name].driver in drivers}
    rings = {rings.rx for name in members if is_present(rings := read_rings(host, name))}
    return {
        "members": members,
        "buses": tuple(sorted(buses)),
        "cards": len(buses) if buses else Absent("the ports' cards are not known"),
        "other_cards": len({slots[name] for name in wired} - buses),
        "rings": tuple(sorted(rings)) if rings else Absent("the ports report no rings", "unsupported"),
        "drivers": tuple(drivers),
    }


def counter_rows(host: Host) -> list[SubjectRow]:
    """One row per card, fabric port or protocol and counter of knowledge/counters.toml that is above its limit."""
    rows = []
    for kind, name, source, counts in _counters_with_source(host):
        for entry in (entry for entry in known_counters() if entry.of == kind):
            matching = {key: count for key, count in counts.items() if re.fullmatch(entry.counter, key)}
            if (total := sum(matching.values())) < entry.least:
                continue
            columns: dict[str, Value] = msgspec.structs.asdict(entry) | {
                "name": name,
                "kind": kind,
                "counter": max(matching, key=lambda key: matching[key]).removeprefix("TcpExt_"),
                "count": total,
                "source": source,
                "device": name.partition(" ")[0],
                "number": name.rpartition(" ")[2],
            }
            rows.append(SubjectRow(name, columns))
    return rows


def _counters_with_source(host: Host) -> Iterator[tuple[str, str, str, dict[str, int]]]:
    """Kind, name, where its counters stand, and the counters."""
    for card in host.compute_once(read_nics).values():
        own = card.physical and card.driver not in _PARAVIRTUAL
        if own and (not host.live or card.name in host.compute_once(_cards_to_ask_ethtool)):
            counts = ethtool_counters(host, card.name)
            if is_present(counts):
                yield "card", card.name, f"ethtool -S {card.name}", counts
    wanted = "|".join(entry.counter for entry in known_counters() if entry.of == "port")
    for port in host.glob_paths("/sys/class/infiniband/*/ports/*"):
        files = {path.rpartition("/")[2]: path for path in host.glob_paths(f"{port}/*counters/*")}
        read = {name: host.read_integer(path) for name, path in files.items() if re.fullmatch(wanted, name)}
        counts = {name: count for name, count in read.items() if is_present(count)}
        yield "port", " port ".join(port.split("/")[4::2]), f"{port}/*counters/*", counts
    protocols = host.compute_once(tcp.tcp_rows)
    for row in protocols if is_present(protocols) else ():
        counts = {name: row[name] for name in row if name.startswith("TcpExt_")}
        yield "tcp", "TCP", "/proc/net/netstat", counts

"""Rows about memory: DIMMs, nodes, control groups."""

import re
from functools import partial

from hostdx.probes.cpu_list import parse_cpu_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.system.processor.topology import read_cpu_topology
from hostdx.probes.system.running.cgroup import own_group_folders
from hostdx.probes.system.running.quota_groups import find_group_folders_with
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import Reader, SubjectRow

_OTHER_MEMORY = re.compile(
    r"^\s*(?:Type: (?:HBM|Logical)|Type Detail:.*Non-Volatile|Memory Technology: (?!DRAM|<|Unknown|Other)|.*\bCXL\b)",
    re.MULTILINE,
)


def dimm_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row for all: `dmidecode` (root). Speeds in MT/s; `slots` and `filled` over all sockets."""
    text = host.read_command("dmidecode", "-t", "17")
    if isinstance(text, Absent) and not host.live:
        full_text = host.read_command("dmidecode")
        text = full_text if is_present(full_text) else text
    if isinstance(text, Absent):
        return text
    slots: list[tuple[str, int, int, str]] = []
    module_sizes: list[int] = []
    blocks: list[str] = re.findall(r"Memory Device\n(.*?)(?=\n\s*\n|\Z)", text, re.DOTALL)
    for block in blocks:
        size, configured = _field_text(block, "Size"), _field_text(block, "Configured (?:Memory|Clock) Speed")
        speeds_told = _speed_in_mt_s(_field_text(block, "Speed")), _speed_in_mt_s(configured)
        slots.append((_field_text(block, "Locator"), *speeds_told, size if re.match(r"[0-9]", size) else ""))
        if not re.search(r"^\s*Type: Flash", block, re.MULTILINE):
            module_sizes.append(_module_bytes(size))
    if not slots:
        return Absent("dmidecode lists no memory devices", "unsupported", "dmidecode -t 17")
    filled = [slot for slot in slots if slot[3]]
    groups: dict[str, int] = {}
    for locator, _, _, present_ in slots:
        channel = _channel_name(locator)
        groups[channel] = groups.get(channel, 0) + bool(present_)
    speeds = {speed for _, speed, _, _ in filled if speed}
    used = {speed for _, _, speed, _ in filled if speed}
    # Names that tell the socket alone (a channel has three slots at most): an odd number of modules fills no set of
    # channels alike.
    by_socket = len(groups) <= 4 and len(slots) // len(groups) >= 4
    # Three channels a socket (9 slots): three or six modules fill them alike.
    in_threes = len(slots) // len(groups) % 3 == 0 and len(slots) // len(groups) % 4 != 0
    odd_counts = [count for count in groups.values() if count > 1 and count % 2]
    sizes_known = [size for size in module_sizes if size]
    unlike_memory = Absent("some modules are no usual memory (persistent, HBM, CXL)", "unsupported")
    columns: dict[str, Value | Reader] = {
        "slots": len(slots),
        "installed": unlike_memory if any(map(_OTHER_MEMORY.search, blocks)) else sum(sizes_known),
        "smallest": min(sizes_known, default=0),
        "virtual": lambda: read_virtualisation(host).is_virtual,
        "filled": len(filled),
        "rated": min(speeds, default=0) or Absent("the DIMMs report no speed"),
        "configured": min(used, default=0) or Absent("the DIMMs report no configured speed"),
        "speeds": tuple(sorted(speeds)),
        "uneven": len(set(groups.values())) > 1,
        "sizes": tuple(sorted({slot[3] for slot in filled})),
        "odd": by_socket and any(not in_threes or count % 3 for count in odd_counts),
        "unlike": by_socket and len({count for count in groups.values() if count}) > 1,
        "empty_slots": tuple(slot[0] for slot in slots if not slot[3]),
        "channels": len(groups),
        "empty_channels": list(groups.values()).count(0),
        "per_channel": ", ".join(f"{name or 'slot'}: {count}" for name, count in sorted(groups.items())[:24]),
    }
    return [SubjectRow("", columns)]


def _module_bytes(size: str) -> int:
    """Return the bytes of `32 GB` or `8192 MB`; 0 of anything else."""
    size_match = re.match(r"([0-9]{1,7}) (MB|GB)\b", size)
    return int(size_match[1]) << (30 if size_match[2] == "GB" else 20) if size_match else 0


def _field_text(block: str, name: str) -> str:
    field_match = re.search(rf"^\s*{name}:\s*(.+?)\s*$", block, re.MULTILINE)
    return field_match[1] if field_match else ""


def _speed_in_mt_s(text: str) -> int:
    speed_match = re.match(r"([0-9]{2,6}) M(?:T/s|Hz)", text)
    return int(speed_match[1]) if speed_match else 0


def _channel_name(locator: str) -> str:
    """`CPU1_DIMM_A1` and `A1` are channel A of a socket; `P0_Node0_Channel1_Dimm0` channel 1."""
    channel_match = re.search(r"(.*(?:CHANNEL|CH)[_ ]?[0-9A-Z]+)", locator.upper()) or re.search(
        r"(.*?[A-Z])[ _]?[0-9]{1,2}$", locator.upper()
    )
    return channel_match[1] if channel_match else locator.upper()


def node_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per NUMA node with memory: `allocated` pages and those that had to come from elsewhere, since boot."""
    numa_nodes = read_numa(host)
    if isinstance(numa_nodes, Absent):
        return numa_nodes
    if numa_nodes.doubt:
        return Absent(numa_nodes.doubt, "invalid")
    rows = []
    # CXL and a graphics card's memory are no measure
    alike = [node for node in numa_nodes.nodes if node.kind == "usual"]
    sizes = [node.memory_bytes for node in alike if is_present(node.memory_bytes)]
    shares = [
        node.free_bytes / node.memory_bytes
        for node in alike
        if is_present(node.free_bytes) and is_present(node.memory_bytes) and node.memory_bytes
    ]
    for node in numa_nodes.nodes:
        text = host.read_file_text(f"/sys/devices/system/node/node{node.number}/numastat")
        counts = dict(re.findall(r"^(\w+) ([0-9]{1,19})$", text, re.MULTILINE)) if is_present(text) else {}
        names = {"hit": "numa_hit", "miss": "numa_miss", "foreign": "numa_foreign", "other": "other_node"}
        unread = Absent("numastat cannot be read")
        columns: dict[str, Value] = {
            "number": node.number,
            "count": len(numa_nodes.nodes),
            "kind": node.kind,
            "virtual": read_virtualisation(host).is_virtual,
            "largest": max(sizes, default=0) or Absent("no node reports its memory"),
            "most_free": max(shares) if shares else Absent("no node reports what is free"),
            "cpus": len(node.cpus),
            "memory": node.memory_bytes,
            "free": node.free_bytes,
            **{short: int(counts[name]) if name in counts else unread for short, name in names.items()},
        }
        rows.append(SubjectRow(f"node {node.number}", columns))
    return rows


def own_control_group_rows(host: Host) -> list[SubjectRow] | Absent:
    """Our own control group and each above it, the nearest first; version 2, and 1's memory and cpu controllers."""
    own_groups = own_group_folders(host)
    if isinstance(own_groups, Absent):
        return own_groups
    rows: dict[str, SubjectRow] = {}
    for controller, folders in own_groups.items():
        for folder in folders if controller in ("", "memory", "cpu") else ():
            if folder not in rows:
                columns: dict[str, Value] = {
                    "path": folder,
                    "controller": controller,
                    "cpus": partial(_cpus_of_group, host, folder),
                    "online": len(read_cpu_topology(host).online) or Absent("no CPU is listed"),
                }
                rows[folder] = SubjectRow(folder, columns, folder)
    return list(rows.values())


def _cpus_of_group(host: Host, folder: str) -> Value:
    """Return how many CPUs the group may use."""
    text = host.read_file_text(f"{folder}/cpuset.cpus.effective", 65536)
    if isinstance(text, Absent):
        return text
    cpus = parse_cpu_list(text)
    return len(cpus) if cpus else Absent(f"{folder}/cpuset.cpus.effective holds no CPUs", "invalid")


_KINDS = (
    ("memory", ("memory.events", "memory.failcnt")),
    ("pids", ("pids.current",)),
    ("blkio", ("io.max", "blkio.throttle.write_bps_device")),
)


def control_group_rows(host: Host) -> list[SubjectRow]:
    """One row per control group, to a depth of four: version 2, and 1's memory, pids and blkio controllers."""
    rows: dict[str, SubjectRow] = {}
    for controller, files in _KINDS:
        for root, folder in find_group_folders_with(host, controller, files)[0]:
            name = folder.removeprefix(f"{root}/")
            last = name.rpartition("/")[2]
            is_unit = last.endswith((".service", ".slice", ".scope"))
            columns: dict[str, Value] = {
                "name": name,
                "path": folder,
                "controller": controller,
                "unit": last if is_unit else Absent(f"{last} is no unit of systemd", "unsupported"),
            }
            rows.setdefault(folder, SubjectRow(name, columns, folder))
    return list(rows.values())

"""Faults and traps of fabrics, GPUs, slots, processors and the board's controller (issue 50)."""

SOS = "sos_commands"
DIR = "sys/class/net"
LSPCI = f"{SOS}/pci/lspci_-nnvv"
SEL = f"{SOS}/ipmitool/ipmitool_sel_elist"
CHASSIS = f"{SOS}/ipmitool/ipmitool_chassis_status"
UNITS = f"{SOS}/systemd/systemctl_list-units"
PORT = "sys/class/infiniband/mlx5_0/ports/1"


def log(line: str) -> dict[str, str]:
    return {f"{SOS}/kernel/dmesg": "[    0.0] Linux version 6.12.9\n" + f"[   99.1] {line}\n"}


def ibstat(state: str, manager: int) -> dict[str, str]:
    text = (
        "CA 'mlx5_7'\n\tCA type: MT4123\n\tNumber of ports: 1\n\tFirmware version: 20.31.1014\n\tPort 1:\n"
        f"\t\tState: {state}\n\t\tPhysical state: LinkUp\n\t\tRate: 100\n\t\tBase lid: 65535\n\t\tLMC: 0\n\t\tSM"
        f" lid: {manager}\n"
        "\t\tCapability mask: 0xa651e848\n\t\tPort GUID: 0x0c42a10300e1b2f4\n\t\tLink layer: InfiniBand\n"
    )
    return {f"{SOS}/infiniband/ibstat": text}


def roce(mtu: int, requests: int = 9000000) -> dict[str, str]:
    return {
        f"{PORT}/state": "4: ACTIVE",
        f"{PORT}/phys_state": "5: LinkUp",
        f"{PORT}/link_layer": "Ethernet",
        f"{PORT}/rate": "100 Gb/sec (4X EDR)",
        f"{PORT}/hw_counters/rx_write_requests": str(requests),
        "sys/class/infiniband/mlx5_0/device/net/eth0/address": "02:00:00:00:00:01",
        f"{DIR}/eth0/mtu": str(mtu),
    }


def verbs(active: int) -> dict[str, str]:
    text = (
        "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n"
        "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n"
        f"\t\t\tactive_mtu:\t\t{active} (3)\n\t\t\tsm_lid:\t\t\t0\n\t\t\tlink_layer:\t\tInfiniBand\n"
    )
    return {f"{SOS}/infiniband/ibv_devinfo_-v": text}


def partition(key: str) -> dict[str, str]:
    return {
        f"{PORT}/pkeys/0": key,
        f"{PORT}/link_layer": "InfiniBand",
        f"{PORT}/state": "4: ACTIVE",
        f"{PORT}/phys_state": "5: LinkUp",
    }


def translations(entries: int) -> dict[str, str]:
    folder = "sys/module/mlx4_core/parameters"
    return {f"{folder}/log_num_mtt": str(entries), f"{folder}/log_mtts_per_seg": "0"}


def manager(role: str) -> dict[str, str]:
    return {
        f"{PORT}/state": "4: ACTIVE",
        f"{PORT}/phys_state": "5: LinkUp",
        "proc/3120/comm": "slurmd\n",
        "proc/3120/limits": "Max locked memory         unlimited            unlimited            bytes     \n",
        "var/log/opensm.log": f"Nov 29 02:11:12 112233 [AB] 0x80 -> Entering {role} state\n",
    }


def opa(quality: str, lanes: int) -> dict[str, str]:
    text = (
        "hfi1_0:1                           PortGID:0xfe80000000000000:001175010165b19c\n   PortState:     Active\n"
        "   LinkSpeed      Act: 25Gb         En: 25Gb\n"
        f"   LinkWidth      Act: {lanes}           En: 4\n   LinkWidthDnGrd ActTx: 4  Rx: 4  En: 3,4\n   Link "
        f"Quality:   {quality}\n"
    )
    return {f"{SOS}/opa/opainfo": text}


def peer_memory(modules: str) -> dict[str, str]:
    base = {
        f"{PORT}/state": "4: ACTIVE",
        f"{PORT}/phys_state": "5: LinkUp",
        f"{PORT}/link_layer": "InfiniBand",
    }
    return base | {"proc/modules": f"nvidia 9 1 - Live 0x0\nmlx5_ib 9 1 - Live 0x0\n{modules}"}


def graphics(limit: str, ecc: str = "Enabled", mig: str = "Disabled") -> dict[str, str]:
    text = (
        "==============NVSMI LOG==============\n\nAttached GPUs                             : 1\nGPU "
        "00000000:3B:00.0\n"
        "    Product Name                          : NVIDIA A100-SXM4-40GB\n    MIG Mode\n"
        f"        Current                           : {mig}\n        Pending                           : {mig}\n"
        f"    ECC Mode\n"
        f"        Current                           : {ecc}\n        Pending                           : {ecc}\n"
        f"    GPU Power Readings\n"
        f"        Current Power Limit               : {limit} W\n        Default Power Limit               : "
        f"400.00 W\n"
    )
    return {f"{SOS}/nvidia/nvidia-smi_-q": text}


def switches(state: str) -> dict[str, str]:
    return log("nvidia-nvswitch: Probing device 0000:08:00.0, Vendor Id = 0x10de") | {
        UNITS: f"  UNIT LOAD ACTIVE SUB DESCRIPTION\n  sshd.service loaded active running x\n  nvidia-fabricman"
        f"ager.service loaded {state} x\n"
    }


def event(*lines: str) -> dict[str, str]:
    return {SEL: "".join(f"   {n} | 11/24/2026 | 02:11:12 | {line}\n" for n, line in enumerate(lines, 1))}


def chassis(**states: str) -> dict[str, str]:
    known = {
        "Power_Restore_Policy": "previous",
        "Drive_Fault": "false",
        "Cooling/Fan_Fault": "false",
    } | states
    lines = (f"{name.replace('_', ' '):<21}: {state}\n" for name, state in known.items())
    return {CHASSIS: "System Power         : on\n" + "".join(lines)}


def modules_of_memory(width: int, size: str = "32 GB") -> dict[str, str]:
    block = (
        "Handle 0x11{0}, DMI type 17, 84 bytes\nMemory Device\n\tTotal Width: {1} bits\n\tData Width: 64 bits\n"
        "\tSize: {2}\n\tLocator: DIMM_{0}\n\tSpeed: 3200 MT/s\n\tConfigured Memory Speed: 3200 MT/s\n\n"
    )
    return {f"{SOS}/hardware/dmidecode": block.format("A", 72, "32 GB") + block.format("B", width, size)}


def amd() -> dict[str, str]:
    text = "".join(
        f"processor\t: {n}\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7543\n\n" for n in range(8)
    )
    return {"proc/cpuinfo": text}


def readers(rasdaemon: str) -> dict[str, str]:
    head = "  UNIT LOAD ACTIVE SUB DESCRIPTION\n* mcelog.service loaded failed failed x\n"
    return amd() | {UNITS: f"{head}  rasdaemon.service loaded {rasdaemon} x\n"}


def weakness(state: str) -> dict[str, str]:
    return {"sys/devices/system/cpu/vulnerabilities/mds": state}


def nodes(count: int) -> dict[str, str]:
    return {"sys/devices/system/node/online": f"0-{count - 1}"}


def banned(isolated: str) -> dict[str, str]:
    return {
        "etc/sysconfig/irqbalance": "IRQBALANCE_BANNED_CPULIST=1-7\n",
        "sys/devices/system/cpu/isolated": isolated,
    }


def heat(counts: tuple[int, int]) -> dict[str, str]:
    folder = "sys/devices/system/cpu/cpu{}/thermal_throttle/package_throttle_count"
    return {folder.format(n): str(counts[0] if n in (0, 1, 4, 5) else counts[1]) for n in range(8)} | {
        "proc/uptime": "864000000.00 6912000.00"
    }


def dead(kind: str) -> dict[str, str]:
    return {
        LSPCI: f"3b:00.0 {kind}: Mellanox Technologies MT2892 [15b3:101d] (rev ff) (prog-if ff)\n\t!!! Unknown "
        f"header type 7f\n"
    }


def sleeping(state: str) -> dict[str, str]:
    text = (
        "3b:00.0 Ethernet controller [0200]: Mellanox Technologies MT2892 [15b3:101d]\n\tControl: I/O- Mem+\n"
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <4us\n"
        f"\t\tLnkCtl:\tASPM {state}; RCB 64 bytes, Disabled- CommClk+\n\t\t\tExtSynch- ClockPM-\n\t\tLn"
        f"kSta:\tSpeed 16GT/s (ok), Width x16 (ok)\n"
    )
    return {
        LSPCI: text,
        "sys/module/pcie_aspm/parameters/policy": "[default] performance powersave powersupersave",
    }


def detour(redirect: str) -> dict[str, str]:
    bridge_text = (
        "16:00.0 PCI bridge [0604]: Broadcom PEX88096 [1000:c010]\n\tCapabilities: [68] Express (v2) Downstream "
        "Port (Slot+), MSI 00\n"
        f"\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+\n\t\tACSCtl:\tSrcValid+ TransBlk- "
        f"ReqRedir{redirect} CmpltRedir{redirect}\n"
    )
    gpus = "".join(
        f"{n}:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b0] (rev a1)\n\tControl: Mem+\n"
        for n in (17, 18)
    )
    return {LSPCI: bridge_text + gpus}


def unread(marks: str) -> dict[str, str]:
    text = (
        f"3b:00.0 Non-Volatile memory controller [0108]: Samsung PM1733 [144d:a824]\n\tControl: Mem+\n"
        f"\t\tCESta:\tRxErr+ {marks} Rollover- Timeout-\n"
    )
    return {LSPCI: text} | log("acpi PNP0A08:00: _OSC: platform does not support [AER]")


PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("fabric.captured-port", "warning", ibstat("Initializing", 0)),
    ("fabric.roce-mtu", "notice", roce(1500)),
    ("fabric.verbs-mtu", "notice", verbs(1024)),
    ("fabric.partition-limited", "notice", partition("0x7fff")),
    ("fabric.mlx4-memory", "warning", translations(20)),
    ("fabric.roce-version", "notice", {"sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode": "IB/RoCE v1"}),
    ("fabric.second-manager", "notice", manager("MASTER")),
    ("fabric.manager-port-down", "warning", {"var/log/opensm.log": "Nov 29 02:11:12 112233 [AB] 0x02 -> SM port "
                                                                   "is down\n"}),
    ("fabric.opa-quality", "warning", opa("2 (Poor)", 2)),
    ("gpu.peer-memory", "notice", peer_memory("")),
    ("gpu.settings", "warning", graphics("150.00")),
    ("gpu.settings", "warning", graphics("400.00", "Disabled")),
    ("gpu.settings", "warning", graphics("400.00", mig="Enabled")),
    ("gpu.fabric-manager", "critical", switches("failed failed")),
    ("gpu.bar", "critical", log("NVRM: BAR1 is 0M @ 0x0 (PCI:0000:13:00.0)")),
    ("gpu.power-cable", "critical", log("NVRM: GPU 0000:13:00.0: GPU does not have the necessary power cables "
                                        "connected.")),
    ("gpu.driver-versions", "warning", log("NVRM: API mismatch: the client has the version 535.171.04, but")),
    ("gpu.taken", "warning", log("NVRM: The NVIDIA probe routine was not called for 1 device(s).")
     | {"proc/modules": "nouveau 9 1 - Live 0x0\n"}),
    ("gpu.atomics", "warning", log("kfd kfd: amdgpu: skipped device 1002:67e3, PCI rejects atomics 730<0")),
    ("host.board-events", "warning", event("Memory #0x2b | Correctable ECC logging limit reached | Asserted")),
    ("host.board-events", "warning", event("Power Supply Status | Config Error: Vendor Mismatch | Asserted")),
    ("host.board-fault", "warning", chassis(**{"Cooling/Fan_Fault": "true"})),
    ("host.power-policy", "notice", chassis(Power_Restore_Policy="always-off")),
    ("host.event-log-full", "notice", {f"{SOS}/ipmitool/ipmitool_sel_info": "Entries          : 512\nPercent "
                                                                            "Used     : 100%\nOverflow         :"
                                                                            " true\n"}),
    ("host.event-log-undated", "notice", {SEL: "   8 | 11/24/2026 | 02:11:12 | x #0x1 | State Asserted\n"
                                          "   9 | Pre-Init Time-stamp   | Chassis #0xa9 | State Asserted\n"}),
    ("host.memory-mixed-ecc", "warning", modules_of_memory(64)),
    ("host.machine-checks-unread", "notice", readers("inactive dead")),
    ("host.microcode-old", "notice", weakness("Vulnerable: Clear CPU buffers attempted, no microcode; SMT vuln"
                                              "erable")),
    ("host.one-node", "warning", {"sys/devices/system/node/node1/cpulist": "", "sys/devices/system/node/online": "0"}),
    ("numa.card-node", "notice", nodes(2) | {"sys/devices/pci0000:16/0000:16:00.0/0000:17:00.0/numa_node": "-1"}),
    ("host.one-socket-hot", "warning", heat((0, 88123))),
    ("host.irqbalance-banned", "notice", banned("")),
    ("net.interrupts-isolated", "notice", {"sys/devices/system/cpu/isolated": "1-7"}),
    ("host.pcie-dead", "warning", dead("Ethernet controller [0200]")),
    ("host.pcie-aspm", "notice", sleeping("L1 Enabled")),
    ("host.pcie-detour", "notice", detour("+")),
]  # fmt: skip
TRAPS: list[tuple[str, dict[str, str]]] = [
    ("fabric.captured-port", ibstat("Active", 1)),
    ("fabric.roce-mtu", roce(9000)),
    ("fabric.verbs-mtu", verbs(4096)),
    ("fabric.partition-limited", partition("0xffff")),
    ("fabric.mlx4-memory", translations(0)),
    ("fabric.roce-version", {"sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode": "RoCE v2"}),
    ("fabric.second-manager", manager("STANDBY")),
    ("fabric.manager-port-down", {"var/log/opensm.log": "x SM port is down\nx SUBNET UP\n"}),
    ("fabric.opa-quality", opa("4 (Very Good)", 4)),
    ("gpu.peer-memory", peer_memory("nvidia_peermem 9 0 - Live 0x0\n")),
    ("gpu.settings", graphics("400.00")),
    ("gpu.fabric-manager", switches("active running")),
    ("host.board-events", event("Memory #0x2b | Presence detected | Asserted", "Fan #0x32 | Lower Critical going"
                                                                               " low  | Asserted",
                                "Fan #0x32 | Lower Critical going low  | Deasserted")),
    ("host.board-fault", chassis(Last_Power_Event="ac-failed", Chassis_Intrusion="active")),
    ("host.event-log-full", {f"{SOS}/ipmitool/ipmitool_sel_info": "Entries          : 12\nPercent Used     : "
                                                                  "2%\nOverflow         : false\n"}),
    ("host.event-log-undated", {SEL: "   9 | Pre-Init Time-stamp   | Chassis #0xa9 | State Asserted\n"
                                "   a | 11/24/2026 | 02:11:12 | x #0x1 | State Asserted\n"}),
    ("host.memory-mixed-ecc", modules_of_memory(72)),
    ("host.microcode-old", weakness("Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown")),
    ("numa.card-node", nodes(2)),
    ("net.interrupts-isolated", {"sys/devices/system/cpu/isolated": ""}),
    ("host.pcie-aspm", sleeping("Disabled")),
    ("host.pcie-detour", detour("-")),
    ("host.memory-mixed-ecc", modules_of_memory(64, "No Module Installed")),
    ("host.board-events", {SEL: event("Memory #0x2b | Uncorrectable ECC | Asserted")[SEL].replace("2026", "2021")
                           + event("Fan #0x32 | Presence detected | Asserted")[SEL]}),
]  # fmt: skip

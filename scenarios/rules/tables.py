"""The tables that rules can look at, by name."""

from __future__ import annotations

from scenarios.rules.subjects import (
    array,
    cpu,
    disk,
    fabric,
    log,
    memory,
    net,
    pci,
    settings,
    tcp,
)
from scenarios.rules.table import Table

TABLES: dict[str, Table] = {
    "host": cpu.host_rows,
    "policy": cpu.policy_rows,
    "package": cpu.package_rows,
    "throttle": cpu.throttle_rows,
    "sensor": cpu.sensor_rows,
    "stat": cpu.stat_rows,
    "dimm": memory.dimm_rows,
    "node": memory.node_rows,
    "group": memory.group_rows,
    "groups": memory.all_groups,
    "card": net.card_rows,
    "bond": net.bond_rows,
    "stack": net.stack_rows,
    "softnet": net.softnet_rows,
    "qdisc": tcp.qdisc_rows,
    "tcp": tcp.tcp_rows,
    "disk": disk.disk_rows,
    "smart": disk.smart_rows,
    "partition": disk.partition_rows,
    "mount": disk.mount_rows,
    "pool": array.pool_rows,
    "array": array.array_rows,
    "multipath": array.multipath_rows,
    "mapped": array.mapped_rows,
    "pci": pci.pci_rows,
    "fabric": fabric.fabric_rows,
    "gpu": pci.gpu_rows,
    "setting": settings.sysctl_rows,
    "log": log.log_table,
}

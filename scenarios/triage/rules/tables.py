"""The tables that rules can look at, by name: every `NAME_rows` of the subjects."""

from scenarios.triage.rules.subjects import (
    array,
    cpu,
    disk,
    fabric,
    hardware,
    log,
    memory,
    net,
    pci,
    remote,
    route,
    settings,
    tcp,
)
from scenarios.triage.rules.table import Table

TABLES: dict[str, Table] = {
    name.removesuffix("_rows"): rows
    for subject in (cpu, memory, net, tcp, disk, array, hardware, pci, fabric, settings, log, route, remote)
    for name, rows in vars(subject).items()
    if name.endswith("_rows") and not name.startswith("_")
}

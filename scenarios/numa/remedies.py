"""What to do about it: commands for this host, how it lasts, how to verify, how to take it back."""

from __future__ import annotations

import shlex

from probes.system.processor.clocksource import Clocksource
from probes.system.running.cgroup import unit_of
from probes.system.running.culprit import Culprit
from probes.units import counted
from scenarios.finding import Remedy
from scenarios.host.quota import lasting
from scenarios.knowledge.bios import VENDORS, BiosReading
from scenarios.numa.placements import Slot
from scenarios.numa.settings import Held

CPU = "/sys/devices/system/cpu"


def quota(folder: str) -> tuple[Remedy, ...]:
    """`folder`: of the control group that has it; "" where not known."""
    unit = unit_of(folder)
    return (
        Remedy(
            title="Raise the quota of the service, container or job, or give it fewer threads",
            commands=(
                "cat /proc/self/cgroup",
                *((f"systemctl show -p CPUQuotaPerSecUSec {shlex.quote(unit)}",) if unit else ()),
            ),
            persistent=lasting(folder),
            verify=(f"grep -H throttled {shlex.quote(folder) if folder else '/sys/fs/cgroup/*'}/cpu.stat",),
        ),
    )


def steal() -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Ask who runs the hypervisor: its CPUs seem to be oversubscribed", verify=("vmstat 1 10",)
        ),
    )


def competitor(culprit: Culprit | None) -> tuple[Remedy, ...]:
    """Who took it comes first: a quiet host to measure on is the second step."""
    if culprit is None:
        return (Remedy(title="Find what competes, then measure again", commands=("top -H",)),)
    return (
        Remedy(
            title=f"See what {culprit.label} takes, who waits for it and how to hold it back; then measure again",
            commands=(
                f"hostdx run cpuwatch --pid {culprit.pid}",
                f"ps -o pid,user,psr,pcpu,args -p {culprit.pid}",
            ),
        ),
    )


def frequency_limit(highest_khz: int) -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Lift the limit",
            commands=(f"cpupower frequency-set -u {highest_khz}kHz",),
            persistent=("tuned-adm profile throughput-performance",),
            verify=("cpupower frequency-info",),
        ),
    )


def held_clock(held_by: Held) -> tuple[Remedy, ...]:
    verify = ("cpupower frequency-info",)
    if held_by == "boost off":
        command = f"echo 0 > {CPU}/intel_pstate/no_turbo || echo 1 > {CPU}/cpufreq/boost"
        warning = "more heat and power; the firmware may forbid it"
        return (
            Remedy(
                title="Switch boost on, unless it was switched off on purpose",
                commands=(command,),
                verify=verify,
                warning=warning,
            ),
        )
    command = (
        f"echo 100 > {CPU}/intel_pstate/max_perf_pct"
        if held_by == "performance limit"
        else "cpupower frequency-set -g performance"
    )
    persistent = ("tuned-adm profile throughput-performance",)
    return (
        Remedy(
            title="Allow the CPUs their full clock", commands=(command,), persistent=persistent, verify=verify
        ),
    )


def heat() -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Look at fans, dust and the inlet temperature", commands=("ipmitool sdr type Temperature",)
        ),
    )


def clocksource(clock: Clocksource) -> tuple[Remedy, ...]:
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    look = ("dmesg | grep -i -e tsc -e clocksource",)
    told = clock.asked == clock.current
    return (
        Remedy(
            title="Use the CPU's own counter, where the kernel does not call it unstable",
            commands=(f"echo tsc > {path}",) if "tsc" in clock.available else look,
            persistent=(
                f"grubby --update-kernel=ALL --remove-args={shlex.quote(f'clocksource={clock.asked}')}",
            )
            if told
            else (),
            verify=(f"cat {path}",),
            warning=""
            if told
            else "the kernel may have left the counter because it was unstable: read its log first",
        ),
    )


def narrow_link() -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Check the width and speed of the link between the sockets in the setup (xGMI, UPI)",
            commands=("hostdx run numa --redfish https://BMC",),
            verify=("hostdx run numa",),
        ),
    )


def modules() -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Compare the memory modules of the nodes: size, speed, empty slots",
            commands=("dmidecode -t memory | grep -E 'Locator|Size|Configured Memory Speed'",),
        ),
    )


def slow_cores() -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Compare the clocks of the nodes' cores, and see what else runs on them",
            commands=("lscpu -e", "ps -eo pid,psr,pcpu,comm --sort=-pcpu | head -20"),
        ),
    )


def link(address: str) -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Reseat the card or its riser, look for a slot limit in the setup, update firmware",
            commands=(f"lspci -s {shlex.quote(address)} -vv | grep -E 'LnkCap|LnkSta'",),
            verify=(f"cat /sys/bus/pci/devices/{shlex.quote(address)}/current_link_{{speed,width}}",),
        ),
    )


def ten_bit_tags() -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Switch 10-bit tags on in the setup; the firmware sets them, Linux does not",
            verify=("lspci -vvv | grep -o '10BitTagReq[+-]'",),
        ),
    )


def bios(readings: tuple[BiosReading, ...], vendor: str) -> tuple[Remedy, ...]:
    first = {
        "dell": "racadm get -t xml -f before.xml",
        "hpe": "ilorest save --selector=Bios. -f before.json",
        "supermicro": "sum -c GetCurrentBiosCfg --file before.xml",
        "lenovo": "OneCli config save --file before.txt",
    }.get(vendor)
    return (
        Remedy(
            title="Change them in the setup, all at once, on one node first: "
            + "; ".join(f"{r.title} ({r.where})" for r in readings),
            commands=(first,) if first else (),
            verify=("hostdx run numa",),
            warning="each change needs a restart and may renumber NUMA nodes, which breaks pinned configurations; "
            "a compute node that runs many small pinned jobs wants other values",
        ),
    )


def ask_firmware(vendor: str) -> tuple[Remedy, ...]:
    whose = f" of {VENDORS[vendor]}" if vendor in VENDORS else ""
    return (
        Remedy(
            title=f"Ask the management controller{whose}, or give a saved file",
            commands=(
                "hostdx run numa --only read --redfish https://BMC",
                "hostdx run numa --only read --bios FILE",
            ),
        ),
    )


def table() -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Update the firmware, or look at its tables", commands=("dmesg | grep -i -e srat -e numa",)
        ),
    )


def numa_off() -> tuple[Remedy, ...]:
    return (
        Remedy(
            title="Remove numa=off from the kernel's command line and restart",
            commands=("grubby --update-kernel=ALL --remove-args=numa=off",),
            verify=("numactl --hardware",),
        ),
    )


def pin(slot: Slot, command: str = "COMMAND") -> tuple[Remedy, ...]:
    """The same CPUs by four tools; memory is preferred there, not bound: bound memory ends in out-of-memory."""
    nodes = ",".join(map(str, slot.nodes))
    memory = (
        f" --preferred={slot.nodes[0]}" if len(slot.nodes) == 1 else f" --interleave={nodes}" if nodes else ""
    )
    lines = [f"taskset -c {slot.listed} {command}"]
    if nodes:
        lines.append(f"numactl --physcpubind={slot.listed}{memory} {command}")
    mems = f" -p AllowedMemoryNodes={nodes}" if nodes else ""
    return (
        Remedy(
            title=f"Keep a job of {counted(slot.cores, 'core')} on {slot.words}"
            + (f" (node {nodes})" if nodes else ""),
            commands=(f"hostdx pin --cores {slot.cores} -- {command}", *lines),
            persistent=(
                f"systemd-run --scope -p AllowedCPUs={slot.listed}{mems} {command}",
                "cd /sys/fs/cgroup && echo +cpuset > cgroup.subtree_control && mkdir job"
                f" && echo {slot.listed} > job/cpuset.cpus"
                + (f" && echo {nodes} > job/cpuset.mems" if nodes else ""),
                "echo PID > /sys/fs/cgroup/job/cgroup.procs",
            ),
            verify=("taskset -cp PID", "grep allowed_list /proc/PID/status"),
        ),
    )

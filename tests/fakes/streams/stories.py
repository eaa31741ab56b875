"""The other made-up streams: triage, a watch, runs that failed or were cut, and a host whose names bite."""

from pathlib import Path

import msgspec

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.plan import Option, Plan, PlannedStep
from tests.fakes.hosts.facts import split_fact_name
from tests.fakes.streams.story import LINK, RECORDINGS, Teller, iosched, storage

# Markup, escapes, wide, combining, right-to-left and control characters, in every place that a host can fill.
HOSTILE = "[bold red]x[/] \x1b[2J\x1b]0;owned\x07 日本語 e\u0301\u0301 \u202eevil\u202c \x00\r\n[/dev/sda] ﷽"

FACTS: dict[str, tuple[object, str, str]] = {
    "host.name": ("st-096", "/proc/sys/kernel/hostname", ""),
    "os.name": ("AlmaLinux 9.4 (Seafoam Ocelot)", "/etc/os-release", ""),
    "kernel.release": ("5.14.0-427.13.1.el9_4.x86_64", "uname -r", ""),
    "virtualisation.hypervisor": ("none", "CPU flags, DMI", ""),
    "virtualisation.container": ("none", "namespaces", ""),
    "cpu.model": ("Intel(R) Xeon(R) Gold 6530 CPU @ 2.10GHz", "/proc/cpuinfo", ""),
    "cpu.sockets": (2, "/sys/devices/system/cpu/cpu*/topology", ""),
    "cpu.cores": (64, "/sys/devices/system/cpu/cpu*/topology", ""),
    "cpu.threads": (128, "/sys/devices/system/cpu/online", ""),
    "numa.nodes": (2, "/sys/devices/system/node", ""),
    "memory.total": (549755813888, "/proc/meminfo MemTotal", "B"),
    "disk.nvme0n1.transport": ("nvme", "/sys/block/nvme0n1", ""),
    "disk.nvme0n1.model": ("Samsung PM9A3", "/sys/block/nvme0n1/device/model", ""),
    "disk.nvme0n1.size": (1920383410176, "/sys/block/nvme0n1/size", "B"),
    "disk.nvme0n1.file_systems": (["ext4"], "/proc/self/mountinfo", ""),
    "disk.nvme0n1.scheduler": ("none", "/sys/block/nvme0n1/queue/scheduler", ""),
    "disk.nvme0n1.link": ("PCIe 4.0 x4", "/sys/block/nvme0n1 link", ""),
    "disk.sda.transport": ("sata", "/sys/block/sda", ""),
    "disk.sda.model": ("Samsung SSD 870", "/sys/block/sda/device/model", ""),
    "disk.sda.size": (4000787030016, "/sys/block/sda/size", "B"),
    "disk.sda.file_systems": (["xfs"], "/proc/self/mountinfo", ""),
    "disk.sda.scheduler": ("mq-deadline", "/sys/block/sda/queue/scheduler", ""),
    "disk.sda.write_cache": ("write back", "/sys/block/sda/queue/write_cache", ""),
    "mount./.type": ("xfs", "/proc/self/mountinfo", ""),
    "mount./.source": ("/dev/sda2", "/proc/self/mountinfo", ""),
    "mount./.options": ("rw,relatime", "/proc/self/mountinfo", ""),
    "mount./scratch.type": ("ext4", "/proc/self/mountinfo", ""),
    "mount./scratch.source": ("/dev/nvme0n1p1", "/proc/self/mountinfo", ""),
    "mount./scratch.options": ("rw,noatime", "/proc/self/mountinfo", ""),
    "nic.ens1f0.driver": ("mlx5_core", "/sys/class/net/ens1f0/device/driver", ""),
    "nic.ens1f0.speed": (100000, "/sys/class/net/ens1f0/speed", "Mbit/s"),
    "firewall.manager": ("firewalld 1.3.4, running", "/etc/firewalld/firewalld.conf", ""),
    "firewall.service": ("firewalld", "/etc/firewalld/firewalld.conf", ""),
    "firewall.service_running": (True, "/etc/firewalld/firewalld.conf", ""),
    "firewall.rules": ("17 in inet firewalld", "nft -j -t list ruleset", ""),
    "firewall.rule_count": (17, "nft -j -t list ruleset", ""),
    "firewall.reverse_path_rules": (["IPv6"], "nft -j -t list ruleset", ""),
    "firewall.reverse_path_ipv6": ("strict, every packet", "nft -j -t list ruleset", ""),
    "firewall.reverse_path_ipv4": ("rp_filter loose", "/proc/sys/net/ipv4/conf/*/rp_filter", ""),
}
# The texts are the scenarios' own: what is drawn in the tests is what has to fit.
OFFERS = (
    (
        "null", "Can this host be measured?",
        "Can this host be measured, and what is the smallest effect that shows within a minute?",
        "measures the same thing against itself: how small an effect shows here", 66.0, "", "",
    ),
    (
        "storage", "Is it the disk?", "Which of these directories is faster, by how much, and would a job notice?",
        "compares disks and file systems under six loads", 135.0, "", "",
    ),
    (
        "fstrim", "Does trimming bring this SSD back?",
        "Does this disk get slower from run to run, and does trimming bring it back?",
        "what a trim gives back, and what the numbers of fstrim -v mean", 210.0, "root for the trim; --dir", "",
    ),
    (
        "rpfilter", "Reverse-path check of the firewall",
        "What does the firewall's reverse-path check cost on this host?",
        "nanoseconds a packet, cores at line rate, what to change", 65.0,
        "nft; root, or unprivileged user namespaces",
        "nft is not installed (package nftables): the checks can be read (`hostdx triage`), not measured",
    ),
    (
        "iosched", "Which scheduler?",
        "Would another I/O scheduler serve this device better, and who would starve?",
        "changes a setting, undone", 480.0, "root, --dir", "",
    ),
    (
        "dstate", "Who is stuck?",
        "Which tasks hang in D, and is it a device, a scheduler, a file server or a frozen file system?",
        "watches only, live", 60.0, "", "",
    ),
)  # fmt: skip
FINDINGS = (
    Finding(
        id="rpfilter.ruleset",
        severity="warning",
        title="every IPv6 packet takes a route lookup: firewalld, strict",
        subject="firewalld",
        evidence=(Evidence("IPv6_rpfilter=strict", "/etc/firewalld/firewalld.conf"),),
        remedy=(Remedy(title="Set IPv6_rpfilter=loose-forward", commands=("firewall-cmd --reload",)),),
        prove="rpfilter",
    ),
    LINK,
    Finding(
        id="fstrim.never",
        severity="notice",
        title="no TRIM ever reaches sda; 1.9 TB written since boot",
        subject="sda",
        evidence=(Evidence("discards completed 0", "/sys/block/sda/stat"),),
        prove="fstrim",
    ),
    Finding(
        id="host.mce", severity="critical", title="machine check events in the kernel log", subject="cpu 3"
    ),
)


def triage() -> list[ev.AnyEvent]:
    tell = Teller(3)
    tell.began("triage", ["triage"])
    for short, (value, source, unit) in FACTS.items():
        subject, name = split_fact_name(short)
        tell.tell(ev.FactRead, subject=subject, name=name, value=value, source=source, unit=unit)
    tell.tell(
        ev.AbsentFact, subject="memory", name="dimms", reason="dmidecode needs root", source="dmidecode -t 17",
        kind="permission",
    )  # fmt: skip
    for ident, title, question, answers, takes, needs, blocked in OFFERS:
        options = (Option(name="dir", kind="path", help="directory to measure", multiple=True),)
        tell.tell(
            ev.ScenarioOffer, id=ident, title=title, question=question, answers=answers,
            takes_s=takes, needs=needs,
            blocked=blocked, options=(*options, Option(name="budget", kind="number", help="seconds", default=120)),
        )  # fmt: skip
    for number, finding in enumerate(FINDINGS):
        tell.t += 0.05
        tell.tell(ev.Found, finding=finding)
        tell.tell(ev.Checked, rule=finding.id, state="spoke")
        for k in range(12):
            tell.tell(ev.Checked, rule=f"rule.{number}.{k}", state="ok")
    tell.tell(ev.Checked, rule="storage.smart", state="unreadable", reason="smartctl is not installed")
    tell.tell(ev.Checked, rule="host.dimms", state="unreadable", reason="needs root: dmidecode")
    tell.tell(ev.RunEnded, status="done")
    return tell.events


def dstate() -> list[ev.AnyEvent]:
    """A watch: samples, no blocks; a task is caught in D."""
    tell = Teller(5, ("sda",))
    tell.began("dstate", ["run", "dstate", "--seconds", "30"])
    plan = Plan(
        scenario="dstate", title="Who is stuck?", question="Which tasks wait in D, and for what?",
        steps=(PlannedStep("watch", "watch", 30),), seconds=30, sentences=("starts no load, changes nothing",),
    ).with_digest()  # fmt: skip
    tell.tell(ev.Planned, plan=plan)
    tell.step("watch", "watch", "started")
    for second in range(30):
        tell.wait(1.0)
        stuck = 0 if second < 8 else min(3, second // 6)
        tell.tell(
            ev.SampleTaken, series="tasks in D", variant="now", block=second, value=float(stuck), unit="tasks"
        )
        tell.tell(
            ev.Progress, step="watch", text="watching", seconds_left=29.0 - second, done=(second + 1) / 30
        )
        if second == 9:
            tell.tell(
                ev.Guard,
                kind="d-state",
                text="pid 2210 (dd) in D for 1 s: io_schedule, sda",
                severity="warning",
            )
    tell.tell(
        ev.Found,
        finding=Finding(
            id="dstate.device", severity="critical", title="sda does not answer: 3 tasks wait in io_schedule",
            confidence="measured", subject="sda", evidence=(Evidence("pid 2210 (dd), 21 s", "/proc/2210/stack"),),
        ),
    )  # fmt: skip
    tell.step("watch", "watch", "done")
    tell.tell(ev.RunEnded, status="done")
    return tell.events


def failed_run() -> list[ev.AnyEvent]:
    tell = Teller(1)
    tell.began("storage", ["run", "storage", "--dir", "/mnt/full"])
    tell.step("prepare", "prepare", "started")
    tell.wait(2.0)
    tell.step("prepare", "prepare", "failed", "no space left on /mnt/full")
    tell.tell(ev.RunEnded, status="failed", reason="/mnt/full: no space left on device; free 1.1 GiB", exit=3)
    return tell.events


def stopped_run() -> list[ev.AnyEvent]:
    events = storage(cut="live")
    last = events[-1].t
    return [*events, ev.RunEnded(t=last + 0.3, status="interrupted", reason="stopped by SIGINT", exit=130)]


def hostile_run() -> list[ev.AnyEvent]:
    """The storage run on a host whose every name is an attack, and a watch's samples besides."""
    swaps = {
        "st-096": HOSTILE,
        "rsync": HOSTILE,
        "/scratch": HOSTILE,
        "nvme1n1": HOSTILE,
        "random read 4k": HOSTILE,
    }
    raw = [msgspec.to_builtins(event) for event in storage()]

    def poison_value(value: object) -> object:
        if isinstance(value, str):
            for old, new in swaps.items():
                value = value.replace(old, new)
            return value
        if isinstance(value, dict):
            return {k: poison_value(v) for k, v in value.items()}
        return [poison_value(v) for v in value] if isinstance(value, list | tuple) else value

    return [msgspec.convert(poison_value(event), ev.Common) for event in raw]


STORIES = {
    "storage": storage, "triage": triage, "iosched": iosched, "dstate": dstate, "failed": failed_run,
    "interrupted": stopped_run, "hostile": hostile_run,
}  # fmt: skip


def write(path: Path, events: list[ev.AnyEvent]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in events))
    return path


def main() -> None:
    for name, story in STORIES.items():
        print(write(RECORDINGS / f"{name}.jsonl", story()))


if __name__ == "__main__":
    main()

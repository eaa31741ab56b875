"""Made-up runs with a plot, as event streams: what the screens are drawn from in tests. Seeded, so always the same.

`python -m tests.fakes.streams.stories` writes them to tests/fixtures/recordings/.
"""

import math
import random
from collections.abc import Callable
from pathlib import Path

import msgspec

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action, private_directory_action
from hostdx.scenarios.contract.disturbance import Disturbance, InterferenceCulprit
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.plan import Metric, Plan, PlannedStep, PlannedWrite, Variant, Workload

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
PAIR = {"A": 6900.0, "B": 540.0}


RSYNC = Disturbance("device", InterferenceCulprit(name="rsync", pid=4121, rate=80e6, unit="B/s"), 0.8)


class Teller:
    """Collects events on a clock of its own and emits a pulse every second, as the runner does."""

    def __init__(self, seed: int, devices: tuple[str, ...] = ("nvme0n1", "sda")) -> None:
        self.t = 0.0
        self.events: list[ev.AnyEvent] = []
        self.rng = random.Random(seed)
        self.devices = devices
        self.busy = 0.1
        self._second = 1

    def tell(self, make: Callable[..., ev.AnyEvent], **fields: object) -> None:
        self.events.append(make(t=round(self.t, 4), **fields))

    def wait(self, seconds: float) -> None:
        end = self.t + seconds
        while self._second <= end:
            self.t = float(self._second)
            rate = self.busy * 4e8
            self.tell(
                ev.Pulse,
                load1=round(1.1 + self.busy + self.rng.random() * 0.2, 2),
                cpu=round(0.04 + 0.2 * self.busy + self.rng.random() * 0.03, 3),
                steal=round(self.rng.random() * 0.004, 4),
                psi_io=round(self.busy * 0.6 + self.rng.random() * 0.05, 3),
                psi_cpu=0.01,
                devices={
                    d: (round(rate * 0.7), round(rate * 0.3), round(min(1.0, self.busy + 0.1), 3))
                    for d in self.devices
                },
                ours={d: (round(rate * 0.69), round(rate * 0.29)) for d in self.devices},
            )
            self._second += 1
        self.t = end

    def began(self, scenario: str, command: list[str], host: str = "st-096") -> None:
        self.tell(
            ev.Began,
            schema=ev.SCHEMA,
            version="0.1.0",
            scenario=scenario,
            command=["hostdx", *command],
            host=host,
            wall="2026-11-20T14:02:10Z",
            seed=4711,
            pid=4194304,  # one above the kernel's highest: never a living process
            pid_start=1,
            boot_id="00000000-0000-0000-0000-000000000000",
        )

    def step(self, step: str, title: str, state: str, reason: str = "") -> None:
        self.tell(ev.RunStep, id=step, title=title, state=state, reason=reason)


STORAGE_WORKLOADS = (
    Workload(
        id="randread-4k-qd1",
        title="random read 4k",
        metrics=(Metric("IOPS", "IOPS"), Metric("p99", "ns", "less", judged=False)),
        equivalent="fio --name=r --rw=randread --bs=4k --iodepth=1 --direct=1",
    ),
    Workload(id="fsync-4k", title="synced write 4k", metrics=(Metric("IOPS", "IOPS"),)),
    Workload(id="cpu", title="CPU only", metrics=(Metric("rounds/s", "rounds/s"),), control=True),
)
BASE = {"randread-4k-qd1": {"A": 14200.0, "B": 6800.0}, "fsync-4k": PAIR, "cpu": {"A": 812.0, "B": 812.0}}


def storage_plan() -> Plan:
    return Plan(
        scenario="storage",
        title="Is it the disk?",
        question="Is one of these disks slower, and for which of your jobs?",
        why="Most workloads never feel the disk; two in seven felt it badly. This shows which of yours would.",
        options={"dir": ["/scratch", "/data"], "budget": 120},
        variants=(
            Variant(id="A", label="/scratch", detail="nvme0n1  Samsung PM9A3  ext4  PCIe 4.0 x4"),
            Variant(id="B", label="/data", detail="sda  Samsung 870  xfs  SATA 6 Gb/s"),
        ),
        workloads=STORAGE_WORKLOADS,
        steps=(
            PlannedStep("prepare", "prepare", 12),
            *(PlannedStep(w.id, w.title, 30) for w in STORAGE_WORKLOADS),
        ),
        reads=("/sys/block/*/queue", "/proc/self/mountinfo", "/proc/diskstats"),
        actions=(private_directory_action("/scratch"), private_directory_action("/data")),
        writes=(PlannedWrite("nvme0n1", 4 << 30, "/scratch", 0.0001), PlannedWrite("sda", 4 << 30, "/data")),
        differs=("file system: ext4 / xfs", "scheduler: none / mq-deadline"),
        seconds=132,
        measuring_s=120,
        sentences=(
            "stops by itself when others' I/O waits twice as long; Ctrl-C stops it within 2 s",
            "leaves no file, changes no setting",
        ),
        left_out=("/boot: vfat is not compared",),
    ).with_digest()


def _tell_blocks(
    tell: Teller, workload: Workload, groups: int, *, disturb_at: int = -1, noise: float = 0.06
) -> None:
    """Groups of four blocks in a drawn order, with the running estimate after each."""
    metric = workload.metrics[0].name
    logs: list[float] = []
    index = 0
    for group in range(groups):
        order = tell.rng.choice(("ABBA", "BAAB"))
        values: dict[str, list[float]] = {"A": [], "B": []}
        disturbed = (RSYNC,) if group == disturb_at else ()
        for variant in order:
            tell.wait(0.53)
            value = BASE[workload.id][variant] * math.exp(tell.rng.gauss(0, noise))
            value *= 0.55 if disturbed and variant == "B" else 1
            values[variant].append(value)
            tell.tell(
                ev.Block,
                workload=workload.id,
                variant=variant,
                group=group,
                index=index,
                seconds=0.5,
                values={metric: round(value, 1)},
                operations=int(value / 2),
                bytes=int(value / 2) * 4096,
                device_bytes=int(value / 2) * 4096,
                p99_ns=int(2e9 / value),
                disturbed=disturbed,
            )
            index += 1
        if disturbed:
            tell.tell(
                ev.Guard,
                kind="device",
                disturbance=RSYNC,
                again="group",
                workload=workload.id,
                group=group,
                severity="warning",
            )
        else:
            logs.append(math.log(sum(values["B"]) / sum(values["A"])))
        key = f"{metric}|A|B"
        tell.tell(
            ev.Group,
            workload=workload.id,
            index=group,
            order=order,
            log_ratios={} if disturbed else {key: round(logs[-1], 5)},
            disturbed=disturbed,
        )
        mean = sum(logs) / len(logs)
        half = (2.5 * noise) / math.sqrt(len(logs))
        tell.tell(
            ev.RunningEstimate,
            workload=workload.id,
            metric=metric,
            baseline="A",
            variant="B",
            groups=len(logs),
            ratio=round(math.exp(mean), 4),
            ci95=(round(math.exp(mean - half), 4), round(math.exp(mean + half), 4))
            if len(logs) > 2
            else None,
            seconds_left=round((groups - group - 1) * 2.2, 1),
        )
        tell.tell(
            ev.Progress,
            step=workload.id,
            text=f"{workload.title}, group {group + 1} of {groups}",
            seconds_left=round((groups - group - 1) * 2.2, 1),
            done=round(min(1.0, tell.t / 90), 3),
        )


def _tell_verdict(
    tell: Teller, workload: Workload, ratio: float, half: float, word: str, **more: object
) -> None:
    tell.tell(
        ev.RunVerdict,
        workload=workload.id,
        metric=workload.metrics[0].name,
        baseline="A",
        variant="B",
        verdict=word,
        ratio=ratio,
        ci95=(round(ratio * math.exp(-half), 4), round(ratio * math.exp(half), 4)),
        groups=10,
        look=2,
        smallest_effect=half,
        seconds=22.0,
        control=workload.control,
        scope="this stack",
        slower_in=10 if ratio < 1 else 3,
        **more,
    )


def storage(host: str = "st-096", *, cut: str = "") -> list[ev.AnyEvent]:
    """The whole run; `cut`: "live" ends in the middle of the second workload without an end."""
    tell = Teller(7)
    tell.began("storage", ["run", "storage", "--dir", "/scratch", "--dir", "/data"], host)
    plan = storage_plan()
    tell.tell(ev.Planned, plan=plan)
    tell.tell(
        ev.FactRead, subject="kernel", name="release", value="5.14.0-427.13.1.el9_4", source="/proc/version"
    )
    tell.tell(
        ev.AbsentFact,
        subject="disk:sda",
        name="smart",
        kind="tool",
        reason="smartctl is not installed",
        source="smartctl -a /dev/sda",
    )
    tell.step("prepare", "prepare", "started")
    for action in plan.actions:
        text = msgspec.structs.replace(action, new=action.target.replace("*", "a1b2c3"))
        tell.tell(ev.ActionEvent, id=f"j-{action.target}", action=text, state="applied")
    tell.tell(
        ev.Progress, step="prepare", text="writing 1 GiB of incompressible data", seconds_left=88, done=0.02
    )
    tell.busy = 0.8
    tell.wait(4.2)
    tell.step("prepare", "prepare", "done")
    for workload, groups, ratio, half, word in zip(
        STORAGE_WORKLOADS, (9, 10, 8), (0.48, 0.079, 1.003), (0.04, 0.045, 0.02),
        ("slower", "slower", "no material difference"), strict=True,
    ):  # fmt: skip
        tell.busy = 0.1 if workload.control else 0.7
        tell.step(workload.id, workload.title, "started")
        if cut == "live" and workload.id == "fsync-4k":
            _tell_blocks(tell, workload, 6, disturb_at=4)
            return tell.events
        _tell_blocks(tell, workload, groups, disturb_at=4 if workload.id == "fsync-4k" else -1)
        _tell_verdict(tell, workload, ratio, half, word)
        tell.step(workload.id, workload.title, "done")
    tell.busy = 0.05
    tell.tell(ev.Found, finding=LINK)
    tell.tell(ev.Found, finding=IMPACT)
    for action in plan.actions:
        tell.tell(ev.ActionEvent, id=f"j-{action.target}", action=action, state="reverted")
    tell.wait(0.4)
    tell.tell(ev.RunEnded, status="done")
    return tell.events


LINK = Finding(
    id="storage.pcie-link",
    severity="warning",
    title="nvme1n1 runs at x2 of x4 PCIe lanes: 3.4 of 7.0 GB/s",
    subject="nvme1n1",
    evidence=(
        Evidence("current_link_width 2, max_link_width 4", "/sys/class/nvme/nvme1/device/current_link_width"),
        Evidence("stream read reached 3.4 GB/s", "measured"),
    ),
    remedy=(
        Remedy(
            title="Reseat the drive or move it to a slot with four lanes",
            commands=("lspci -vv -s 0000:41:00.0 | grep LnkSta",),
            verify=("cat /sys/class/nvme/nvme1/device/current_link_width",),
            warning="needs a maintenance window",
        ),
    ),
    references=("https://docs.kernel.org/PCI/sysfs-pci.html",),
    prove="storage",
    prove_options=("--dir", "/scratch"),
)
IMPACT = Finding(
    id="storage.impact",
    severity="notice",
    confidence="measured",
    title="A job that spends 10 % of its time in synced writes would run 9.1 % faster on A",
    evidence=(Evidence("synced writes: 12.6 times as many on A, 95 % interval 12.1 to 13.2"),),
    remedy=(
        Remedy(
            title="Put the scratch directory on A",
            commands=("mount /dev/nvme0n1p1 /scratch",),
            persistent=("echo '/dev/nvme0n1p1 /scratch ext4 noatime 0 2' >> /etc/fstab",),
            verify=("findmnt /scratch",),
            undo=("umount /scratch",),
        ),
    ),
)


def iosched_plan() -> Plan:
    queue = "/sys/block/sda/queue/scheduler"
    switch = Action(
        kind="attribute", title="scheduler of sda", target=queue, old="mq-deadline", new="bfq", consent=True,
        risk="processes that use sda may wait longer while it is measured", rights="root",
        side_paths=("/sys/block/sda/queue/nr_requests",),
    )  # fmt: skip
    return Plan(
        scenario="iosched",
        title="Which scheduler?",
        question="Which I/O scheduler serves this disk best, and does BFQ bite?",
        variants=(
            Variant(id="mq-deadline", label="mq-deadline", detail="now"),
            Variant(id="bfq", label="bfq"),
            Variant(id="none", label="none"),
        ),
        workloads=(
            Workload(id="readers", title="many readers", metrics=(Metric("IOPS", "IOPS"),), block_s=3),
        ),
        steps=(PlannedStep("readers", "many readers", 200),),
        actions=(switch, msgspec.structs.replace(switch, new="none"), private_directory_action("/data")),
        rights=("root",),
        seconds=240,
        measuring_s=200,
    ).with_digest()


def iosched() -> list[ev.AnyEvent]:
    """Three variants, settings changed and put back, one verdict of each kind."""
    tell = Teller(11, ("sda",))
    tell.began("iosched", ["run", "iosched", "--dir", "/data"])
    plan = iosched_plan()
    tell.tell(ev.Planned, plan=plan)
    tell.step("readers", "many readers", "started")
    tell.busy = 0.9
    base = {"mq-deadline": 410.0, "bfq": 300.0, "none": 405.0}
    for group in range(6):
        order = list(base)
        tell.rng.shuffle(order)
        for variant in order:
            if variant != "mq-deadline":
                action = plan.actions[0 if variant == "bfq" else 1]
                tell.tell(ev.ActionEvent, id=f"j{group}{variant}", action=action, state="applied")
            tell.wait(3.1)
            value = round(base[variant] * math.exp(tell.rng.gauss(0, 0.05)), 1)
            tell.tell(
                ev.Block, workload="readers", variant=variant, group=group, index=0, seconds=3.0,
                values={"IOPS": value}, operations=int(value * 3),
            )  # fmt: skip
            if variant != "mq-deadline":
                tell.tell(ev.ActionEvent, id=f"j{group}{variant}", action=action, state="reverted")
        tell.tell(ev.Group, workload="readers", index=group, order="|".join(order))
        for variant, ratio in (("bfq", 0.73), ("none", 0.99)):
            tell.tell(
                ev.RunningEstimate, workload="readers", metric="IOPS", baseline="mq-deadline", variant=variant,
                groups=group + 1, ratio=ratio, ci95=(ratio * (1 - 0.2 / (group + 1)), ratio * (1 + 0.2 / (group + 1))),
            )  # fmt: skip
    for variant, ratio, word, reason in (
        ("bfq", 0.73, "slower", None),
        ("none", 0.99, "inconclusive", "smallest effect seen in this run: 7 %"),
    ):
        tell.tell(
            ev.RunVerdict, workload="readers", metric="IOPS", baseline="mq-deadline", variant=variant, verdict=word,
            reason=reason, ratio=ratio, ci95=(round(ratio * 0.95, 3), round(ratio * 1.07, 3)), groups=6,
            smallest_effect=0.07, seconds_to_decide=300 if reason else None,
        )  # fmt: skip
    tell.step("readers", "many readers", "done")
    tell.wait(0.2)
    tell.tell(ev.RunEnded, status="done")
    return tell.events

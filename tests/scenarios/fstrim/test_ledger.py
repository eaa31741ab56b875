"""What a drive and the kernel say of a trim, and how much is trimmed."""

from pathlib import Path

import pytest

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, UnreadFact
from hostdx.scenarios.contract.model import OptionMap
from hostdx.scenarios.experiment.before_after import MIN_BLOCKS
from hostdx.scenarios.fstrim.glance import MAX_FILE_SYSTEMS, glance
from hostdx.scenarios.fstrim.ledger import TrimLedgerKeeper
from hostdx.scenarios.fstrim.measurement.load import CHURN_ID
from hostdx.scenarios.fstrim.measurement.phase import PhaseMeasurer
from hostdx.scenarios.fstrim.measurement.trim import (
    ChosenBlockSize,
    DiscardCounters,
    TrimOutcome,
    TrimPattern,
    block_size_after_warm_up,
    claimed_bytes,
    max_repeated_blocks,
    read_discard_counters,
    trim_and_wait,
)
from hostdx.scenarios.fstrim.plan import load_and_control_workloads, parse_request, trim_action
from hostdx.scenarios.fstrim.results import LedgerRow
from hostdx.scenarios.fstrim.trim_setup import MAX_BLOCK_BYTES, MAX_WRITTEN_BYTES, TrimSetup
from hostdx.scenarios.triage.knowledge.trims import load_trim_behaviours, trim_behaviour_of
from tests.every_case import every_case
from tests.fakes import FakeClock, FakeRun
from tests.fakes.answering import Answering
from tests.fakes.hosts.drive import Drive
from tests.fakes.hosts.facts import join_fact_name
from tests.fakes.hosts.tree import Tree

GIB = 1 << 30


@every_case(
    ("sentence", "value"),
    [
        ("/mnt: 3.9 GiB (4186771456 bytes) trimmed", 4186771456),
        ("/mnt: 0 B (0 bytes) trimmed", 0),
        ("/mnt: 4186771456 bytes were trimmed", 4186771456),  # util-linux 2.20, EL6
        ("/: 0 B (dry run) trimmed", 0),
        ("/mnt (77 bytes): 1 KiB (1024 bytes) trimmed", 1024),  # a mount point may be called so
        ("", None),
        ("fstrim: something else", None),
    ],
)
def test_the_number_in_what_fstrim_says(sentence: str, value: int | None) -> None:
    assert claimed_bytes(sentence) == value


def test_what_is_known_is_dated_and_sourced() -> None:
    assert all(entry.source and entry.dated.year >= 2026 for entry in load_trim_behaviours())
    assert trim_behaviour_of("vfat", "6.1.0") is None


class TypedSetup(TrimSetup):
    def __init__(self, host: Host, fstype: str, free: int = 90 * GIB, total: int = 100 * GIB) -> None:
        self.host, self._kind, self._free, self._total = host, fstype, free, total
        self.placement = None

    @property
    def file_system_type(self) -> str:
        return self._kind

    @property
    def leaf_names(self) -> tuple[str, ...]:
        return ("sda",)

    def read_free_bytes(self) -> int | None:
        return self._free

    def read_file_system_bytes(self) -> int | None:
        return self._total


def make_trim(claimed: int | None, requested: int | None, rest_s: float | None = 0.0) -> TrimOutcome:
    return TrimOutcome(claimed, "said", requested, 3, rest_s)


def ledger(
    tmp_path: Path, fstype: str, release: str, *steps: TrimOutcome, deleted: int = 0
) -> list[LedgerRow]:
    run = FakeRun(host=Tree(tmp_path).host())
    book = TrimLedgerKeeper(run, TypedSetup(run.host, fstype), release)
    for step in steps:
        book.begin_row()
        book.end_row("deleting", deleted=deleted)
        book.begin_row()
        book.end_row("trim", trimmed=step)
    return [*book.trim_rows]


def test_nothing_to_trim_on_ext4_is_not_broken(tmp_path: Path) -> None:
    [row] = ledger(tmp_path, "ext4", "6.1.0", make_trim(0, 0))
    assert "0 B: nothing was freed since the last trim of this mount" in row.explained


@every_case(
    ("fstype", "release", "counted", "row"),
    [
        ("xfs", "6.18.0", 12, "6.18.0"),
        ("xfs", "6.18.0", 16, "6.18.0"),  # hardly anything in it
        ("xfs", "5.14.0-570.el9", 12, "6.18.0"),  # its vendor took the change
        ("xfs", "6.8.0", 16, "6.8.0"),
        ("btrfs", "6.18.0", 16, "6.18.0"),
        ("ext4", "6.18.0", 16, "6.18.0"),
        ("vfat", "6.18.0", 16, None),
    ],
)
def test_the_answer_agrees_with_the_rows(
    tmp_path: Path, fstype: str, release: str, counted: int, row: str | None
) -> None:
    """Never the free space for a number that the same run calls the size of the file system."""
    run = FakeRun(host=Tree(tmp_path).host())
    book = TrimLedgerKeeper(run, TypedSetup(run.host, fstype, free=16 * GIB, total=16 * GIB), release)
    for _ in range(3):
        book.begin_row()
        book.end_row("trim", trimmed=make_trim(16 * GIB, counted * GIB))
    [sentence] = [
        answer_sentence
        for answer_sentence in book.answer_sentences()
        if "the same 16 GiB each time" in answer_sentence
    ]
    explanation = trim_behaviour_of(fstype, row) if row else None
    assert (explanation.repeats if explanation else "each time (3 trims) ") in f"{sentence} "
    called_size = any("the size of the file system" in row.explained for row in book.trim_rows)
    assert called_size == ("size of the file system" in sentence)


def test_a_kernel_that_does_not_count_is_said(tmp_path: Path) -> None:
    [row] = ledger(tmp_path, "ext4", "3.10.0", make_trim(GIB, None))
    assert "does not count discards" in row.explained and row.discarded_bytes is None


def test_a_late_drive_is_said(tmp_path: Path) -> None:
    late, never = ledger(tmp_path, "xfs", "6.8.0", make_trim(GIB, GIB, 12.0), make_trim(GIB, GIB, None))
    assert "12 s before the disk" in late.explained
    assert "still busy" in never.explained


def put_diskstats(tree: Tree, discarded: int, in_flight: int = 0) -> None:
    tree.put(
        "/proc/diskstats", f"   8 0 sda 10 0 80 5 10 0 80 5 {in_flight} 9 10 3 0 {discarded // 512} 0 0 0\n"
    )


class Draining(FakeClock):
    """A drive that goes on discarding for some seconds after fstrim's return, a GiB a look; others' requests are in
    flight until `others_s`.
    """

    def __init__(self, tree: Tree, busy_s: float, others_s: float = 0.0) -> None:
        super().__init__()
        self.tree, self.busy_s, self.others_s, self.done = tree, busy_s, others_s, GIB
        put_diskstats(tree, self.done)

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if self.now() <= self.busy_s:
            self.done += GIB
        put_diskstats(self.tree, self.done, in_flight=int(self.now() <= max(self.busy_s, self.others_s)))


async def run_trim(tmp_path: Path, busy_s: float, others_s: float = 0.0) -> tuple[TrimOutcome, float]:
    """What it found, and how long it waited."""
    tree = Tree(tmp_path)
    run = FakeRun(host=tree.host(), clock=Draining(tree, busy_s, others_s))
    setup = TypedSetup(run.host, "xfs")
    setup.chain = None
    return await trim_and_wait(run, trim_action(setup), ("sda",), TrimPattern()), run.clock.now()


async def test_and_not_for_ever(tmp_path: Path) -> None:
    trim, waited_s = await run_trim(tmp_path, 1e9)
    assert trim.rest_s is None and waited_s == pytest.approx(60.0, abs=1.0)


async def test_what_is_in_flight_is_waited_for_too_all_five_seconds(tmp_path: Path) -> None:
    trim, waited_s = await run_trim(tmp_path, 0.0, others_s=8.0)
    assert trim.rest_s == 0.0 and waited_s == pytest.approx(13.0, abs=0.6)


def test_old_counters_have_no_discards(tmp_path: Path) -> None:
    tree = Tree(tmp_path).put("/proc/diskstats", "   8 0 sda 10 0 80 5 10 0 80 5 0 9 10\n")
    discards = read_discard_counters(tree.host(), ("sda",))
    assert isinstance(discards, DiscardCounters) and discards.bytes is None and discards.written == 80 * 512
    missing = read_discard_counters(tree.host(), ("sda", "sdb"))
    assert isinstance(missing, Absent) and "sdb" in missing.reason


VDA = "/sys/devices/pci0000:00/0000:00:04.0/virtio1/block/vda"
UNIT = "/usr/lib/systemd/system/fstrim.timer"
ASK = "systemctl show fstrim.timer -p LoadState,ActiveState,UnitFileState,LastTriggerUSec"
ON = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nLastTriggerUSec=Mon 2026-11-16 00:13:11 UTC\n"


def texts(tree: Tree, systemctl: str = ON) -> dict[str, str]:
    texts = {}
    for entry in glance(Answering(tree.root, {ASK: systemctl})):
        if isinstance(entry, UnreadFact):
            texts[join_fact_name(entry)] = f"absent: {entry.absent.reason}"
        else:
            texts[join_fact_name(entry)] = str(entry.value)
    return texts


def virtual_disk(tmp_path: Path, options: str = "rw", cap: int = 1 << 30) -> Tree:
    tree = Tree(tmp_path).disk(VDA, "254:0", discard_max_bytes=cap, discard_granularity=4096, rotational=1)
    tree.put(UNIT, "[Timer]\nOnCalendar=weekly\n")
    tree.put("/proc/diskstats", " 254 0 vda 10 0 80 5 10 0 4194304 5 0 9 10 3 0 6291456 0 0 0\n")
    return tree.put("/proc/self/mountinfo", f"30 1 254:0 / /data rw - ext4 /dev/vda {options}\n")


def test_nobody_trims_it_and_why(tmp_path: Path) -> None:
    tree = virtual_disk(tmp_path).put("/etc/fstab", "/dev/vdb / ext4 defaults 0 1\n")
    assert texts(tree)["trim.vda.by"].startswith("nobody: it is not in /etc/fstab")
    assert texts(tree.put("/etc/cron.daily/t", "fstrim -v /data\n"))["trim.vda.by"] == "/etc/cron.daily/t"


def test_what_swallows_discards_ends_it_there(tmp_path: Path) -> None:
    facts = texts(virtual_disk(tmp_path, cap=0))
    assert facts["trim.vda.way"].endswith("; vda (disk) takes no discards")
    assert set(facts) == {"trim.timer", "trim.vda.way"}


def test_online_discard_is_a_trimmer(tmp_path: Path) -> None:
    off = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\nLastTriggerUSec=\n"
    facts = texts(virtual_disk(tmp_path, "rw,discard"), off)
    assert facts["trim.timer"] == "none runs here" and facts["trim.vda.by"] == "discard"


def test_hundreds_of_volumes_do_not_fill_the_screen(tmp_path: Path) -> None:
    tree, lines = virtual_disk(tmp_path), []
    for number in range(MAX_FILE_SYSTEMS + 3):
        tree.disk(f"/sys/devices/virtual/block/dm-{number}", f"253:{number}", discard_max_bytes=4096)
        lines.append(f"3{number} 1 253:{number} / /v{number} rw - xfs /dev/dm-{number} rw\n")
    facts = texts(tree.put("/proc/self/mountinfo", "".join(lines)))
    assert facts["trim.more"] == "3 more file systems"
    assert sum(name.endswith(".way") for name in facts) == MAX_FILE_SYSTEMS


MIB, GIB_OF_SIZES = 1 << 20, 1 << 30


class SizedSetup(TrimSetup):
    def __init__(self, free: int = 500 * GIB_OF_SIZES) -> None:
        self.free = free
        self.most_bytes, self.fixed_bytes, self.block_bytes = MAX_WRITTEN_BYTES, 256 * MIB, 104 * MIB

    def block_bytes_by_space(self, blocks: int, free: int | None = None) -> float:
        return (self.free * 0.05 - self.fixed_bytes) / (blocks + 1)


def size_at(
    bytes_per_s: float, *, phases: int = 3, amplified: float = 1.0, free: int = 500 * GIB_OF_SIZES
) -> ChosenBlockSize:
    budget = WriteBudget(MAX_WRITTEN_BYTES)
    budget.charge(360 * MIB, int(360 * MIB * amplified), CHURN_ID)
    size = block_size_after_warm_up(SizedSetup(free), budget, TrimPattern(), phases, bytes_per_s)
    blocks = size.pattern.blocks
    written = phases * (blocks + max_repeated_blocks(blocks)) * size.bytes
    assert written * budget.write_amplification(CHURN_ID) <= budget.left_bytes
    return size


def test_a_slow_disk_keeps_what_was_planned() -> None:
    size = size_at(60e6)
    assert (size.pattern.blocks, size.bytes, size.text) == (12, 104 * MIB, "")


@pytest.mark.parametrize("limits", [{"amplified": 4.0}, {"free": 40 * GIB_OF_SIZES}])
def test_what_cannot_be_afforded_is_not_promised(limits: dict[str, float]) -> None:
    size = size_at(3e9, **limits)  # type: ignore[arg-type]
    assert size.pattern.blocks == MIN_BLOCKS and size.bytes < 0.5 * 3e9
    assert size.bytes <= MAX_BLOCK_BYTES


async def test_blocks_that_were_too_short_are_said() -> None:
    layout = TrimSetup(Host("/nonexistent-captured-tree"), "/data", blocks=6, phases=3)
    pattern = TrimPattern(blocks=6, block_s=1.5, reference_s=0.5)
    loads = load_and_control_workloads(parse_request(OptionMap({"dir": "/data"})), layout, pattern)
    run = FakeRun()
    blocks = PhaseMeasurer(run, Drive(run.clock), loads, pattern, MIB, None)
    await blocks.measure_phase("before", "before")
    assert blocks.lasted == [1.5] * 6 and blocks.too_short_text == ""
    blocks.lasted = [0.2] * 6
    assert "lasted only 0.2 s" in blocks.too_short_text

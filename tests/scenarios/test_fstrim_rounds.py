"""The rounds' file: what survives a power cut, what is passed over, and what happened between two rounds."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from probes.host import Host
from probes.system.trim_timer import trim_timer
from probes.types import Absent
from scenarios import events as ev
from scenarios.fstrim_layout import Layout
from scenarios.fstrim_pattern import Pattern
from scenarios.fstrim_phase import Blocks
from scenarios.fstrim_plan import request, workloads
from scenarios.fstrim_rounds import Round, append, identity, read, rounds_file, since
from scenarios.fstrim_series import course_of, one_round, rounds_a_day
from scenarios.model import Options, Refused
from tests.fakes import FakeRun
from tests.fakes.drive import Drive
from tests.fakes.noise import quiet
from tests.fakes.tree import Tree

ATA = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda"
GIB = 1 << 30


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    path = rounds_file(str(tmp_path), "1234-abcd")
    assert read(path).rounds == ()
    first, second = Round(value=3.0, reference=2.0), Round(value=4.0, trim_before=True, source="hep-score")
    append(path, first)
    append(path, second)
    assert read(path).rounds == (first, second) and read(path).bad == 0
    assert path.parent == tmp_path / "series" and path.stat().st_mode & 0o777 == 0o600


def test_a_line_cut_short_costs_only_itself(tmp_path: Path) -> None:
    path = rounds_file(str(tmp_path), "x")
    append(path, Round(value=1.0))
    with path.open("ab") as file:
        file.write(b'{"value": 2.')
    append(path, Round(value=3.0))
    kept = read(path)
    assert [r.value for r in kept.rounds] == [1.0, 3.0] and kept.bad == 1


@pytest.mark.parametrize(
    "line", [b"[]", b'"x"', b"{}", b'{"value": "fast"}', b"\xff\xfe", b"[" * 100_000, b'{"value": NaN}']
)
def test_what_is_no_round_is_passed_over(tmp_path: Path, line: bytes) -> None:
    path = rounds_file(str(tmp_path), "x")
    append(path, Round(value=1.0))
    with path.open("ab") as file:
        file.write(line + b"\n")
    assert [r.value for r in read(path).rounds] == [1.0] and read(path).bad == 1


def test_a_score_from_elsewhere_needs_little(tmp_path: Path) -> None:
    path = rounds_file(str(tmp_path), "x")
    path.parent.mkdir()
    path.write_text(
        '{"value": 12.5, "source": "hep-score", "written_bytes": 1000, "more": "kept for others"}\n'
    )
    [found] = read(path).rounds
    assert (found.value, found.reference, found.key) == (12.5, None, ("hep-score", "", ""))


def test_a_symlink_in_its_place_is_not_written_through(tmp_path: Path) -> None:
    path = rounds_file(str(tmp_path), "x")
    path.parent.mkdir()
    (tmp_path / "victim").write_text("precious")
    path.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError):
        append(path, Round(value=1.0))
    assert (tmp_path / "victim").read_text() == "precious"


class Here(Layout):
    """On a captured host: nothing of it is asked but leaves, chain and free space."""

    def __init__(self, tree: Tree, free: int) -> None:
        self.host, self.free, self.chain = tree.host(), free, None
        self.devices, self.placement = (), None

    @property
    def leaves(self) -> tuple[str, ...]:
        return ("sda",)

    def free_bytes(self) -> int | None:
        return self.free


def counters(tree: Tree, boot: str, written: int, discarded: int) -> Tree:
    line = f"   8 0 sda 10 0 80 5 10 0 {written // 512} 5 0 9 10 3 0 {discarded // 512} 0 0 0\n"
    return tree.put("/proc/diskstats", line).put("/proc/sys/kernel/random/boot_id", f"{boot}\n")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_a_trim_between_two_rounds_shows_in_the_counters(tree: Tree) -> None:
    host = counters(tree, "b1", 10 * GIB, 0)
    first = since(host.host(), Here(tree, 100 * GIB), [])
    assert (first.written_bytes, first.trim_before) == (None, False)
    counters(tree, "b1", 12 * GIB, 90 * GIB)
    second = since(tree.host(), Here(tree, 100 * GIB), [first])
    assert (second.written_bytes, second.trim_before, second.trimmed_bytes) == (2 * GIB, True, 90 * GIB)
    counters(tree, "b1", 13 * GIB, 90 * GIB + GIB // 2)  # half a GiB is no trim of 100
    third = since(tree.host(), Here(tree, 100 * GIB), [first, second])
    assert (third.written_bytes, third.trim_before) == (GIB, False)


def test_after_a_reboot_the_counters_began_anew(tree: Tree) -> None:
    last = Round(value=1, boot_id="b1", device_written_bytes=50 * GIB, device_discarded_bytes=50 * GIB)
    counters(tree, "b2", 3 * GIB, 60 * GIB)
    found = since(tree.host(), Here(tree, 100 * GIB), [last])
    assert (found.written_bytes, found.trim_before) == (3 * GIB, True)


def test_without_counters_nothing_is_claimed(tree: Tree) -> None:
    found = since(tree.host(), Here(tree, 100), [Round(value=1, device_written_bytes=5)])
    assert (found.written_bytes, found.trim_before, found.trimmed_bytes) == (None, False, None)


def test_rounds_with_and_without_references_are_not_mixed() -> None:
    rounds = [Round(value=100.0 - i, reference=2.0 if i % 2 else None) for i in range(8)]
    assert course_of(rounds).trend.verdict == "slower"  # had it divided half of them, this would be noise


def test_the_bytes_between_rounds_add_up() -> None:
    rounds = [Round(value=100 * 0.98**i, written_bytes=10**9 if i else None) for i in range(12)]
    assert course_of(rounds).trend.per_gb == pytest.approx(-0.02, abs=0.002)
    rounds[5] = msgspec.structs.replace(rounds[5], written_bytes=None)
    assert course_of(rounds).trend.per_gb is None


def test_how_many_rounds_a_day_there_were() -> None:
    walls = ["2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"]
    assert rounds_a_day([Round(value=1, wall=w) for w in walls]) == pytest.approx(1.0)
    assert rounds_a_day([Round(value=1, wall="yesterday")]) is None


def test_the_uuid_names_the_series(tree: Tree) -> None:
    tree.disk(ATA, discard_max_bytes=4096)
    tree.link("/dev/disk/by-uuid/6c1f-22ab", "../../sda")
    tree.put("/proc/self/mountinfo", "30 1 8:0 / / rw - ext4 /dev/sda rw\n")
    from probes.system.discard import discard_chain
    from probes.system.mounts import mounts

    table = mounts(tree.host())
    assert not isinstance(table, Absent)
    here = Here(tree, 1)
    here.chain = discard_chain(tree.host(), table[0])
    assert identity(tree.host(), here) == "6c1f-22ab"


def test_without_udev_device_and_number_name_it(tree: Tree) -> None:
    name = identity(tree.host(), Here(tree, 1))
    assert name and os.sep not in name


async def test_a_round_that_cannot_be_kept_is_judged_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, one: Round) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("scenarios.fstrim_series.append", full)
    asked = request(Options({"dir": "/data", "round": True, "state": str(tmp_path)}))
    layout = Layout(Host("/nonexistent-captured-tree"), "/data", blocks=8, phases=1)
    run, pattern = FakeRun(), Pattern(blocks=8, block_s=0.5, reference_s=0.5)
    drive = Drive(run.clock, quiet, lambda: 1.0)
    blocks = Blocks(run, drive, workloads(asked, layout, pattern), pattern, 1 << 20, None)
    with pytest.raises(Refused, match="the round cannot be kept: No space left on device; make room there"):
        await one_round(run, layout, asked, blocks, trim_timer(run.host))
    assert [verdict.rounds for verdict in run.of(ev.SeriesVerdict)] == [1]
    assert [len(e.value) for e in run.of(ev.Extra) if isinstance(e.value, list)] == [1]
    assert [e.finding.id for e in run.of(ev.Found)] == ["fstrim.degradation"]

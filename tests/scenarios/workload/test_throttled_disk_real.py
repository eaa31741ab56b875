"""A throttled disk under the directory, for real: a loop device that a control group lets read so often a second."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hostdx.probes.engine.command.supervised import Supervisors
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.workload.difference import REST
from hostdx.scenarios.workload.group import find_group_root, limits_problem, parse_limit
from hostdx.scenarios.workload.variant_bench import BLOCKED, OTHER_D, WALL, CommandVariantBench
from hostdx.scenarios.workload.variants import parse_variant
from tests.fakes import FakeRun
from tests.needs import ROOT, needs, not_here
from tests.real.trim_disk import TrimDisk
from tests.scenarios.workload.test_known_truths_real import difference_of

pytestmark = [pytest.mark.real("cpu"), needs(ROOT)]
BLKIO = Path("/sys/fs/cgroup/blkio")
READS, A_SECOND = 60, 50


@contextmanager
def make_folder(path: Path) -> Iterator[Path]:
    path.mkdir()
    try:
        yield path
    finally:
        path.rmdir()


def throttle_command(stay: ExitStack, device: str, groups: dict[str, str]) -> str:
    """The command's wrapper that puts it under the limit: io.max of its own group, or a group of version 1."""
    number = Path(f"/sys/block/{device}/dev").read_text().strip()
    if groups and not limits_problem(Host(), str(Path(groups["slow"]).parent), {"io.max": ""}):
        Path(groups["slow"], "io.max").write_text(parse_limit("io.max", f"{device},riops={A_SECOND}", "slow"))
        return ""
    if not (BLKIO / "blkio.throttle.read_iops_device").exists():
        not_here("neither the io controller of version 2 nor blkio.throttle of version 1 is here")
    folder = stay.enter_context(make_folder(BLKIO / f"hostdx-test-{os.getpid()}"))
    (folder / "blkio.throttle.read_iops_device").write_text(f"{number} {A_SECOND}")
    return f"sh -c 'echo $$ > {folder}/cgroup.procs; exec \"$@\"' sh"


@pytest.mark.noisy("the throttled disk lies on the one that all share", false_failures="0 of 4")
def test_it_shows_as_block_io_of_the_size_that_it_must_have(tmp_path: Path, supervisors: Supervisors) -> None:
    root = find_group_root(Host())
    with TrimDisk(tmp_path, "ext4", gib=1) as disk, ExitStack() as stay:
        subprocess.run(
            ["dd", "if=/dev/urandom", f"of={disk.mountpoint}/f", "bs=4k", f"count={READS}", "conv=fsync"],
            check=True,
            capture_output=True,
        )
        groups: dict[str, str] = {}
        if not isinstance(root, Absent):
            for name in ("free", "slow"):
                group = stay.enter_context(make_folder(Path(root) / f"hostdx-test-{name}-{os.getpid()}"))
                groups[name] = str(group)
        wrap = throttle_command(stay, disk.device, groups)
        command = f"dd if={disk.mountpoint}/f of=/dev/null bs=4k count={READS} iflag=direct"
        run = FakeRun()
        free, slow = (
            CommandVariantBench(
                run,
                parse_variant(f"{name}:", f"{before} {command}", "/"),
                supervisors,
                at_most_s=60.0,
                group=groups.get(name, ""),
            )
            for name, before in (("free", ""), ("slow", wrap))
        )
        parts = difference_of(run, free, slow, groups=4)
    due_s = READS / A_SECOND
    assert parts[WALL].difference_s == pytest.approx(due_s, rel=0.25)
    waits = [parts[name].difference_s for name in (BLOCKED, OTHER_D) if name in parts]
    assert sum(waits) == pytest.approx(due_s, rel=0.3)  # what was not seen as I/O was seen in state D
    if BLOCKED in parts:
        largest = max((part for name, part in parts.items() if name != WALL), key=lambda p: p.difference_s)
        assert largest.name == BLOCKED and largest.ci95_s[0] > 0
    assert parts[REST].difference_s < 0.3 * due_s

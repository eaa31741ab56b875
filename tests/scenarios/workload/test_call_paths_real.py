"""What the command waited for and where, for real: planted causes are named, by samples and by call paths."""

import asyncio
import os
import shlex
from pathlib import Path

import pytest

from hostdx.app.features.profile.flame import stack_lines
from hostdx.probes.engine.command.supervised import Supervisors
from hostdx.probes.profile.call_profile import CallProfile
from hostdx.probes.profile.symbols import FrameNames
from hostdx.scenarios.analysis.profile.results import PathTree
from hostdx.scenarios.experiment.schedule.guarded import GuardedBlocks
from hostdx.scenarios.workload.parts import Split
from hostdx.scenarios.workload.split import collect_profiles, split_wall_time
from hostdx.scenarios.workload.variant_bench import CommandVariantBench
from hostdx.scenarios.workload.variants import parse_variant
from tests.fakes import FakeRun
from tests.needs import ROOT, needs
from tests.scenarios.workload.test_variant_bench_real import PYTHON

pytestmark = pytest.mark.real("cpu")


def perf_events() -> str:
    profile = CallProfile(sorted(os.sched_getaffinity(0)), set())
    result, kernel = profile.call_result(), profile.kernel
    profile.close()
    return "" if result is not None and kernel else "perf events with the kernel's part are not allowed here"


def measure_scripts(
    supervisors: Supervisors, scripts: tuple[str, str], cwd: Path, *, groups: int = 5, profile: bool = False
) -> tuple[Split, PathTree | None]:
    run = FakeRun()
    benches = [
        CommandVariantBench(
            run,
            parse_variant(f"{name}:", f"{PYTHON} -S -c {shlex.quote(script)}", str(cwd)),
            supervisors,
            at_most_s=60.0,
            profile=profile,
        )
        for name, script in zip("AB", scripts, strict=True)
    ]
    blocks = GuardedBlocks(run)

    async def all_groups() -> None:
        for group in range(groups):
            for bench in benches:
                await blocks.measure("command", bench.variant, bench.measure_block, group=group)

    asyncio.run(all_groups())
    counted_blocks = blocks.counted_blocks("command")
    waits = {(bench.variant, wall_s): waits for bench in benches for wall_s, waits in bench.waited.items()}
    time_split = split_wall_time(counted_blocks, "A", "B", waits)
    assert time_split is not None
    return time_split, collect_profiles(counted_blocks, benches, ("A", "B")).build_tree(
        FrameNames(), 1
    ) if profile else None


BURN = "import time, os\nwhile time.process_time() < 0.15: pass\n"
FSYNC = BURN + (
    "fd = os.open('x', os.O_CREAT | os.O_RDWR)\n"
    "for n in range(300):\n    os.pwrite(fd, os.urandom(65536), n << 16); os.fsync(fd)\n"
)


@needs(ROOT, perf_events)
@pytest.mark.noisy("waits of a shared disk", false_failures="0 of 4")
def test_call_paths_hold_the_wait_and_the_computing(supervisors: Supervisors, tmp_path: Path) -> None:
    _, tree = measure_scripts(supervisors, (BURN, FSYNC), tmp_path, profile=True)
    assert tree is not None and tree.kernel and tree.waits
    by_name = {node.name: node for node in tree.nodes if node.name.endswith("fsync")}
    assert sum(node.variant_s for node in by_name.values()) > 0
    assert all(node.baseline_s == 0 for node in by_name.values())
    lines = list(stack_lines(tree))
    assert any(line.startswith("B;waiting;") and "fsync" in line for line in lines)
    assert not any(line.startswith("A;") and "fsync" in line for line in lines)

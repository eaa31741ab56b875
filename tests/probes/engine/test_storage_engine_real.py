"""The storage engine on a real ext4 in a loop device, and under a runner that is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from hostdx.probes.engine import histogram
from hostdx.probes.engine.disk.refusals import check_suitability
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.measured import BenchRefused, served_by_cache_reason
from hostdx.probes.engine.pool import SharedWorkers
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import read_live_stat
from hostdx.probes.system.disk.topology import find_placement
from hostdx.probes.types import is_present
from tests.fakes.held import open_private
from tests.needs import LOOP, need, needs, not_here, on_disk, program
from tests.real.own_disk import unmount
from tests.real.polled import happens

pytestmark = [pytest.mark.real("cpu"), needs(LOOP)]
MIB = 1 << 20
Make = Callable[..., Path]


@pytest.fixture
def ext4(tmp_path: Path) -> Iterator[Make]:
    """Mounts a new ext4 (or what `mkfs` makes) of so many MiB, in a sparse file; unmounted and detached afterwards.

    The loop device reads and writes its file directly, else the host's own cache would be measured.
    """
    need(on_disk(tmp_path))  # a loop device reaches no disk through an overlay
    mounted: list[Path] = []

    def make(mib: int, mkfs: Sequence[str] = ("mkfs.ext4", "-q", "-m", "0")) -> Path:
        image, place = tmp_path / f"image{mib}", tmp_path / f"mounted{mib}"
        place.mkdir()
        with image.open("wb") as file:
            file.truncate(mib * MIB)
        subprocess.run([*mkfs, str(image)], check=True)
        attach = ["losetup", "--direct-io=on", "--find", "--show", str(image)]
        loop = subprocess.run(attach, capture_output=True, text=True)
        if loop.returncode != 0:
            not_here(f"no loop device with direct I/O here: {loop.stderr.strip()}")
        device = loop.stdout.strip()
        done = subprocess.run(["mount", device, str(place)], capture_output=True, text=True)
        subprocess.run(["losetup", "-d", device], check=True)  # as soon as nobody has it mounted
        if done.returncode != 0:
            not_here(f"no loop mount here: {done.stderr.strip()}")
        mounted.append(place)
        return place

    yield make
    for place in mounted:
        unmount(place)
    assert "(deleted)" not in subprocess.run(["losetup", "-a"], capture_output=True, text=True).stdout
    for place in mounted:
        assert not os.path.ismount(place)


def free_mib(place: Path) -> int:
    statvfs = os.statvfs(place)
    return statvfs.f_bavail * statvfs.f_frsize // MIB


@pytest.mark.real
async def test_reads_reach_the_loop_device_and_nothing_is_left(ext4: Make) -> None:
    place = ext4(400)
    host = Host()
    placement = find_placement(host, str(place))
    assert is_present(placement) and placement.leaves and placement.leaves[0].startswith("loop")
    before = free_mib(place)
    (place / "own").mkdir()
    private = open_private(place / "own")
    bench = StorageBench(host, str(place), private, 64 * MIB, 1, placement.leaves)
    try:
        await bench.prepare_files()
        assert before - free_mib(place) >= 79
        assert bench.result_notes == ()
        assert bench.budget.spent_bytes >= 80 * MIB
        for name in ("randread-4k-qd1", "randread-4k-qd16", "read-1m-qd8"):
            measured = await bench.measure_block(name, 0.1)
            assert measured.device_bytes is not None
            assert measured.device_bytes >= 0.95 * measured.bytes
            assert served_by_cache_reason(measured) == ""
        spent = bench.budget.spent_bytes
        written = await bench.measure_block("fsync-4k-qd1", 0.1, min_operations=20)
        assert written.device_bytes is not None
        assert written.device_bytes >= written.bytes
        assert bench.budget.spent_bytes - spent >= written.bytes
        await bench.measure_block("metadata", 0.1)
        await bench.finish_requests()
        assert {p.name for p in place.iterdir()} == {"lost+found", "own"}
        assert {p.name for p in (place / "own").rglob("*")} == {str(n) for n in range(16)}
    finally:
        await bench.close()
        private.close()
    assert free_mib(place) >= before - 1


@pytest.mark.real
@needs(program("mkfs.xfs"))
async def test_places_on_xfs_spread_over_its_allocation_groups(ext4: Make) -> None:
    """It puts every new directory into the next one, so the places of each side lie in all of them."""
    place = ext4(600, ("mkfs.xfs", "-q", "-d", "agcount=4"))
    crew, owned, benches = SharedWorkers(), [], []
    for variant in "AB":
        (place / variant).mkdir()
        owned.append(open_private(place / variant))
        benches.append(StorageBench(Host(), str(place / variant), owned[-1], 64 * MIB, 1, [], crew=crew))
    try:
        await StorageBench.prepare_all(benches)
        for variant, bench in zip("AB", benches, strict=True):
            numbers = [folder.stat().st_ino for folder in (place / variant).iterdir()]
            assert len(numbers) == bench.places == 16
            # The group is in the upper bits: 38400 blocks a group need 16, 8 inodes a block 3 (xfs_inode_fork.h).
            assert {number >> 19 for number in numbers} == {0, 1, 2, 3}
    finally:
        for bench in benches:
            await bench.close()
    for directory in owned:
        directory.close()


async def test_what_a_cache_serves_is_found_out(ext4: Make) -> None:
    """Reads without O_DIRECT of what is in memory: the device's counter stands still."""
    place = ext4(400)
    placement = find_placement(Host(), str(place))
    assert is_present(placement)
    bench = StorageBench(Host(), str(place), None, 64 * MIB, 1, placement.leaves)
    try:
        await bench.prepare_files(workloads=["randread-4k-qd1"])
        for file in bench._files.files_of_kind("read"):
            plain = os.open(f"/proc/self/fd/{file.fd}", os.O_RDWR)
            os.dup2(plain, file.fd)
            os.close(plain)
            for at in range(0, file.bytes, MIB):
                os.pread(file.fd, MIB, at)
        bench._worker_pool.kill()
        assert "served by a cache" in served_by_cache_reason(
            await bench.measure_block("randread-4k-qd1", 0.2)
        )
    finally:
        await bench.close()


FOREIGN = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_TMPFILE | os.O_RDWR | os.O_DIRECT)
block = mmap.mmap(-1, 1 << 20)
print("writing", flush=True)
while True:
    for at in range(64):
        os.pwritev(fd, [block], at << 20)
"""


@pytest.mark.noisy("whoever else writes to the disk counts as the planted neighbour", false_failures="0 of 4")
async def test_a_neighbour_who_writes_shortens_no_block_and_is_forgotten(ext4: Make) -> None:
    place = ext4(400)
    placement = find_placement(Host(), str(place))
    assert is_present(placement)
    bench = StorageBench(Host(), str(place), None, 64 * MIB, 1, placement.leaves)
    foreign = subprocess.Popen([sys.executable, "-c", FOREIGN, str(place)], stdout=subprocess.PIPE)
    assert foreign.stdout is not None
    try:
        with foreign.stdout:
            foreign.stdout.readline()
        await bench.prepare_files(workloads=["fsync-4k-qd1"])
        await bench.start_workers_and_rehearse("fsync-4k-qd1")
        for number in range(9):
            if number == 3:
                foreign.kill()
                foreign.wait()
            measured = await bench.measure_block("fsync-4k-qd1", 0.3)
            assert measured.seconds >= 0.299
            assert measured.operations >= 200 or measured.seconds >= 5.0
        assert (
            bench.budget.write_amplification("fsync-4k-qd1") < 20
        )  # it was hundreds while the neighbour wrote
    finally:
        foreign.kill()
        foreign.wait()
        await bench.close()


@pytest.mark.real
async def test_a_full_file_system_is_one_line_and_is_given_back(ext4: Make) -> None:
    place = ext4(60)
    before = free_mib(place)
    refusal = check_suitability(Host(), str(place), explicit=True).refusal
    assert refusal.startswith(f"{place}: ") and "1.56 GiB" in refusal
    bench = StorageBench(Host(), str(place), None, 64 * MIB, 1, [])
    with pytest.raises(BenchRefused) as error:
        await bench.prepare_files()
    line = (
        "cannot make a test file of {} MiB: No space left on device; "
        "free some space there, or name another directory"
    )
    assert str(error.value) in [
        f"{place}: {line.format(mib)}" for mib in (4, 1)
    ]  # read and written in each place
    assert free_mib(place) == before


@pytest.mark.real
def test_memory_is_refused() -> None:
    if not Path("/dev/shm").is_mount():
        not_here("no tmpfs at /dev/shm here")
    assert "tmpfs" in check_suitability(Host(), "/dev/shm", explicit=True).refusal


@pytest.mark.noisy("a fifth of a latency, beside whatever else uses the disk", false_failures="0 of 4")
async def test_a_latency_20_percent_longer_is_measured_as_such(tmp_path: Path) -> None:
    """Interleaved, as an experiment does it. The fastest tenth is compared: it is what a busy machine leaves alone."""
    benches = [StorageBench(Host(), str(tmp_path), None, 64 * MIB, 1, [], stretch=s) for s in (0.2, 0.0)]
    histograms: dict[float, dict[int, int]] = {0.2: {}, 0.0: {}}
    try:
        for bench in benches:
            await bench.prepare_files(workloads=["randread-4k-qd1"])
            await bench.measure_block("randread-4k-qd1", 0.1)
        for turn in range(20):
            for bench in benches if turn % 2 else benches[::-1]:
                for bound, count in (await bench.measure_block("randread-4k-qd1", 0.15)).histogram:
                    [number] = histogram.bucket_latencies([bound])
                    histograms[bench.stretch][number] = histograms[bench.stretch].get(number, 0) + count
    finally:
        for bench in benches:
            await bench.close()
    longer, plain = (histogram.percentile(histograms[s], 0.1) for s in (0.2, 0.0))
    assert longer is not None and plain is not None
    assert 1.05 < longer / plain < 1.7


RUNNER = """
import asyncio, os, sys
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.workloads import engine_load
from hostdx.probes.reading.host import Host

async def main():
    bench = StorageBench(Host(), sys.argv[1], None, 64 << 20, 1, [])
    await bench.prepare_files()
    task = asyncio.create_task(bench.measure_block("randread-4k-qd16", 120.0))
    while bench._worker_pool._server is None or len(bench._worker_pool._server.pids) < 16:
        await asyncio.sleep(0.01)
    server = bench._worker_pool._server
    print(server.process.pid, *server.pids, flush=True)
    await task

asyncio.run(main())
"""


def is_running(pid: int) -> bool:
    stat = read_live_stat(pid)
    return stat is not None and not stat.has_ended


@pytest.mark.real
def test_a_killed_runner_leaves_no_worker_and_no_file(ext4: Make) -> None:
    place = ext4(400)
    before = free_mib(place)
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(place)], stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    with runner.stdout:
        pids = [int(word) for word in runner.stdout.readline().split()]
    assert len(pids) == 17 and all(map(is_running, pids))
    assert before - free_mib(place) >= 79
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert happens(lambda: not any(map(is_running, pids)))
    assert happens(lambda: free_mib(place) >= before - 1)
    assert [p.name for p in place.iterdir()] == ["lost+found"]

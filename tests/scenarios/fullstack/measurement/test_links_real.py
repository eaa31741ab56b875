"""Links of our own with their settings, seen from inside their name spaces; sends without a copy over them."""

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.files.private_directory import PrivateDirectory, inode_of
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import read_live_stat
from hostdx.scenarios.fullstack.measurement.bench import StreamBench
from hostdx.scenarios.fullstack.measurement.messages import OpenStreams, OwnLink, SliceJob
from hostdx.scenarios.fullstack.measurement.own_links import FLOWS, cpu_mask_text
from tests.needs import NET_NAMESPACE, ROOT, needs, program
from tests.scenarios.fullstack.test_fullstack_real import STATION, pids_of

pytestmark = [pytest.mark.real, needs(ROOT, NET_NAMESPACE, program("nsenter", "unshare"))]
LOOK = """mount -t sysfs none /sys; cd /sys/class/net
for f in hdx[sr]/mtu hdx[sr]/queues/*/*ps_*; do echo $f $(cat $f); done"""


def read_settings() -> list[dict[str, str]]:
    """Of each name space that our station holds."""
    (station,) = (
        p for p in pids_of(STATION) if (stat := read_live_stat(str(p))) and stat.parent_pid == os.getpid()
    )
    rows = []
    for fd in Path(f"/proc/{station}/fd").iterdir():
        if "net:" in str(fd.readlink()):
            inside = ["nsenter", f"--net={fd}", "unshare", "-m", "sh", "-c", LOOK]
            stdout = subprocess.run(inside, capture_output=True, text=True, check=True).stdout
            rows.append(
                {
                    name.partition("/")[2]: value
                    for name, _, value in (line.partition(" ") for line in stdout.splitlines())
                }
            )
    return rows


async def measure_links(directory: Path) -> tuple[list[dict[str, str]], StreamBench]:
    fd = os.open(directory, os.O_RDONLY)
    private = PrivateDirectory.open(str(directory), inode_of(fd))
    bench = StreamBench(Host(), private, (), 64 << 20, 2, WriteBudget(), ["out"])
    links = (OwnLink(), OwnLink(mtu=9000), OwnLink(spread="rfs"), OwnLink(spread="xps"))
    try:
        await bench.prepare_files(None)
        await bench.open("hostdx-test-links", OpenStreams(where="namespaces", links=links))
        seen_settings = read_settings()
        network = [SliceJob(job="network", link=number) for number in range(len(links))]
        await bench.measure_batch([*network, SliceJob(job="direct"), SliceJob(job="zerocopy")], range(6), 0.1)
    finally:
        await bench.close()
        private.close()
        os.close(fd)
    return seen_settings, bench


def test_each_link_has_its_setting_and_carries_bytes() -> None:
    host = Path("/sys/class/net")
    before = {path: path.read_text() for path in host.glob("*/queues/*/rps_cpus")}
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-test-") as folder:
        rows, bench = asyncio.run(measure_links(Path(folder)))
    cpus = sorted(os.sched_getaffinity(0))
    assert sorted(row["mtu"] for row in rows) == ["1500"] * 6 + ["9000"] * 2
    steered = [row for row in rows if row["queues/rx-0/rps_flow_cnt"] == str(FLOWS)]
    assert len(steered) == 2
    assert {int(row["queues/rx-0/rps_cpus"].replace(",", ""), 16) for row in steered} == {
        int(cpu_mask_text(cpus).replace(",", ""), 16)
    }
    if len(cpus) > 1:
        masks = [
            [int(row.get(f"queues/tx-{n}/xps_cpus", "0").replace(",", ""), 16) for n in range(len(cpus))]
            for row in rows
        ]
        assert masks.count([1 << cpu for cpu in cpus]) == 2
    assert all(cost.bytes > 0 for cost in bench.costs.values()) and len(bench.costs) == 6
    lent = bench.costs[SliceJob(job="zerocopy")]
    assert lent.sends > 0 and lent.copied == lent.sends  # a veth's receiver may keep them
    assert {path: path.read_text() for path in before} == before


def test_a_mask_of_many_cpus_is_written_in_words() -> None:
    assert cpu_mask_text([0, 1]) == "00000003" and cpu_mask_text([32]) == "00000001,00000000"

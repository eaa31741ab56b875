"""Counters and rates from captured trees: every known shape of diskstats, hosts without PSI, counters that run back."""

from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import disk_counters
from hostdx.probes.system.pulse import compute_host_rates, read_host_counters
from tests.every_case import every_case

CPUS = "cpu0 1 1 1 1 1 1 1 1 0 0\ncpu1 1 1 1 1 1 1 1 1 0 0\nprocs_running 3\n"
STAT = "cpu  100 10 50 {idle} 20 5 5 {steal} 30 0\n" + CPUS
LINE_14 = "   8       0 sda 10 1 800 7 20 2 1600 9 3 1500 2500"
LINE_18 = "   8      16 sdb 10 1 800 7 20 2 1600 9 0 1500 2500 4 0 4096 3"
LINE_20 = " 259       0 nvme0n1 10 1 800 7 20 2 1600 9 0 1500 2500 4 0 4096 3 6 12"


def host_of(root: Path, **files: str) -> Host:
    for name, text in files.items():
        path = root / "proc" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "proc").mkdir(exist_ok=True)
    return Host(str(root))


@every_case(
    ("line", "discards", "discard_bytes", "flushes"),
    [(LINE_14, None, None, None), (LINE_18, 4, 4096 * 512, None), (LINE_20, 4, 4096 * 512, 6)],
)
def test_columns_of_every_kernel(
    tmp_path: Path, line: str, discards: int | None, discard_bytes: int | None, flushes: int | None
) -> None:
    counters = disk_counters(host_of(tmp_path, diskstats=line + "\n"))
    assert isinstance(counters, dict)
    [disk] = counters.values()
    assert (disk.reads, disk.read_bytes, disk.writes, disk.write_bytes) == (10, 800 * 512, 20, 1600 * 512)
    assert (disk.busy_s, disk.waited_s) == (1.5, 2.5)
    assert (disk.read_wait_s, disk.write_wait_s) == (0.007, 0.009)
    assert (disk.discards, disk.discard_bytes, disk.flushes) == (discards, discard_bytes, flushes)


def test_short_and_odd_lines_are_left_out(tmp_path: Path) -> None:
    host = host_of(
        tmp_path,
        diskstats=f"   8       1 sda1 1 2 3 4\n\ngarbage\n   8 0 sdz a b c d e f g h i j k\n{LINE_14}\n",
    )
    counters = disk_counters(host)
    assert isinstance(counters, dict)
    assert list(counters) == ["sda"]


def test_pressure_is_absent_without_psi_and_read_where_there_is(tmp_path: Path) -> None:
    without = read_host_counters(host_of(tmp_path / "el9", stat=STAT.format(idle=1, steal=1)))
    assert without.psi_io is None
    assert compute_host_rates(without, without).psi_io is None
    template = "some avg10=0.13 avg60=0.09 avg300=0.08 total={}\nfull avg10=0.06 avg60=0.06 avg300=0.07 total=100000\n"
    before = read_host_counters(host_of(tmp_path / "a", pressure__io=template.format(1_000_000)), 0.0)
    after = read_host_counters(host_of(tmp_path / "b", pressure__io=template.format(1_500_000)), 1.0)
    assert before.psi_io == 1.0
    assert compute_host_rates(before, after).psi_io == 0.5


def test_counters_that_run_backwards_never_give_a_negative_rate(tmp_path: Path) -> None:
    high = read_host_counters(
        host_of(tmp_path / "a", stat=STAT.format(idle=800, steal=90), diskstats=LINE_14), 0.0
    )
    low = read_host_counters(
        host_of(
            tmp_path / "b", stat=STAT.format(idle=900, steal=10), diskstats="8 0 sda 11 0 1 0 0 0 0 0 0 0 0"
        ),
        1.0,
    )
    rates = compute_host_rates(high, low)
    assert rates.steal == 0.0
    assert all(value >= 0 for value in rates.devices.get("sda", ()))

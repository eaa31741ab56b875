"""elbencho's JSON and CSV in the layout of the tool's source, pidstat and iostat as sysstat 12.6 printed them."""

import json

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat.pidstat import Pidstat
from hostdx.probes.imports.sysstat.sysstat_table import Sysstat

HEAD = "Linux 6.1.0-18-amd64 (n1) \t11/26/26 \t_x86_64_\t(2 CPU)\n\n"
PIDSTAT = (
    HEAD
    + """12:00:53      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
12:00:54        0     16595   60.00    0.00    0.00   24.00   60.00     0  pytest
12:00:54        0     16600   10.00    0.00    0.00    0.00   10.00     1  pytest

12:00:53      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
12:00:54        0     14615     10.00     50.00      0.00       0  a program

12:00:54      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
12:00:55        0     16595   30.00    4.00    0.00   24.00   34.00     0  pytest

12:00:54      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command

Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:        0     16595   45.00    2.00    0.00   24.00   47.00     -  pytest
"""
)
FLAT = (
    HEAD
    + """# Time        UID       PID    %usr %system  %guest   %wait    %CPU   CPU  minflt/s  majflt/s  Command
12:00:54        0     16595   60.00    0.00    0.00   24.00   60.00     0      1.00      2.00  pytest

# Time        UID       PID    %usr %system  %guest   %wait    %CPU   CPU  minflt/s  majflt/s  Command
12:00:55        0     16595   40.00    0.00    0.00   24.00   40.00     0      1.00      0.00  pytest
"""
)
THREADS = (
    HEAD
    + """12:00:56 PM      UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command
12:00:57 PM        0         1         -    8.00    1.00    0.00    0.00    9.00     1  api
12:00:57 PM        0         -        75    8.00    1.00    0.00    0.00    9.00     0  |__worker
"""
)
HUMAN = (
    HEAD
    + """avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          59.6%    0.3%   23.6%    2.5%    1.6%   12.4%

      tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd Device
    11.00         1.5M         2.0k         0.0k     900.0M     100.0k       0.0k nvme-A B_1


avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          20.0%    0.3%   23.6%    2.5%    1.6%   12.4%

      tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd Device
    39.00       204.0k         4.0k        20.0k       1.0M      20.0k      100k vda
"""
)


def read(text: str) -> ImportResult:
    return kinds.parse(ImportSource("x", text.encode()))


def values(result: ImportResult) -> dict[tuple[str, str], float]:
    return {(m.workload, m.metric): m.value for m in result.measures}


def test_pidstat_is_by_command_and_over_all_samples() -> None:
    result = read(PIDSTAT)
    figures = values(result)
    assert result.kind == "pidstat" and result.host == "n1" and not result.troubles
    assert figures["process:pytest", "user share"] == pytest.approx(0.50)
    assert figures["process:pytest", "system share"] == pytest.approx(0.02)
    assert figures["process:a program", "write rate"] == pytest.approx(25 * 1024)
    assert isinstance(result.detail, Pidstat) and result.detail.samples == 2
    assert not any(m.judged for m in result.measures)


def test_pidstat_in_one_table_and_with_threads() -> None:
    flat = values(read(FLAT))
    assert flat["process:pytest", "CPU share"] == pytest.approx(0.5)
    assert flat["process:pytest", "major faults"] == pytest.approx(1.0)
    threads = read(THREADS)
    assert {m.workload for m in threads.measures} == {"process:api"}
    assert [trouble.id for trouble in threads.troubles] == ["sysstat.since-boot"]
    with pytest.raises(ImportRefusedError):
        read(PIDSTAT.partition("\n12:00:54 ")[0])


def test_iostat_for_people_and_a_total_is_no_rate() -> None:
    result = read(HUMAN)
    figures = values(result)
    assert isinstance(result.detail, Sysstat) and result.detail.samples == 2
    assert figures["disk:vda", "read rate"] == pytest.approx(204 * 1024)
    assert len([m for m in result.measures if (m.workload, m.metric) == ("disk:vda", "read rate")]) == 1


def phase_line(name: str = "WRITE", mib: int = 100, block: int = 1 << 20, **more: object) -> str:
    config = {
        "path_type": "dir", "hosts": "1", "threads": "4", "file_size": "1048576", "block_size": str(block),
        "direct_io": "true", "random_offsets": "false", "io_depth": "1", "version": "3.0-1",
    }  # fmt: skip
    last = {
        "elapsed_time_ms": "2000", "iops": str(mib), "bytes/s": str(mib << 20), "bytes": str(2 * mib << 20),
        "cpu%": "10", "latency": {"IO": {"min_us": "10", "avg_us": "250", "max_us": "9000"}}, **more,
    }  # fmt: skip
    head = {"phase_type": name, "phase_id": "x", "iso_start_date": "2026-05-22T14:03:11.123+0200"}
    return json.dumps(head | {"config": config, "first_done": {}, "last_done": last}) + "\n"


def test_elbencho_says_what_contradicts_itself() -> None:
    assert [c.id for c in read(phase_line(bytes=str(3 << 30))).contradictions] == ["elbencho.rate"]
    with pytest.raises(ImportRefusedError):
        read(phase_line(**{"iops": "0", "bytes/s": "0", "latency": {}}))


COLUMNS = """ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random
random aligned,IO depth,shared paths,truncate,operation,time ms [first],time ms [last],CPU% [first],CPU% [last]
entries/s [first],entries/s [last],IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],entries [first],entries [last]
MiB [first],MiB [last],Ent lat us [min],Ent lat us [avg],Ent lat us [max]
IO lat us [min],IO lat us [avg],IO lat us [max]
version,command"""
LOAD = "2026-05-22T14:03:11+0200,,dir,1,1,4,1,10,1048576,1048576,1,0,,1,1,0"
CSV = f"""{COLUMNS.replace(chr(10), ",")}
{LOAD},MKDIRS,1,1,0,0,4000,3900,,,,,4,4,,,10,20,30,,,,3.0-1,"x"
{LOAD},WRITE,900,1000,0,0,42,40,42,40,42,40,40,40,40,40,1,2,3,10,900,3000,3.0-1,"x"
"""


def test_elbencho_csv_is_the_same_load_as_its_json() -> None:
    result = read(CSV)
    figures = values(result)
    assert result.kind == "elbencho-csv" and not result.contradictions
    assert figures["elbencho mkdirs", "entries"] == 3900
    assert figures["elbencho write", "bandwidth"] == 40 << 20
    assert figures["elbencho write", "entry latency"] == pytest.approx(2e-6)
    of_csv = next(m for m in result.measures if m.workload == "elbencho write").conditions
    of_json = read(phase_line()).measures[0].conditions
    assert all(of_csv[name] == value for name, value in of_json.items())

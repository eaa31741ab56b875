"""Small results of every kind, in the tools' own shapes: made for the tests, not copied."""

import json

IO500 = """IO500 version io500-sc22 (standard)
[RESULT]       ior-easy-write       10.000000 GiB/s : time 310.100 seconds
[RESULT]    mdtest-easy-write       20.000000 kIOPS : time 320.200 seconds
[      ]            timestamp        0.000000 kIOPS : time 0.000 seconds
[RESULT]       ior-hard-write        2.500000 GiB/s : time 330.300 seconds
[RESULT]    mdtest-hard-write        5.000000 kIOPS : time 340.400 seconds
[RESULT]                 find      100.000000 kIOPS : time 3.500 seconds
[RESULT]        ior-easy-read       10.000000 GiB/s : time 310.600 seconds
[RESULT]     mdtest-easy-stat       20.000000 kIOPS : time 320.700 seconds
[RESULT]        ior-hard-read        2.500000 GiB/s : time 330.800 seconds
[RESULT]     mdtest-hard-stat       10.000000 kIOPS : time 340.900 seconds
[RESULT]   mdtest-easy-delete       10.000000 kIOPS : time 350.000 seconds
[RESULT]     mdtest-hard-read       10.000000 kIOPS : time 360.000 seconds
[RESULT]   mdtest-hard-delete        5.000000 kIOPS : time 370.000 seconds
[SCORE ] Bandwidth 5.000000 GiB/s : IOPS 13.335214 kiops : TOTAL 8.165542
"""

SCRIPT = """[RESULT] BW   phase 1            ior_easy_write                4.000 GB/s : time 394.45 seconds
[RESULT] IOPS phase 1         mdtest_easy_write               16.000 kiops : time 432.12 seconds
[RESULT-invalid] BW   phase 2            ior_hard_write                1.000 GB/s : time 304.45 seconds
[RESULT] IOPS phase 2         mdtest_hard_write                4.000 kiops : time 304.39 seconds
[SCORE-invalid] Bandwidth 2 GB/s : IOPS 8 kiops : TOTAL 16
"""


def latency_fields(mean: float, p99: float) -> dict[str, object]:
    return {
        "min": 1,
        "max": 9 * p99,
        "mean": mean,
        "stddev": 1.0,
        "percentile": {"50.000000": mean, "99.000000": p99},
    }


def fio_direction(iops: float, seconds: float, block: int = 4096) -> dict[str, object]:
    operations = round(iops * seconds)
    return {
        "io_bytes": operations * block, "io_kbytes": operations * block // 1024,
        "bw": round(operations * block / seconds / 1024), "iops": operations / seconds,
        "runtime": round(seconds * 1000), "total_ios": operations, "clat_ns": latency_fields(5e4, 2e5),
        "lat_ns": latency_fields(5.1e4, 2e5),
    }  # fmt: skip


def fio_job(name: str = "job", group: int = 0, iops: float = 10_000, **more: object) -> dict[str, object]:
    return {
        "jobname": name, "groupid": group, "error": 0, "eta": 0, "elapsed": 11,
        "job options": {"rw": "randread", "bs": "4k", "iodepth": "08"},
        "read": fio_direction(iops, 10), "write": {"io_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0},
    } | more  # fmt: skip


def fio(*jobs: dict[str, object], timestamp: int = 1_700_000_011, **more: object) -> str:
    return json.dumps(
        {"fio version": "fio-3.33", "timestamp": timestamp, "jobs": list(jobs)} | more, indent=1
    )


def hepscore(score: float = 30.0, status: str = "success") -> str:
    def run(gen: float, sim: float) -> dict[str, object]:
        return {"duration": 60, "report": {"wl-scores": {"gen": gen, "sim": sim}, "log": "ok"}}

    return json.dumps(
        {
            "settings": {"name": "HEPscoreTEST", "scaling": 10, "repetitions": 3, "method": "geometric_mean"},
            "app_info": {"hepscore_ver": "2.0"},
            "benchmarks": {
                "a-bmk": {"weight": 1.0, "run0": run(2, 9), "run1": run(3, 9), "run2": run(5, 9),
                          "run_info": {"copies": 4, "threads_per_copy": 2}},
            },
            "wl-scores": {"a-bmk": {"gen": 3, "gen_ref": 1.0, "sim": 9}},
            "environment": {"system": "Linux wn1 5.14", "start_at": "Tue Mar  2 15:53:19 2021"},
            "score": score, "status": status,
        }
    )  # fmt: skip


PRMON_TEXT = (
    "Time\twtime\tpss\trss\trchar\twchar\tutime\tstime\n"
    "1700000000\t2\t100\t200\t4096\t0\t1\t0\n"
    "1700000002\t4\t300\t400\t8192\t0\t3\t0\n"
)
PRMON_JSON = json.dumps(
    {
        "Max": {"wtime": 4, "pss": 300, "rss": 400, "rchar": 8192, "wchar": 0, "utime": 3, "stime": 0},
        "Avg": {"pss": 200.0, "rss": 300.0, "rchar": 204800.0, "wchar": 0.0},
        "prmon": {"Version": "3.2.0"},
        "HW": {"cpu": {"CPUs": 4, "ModelName": "a CPU", "Sockets": 1}},
    }
)

IOR = """IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Began               : Fri Jul 24 03:02:52 2020
Command line        : ior -b 8m -t 1m
Machine             : Linux n1
Options:
api                 : POSIX
access              : single-shared-file
segments            : 1
nodes               : 2
tasks               : 4
clients per node    : 2
xfersize            : 1 MiB
blocksize           : 8 MiB
aggregate filesize  : 32 MiB

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     16.00      16.00      0.2         8192       1024.00    0.001      1.99       0.001      2.00       0
read      32.00      32.00      0.1         8192       1024.00    0.001      0.99       0.001      1.00       0
Max Write: 16.00 MiB/sec (16.78 MB/sec)
Max Read:  32.00 MiB/sec (33.55 MB/sec)
Finished            : Fri Jul 24 03:02:55 2020
"""
IOR_CSV = (
    "access,bw(MiB/s),IOPS,Latency,open(s),wr/rd(s),close(s),total(s),iter\nwrite,30.5,30.5,1,1,1,1,2.0,0\n"
)

MDTEST = """-- started at 10/22/2020 12:27:25 --

mdtest-3.4.0+dev was launched with 16 total task(s) on 2 node(s)
Command line used: ./mdtest -n 1000 -F
16 tasks, 16000 files

SUMMARY rate: (of 1 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   File creation             :       8000.000       8000.000       8000.000          0.000
   File stat                 :          0.000          0.000          0.000          0.000
   File removal              :          0.000          0.000          0.000          0.000

SUMMARY time: (of 1 iterations)
   Operation                      Max            Min           Mean        Std Dev
   File creation             :          2.000          2.000          2.000          0.000
   File stat                 :          0.000          0.000          0.000          0.000
   File removal              :          1.500          1.500          1.500          0.000
-- finished at 10/22/2020 12:34:49 --
"""

ELBENCHO = """OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
MKDIRS      Elapsed time     :         1ms         2ms
            Dirs/s           :        1200        1000
            Dirs total       :           1           2
---
WRITE       Elapsed time     :    1m3.241s    1m5.755s
            Files/s          :          31          30
            IOPS             :       33395       33352
            Throughput MiB/s :        1000         512
            Total MiB        :       32000       33666
---
STAT        Elapsed time     :         8ms         8ms
            Files/s          :     1140625     1142465
            Files total      :        9636       10000
---
"""

_MDTEST_CSV_NAMES = (
    "Directory creation", "Directory stat", "Directory read", "Directory removal", "Directory rename",
    "File creation", "File stat", "File read", "File removal", "Tree creation", "Tree removal",
)  # fmt: skip


def _mdtest_csv_line(first: str, done: dict[str, tuple[float, float]], names: int) -> str:
    """As `StoreRankInformation` of mdtest.c prints it: two empty fields for what was not done."""
    cells = [
        f",{done[n][0]:.10e},{done[n][1]:.10e}" if n in done else ",," for n in _MDTEST_CSV_NAMES[:names]
    ]
    return first + "".join(cells) + "\n"


def mdtest_csv(rate: float = 1000.0, ranks: int = 2) -> str:
    """2 ranks x 500 files in a second and in 0.8 s; those of a rank have no trees."""
    lines = ["rank,items" + "".join(f",rate-{n},time-{n}" for n in _MDTEST_CSV_NAMES) + "\n"]
    lines.append(
        _mdtest_csv_line("all,500", {"File creation": (rate, 1.0), "Tree creation": (20.0, 0.05)}, 11)
    )
    for rank in range(ranks):
        seconds = 1.0 if rank == 0 else 0.8
        lines.append(_mdtest_csv_line(f"{rank},", {"File creation": (500 / seconds, seconds)}, 9))
    return "".join(lines)


SAR = """Linux 5.10.0 (h1)  05/21/2019  _x86_64_  (8 CPU)

11:59:50 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle
11:59:59 PM     all     10.00      0.00      1.00      0.00      0.00     89.00
12:00:09 AM     all     20.00      0.00      3.00      0.00      0.00     77.00
Average:        all     15.00      0.00      2.00      0.00      0.00     83.00

11:59:50 PM     CPU       MHz
11:59:59 PM     all   2000.00
"""
IOSTAT = """Linux 5.10.0 (h1) \t11/30/2021 \t_x86_64_\t(2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           0.14    0.00    0.16    0.00    0.00   99.70

Device            r/s     rkB/s  r_await     w/s     wkB/s  w_await  %util
sda              99.00   990.00    9.00     0.00      0.00     0.00   9.00

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           5.00    0.00    1.00    2.00    0.00   92.00

Device            r/s     rkB/s  r_await     w/s     wkB/s  w_await  %util
sda              10.00   100.00    0.50     0.00      0.00     0.00   1.00
"""
VMSTAT = """procs ---memory--- --swap- --io-- -system- ---cpu---
 r  b   swpd   free   si   so    bi    bo   in   cs us sy id wa st
 9  9      0   1000    0    0     0     0    0    0 50 50  0  0  0
 1  0      0   1000    0    0     0     0    0    0  5  1 92  2  0
"""
SADF = json.dumps(
    {"sysstat": {"hosts": [{"nodename": "h1", "number-of-cpus": 2, "file-date": "2019-04-18", "statistics": [
        {"timestamp": {"date": "2019-04-18", "time": "13:20:19", "interval": 10},
         "cpu-load": [{"cpu": "all", "usr": 10.0, "idle": 90.0}],
         "disk": [{"disk-device": "sda", "tps": 5.0, "rkB": 8.0}]}]}]}}
)  # fmt: skip

IPERF3 = json.dumps(
    {
        "start": {"version": "iperf 3.9", "timestamp": {"timesecs": 1_509_980_492}, "connecting_to": {"host": "b"},
                  "test_start": {"protocol": "TCP", "num_streams": 1, "duration": 2}},
        "intervals": [{"sum": {"end": n + 1.0, "bytes": 1_000_000, "bits_per_second": 8e6}} for n in range(2)],
        "end": {"sum_sent": {"seconds": 2.0, "bytes": 2_000_000, "bits_per_second": 8e6, "retransmits": 3},
                "sum_received": {"seconds": 2.0, "bytes": 2_000_000, "bits_per_second": 8e6}},
    }
)  # fmt: skip

SYSBENCH = """sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Number of threads: 4

Total operations: 1000 (100.00 per second)

General statistics:
    total time:                          10.0000s
    total number of events:              1000

Latency (ms):
         min:                                    0.00
         avg:                                    0.04
         max:                                    1.20
         95th percentile:                        0.05
"""
STREAM = """STREAM version $Revision: 5.10 $
This system uses 8 bytes per array element.
Array size = 1000000 (elements), Offset = 0 (elements)
Number of Threads counted = 2
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           16000.0     0.001100     0.001000     0.001200
Triad:          24000.0     0.001100     0.001000     0.001200
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""
STRESS_NG = """---
system-info:
      stress-ng-version: 0.15.00
      epoch-secs: 1651263823
      hostname: h1
      cpus-online: 4

metrics:
    - stressor: cpu
      bogo-ops: 1000
      bogo-ops-per-second-usr-sys-time: 25.000000
      bogo-ops-per-second-real-time: 100.000000
      wall-clock-time: 10.000000
      user-time: 40.000000
      system-time: 0.000000
...
"""
PERF_JSON = "".join(
    json.dumps(
        {"interval": 1.0 * n, "counter-value": value, "unit": "", "event": event, "pcnt-running": 100.0}
    )
    + "\n"
    for n in (1, 2)
    for event, value in (("cycles", "100.0"), ("instructions", "150,0"), ("branches", "<not supported>"))
)
PERF_CSV = (
    "Sun\n1.5,,task-clock,1500000,100.00,,\n<not supported>,,cycles,0,100.00,,\n7,,page-faults,9,100.00,,\n"
)
MLC = """Intel(R) Memory Latency Checker - v3.9a
Measuring idle latencies (in ns)...
                Numa node
Numa node            0       1       2
       0         100.0   180.0   500.0
       1         180.0   100.0   -
"""
NUMACTL = """available: 2 nodes (0-1)
node 0 cpus: 0 1
node 0 size: 1000 MB
node 0 free: 500 MB
node 1 cpus:
node 1 size: 2000 MB
node 1 free: 1500 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""
HWLOC = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0"><object type="Machine"><info name="HostName" value="h1"/>
<object type="Package"><info name="CPUModel" value="a CPU"/>
<object type="NUMANode" local_memory="1024"/><object type="L3Cache" cache_size="4096">
<object type="Core"><object type="PU"/><object type="PU"/></object></object></object></object></topology>
"""
UNIXBENCH = """   BYTE UNIX Benchmarks (Version 5.1.3)
   System: h1: GNU/Linux
1 CPU in system; running 1 parallel copy of tests

Dhrystone 2 using register variables         400.0 lps   (10.0 s, 7 samples)
Execl Throughput                             900.0 lps   (29.8 s, 2 samples)

System Benchmarks Index Values               BASELINE       RESULT    INDEX
Dhrystone 2 using register variables            10.0        400.0    400.0
Execl Throughput                                10.0        900.0    900.0
System Benchmarks Index Score                                         600.0
"""
_DARSHAN = (
    "# darshan log version: 3.41\n# exe: ./job\n# nprocs: 2\n# run time: 10.0\n# start_time: 1700000000\n"
)
DARSHAN = _DARSHAN + "".join(
    f"POSIX\t-1\t1\tPOSIX_{name}\t{value}\t/f\t/\text4\n"
    for name, value in (
        ("READS", 0), ("WRITES", 4), ("OPENS", 2), ("BYTES_WRITTEN", 4_000_000), ("BYTES_READ", -1),
        ("SIZE_WRITE_1M_4M", 4), ("F_WRITE_TIME", 4.0), ("F_META_TIME", 0.5), ("F_READ_TIME", 0.0),
    )
)  # fmt: skip

ALL: dict[str, str] = {
    "io500": IO500, "fio": fio(fio_job()), "hepscore": hepscore(), "prmon-text": PRMON_TEXT, "prmon-json": PRMON_JSON,
    "ior": IOR, "ior-csv": IOR_CSV, "mdtest": MDTEST, "mdtest-csv": mdtest_csv(), "elbencho-table": ELBENCHO,
    "sar": SAR, "iostat-text": IOSTAT, "vmstat": VMSTAT,
    "sadf": SADF, "iperf3": IPERF3, "sysbench": SYSBENCH, "stream": STREAM, "stress-ng": STRESS_NG,
    "perf-json": PERF_JSON, "perf-csv": PERF_CSV, "mlc": MLC, "numactl": NUMACTL, "hwloc": HWLOC,
    "unixbench": UNIXBENCH, "darshan-text": DARSHAN,
}  # fmt: skip

FIO_TEXT = """job: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16
fio-3.33
Starting 1 process

job: (groupid=0, jobs=1): err= 0: pid=6340: Sat Nov 21 22:10:26 2026
  read: IOPS=12.3k, BW=48.2MiB/s (50.5MB/s)(482MiB/10001msec)
    slat (nsec): min=20, max=10525, avg=42.92, stdev=5.96
    clat (usec): min=20, max=10525, avg=424.92, stdev=594.96
     lat (usec): min=30, max=10916, avg=430.38, stdev=669.57
    clat percentiles (usec):
     |  1.00th=[   30], 50.00th=[  370], 99.00th=[ 1096], 99.90th=[10560],
     | 99.99th=[10560]
   bw (  KiB/s): min=25472, max=25728, per=100.00%, avg=25600.00, stdev=181.02, samples=2
     issued rwts: total=123456,0,0,0 short=0,0,0,0 dropped=0,0,0,0
"""

FIO_OLD_TEXT = """job: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1
fio-2.1.4
job: (groupid=0, jobs=4): err= 0: pid=6340: Sat Nov 21 22:10:26 2015
  write: io=64000KB, bw=6400.2KB/s, iops=1600, runt= 10000msec
    clat (usec): min=20, max=105, avg=424.92, stdev=594.96
    clat percentiles (usec):
     | 50.00th=[  370], 99.00th=[ 1096]
    issued    : total=r=0/w=16000/d=0, short=r=0/w=0/d=0
"""

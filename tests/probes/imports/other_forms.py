"""Other forms of known tools' output, and the ones that hold what an admin must not miss: made for the tests."""

import json

from tests.probes.imports import originals as texts


def fio_sync(mean_ms: float = 16.9, count: int = 590, **options: object) -> str:
    """A job that waits for fdatasync after each write, as fio 3.36 prints it; `options` on top of its own."""
    lat = {
        "min": 399_000, "max": 5_729_700_000, "mean": mean_ms * 1e6, "stddev": 1.0, "N": count,
        "percentile": {"50.000000": 2_147_000, "99.000000": 299_893_000},
    }  # fmt: skip
    idle = {"io_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0}
    job = texts.fio_job(
        "wal", read=idle, write=texts.fio_direction(59, 10, 2300), sync={"total_ios": count, "lat_ns": lat}
    )
    job["job options"] = {"rw": "write", "bs": "2300", "ioengine": "sync", "iodepth": "1"} | options
    return texts.fio(job)


FIO_TEXT_SYNC = """wal: (g=0): rw=write, bs=(R) 2300B-2300B, (W) 2300B-2300B, (T) 2300B-2300B, ioengine=sync, iodepth=1
fio-3.36
Starting 1 process
wal: (groupid=0, jobs=1): err= 0: pid=2589: Fri Sep  5 07:53:08 2025
  write: IOPS=59, BW=132KiB/s (135kB/s)(1325KiB/10000msec); 0 zone resets
    clat (usec): min=2, max=167031, avg=53.34, stdev=1687.68
    clat percentiles (usec):
     | 50.00th=[    9], 99.00th=[ 1352]
  fsync/fdatasync/sync_file_range:
    sync (usec): min=399, max=5729.7k, avg=16924.38, stdev=135471.87
    sync percentiles (usec):
     | 50.00th=[   2147], 99.00th=[ 299893]
  cpu          : usr=0.05%, sys=0.32%, ctx=24729, majf=0, minf=15
     issued rwts: total=0,590,0,589 short=589,0,0,0 dropped=0,0,0,0
"""

STEADY = {"ss": "iops:5.000000%", "duration": 60, "attained": 0, "criterion": "39.368103%", "slope": 0.0}


def fio_steady_state(attained: int) -> str:
    return texts.fio(texts.fio_job("steady", steadystate=STEADY | {"attained": attained}))


def _sum(count: int, sender: bool, **more: object) -> dict[str, object]:
    rate = {
        "start": 0,
        "end": 10.0,
        "seconds": 10.0,
        "bytes": count,
        "bits_per_second": count * 0.8,
        "sender": sender,
    }
    return rate | more


_START = {
    "version": "iperf 3.16", "system_info": "Linux n1 6.1.0 #1 SMP x86_64", "timestamp": {"timesecs": 1_762_247_411},
    "connecting_to": {"host": "192.0.2.20", "port": 5201},
    "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131_072, "duration": 10, "reverse": 0, "bidir": 1},
}  # fmt: skip
IPERF3_BIDIR = json.dumps(
    {
        "start": _START,
        "intervals": [{"streams": [], "sum": _sum(1140, True), "sum_bidir_reverse": _sum(580, False)}],
        "end": {
            "streams": [], "sum_sent": _sum(1142, True, retransmits=11), "sum_received": _sum(1137, True),
            "sum_sent_bidir_reverse": _sum(583, False, retransmits=400),
            "sum_received_bidir_reverse": _sum(578, False),
            "cpu_utilization_percent": {"host_total": 31.0, "remote_total": 30.0},
        },
    }
)  # fmt: skip
IPERF3_TWICE = IPERF3_BIDIR.replace("_bidir_reverse", "").replace(', "bidir": 1', "").replace("3.16", "3.7")


def iperf3_stream(end: bool = True) -> str:
    """`--json-stream`: an event a line."""
    document = json.loads(IPERF3_BIDIR)
    events = [("start", document["start"]), *(("interval", interval) for interval in document["intervals"])]
    events += [("end", document["end"])] if end else []
    return "".join(json.dumps({"event": name, "data": data}) + "\n" for name, data in events)


PERF_AS_USER = "".join(
    json.dumps({"counter-value": f"{value}.000000", "unit": unit, "event": event, "pcnt-running": 100.0}) + "\n"
    for value, unit, event in (
        (4_000_000, "", "cycles:u"), (9_000_000, "", "instructions:u"), (1250, "msec", "task-clock:u"),
    )
)  # fmt: skip
PERF_HYBRID = "".join(
    json.dumps({"counter-value": value, "unit": "", "event": event, "pcnt-running": 100.0}) + "\n"
    for value, event in (
        ("4000000", "cpu_core/cycles/"), ("9000000", "cpu_core/instructions/"), ("<not counted>", "cpu_atom/cycles/"),
    )
)  # fmt: skip
PERF_TEXT = """
 Performance counter stats for 'system wide':

          7\u202f397,74 Joules power/energy-pkg/
         1.081.363      cycles                           #    0,893 GHz                         (33,10%)
         2.162.726      instructions                     #    2,00  insn per cycle
   <not supported>      branches

     496,435147353 seconds time elapsed
"""

IOSTAT_SHORT = json.dumps(
    {
        "sysstat": {
            "hosts": [
                {
                    "nodename": "n1", "release": "6.1.0", "machine": "x86_64", "number-of-cpus": 8, "date": "11/04/25",
                    "statistics": [
                        {
                            "timestamp": "11/04/25 09:10:11", "avg-cpu": {"user": 2.0, "idle": 98.0},
                            "disk": [
                                {"disk_device": "sda", "tps": tps, "kB/s": 4 * tps, "await": 310.0, "aqu-sz": 46.0,
                                 "areq-sz": 4.0, "rqm/s": 0.0, "util": 100.0}
                            ],
                        }
                        for tps in (12.0, 150.0, 152.0)
                    ],
                }
            ]
        }
    }
)  # fmt: skip

OSU = """# OSU MPI Bandwidth Test v7.2
# Size      Bandwidth (MB/s)        Validation
1024                 1900.55              Pass
4194304             24421.03              Fail
"""
OSU_TAIL = """# OSU MPI Latency Test v7.4
# Size       Avg Latency(us)     P50 Tail Lat(us)     P99 Tail Lat(us)
8                       1.53                 1.49                 8.70
"""

_COLUMNS = (
    "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,random aligned,"
    "IO depth,shared paths,truncate,operation,time ms [first],time ms [last],entries/s [first],entries/s [last],"
    "IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],CPU% [first],CPU% [last],entries [first],entries [last],"
    "MiB [first],MiB [last],IO lat us [min],IO lat us [avg],IO lat us [max],version,command\n"
)
_LOAD = "2025-11-04T15:40:29-0800,,dir,1,4,8,1,1,1048576,1048576,1,0,0,1,1,0"
ELBENCHO_CSV = (
    _COLUMNS
    + f'{_LOAD},MKDIRS,1,3,14492,8324,,,,,0,0,8,32,,,,,,3.0-25,"elbencho" "--timelimit" "45"\n'
    + f'{_LOAD},WRITE,900,1000,,,42,40,42,40,2,3,,,40,40,10,900,3000,3.0-25,"elbencho" "--timelimit" "45"\n'
)
ELBENCHO_LIVE = """Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,Active,CPU,Service,
,WRITE,5000,Total,,10,5000000000,950,950,0,0,32,3,,
,WRITE,10000,Total,,20,12000000000,1340,1340,0,0,32,3,,
"""

FORMS = {
    "fio-sync": fio_sync(), "fio-text-sync": FIO_TEXT_SYNC, "iperf3-bidir": IPERF3_BIDIR,
    "iperf3-stream": iperf3_stream(),
    "perf-as-user": PERF_AS_USER, "perf-hybrid": PERF_HYBRID, "perf-text": PERF_TEXT, "iostat-s": IOSTAT_SHORT,
    "osu": OSU, "osu-tail": OSU_TAIL, "elbencho-csv": ELBENCHO_CSV, "elbencho-live": ELBENCHO_LIVE,
}  # fmt: skip

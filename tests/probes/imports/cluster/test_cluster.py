"""HPL, HPCG, OSU, nccl-tests and perftest: made in the tools' own layouts; and programs that are known and not read."""

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.source import ImportSource
from tests.every_case import every_case

HPL = """================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       40000   192     2     4             100.00             4.2669e+02
HPL_pdgesv() start time Mon Nov 23 10:00:00 2026
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.1e-03 ...... PASSED
"""
HPCG = """Machine Summary::Distributed Processes=8
Global Problem Dimensions::Global nx=416
Final Summary=
Final Summary::HPCG result is VALID with a GFLOP/s rating of=12.5
"""
OSU = """# OSU MPI Bandwidth Test v7.0
# Size      Bandwidth (MB/s)
1                       5.12
1048576             12000.50
"""
NCCL = """# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   134217728      33554432     float     sum      -1   1100.5  121.96  213.43      0   1101.0  121.90  213.33      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 105.25
"""
PERFTEST = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
 Connection type : RC           Using SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             11500.00            11000.00            0.176000
---------------------------------------------------------------------------------------
"""
IPERF3 = """iperf 3.12
Linux wn042 5.14.0
Control connection MSS 8948
Time: Mon, 03 Mar 2025 10:00:00 UTC
Connecting to host stor01, port 5201
Reverse mode, remote host stor01 is sending
[  5] local 10.1.2.4 port 43210 connected to 10.1.2.3 port 5201
[  7] local 10.1.2.4 port 43212 connected to 10.1.2.3 port 5201
Starting Test: protocol: TCP, 2 streams, 131072 byte blocks, omitting 0 seconds, 10 second test, tos 0
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec   550 MBytes  4.61 Gbits/sec
[  7]   0.00-1.00   sec   540 MBytes  4.53 Gbits/sec
[SUM]   0.00-1.00   sec  1.06 GBytes  9.14 Gbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
Test Complete. Summary Results:
[ ID] Interval           Transfer     Bitrate         Retr
[  5] (sender statistics not available)
[  5]   0.00-10.00  sec  5.40 GBytes  4.64 Gbits/sec  120             sender
[  5]   0.00-10.00  sec  5.39 GBytes  4.63 Gbits/sec                  receiver
[  7]   0.00-10.00  sec  5.30 GBytes  4.55 Gbits/sec   20             sender
[  7]   0.00-10.00  sec  5.29 GBytes  4.54 Gbits/sec                  receiver
[SUM]   0.00-10.00  sec  10.7 GBytes  9.19 Gbits/sec  140             sender
[SUM]   0.00-10.00  sec  10.7 GBytes  9.17 Gbits/sec                  receiver
iperf Done.
"""
IPERF3_UDP = """Connecting to host 10.1.2.3, port 5201
[  5] local 10.1.2.4 port 40000 connected to 10.1.2.3 port 5201
[ ID] Interval           Transfer     Bitrate         Total Datagrams
[  5]   0.00-1.00   sec   119 MBytes  1000 Mbits/sec  86275
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-10.00  sec  1.16 GBytes  1000 Mbits/sec  0.000 ms  0/863000 (0%)  sender
[  5]   0.00-10.04  sec  1.02 GBytes   876 Mbits/sec  0.019 ms  103560/863000 (12%)  receiver

iperf Done.
"""
IPERF3_BOTH_WAYS = """Connecting to host 10.1.2.3, port 5201
[  5] local 10.1.2.4 port 42070 connected to 10.1.2.3 port 5201
[  7] local 10.1.2.4 port 42072 connected to 10.1.2.3 port 5201
[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd
[  5][TX-C]   0.00-1.00   sec   112 MBytes   940 Mbits/sec   11    660 KBytes
[  7][RX-C]   0.00-1.00   sec  55.4 MBytes   465 Mbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID][Role] Interval           Transfer     Bitrate         Retr
[  5][TX-C]   0.00-10.00  sec  1.09 GBytes   936 Mbits/sec   11             sender
[  5][TX-C]   0.00-10.04  sec  1.09 GBytes   932 Mbits/sec                  receiver
[  7][RX-C]   0.00-10.00  sec   556 MBytes   467 Mbits/sec  400             sender
[  7][RX-C]   0.00-10.04  sec   552 MBytes   462 Mbits/sec                  receiver

iperf Done.
"""
RADOS = """hints = 1
Maintaining 16 concurrent writes of 4096 bytes to objects of size 4096 for up to 10 seconds or 0 objects
Object prefix: benchmark_data_rook-ceph-tools_14542
  sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)
    0       0         0         0         0         0           -           0
    1      16      1197      1181   4.61301   4.61328 0.000686436  0.00124382
Total time run:         10.0289
Total writes made:      63131
Write size:             4096
Object size:            4096
Bandwidth (MB/sec):     24.5892
Stddev Bandwidth:       17.3155
Max bandwidth (MB/sec): 39.7148
Min bandwidth (MB/sec): 1.51562
Average IOPS:           6294
Stddev IOPS:            4432.76
Max IOPS:               10167
Min IOPS:               388
Average Latency(s):     0.00254188
Stddev Latency(s):      0.0127463
Max latency(s):         0.37112
Min latency(s):         0.00050121
Cleaning up (deleting benchmark objects)
Removed 63131 objects
"""


def read(text: str) -> ImportResult:
    return kinds.parse_import(ImportSource("f", text.encode()))


def values(text: str) -> dict[tuple[str, str], float]:
    return {(m.workload, m.metric): m.value for m in read(text).measures}


def test_hpcg_gives_its_rating() -> None:
    assert values(HPCG) == {("hpcg", "rate"): 12.5e9}
    assert [t.id for t in read(HPCG.replace("VALID", "INVALID")).troubles] == ["hpcg.invalid"]


def test_nccl_has_its_bus_bandwidth() -> None:
    figures = values(NCCL)
    assert figures["nccl 128 MiB", "bus bandwidth"] == pytest.approx(213.43e9)
    assert figures["nccl average", "bus bandwidth"] == pytest.approx(105.25e9)
    assert read(NCCL).measures[0].conditions["GPUs a thread"] == "8"
    assert [t.id for t in read(NCCL.replace("0 OK", "3 FAILED")).troubles] == ["nccl.wrong"]


def test_nccl_says_of_how_many_ranks_and_which_sizes_it_is() -> None:
    ranks = "".join(f"#  Rank {n:2} Group  0 Pid   1{n} on   n1 device {n:2} [0x07] A\n" for n in range(8))
    head, _, rest = NCCL.partition("\n")
    row, average = read(f"# Collective test starting: all_reduce_perf\n{head}\n{ranks}{rest}").measures
    assert row.conditions["ranks"] == "8" and row.conditions["collective"] == "all_reduce_perf"
    assert row.conditions["type"] == "float" and row.conditions["operation"] == "sum"
    assert average.conditions == row.conditions | {"sizes": "8 B to 128 MiB", "step": "2(factor)"}


def test_perftest_has_its_average() -> None:
    [measure] = read(PERFTEST).measures
    assert (measure.workload, measure.value) == ("RDMA_Write BW Test, 64 KiB", pytest.approx(11000 * 2**20))
    assert measure.conditions["Connection type"] == "RC"


@every_case(
    ("text", "name"),
    [
        ("Version  1.97       ------Sequential Output------ --Sequential Input- --Random-\n", "bonnie++"),
        ("\tIozone: Performance Test of File I/O\n", "IOzone"),
        ("1024+0 records in\n1024+0 records out\n1073741824 bytes copied\n", "dd"),
        ("/dev/sda:\n Timing buffered disk reads: 500 MB in  3.00 seconds\n", "hdparm"),
    ],
)
def test_what_is_known_and_not_read_is_refused_by_its_name(text: str, name: str) -> None:
    with pytest.raises(ImportRefusedError) as error:
        read(text)
    assert name in error.value.why.split()[1]


def test_iperf3_text_has_the_sum_of_its_streams() -> None:
    """Of two streams the sum counts, though each has lines of its own; the server sent, so this end received."""
    assert values(IPERF3) == {
        ("iperf3 TCP receive", "bandwidth sent"): 9.19e9 / 8,
        ("iperf3 TCP receive", "bandwidth received"): 9.17e9 / 8,
        ("iperf3 TCP receive", "retransmits"): 140,
    }
    assert read(IPERF3).measures[0].conditions["streams"] == "2"
    udp, both = values(IPERF3_UDP), values(IPERF3_BOTH_WAYS)
    assert udp["iperf3 UDP send", "packets lost"] == pytest.approx(0.12)
    assert udp["iperf3 UDP send", "jitter"] == pytest.approx(19e-6)
    assert both["iperf3 TCP send", "bandwidth received"] == 932e6 / 8
    assert both["iperf3 TCP receive", "bandwidth received"] == 462e6 / 8


def test_iperf3_text_of_a_test_that_broke_off_is_refused_or_invalid() -> None:
    with pytest.raises(ImportRefusedError):
        read(IPERF3.partition("- - -")[0])
    broken = read(IPERF3.replace("iperf Done.", "iperf3: error - control socket has closed unexpectedly"))
    assert [trouble.id for trouble in broken.troubles] == ["iperf3.error"]
    assert all(measure.invalid for measure in broken.measures)


def test_rados_bench_has_its_means_and_is_computed_again() -> None:
    figures = values(RADOS)
    assert figures["rados write, 4 KiB", "bandwidth"] == pytest.approx(63131 * 4096 / 10.0289, rel=1e-4)
    assert figures["rados write, 4 KiB", "IOPS"] == 6294
    assert figures["rados write, 4 KiB", "mean latency"] == pytest.approx(0.00254188)
    assert not read(RADOS).contradictions
    assert [c.id for c in read(RADOS.replace("24.5892", "34.5892")).contradictions] == ["rados.rate"]

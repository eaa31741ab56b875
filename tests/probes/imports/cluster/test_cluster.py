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


def read(text: str) -> ImportResult:
    return kinds.parse(ImportSource("f", text.encode()))


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
    with pytest.raises(ImportRefusedError) as why:
        read(text)
    assert name in why.value.why.split()[1]

"""Every kind is recognised by its content, gives finite values in hostdx's units, and says what contradicts what."""

from pathlib import Path

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.source import ImportSource
from tests.every_case import every_case
from tests.probes.imports import originals as texts


def read_text(text: str, kind: str | None = None) -> ImportResult:
    return kinds.parse(ImportSource("result", text.encode()), kinds.find_kind(kind) if kind else None)


def value(result: ImportResult, workload: str, metric: str) -> float:
    return next(m.value for m in result.measures if (m.workload, m.metric) == (workload, metric))


@every_case(
    ("text", "subject", "rule", "claim", "gives"),
    [
        (texts.IO500.replace("8.165542", "66.676070"), "TOTAL", "io500.total-is-product", 66.67607, 8.165542),
        (texts.IO500.replace("Bandwidth 5.0", "Bandwidth 6.0"), "Bandwidth", "io500.score", 6.0, 5.0),
        (texts.hepscore(31), "HEPscoreTEST", "hepscore.score", 31.0, 30.0),
        (texts.hepscore().replace('"gen": 3, "gen_ref"', '"gen": 9, "gen_ref"'), "a-bmk gen",
         "hepscore.workload-score", 9.0, 3.0),
        (texts.PRMON_JSON, "rchar", "prmon.hundredfold", 204800.0, 2048.0),
        (texts.IOR.replace("Max Write: 16.00", "Max Write: 32.00"), "write", "ior.max-not-in-rows",
         32 * 2**20, 16 * 2**20),
        (texts.IOR.replace("8 MiB", "4 MiB"), "write", "ior.bandwidth", 16 * 2**20, 8 * 2**20),
        (texts.MDTEST.replace("8000.000", "9000.000"), "File creation", "mdtest.rate", 9000.0, 8000.0),
        (texts.SAR.replace("15.00      0.00      2.00", "81.96      0.00      2.00"), "CPU all %user",
         "sysstat.average", 81.96, 15.0),
        (texts.IPERF3.replace('"seconds": 2.0, "bytes": 2000000, "bits_per_second": 8000000.0, "retr',
                             '"seconds": 2.0, "bytes": 2000000, "bits_per_second": 16000000.0, "retr'),
         "sum_sent", "iperf3.rate", 2e6, 1e6),
        (texts.SYSBENCH.replace("(100.00 per", "(200.00 per"), "operations", "sysbench.rate", 200.0, 100.0),
        (texts.STREAM.replace("16000.0 ", "26000.0 "), "copy", "stream.rate", 26e9, 16e9),
        (texts.STRESS_NG.replace("real-time: 100.0", "real-time: 200.0"), "cpu real time", "stress-ng.rate",
         200.0, 100.0),
        (texts.UNIXBENCH.replace("Score                                         600.0", "Score       700.0"),
         "UnixBench 1 copy", "unixbench.index", 700.0, 600.0),
        (texts.DARSHAN.replace("1M_4M\t4", "1M_4M\t2"), "POSIX writes", "darshan.histogram", 4.0, 2.0),
        (texts.NUMACTL.replace("available: 2", "available: 3"), "nodes", "numactl.nodes", 3.0, 2.0),
        (texts.NUMACTL.replace("0:  10", "0:  11"), "distances", "numactl.local-distance", "11 10", "10"),
    ],
)  # fmt: skip
def test_both_figures_of_a_contradiction(
    text: str, subject: str, rule: str, claim: float | str, gives: float | str
) -> None:
    contradictions = [c for c in read_text(text).contradictions if c.id == rule]
    assert contradictions[0].subject == subject
    assert (
        contradictions[0].claimed == pytest.approx(claim)
        if isinstance(claim, float)
        else contradictions[0].claimed == claim
    )
    assert contradictions[0].recomputed == (
        pytest.approx(gives, rel=1e-6) if isinstance(gives, float) else gives
    )


@every_case(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\x1f\x8b\x08rest", "compressed"),
        (b"\x00\x05\x16\x07\x00", "AppleDouble"),
        (b"\x96\xd5\x00\x00", "binary sysstat"),
        (b"\x00\x01\x02", "binary"),
        (b"error: failed to setup shm segment\n", "of text, and of no kind"),
        (b"fio: engine libaio not loadable\n", "text that fio prints"),
        (b"randread: (g=0): rw=randread, bs=(R) 4096B\nfio-3.33\n", "no fio result, but text"),
        (b'[{"time": 1.0}]', "JSON of no kind"),
        (b'{"fio version": "fio-3.1", "jobs": [', "ends in line 1"),
        (b'{"benchmarks": {},\n "hepscore_ver": "1",}', "line 2 column"),
        (b"Time\twtime\tpss\n", "no sample"),
        (b"[global]\n[ior-easy]\n[mdtest-easy]\n", "configuration"),
        (b"[RESULT] ior-easy-write nonsense", "no phase has a value"),
        (b"IOR-3.3.0: MPI Coordinated Test of Parallel I/O\n", "no result row"),
        (b"1.24\x00\x00\x00\x00", "version 1.24"),
        (texts.hepscore().replace(": 30", ': "x').encode(), "hep-score"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(data: bytes, reason: str) -> None:
    with pytest.raises(ImportRefusedError) as error:
        kinds.parse(ImportSource("x", data))
    assert reason in error.value.why
    assert "\n" not in error.value.why and error.value.hint


def test_a_forced_kind_refuses_what_is_none() -> None:
    for kind in kinds.KINDS:
        with pytest.raises(ImportRefusedError):
            kinds.parse(ImportSource("x", b"nothing of the kind\n"), kind)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ImportRefusedError, match="nested too deeply"):
        read_text('{"fio version": 1, "jobs": ' + "[" * 100_000)


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate((256 << 20) + 1)  # a hole: takes no room
    with pytest.raises(ImportRefusedError, match="larger than 256 MiB"):
        ImportSource.read(large)


def test_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    import hashlib

    data = "\ufeffIOR".encode()
    (tmp_path / "x").write_bytes(data)
    assert ImportSource.read(tmp_path / "x").sha256_digest == hashlib.sha256(data).hexdigest()

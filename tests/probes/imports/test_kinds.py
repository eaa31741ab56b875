"""What a file is recognised as, in all forms that a tool writes."""

from pathlib import Path

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import (
    ImportRefusedError,
    ImportResult,
    join_repetitions_or_number_runs,
    make_measures,
)
from hostdx.probes.imports.source import ImportSource
from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from hostdx.scenarios.analysis.compare.conditions import unlike_loads
from hostdx.scenarios.analysis.compare.snapshot import summarise_import as as_take
from tests.every_case import every_case
from tests.probes.imports import originals as texts
from tests.probes.imports import other_forms as forms


def read_text(text: str, kind: str | None = None) -> ImportResult:
    return kinds.parse_import(ImportSource("result", text.encode()), kinds.find_kind(kind) if kind else None)


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
        kinds.parse_import(ImportSource("x", data))
    assert reason in error.value.why
    assert "\n" not in error.value.why and error.value.hint


def test_a_forced_kind_refuses_what_is_none() -> None:
    for kind in kinds.KINDS:
        with pytest.raises(ImportRefusedError):
            kinds.parse_import(ImportSource("x", b"nothing of the kind\n"), kind)


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


def judged_loads(result: ImportResult) -> set[tuple[str, str]]:
    return {(m.workload, m.metric) for m in result.measures if m.judged}


@pytest.mark.parametrize("text", [forms.fio_sync(), forms.FIO_TEXT_SYNC], ids=["json", "text"])
def test_the_latency_of_a_job_that_syncs_is_that_of_its_syncs(text: str) -> None:
    result = read_text(text)
    assert value(result, "wal write", "mean sync latency") == pytest.approx(16.9e-3, rel=0.01)
    assert value(result, "wal write", "p99 sync latency") == pytest.approx(299.893e-3)
    assert value(result, "wal write", "syncs") in (590, 589)
    assert ("wal write", "mean sync latency") in judged_loads(result)
    assert ("wal write", "mean page-cache copy") not in judged_loads(result)
    assert not any(m.metric == "mean latency" for m in result.measures)


def test_syncs_of_several_jobs_have_one_weighted_mean() -> None:
    first, second = (forms.fio_sync(mean_ms, count) for mean_ms, count in ((10.0, 300), (20.0, 100)))
    jobs = first[: first.rindex("]")].rstrip() + ", " + second[second.index('"jobs": [') + 9 :]
    result = read_text(jobs)
    assert value(result, "wal write", "mean sync latency") == pytest.approx(12.5e-3)
    assert value(result, "wal write", "syncs") == 400


@every_case(
    "options",
    [{"fdatasync": "1"}, {"rate_iops": "100"}, {"thinktime": "1ms"}, {"ramp_time": "5"}, {"bssplit": "4k/50:64k/50"},
     {"an_option_of_tomorrow": "7"}],
)  # fmt: skip
def test_every_option_is_a_condition(options: dict[str, str]) -> None:
    plain, other = (as_take(read_text(forms.fio_sync(**o)), "x") for o in ({}, options))
    assert unlike_loads([plain], [other])
    assert not compare_recordings([plain], [other]).effects


@every_case(
    "options", [{"filename": "/mnt/b/x"}, {"write_bw_log": "x"}, {"fdatasync": "0"}, {"group_reporting": ""}]
)
def test_names_logs_and_what_is_switched_off_are_none(options: dict[str, str]) -> None:
    plain, other = (as_take(read_text(forms.fio_sync(**o)), "x") for o in ({}, options))
    assert not unlike_loads([plain], [other])


def test_a_steady_state_that_was_not_attained_makes_the_figures_invalid() -> None:
    bad, good = (read_text(forms.fio_steady_state(attained)) for attained in (0, 1))
    assert not judged_loads(bad) and all(m.invalid for m in bad.measures)
    assert judged_loads(good) and not any(m.invalid for m in good.measures)
    assert "invalid" in {t.id for t in bad.troubles}
    recordings = compare_recordings([as_take(bad, "a")], [as_take(good, "b")])
    assert not recordings.effects and {(result.run, result.load) for result in recordings.invalid} == {
        ("a", "steady read")
    }


def test_a_failed_validation_is_shown_and_not_judged() -> None:
    result = read_text(forms.OSU)
    [bad] = [m for m in result.measures if m.invalid]
    assert (bad.workload, bad.value, bad.judged) == ("MPI Bandwidth Test, 4 MiB", 24421.03e6, False)
    assert judged_loads(result) == {("MPI Bandwidth Test, 1 KiB", "bandwidth")}
    tail = read_text(forms.OSU_TAIL)
    assert value(tail, "MPI Latency Test, 8 B", "p99 latency") == pytest.approx(8.7e-6)
    assert judged_loads(tail) == {("MPI Latency Test, 8 B", "latency")}


def test_milliseconds_of_work_are_no_figure_to_judge_by() -> None:
    result = read_text(forms.ELBENCHO_CSV)
    assert value(result, "elbencho mkdirs", "entries") == 8324
    assert {workload for workload, _ in judged_loads(result)} == {"elbencho write"}
    assert [(t.id, t.subject) for t in result.troubles] == [("too-short", "elbencho mkdirs")]
    write = next(m for m in result.measures if m.workload == "elbencho write")
    assert write.conditions["time limit"] == "45 s" and write.conditions["truncate"] == "0"


def test_a_read_far_above_its_write_is_likely_from_memory() -> None:
    slow_write = texts.IOR.replace("16.00", "1.00").replace("16.0 ", "1.00 ")
    quick = {t.id for t in read_text(slow_write).troubles}
    assert "from-memory" in quick and "from-memory" not in {t.id for t in read_text(texts.IOR).troubles}


@every_case(
    "text",
    [forms.IPERF3_BIDIR, forms.IPERF3_TWICE, forms.iperf3_stream(),
     "Warning: --bidir option is an experimental feature\n" + forms.IPERF3_BIDIR],
)  # fmt: skip
def test_both_ways_of_iperf3_in_every_form(text: str) -> None:
    result = read_text(text)
    rates = {
        (m.workload.split()[-1], m.metric.split()[-1]): round(m.value)
        for m in result.measures
        if m.unit == "B/s"
    }
    assert rates == {
        ("send", "received"): 114, ("send", "sent"): 114, ("receive", "received"): 58, ("receive", "sent"): 58,
    }  # fmt: skip
    assert value(result, "iperf3 TCP receive", "retransmits") == 400
    assert {p.series for p in result.points} == {
        "throughput, iperf3 TCP send",
        "throughput, iperf3 TCP receive",
    }


def test_a_stream_of_events_that_did_not_end_is_refused() -> None:
    with pytest.raises(ImportRefusedError, match="no sum at its end"):
        read_text(forms.iperf3_stream(end=False))


def test_events_with_a_suffix_or_of_a_kind_of_core_give_the_ratios() -> None:
    for text in (forms.PERF_AS_USER, forms.PERF_HYBRID):
        assert value(read_text(text), "perf stat", "instructions per cycle") == 2.25
    assert value(read_text(forms.PERF_AS_USER), "perf stat", "task-clock:u") == 1.25


def test_perfs_text_of_another_locale() -> None:
    result = read_text(forms.PERF_TEXT)
    assert value(result, "perf stat", "power/energy-pkg/") == 7397.74
    assert value(result, "perf stat", "power/energy-pkg/ power") == pytest.approx(14.9, abs=0.01)
    assert value(result, "perf stat", "instructions per cycle") == pytest.approx(2.0, rel=1e-3)
    assert result.seconds == 496.435147353 and [m.name for m in result.missing] == ["branches"]


OTHERS = {
    "smartctl 7.3 2022-02-28 r5338 [x86_64-linux] (local build)\n": "smartctl",
    "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\n": "nvme-cli",
    "turbostat version 2022.04.16 - Len Brown\n": "turbostat",
    "nfs1:/a mounted on /mnt:\n\n           ops/s       rpc bklog\n": "nfsiostat",
    "sockperf: == version #3.7-no.git ==\n": "sockperf",
    "--- /tmp (ext4 /dev/sda1 9 GiB) ioping statistics ---\n": "ioping",
    "Vdbench distribution: vdbench50407\n": "Vdbench",
    "Total time run:         10.1\nTotal writes made:      300\n": "rados bench",
    "                 SPEC(R) CPU2017 Integer Rate Result\n": "SPEC CPU",
    "Phoronix Test Suite v10.8.4\n": "Phoronix Test Suite",
    "2023-05-21 01:55:02 hepscore [INFO] Starting run0\n": "hep-score",
}


@every_case("text", OTHERS)
def test_other_tools_are_named(text: str) -> None:
    with pytest.raises(ImportRefusedError) as error:
        read_text(text + "x 12\n")
    assert OTHERS[text] in error.value.why and error.value.hint


def test_data_that_iors_check_found_incorrect() -> None:
    bad = texts.IOR.replace("Max Write", "WARNING: Incorrect data on read (3 errors found).\nMax Write")
    assert judged_loads(read_text(texts.IOR)) and not judged_loads(read_text(bad))


def test_elbenchos_command_line_is_a_condition() -> None:
    command = (
        'COMMAND LINE: "elbencho" "--hosts" "n1" "--threads" "8" "--write" "--timelimit" "45" "/scratch/x"\n'
    )
    [conditions] = {str(m.conditions) for m in read_text(command + texts.ELBENCHO).measures}
    assert conditions == "{'time limit': '45 s', 'options': '--threads 8'}"


# vmstat prints its header again within a call; a log of Darshan is one run's
NO_CALLS = {"vmstat", "darshan-text"}
FILES = {
    **{name: text for name, text in texts.ALL.items() if name not in NO_CALLS},
    **forms.FORMS,
    "fio-text": texts.FIO_TEXT,
    "fio-old-text": texts.FIO_OLD_TEXT,
}


def measured_values(text: str) -> set[float]:
    return {measure.value for measure in kinds.parse_import(ImportSource("f", text.encode())).measures}


@every_case("name", FILES)
def test_the_same_result_twice_has_no_value_that_one_has_not(name: str) -> None:
    text = FILES[name].rstrip("\n") + "\n"
    try:
        twice = measured_values(text + text)
    except ImportRefusedError:
        return  # one JSON document a file
    single_values = measured_values(text)
    assert [value for value in twice if not any(value == pytest.approx(lone) for lone in single_values)] == []


@every_case(
    ("calls", "measures"),
    [
        ([(5.0, "1"), (7.0, "1"), (6.0, "1")], [("job", 6.0, (5.0, 7.0, 6.0))]),
        ([(5.0, "1"), (7.0, "1")], [("run 1: job", 5.0, ()), ("run 2: job", 7.0, ())]),
        (
            [(5.0, "1"), (1.0, "8"), (7.0, "1"), (6.0, "1")],
            [("run 1: job", 6.0, (5.0, 7.0, 6.0)), ("run 2: job", 1.0, ())],
        ),
        ([(5.0, "1")], [("job", 5.0, ())]),
    ],
)
def test_from_three_on_calls_of_one_load_are_its_runs(
    calls: list[tuple[float, str]], measures: list[tuple[str, float, tuple[float, ...]]]
) -> None:
    every = [
        make_measures("job", ("IOPS", value, "IOPS"), conditions={"queue depth": depth})
        for value, depth in calls
    ]
    assert [(m.workload, m.value, m.runs) for m in join_repetitions_or_number_runs(every)] == measures


def test_calls_of_perf_are_runs_and_its_intervals_are_summed() -> None:
    first = "1.0,10,,cycles,1,100\n2.0,30,,cycles,1,100\n"
    second = "1.0,7,,cycles,1,100\n2.0,8,,cycles,1,100\n"
    result = kinds.parse_import(ImportSource("f", (first + second).encode()), kinds.find_kind("perf-csv"))
    assert [(m.workload, m.value) for m in result.measures] == [
        ("run 1: perf stat", 40.0),
        ("run 2: perf stat", 15.0),
    ]


def test_events_of_each_cpu_are_of_one_run() -> None:
    lines = "".join(
        f'{{"cpu":"{cpu}","counter-value":"5.0","unit":"","event":"cycles","pcnt-running":100.0}}\n'
        for cpu in range(4)
    )
    result = kinds.parse_import(ImportSource("f", lines.encode()), kinds.find_kind("perf-json"))
    assert [(m.workload, m.value) for m in result.measures] == [("perf stat", 20.0)]


def test_the_means_since_boot_of_a_later_iostat_are_no_sample() -> None:
    single = kinds.parse_import(ImportSource("f", texts.IOSTAT.encode()))
    double = kinds.parse_import(ImportSource("f", (texts.IOSTAT * 2).encode()))
    assert double.measures == single.measures

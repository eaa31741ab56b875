"""What a caller waited for, both ways of a test, the tool's own "not valid", other forms and names of known tools."""

import pytest

from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from hostdx.scenarios.analysis.compare.conditions import unlike_loads
from hostdx.scenarios.analysis.compare.snapshot import summarise_import as as_take
from tests.every_case import every_case
from tests.probes.imports import originals as texts
from tests.probes.imports import other_forms as forms
from tests.probes.imports.test_kinds import read_text, value


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


def test_short_iostat_keeps_its_rate() -> None:
    result = read_text(forms.IOSTAT_SHORT)
    assert value(result, "disk:sda", "rate") == pytest.approx(604 * 1024)  # the first report is since boot
    assert value(result, "disk:sda", "queue length") == 46


def test_elbenchos_live_statistics_are_a_series() -> None:
    result = read_text(forms.ELBENCHO_LIVE)
    assert value(result, "elbencho write", "bandwidth") == 1.2e9
    assert [p.at_s for p in result.points] == [5.0, 10.0]


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

"""What each of the other tools means by its output: units, absent values, several runs in one file."""

from __future__ import annotations

import json

import pytest

from probes.imports.hep.hepscore import HepScore
from probes.imports.hep.prmon import PrmonJson, PrmonText, compare_pair
from probes.imports.model import ImportRefusedError
from probes.imports.storage.darshan import Darshan
from probes.imports.storage.ior import Ior
from probes.imports.storage.mdtest import Mdtest
from probes.imports.sysstat.sysstat_table import Sysstat
from tests.probes.imports import originals as made
from tests.probes.imports.test_kinds import imported, value


def test_of_many_intervals_evenly_spread_ones_are_drawn() -> None:
    document = json.loads(made.IPERF3)
    [one, _] = document["intervals"]
    document["intervals"] = [{"sum": one["sum"] | {"end": n + 1.0}} for n in range(9_000)]
    points = imported(json.dumps(document)).points
    assert [p.at_s for p in points] == [3.0 * n + 1 for n in range(3_000)]


def test_only_subscores_with_a_reference_count_and_the_median_of_the_runs() -> None:
    result = imported(made.hepscore())
    assert isinstance(result.detail, HepScore) and result.detail.recomputed == pytest.approx(30.0)
    assert next(m.runs for m in result.measures if m.workload == "a-bmk") == (2.0, 3.0, 5.0)
    assert (result.host, result.began) == ("wn1", "2021-03-02T15:53:19")


@pytest.mark.parametrize(("score", "status"), [(-1, "failed"), (0.0, "success")])
def test_a_score_of_minus_one_or_zero_is_no_measurement(score: float, status: str) -> None:
    result = imported(json.dumps({"benchmarks": {}, "hepscore_ver": "1", "score": score, "status": status}))
    assert result.is_fatal and not result.measures


def test_an_empty_subscore_is_absent_not_zero() -> None:
    text = made.hepscore().replace('"gen": 5', '"gen": ""')
    result = imported(text)
    assert next(m.runs for m in result.measures if m.workload == "a-bmk") == (2.0, 3.0)


def test_prmon_rates_are_recomputed_and_memory_is_in_kib() -> None:
    result = imported(made.PRMON_TEXT)
    assert value(result, "job", "max pss") == 300 * 1024
    assert value(result, "job", "rchar rate") == 2048
    assert value(result, "job", "CPU time") == 3


def test_a_prmon_pair_of_one_run_agrees_and_of_two_does_not() -> None:
    series, summary = imported(made.PRMON_TEXT).detail, imported(made.PRMON_JSON).detail
    other = imported(made.PRMON_JSON.replace('"wtime": 4', '"wtime": 40')).detail
    assert isinstance(series, PrmonText) and isinstance(summary, PrmonJson) and isinstance(other, PrmonJson)
    assert not compare_pair(series, summary)
    assert [c.subject for c in compare_pair(series, other)] == ["wall time"]


def test_true_prmon_averages_are_not_contradicted() -> None:
    assert not imported(made.PRMON_JSON.replace("204800.0", "2048.0")).contradictions


def test_ior_prefers_the_maximum_and_keeps_every_run() -> None:
    text = "other output\n" + made.IOR + "more output\n" + made.IOR
    result = imported(text)
    assert isinstance(result.detail, Ior) and len(result.detail.runs) == 2
    assert value(result, "run 2: ior read", "bandwidth") == 32 * 2**20


def test_an_ior_run_that_ends_after_its_table_is_whole() -> None:
    result = imported(made.IOR.partition("Max Write")[0])
    assert not result.troubles and value(result, "ior write", "bandwidth") == 16 * 2**20


def test_under_a_stonewall_the_planned_bytes_prove_nothing() -> None:
    text = made.IOR.replace("8 MiB", "4 MiB").replace("-b 8m", "-b 8m -O stoneWallingStatusFile=x")
    assert not imported(text).contradictions


@pytest.mark.parametrize("nested", [True, False])
def test_ior_json_with_nested_and_flat_results(nested: bool) -> None:
    rows = [
        {"access": "write", "bwMiB": 10.0, "totalTime": 1.0},
        {"access": "read", "bwMiB": 20.0, "totalTime": 1.0},
    ]
    test = {
        "TestID": 0,
        "Parameters": {"api": "POSIX"},
        "Options": {"tasks": 1},
        "Results": [rows] if nested else rows,
    }
    result = imported(json.dumps({"Version": "3.3.0", "Command line": "ior", "tests": [test], "summary": []}))
    assert value(result, "ior write", "bandwidth") == 10 * 2**20


_TABLES = {
    "3.0 to 3.3 of 2019": (
        "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter",
        "write     173.71     4096       45.91      0.001      2.000      0.001      2.002      0",
    ),
    "3.3 of 2020 on": (
        "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   "
        "iter",
        "write     173.71     3868.2     0.010       4096       45.91      0.001      2.000      0.001      2.002      "
        "0",
    ),
}


@pytest.mark.parametrize("table", _TABLES)
def test_columns_of_an_ior_table_are_read_by_their_names(table: str) -> None:
    head, row = _TABLES[table]
    text = f"IOR-3.1.0: MPI Coordinated Test of Parallel I/O\n\n{head}\n------    ---------\n{row}\n"
    result = imported(text)
    assert value(result, "ior write", "bandwidth") == 173.71 * 2**20
    assert isinstance(result.detail, Ior)
    [found] = result.detail.runs[0].rows
    assert (found.open_s, found.io_s, found.close_s, found.total_s) == (0.001, 2.0, 0.001, 2.002)
    assert found.iops == (3868.2 if "IOPS" in head else None)


@pytest.mark.parametrize("tasks", ["", "numTasks,"])
def test_ior_csv_has_the_number_of_tasks_or_not(tasks: str) -> None:
    rows = "".join(
        f"{op},{rate},{rate},1,4096,1024,0.1,2.0,0.1,2.2,{'48,' if tasks else ''}0\n"
        for op, rate in (("write", 30.5), ("read", 2012.25))
    )
    head = (
        f"access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),{tasks}iter\n"
    )
    result = imported(head + rows)
    assert result.kind == "ior-csv"
    assert value(result, "ior write", "bandwidth") == 30.5 * 2**20
    assert value(result, "ior read", "bandwidth") == 2012.25 * 2**20
    assert isinstance(result.detail, Ior) and result.detail.runs[0].tasks == (48 if tasks else None)


def test_mdtests_csv_gives_the_line_of_all_and_counts_what_the_ranks_did() -> None:
    result = imported(made.mdtest_csv())
    assert value(result, "mdtest file creation", "IOPS") == 1000
    assert not result.contradictions
    assert {f.name: f.value for f in result.facts} == {"tasks": 2, "items a task": 500, "iterations": 1}
    [trees] = [m for m in result.measures if not m.judged]
    assert (trees.workload, trees.value) == ("mdtest tree creation", 20.0)


def test_a_rate_that_the_ranks_do_not_give_is_told_and_a_sweep_is_several_runs() -> None:
    sweep = made.mdtest_csv() + made.mdtest_csv(rate=2000.0).partition("\n")[2]
    result = imported(sweep)
    [found] = result.contradictions
    assert (found.id, found.claimed, found.recomputed) == ("mdtest.rate", 2000.0, pytest.approx(1000.0))
    assert value(result, "run 2: mdtest file creation", "IOPS") == 2000


def test_mdtests_csv_without_a_result_is_refused() -> None:
    with pytest.raises(ImportRefusedError, match="no line of all ranks"):
        imported(made.mdtest_csv().partition("\n")[0] + "\n")


def test_zero_of_mdtest_means_not_run_unless_it_took_time() -> None:
    result = imported(made.MDTEST)
    assert isinstance(result.detail, Mdtest) and set(result.detail.runs[0].rate) == {"File creation"}
    assert [t.subject for t in result.troubles] == ["File removal"]


def test_the_report_since_boot_is_left_out_where_others_follow() -> None:
    assert value(imported(made.IOSTAT), "disk:sda", "read IOPS") == 10
    assert value(imported(made.VMSTAT), "CPU", "user share") == 0.05
    first = made.IOSTAT.rpartition("avg-cpu:")[0]
    alone = imported(first)
    assert value(alone, "disk:sda", "read IOPS") == 99 and [t.id for t in alone.troubles] == [
        "sysstat.since-boot"
    ]


def test_all_before_a_frequency_is_no_utilisation_and_midnight_passes() -> None:
    result = imported(made.SAR)
    assert value(result, "CPU", "user share") == pytest.approx(0.15)
    assert isinstance(result.detail, Sysstat) and result.detail.samples == 2
    assert [p.at_s for p in result.points if p.series == "CPU user"] == [0.0, 10.0]


def test_latency_below_the_last_digit_is_left_out() -> None:
    assert not any(m.metric == "least latency" for m in imported(made.SYSBENCH).measures)


def test_counters_that_are_not_supported_are_missing_and_a_decimal_comma_is_read() -> None:
    result = imported(made.PERF_JSON)
    assert value(result, "perf stat", "instructions per cycle") == 1.5
    assert [m.name for m in result.missing] == ["branches"]


def test_a_node_without_cpus_has_a_column_and_no_row() -> None:
    result = imported(made.MLC)
    assert value(result, "memory node 0 to 2", "latency") == pytest.approx(500e-9)
    assert not any(m.workload == "memory node 1 to 2" for m in result.measures)
    facts = {(f.subject, f.name): f.value for f in imported(made.NUMACTL).facts}
    assert facts["node:1", "CPUs"] == 0 and facts["node:1", "memory"] == 2000 * 2**20


def test_entities_in_xml_are_refused() -> None:
    text = made.HWLOC.replace('"hwloc2.dtd"', '"hwloc2.dtd" [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]')
    from probes.imports.model import ImportRefusedError

    with pytest.raises(ImportRefusedError, match="entities"):
        imported(text)


def test_unobserved_darshan_counters_are_not_summed() -> None:
    result = imported(made.DARSHAN)
    assert isinstance(result.detail, Darshan)
    assert (result.detail.io["POSIX"].bytes_read, result.detail.io["POSIX"].writes) == (0, 4)
    assert value(result, "POSIX write", "bandwidth") == 2e6  # 4 MB in 2 s a process


def test_negative_times_of_old_releases_are_said_and_not_used() -> None:
    result = imported(made.DARSHAN.replace("F_WRITE_TIME\t4.0", "F_WRITE_TIME\t-2662.7"))
    assert [t.id for t in result.troubles] == ["darshan.negative-time"]
    assert not any(m.metric == "bandwidth" for m in result.measures)


IOSTAT_HUMAN = """Linux 6.1.0 (n1) \t11/24/26 \t_x86_64_\t(8 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.0%    0.0%    0.5%    0.1%    0.0%   98.4%

     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device
    1.00      5.0k     0.00   0.0%    0.54     5.0k sda

     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device
    2.00      1.0M     0.00   0.0%    1.50   512.0k sda


avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          11.0%    0.0%    0.5%    0.1%    0.0%   88.4%

     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device
  100.00    400.0k     0.00   0.0%    0.20     4.0k sda

     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device
   10.00     10.0M     0.00   0.0%    2.00     1.0M sda
"""


def test_iostat_for_humans_names_the_device_last_and_has_units() -> None:
    result = imported(IOSTAT_HUMAN)
    found = {(m.workload, m.metric): m.value for m in result.measures}
    disk = {metric: v for (workload, metric), v in found.items() if workload.endswith("sda")}
    assert result.kind == "iostat-text" and disk["read IOPS"] == 100.0  # the first report is since boot
    assert disk["read rate"] == 400 * 1024 and disk["write rate"] == 10 * 2**20
    assert disk["write latency"] == pytest.approx(2e-3)


@pytest.mark.parametrize(("kind", "name", "said"), [("sysbench", "threads", "4"), ("iperf3", "streams", "1")])
def test_how_many_at_once_is_part_of_what_was_run(kind: str, name: str, said: str) -> None:
    result = imported(made.ALL[kind])
    assert {m.conditions.get(name) for m in result.measures} == {said}

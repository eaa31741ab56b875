"""What each of the other tools means by its output: units, absent values, several runs in one file."""

import json

import pytest

from hostdx.probes.imports.hep.prmon import PrmonJson, PrmonText, compare_text_with_summary
from hostdx.probes.imports.storage.ior import Ior
from tests.probes.imports import originals as texts
from tests.probes.imports.test_kinds import read_text, value


def test_of_many_intervals_evenly_spread_ones_are_drawn() -> None:
    document = json.loads(texts.IPERF3)
    [interval, _] = document["intervals"]
    document["intervals"] = [{"sum": interval["sum"] | {"end": n + 1.0}} for n in range(9_000)]
    points = read_text(json.dumps(document)).points
    assert [p.at_s for p in points] == [3.0 * n + 1 for n in range(3_000)]


@pytest.mark.parametrize(("score", "status"), [(-1, "failed"), (0.0, "success")])
def test_a_score_of_minus_one_or_zero_is_no_measurement(score: float, status: str) -> None:
    result = read_text(json.dumps({"benchmarks": {}, "hepscore_ver": "1", "score": score, "status": status}))
    assert result.is_fatal and not result.measures


def test_an_empty_subscore_is_absent_not_zero() -> None:
    text = texts.hepscore().replace('"gen": 5', '"gen": ""')
    result = read_text(text)
    assert next(m.runs for m in result.measures if m.workload == "a-bmk") == (2.0, 3.0)


def test_a_prmon_pair_of_one_run_agrees_and_of_two_does_not() -> None:
    series, summary = read_text(texts.PRMON_TEXT).detail, read_text(texts.PRMON_JSON).detail
    other = read_text(texts.PRMON_JSON.replace('"wtime": 4', '"wtime": 40')).detail
    assert isinstance(series, PrmonText) and isinstance(summary, PrmonJson) and isinstance(other, PrmonJson)
    assert not compare_text_with_summary(series, summary)
    assert [c.subject for c in compare_text_with_summary(series, other)] == ["wall time"]


def test_ior_prefers_the_maximum_and_keeps_every_run() -> None:
    text = "other output\n" + texts.IOR + "more output\n" + texts.IOR
    result = read_text(text)
    assert isinstance(result.detail, Ior) and len(result.detail.runs) == 2
    assert value(result, "run 2: ior read", "bandwidth") == 32 * 2**20


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
    result = read_text(
        json.dumps({"Version": "3.3.0", "Command line": "ior", "tests": [test], "summary": []})
    )
    assert value(result, "ior write", "bandwidth") == 10 * 2**20


@pytest.mark.parametrize("tasks", ["", "numTasks,"])
def test_ior_csv_has_the_number_of_tasks_or_not(tasks: str) -> None:
    rows = "".join(
        f"{op},{rate},{rate},1,4096,1024,0.1,2.0,0.1,2.2,{'48,' if tasks else ''}0\n"
        for op, rate in (("write", 30.5), ("read", 2012.25))
    )
    head = (
        f"access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),{tasks}iter\n"
    )
    result = read_text(head + rows)
    assert result.kind == "ior-csv"
    assert value(result, "ior write", "bandwidth") == 30.5 * 2**20
    assert value(result, "ior read", "bandwidth") == 2012.25 * 2**20
    assert isinstance(result.detail, Ior) and result.detail.runs[0].tasks == (48 if tasks else None)


def test_entities_in_xml_are_refused() -> None:
    text = texts.HWLOC.replace('"hwloc2.dtd"', '"hwloc2.dtd" [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]')
    from hostdx.probes.imports.model import ImportRefusedError

    with pytest.raises(ImportRefusedError, match="entities"):
        read_text(text)


def test_negative_times_of_old_releases_are_said_and_not_used() -> None:
    result = read_text(texts.DARSHAN.replace("F_WRITE_TIME\t4.0", "F_WRITE_TIME\t-2662.7"))
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
    result = read_text(IOSTAT_HUMAN)
    figures = {(m.workload, m.metric): m.value for m in result.measures}
    disk = {metric: v for (workload, metric), v in figures.items() if workload.endswith("sda")}
    assert result.kind == "iostat-text" and disk["read IOPS"] == 100.0  # the first report is since boot
    assert disk["read rate"] == 400 * 1024 and disk["write rate"] == 10 * 2**20
    assert disk["write latency"] == pytest.approx(2e-3)

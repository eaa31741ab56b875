"""Results of IO500, IOR, elbencho, pidstat and others."""

import json

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.hep.prmon import PrmonJson, PrmonText, compare_text_with_summary
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import geometric_mean
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.io500_score import _io500_hash, matching_result_hash
from hostdx.probes.imports.storage.ior import IorRuns
from hostdx.probes.imports.sysstat.sysstat_table import SysstatFile
from tests.every_case import every_case
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
    assert isinstance(result.detail, IorRuns) and result.detail.runs[0].tasks == (48 if tasks else None)


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


def test_gb_of_the_script_are_gib_and_its_names_are_the_programs() -> None:
    result = read_text(texts.SCRIPT)
    assert value(result, "ior-easy-write", "bandwidth") == 4 * 2**30
    assert value(result, "mdtest-hard-write", "IOPS") == 4000


@every_case(
    "text",
    [
        texts.SCRIPT,
        texts.IO500.replace("time 3.500 seconds", "time 3.500 seconds [INVALID]"),
        texts.IO500.replace("TOTAL 8.165542", "TOTAL 8.165542 [INVALID]"),
    ],
)
def test_three_spellings_of_invalid(text: str) -> None:
    result = read_text(text)
    assert any(t.id in ("io500.phase-invalid", "io500.run-invalid") for t in result.troubles)


def test_a_phase_of_zero_drops_out_and_is_said() -> None:
    result = read_text(texts.IO500.replace("100.000000 kIOPS : time 3.5", "0.000000 kIOPS : time 3.5"))
    rates = [m.value / 1000 for m in result.measures if m.metric == "IOPS"]
    assert len(rates) == 7 and value(result, "io500 metadata", "score") == pytest.approx(
        1000 * geometric_mean(rates)
    )
    assert [t.subject for t in result.troubles if t.id == "io500.phase-dropped"] == ["find"]
    assert not any(m.workload == "find" for m in result.measures)


def test_of_several_runs_the_last_stands() -> None:
    result = read_text(texts.IO500 + texts.IO500.replace("10.000000 GiB/s", "40.000000 GiB/s"))
    assert value(result, "ior-easy-write", "bandwidth") == 40 * 2**30
    assert [t.said for t in result.troubles if t.id == "io500.several-runs"] == ["2"]


RESULT = """[run]
procs           = 8
version         = {version}
mode            = standard
; START 2025-11-06 00:16:43
; ERROR INVALID stonewall-time < 30s

[ior-easy-write]
score           = {easy}
t_delta         = 419.8486

[mdtest-easy-write]
score           = 2.000000
t_delta         = 506.6818

[SCORE]
MD              = 2.000000
BW              = 8.000000
SCORE           = 4.000000
hash            = {hash}
"""


def _result_text(easy: str = "8.000000", version: str = "v1") -> str:
    scores = {"ior-easy-write": "8.000000", "mdtest-easy-write": "2.000000"}
    hashed = (
        _io500_hash("versionv1")
        ^ _io500_hash("ior-easy-write8.000000")
        ^ _io500_hash("mdtest-easy-write2.000000")
    )
    for key, text in (("MD", "2.000000"), ("BW", "8.000000"), ("SCORE", "4.000000")):
        hashed ^= _io500_hash(key + text)
    assert matching_result_hash("v1", scores, {"MD": "2.000000", "BW": "8.000000", "SCORE": "4.000000"},
                         f"{hashed:08X}", invalid=False) == f"{hashed:08X}"  # fmt: skip
    return RESULT.format(hash=f"{hashed:08X}", easy=easy, version=version)


EXTENDED = (
    RESULT.replace("mode            = standard", "mode            = extended")
    + """
[ior-rnd4K-write]
score           = {random}

[mdworkbench-create]
score           = 33.530394

[mdworkbench-bench]
score           = 8.000000

[SCOREX]
MD              = 4.000000
BW              = 2.000000
SCORE           = {total}
hash            = {second}
"""
)


def _extended_text(random: str = "0.500000", total: str = "2.828427") -> str:
    """As src/main.c: over the optional phases that have a group, their MD, BW and SCORE, without the version."""
    second = 0
    for text in (
        "ior-rnd4K-write0.500000", "mdworkbench-bench8.000000", "MD4.000000", "BW2.000000", "SCORE2.828427"
    ):  # fmt: skip
        second ^= _io500_hash(text)
    first = _result_text().partition("hash            = ")[2].split()[0]
    return EXTENDED.format(
        hash=first, easy="8.000000", version="v1", random=random, total=total, second=f"{second:X}"
    )


def test_a_changed_optional_phase_breaks_the_extended_hash_and_score_only() -> None:
    contradictions = read_text(_extended_text(random="1.000000")).contradictions
    assert {(c.id, c.subject) for c in contradictions} == {
        ("io500.hash", "SCOREX"), ("io500.score", "SCOREX Bandwidth"), ("io500.score", "SCOREX TOTAL"),
    }  # fmt: skip


def test_a_changed_extended_total_is_told_with_both_figures() -> None:
    contradictions = read_text(_extended_text(total="3.000000")).contradictions
    assert [
        (c.claimed, round(float(c.recomputed), 3)) for c in contradictions if c.subject == "SCOREX TOTAL"
    ] == [(3.0, 2.828)]


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
    return kinds.parse_import(ImportSource("x", text.encode()))


def values(result: ImportResult) -> dict[tuple[str, str], float]:
    return {(m.workload, m.metric): m.value for m in result.measures}


def test_pidstat_is_by_command_and_over_all_samples() -> None:
    result = read(PIDSTAT)
    figures = values(result)
    assert result.kind == "pidstat" and result.host == "n1" and not result.troubles
    assert figures["process:pytest", "user share"] == pytest.approx(0.50)
    assert figures["process:pytest", "system share"] == pytest.approx(0.02)
    assert figures["process:a program", "write rate"] == pytest.approx(25 * 1024)
    assert next(f.value for f in result.facts if f.name == "samples") == 2
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
    assert isinstance(result.detail, SysstatFile) and result.detail.samples == 2
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

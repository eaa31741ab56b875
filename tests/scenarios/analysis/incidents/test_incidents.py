"""Incidents in files of samples: time, cause, level and process are those that were planted; quiet files have none."""

from array import array
from random import Random

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.sample_series import ALL_PROCESSES, PROCESS_PREFIX, SampleSeries, SampleTimes
from hostdx.probes.imports.source import ImportSource
from hostdx.scenarios.analysis.incidents.incidents import (
    Suspect,
    Timeline,
    find_culprit_process,
    find_excursions,
    find_incidents_in_series,
    judge_samples,
    watched_metrics,
)
from tests.every_case import every_case
from tests.fakes.sampled_files import atop_file, sar_day

HOUR_S = 3600


def judge(text: str) -> Timeline:
    timeline = judge_samples(kinds.parse_import(ImportSource("file", text.encode())))
    assert timeline is not None
    return timeline


@every_case("step_s", [10, 60, 600])
def test_an_overloaded_disk_is_the_cause_and_iowait_its_symptom(step_s: int) -> None:
    timeline = judge(sar_day(step_s=step_s, disk=(2 * HOUR_S + 1200, 2 * HOUR_S + 2400)))
    (incident,) = timeline.incidents
    assert incident.cause == "disk"
    first_s = step_s  # the first sample of the file is at this time of the day
    assert incident.began_s + first_s == pytest.approx(2 * HOUR_S + 1200, abs=step_s)
    assert incident.ended_s + first_s == pytest.approx(2 * HOUR_S + 2400, abs=step_s)
    symptoms = {(symptom.subject, symptom.metric): symptom for symptom in incident.symptoms}
    assert set(symptoms) == {("disk:sda", "latency"), ("disk:sda", "utilisation"), ("CPU", "iowait share")}
    busy = symptoms["disk:sda", "utilisation"]
    assert (busy.level, busy.unit) == (pytest.approx(99), "%") and busy.quiet < 20
    assert timeline.times.first == f"2026-11-22T00:{step_s // 60:02d}:{step_s % 60:02d}"


def test_what_lasts_eleven_hours_of_a_day_is_usual_here() -> None:
    assert judge(sar_day(disk=(2 * HOUR_S, 13 * HOUR_S))).incidents == ()
    assert judge(sar_day(disk=(2 * HOUR_S, 12 * HOUR_S))).incidents != ()


def test_a_gap_is_no_end_and_a_single_sample_of_a_second_no_incident() -> None:
    at_s = [float(second) for second in range(1000)]
    values = [90.0 if 400 <= second < 500 and second % 10 else 1.0 for second in range(1000)]
    (excursion,) = find_excursions(at_s, values, floor=10, rise=10)
    assert (excursion.first, excursion.last) == (401, 499)
    assert excursion.level == 90 and excursion.quiet == 1
    spike = [90.0 if second == 400 else 1.0 for second in range(1000)]
    assert find_excursions(at_s, spike, floor=10, rise=10) == []


def test_the_spread_of_the_quiet_values_raises_the_limit() -> None:
    at_s = [float(second * 60) for second in range(1000)]
    noisy = [10.0 + (second * 37 % 21) for second in range(1000)]
    values = [40.0 if 400 <= second < 410 else value for second, value in enumerate(noisy)]
    assert find_excursions(at_s, values, floor=10, rise=10) == []
    values = [90.0 if 400 <= second < 410 else value for second, value in enumerate(noisy)]
    assert len(find_excursions(at_s, values, floor=10, rise=10)) == 1


def test_a_process_is_named_that_accounts_for_half_of_the_rise() -> None:
    quiet = {"iowait": 0.01, "busy": 0.1, "write jbd2/sda1-8": 20e3, "write rsync": 10e3}
    busy = {
        "iowait": 0.6,
        "busy": 0.99,
        "write jbd2/sda1-8": 30e3,
        "write rsync": 90e6,
        "write cron job": 5e3,
    }
    timeline = judge(atop_file([quiet] * 100 + [busy] * 30 + [quiet] * 100))
    (incident,) = timeline.incidents
    assert incident.cause == "disk" and incident.culprit is not None
    assert (incident.culprit.name, incident.culprit.metric) == ("rsync", "write rate")
    assert incident.culprit.share > 0.99
    assert (incident.began_s, incident.ended_s) == (990.0, 1290.0)


def test_what_a_kernel_worker_moves_for_a_process_hides_it_not() -> None:
    samples = [{"busy": 0.05, "write tar": 0.0}] * 100
    samples += [{"busy": 0.97, "write tar": 20e6, "write kworker/u8:1-loop0": 42e6}] * 70
    (incident,) = judge(atop_file(samples)).incidents
    assert incident.culprit is not None and incident.culprit.name == "tar"


def test_nobody_is_named_for_one_burst_in_a_long_incident() -> None:
    """Its share of the sum is 60 %; of what was done in the other samples it did nothing."""
    names = [f"write job{n}" for n in range(4)]
    quiet = {"busy": 0.1, "write rsync": 1e3, **dict.fromkeys(names, 1e3)}
    busy = {"busy": 0.99, "write rsync": 1e3, **dict.fromkeys(names, 2e6)}
    burst = busy | {"write rsync": 4e8}
    (incident,) = judge(atop_file([quiet] * 100 + [busy] * 15 + [burst] + [busy] * 14)).incidents
    assert incident.culprit is None
    (incident,) = judge(atop_file([quiet] * 100 + [busy | {"write rsync": 2e7}] * 30)).incidents
    assert incident.culprit is not None and incident.culprit.ci95 is not None
    assert incident.culprit.ci95 == pytest.approx((20 / 28, 20 / 28), abs=1e-3)


def test_who_takes_all_the_time_is_named_beside_one_burst_of_another() -> None:
    samples = [{"busy": 0.1, "write tar": 1e4, "write cc": 1e4}] * 100
    samples += [
        {"busy": 0.97, "write tar": 20e6 + n % 3 * 1e5, "write cc": 300e6 * (n == 5)} for n in range(30)
    ]
    (incident,) = judge(atop_file(samples)).incidents
    assert incident.culprit is not None and incident.culprit.name == "tar"


@every_case(("busy", "cause"), [(0.05, "waiting"), (0.6, "disk")])
def test_tasks_that_wait_while_no_disk_is_busy_wait_for_no_disk(busy: float, cause: str) -> None:
    slow = [{"iowait": 0.6, "busy": busy, "write tar": 1e3}] * 70
    (incident,) = judge(atop_file([{"write tar": 1e3}] * 100 + slow + [{}] * 30)).incidents
    assert incident.cause == cause and incident.culprit is None


def test_a_long_run_queue_makes_no_one_incident_of_two() -> None:
    """Stuck tasks begin while the disk is slow; the run queue is long during both."""
    at_s = array("d", (10.0 * n for n in range(400)))

    def make_series(subject: str, metric: str, level: float, first: int, last: int) -> SampleSeries:
        values = array("d", (level if first <= n < last else 0.0 for n in range(400)))
        return SampleSeries(subject=subject, metric=metric, unit="", at_s=at_s, values=values)

    timeline = find_incidents_in_series(
        [
            make_series("disk:sda", "utilisation", 1.0, 100, 160),
            make_series("disk:sda", "latency", 0.5, 100, 160),
            make_series("host", "stuck tasks", 50.0, 140, 200),
            make_series("host", "run queue", 90.0, 100, 200),
        ],
        SampleTimes(),
        cpus=4,
    )
    assert timeline is not None
    periods = {incident.cause: (incident.began_s, incident.ended_s) for incident in timeline.incidents}
    assert periods == {"disk": (990, 1590), "stuck": (1390, 1990)}


def prmon_file(rows: int, idle: range, step_s: int = 30) -> str:
    """A job that uses four CPUs, and none while it is idle; counts are whole seconds, as prmon prints them."""
    names = "Time wtime stime utime pss rss swap vmem rchar read_bytes wchar write_bytes"
    seconds, lines = 0, [names.replace(" ", "\t")]
    for row in range(rows):
        seconds += 0 if row in idle else 4 * step_s
        numbers = (
            1527669447 + row * step_s,
            1 + row * step_s,
            0,
            seconds,
            5000,
            6000,
            0,
            9000,
            row,
            row,
            0,
            0,
        )
        lines.append("\t".join(map(str, numbers)))
    return "\n".join(lines) + "\n"


def test_the_time_in_which_a_job_did_nothing_is_found() -> None:
    timeline = judge(prmon_file(200, idle=range(100, 112)))
    (incident,) = timeline.incidents
    assert incident.cause == "job" and (incident.began_s, incident.ended_s) == (99 * 30, 111 * 30)
    assert timeline.times.first == "2018-05-30T08:37:27" and timeline.times.zone == "UTC"
    (symptom,) = incident.symptoms
    assert (symptom.level, symptom.quiet) == (100, 0)
    assert judge(prmon_file(200, idle=range(0))).incidents == ()


@every_case("hog_cpus, culprit_name", [(1.6, "simulate"), (0.5, None)])
def test_who_takes_busy_cpus_from_others_is_named_though_all_use_no_more(
    hog_cpus: float, culprit_name: str | None
) -> None:
    """Before, `build` used both CPUs; then `simulate` takes from it, or one of three that take as much."""
    at_s = array("d", (10.0 * n for n in range(200)))
    is_taken = [100 <= n < 160 for n in range(200)]
    rest = {"test": 1.6 - hog_cpus, "lint": 1.6 - hog_cpus} if culprit_name is None else {}
    cpus = {
        ALL_PROCESSES: [2.0] * 200,
        f"{PROCESS_PREFIX}simulate": [hog_cpus * on for on in is_taken],
        f"{PROCESS_PREFIX}build": [2.0 - 1.6 * on for on in is_taken],
        **{f"{PROCESS_PREFIX}{name}": [cpus * on for on in is_taken] for name, cpus in rest.items()},
    }
    series = [
        SampleSeries(subject=subject, metric="CPU share", unit="", at_s=at_s, values=array("d", values))
        for subject, values in cpus.items()
    ]
    culprit = find_culprit_process(series, {"CPU share": 0.25}, 990.0, 1590.0)
    assert (culprit and culprit.name) == culprit_name


def test_who_did_it_in_a_part_of_the_time_is_suspected_and_not_named() -> None:
    """`scan` did all of the extra use of the first twelve samples, and none of the eight behind them."""
    at_s = array("d", (10.0 * n for n in range(100)))
    values = {ALL_PROCESSES: [4.0 * (40 <= n < 60) for n in range(100)],
              f"{PROCESS_PREFIX}scan": [4.0 * (40 <= n < 52) for n in range(100)]}  # fmt: skip
    series = [
        SampleSeries(subject=subject, metric="CPU share", unit="", at_s=at_s, values=array("d", cpus))
        for subject, cpus in values.items()
    ]
    culprit = find_culprit_process(series, {"CPU share": 0.25}, 390.0, 590.0)
    assert culprit == Suspect(name="scan", metric="CPU share", share=0.6, reason="uncertain")


def test_every_watched_metric_is_one_that_an_importer_writes() -> None:
    from hostdx.probes.imports.sysstat import atop
    from hostdx.probes.imports.sysstat.sysstat_table import load_columns

    columns = load_columns()
    imported = {meaning[0] for table in (columns.host, columns.device) for meaning in table.values()}
    imported |= {f"{name} share" for name in columns.cpu.values()} | {
        "busy share",
        "stuck tasks",
        "Lustre request time",
        "slowed by heat",
        "unused CPU share",
    }
    imported |= {metric for label in atop.load_labels().values() for metric, _, _ in label.figures.values()}
    assert {metric for entry in watched_metrics() for metric in entry.metrics} <= imported


def test_nobody_is_named_where_a_disk_fails_and_all_move_less() -> None:
    """What the database no longer writes, the log's few bytes more have not taken from it."""
    rng, count = Random(1), 400
    at_s = array("d", (10.0 * n for n in range(count)))
    is_bad = [200 <= n < 260 for n in range(count)]

    def make_series(subject: str, metric: str, bad: float, quiet: float) -> SampleSeries:
        values = array("d", ((bad if slow else quiet) * rng.uniform(0.9, 1.1) for slow in is_bad))
        return SampleSeries(subject=subject, metric=metric, unit="", at_s=at_s, values=values)

    disk = [("utilisation", 1.0, 0.5), ("latency", 0.8, 0.005), ("write rate", 10e6, 100e6)]
    writers = [(ALL_PROCESSES, 10e6, 100e6), ("database", 8e6, 99e6), ("rsyslogd", 1.6e6, 0.2e6)]
    timeline = find_incidents_in_series(
        [
            *(make_series("disk:sda", *row) for row in disk),
            *(
                make_series(
                    name if name == ALL_PROCESSES else f"{PROCESS_PREFIX}{name}", "write rate", bad, quiet
                )
                for name, bad, quiet in writers
            ),
        ],
        SampleTimes(),
        4,
    )
    assert timeline is not None
    assert [(incident.cause, incident.culprit) for incident in timeline.incidents] == [("disk", None)]

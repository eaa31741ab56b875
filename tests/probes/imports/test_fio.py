"""fio: units by the keys, options from two places, sums without percentiles, text around, interim results."""

import json

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.source import ImportSource
from tests.every_case import every_case
from tests.probes.imports import originals as texts
from tests.probes.imports.test_kinds import read_text, value


def _trouble_ids(result: ImportResult) -> set[str]:
    return {t.id for t in result.troubles}


def test_old_results_are_in_microseconds_and_kib() -> None:
    old = {
        "io_bytes": 1000, "bw": 100, "iops": 25, "runtime": 10_000,
        "clat": {"mean": 40.0, "percentile": {"99.000000": 90, "0.00": 0}},
    }  # fmt: skip
    result = read_text(
        json.dumps({"fio version": "fio-2.1", "jobs": [{"jobname": "a", "groupid": 0, "read": old}]})
    )
    assert value(result, "a read", "mean latency") == pytest.approx(40e-6)
    assert value(result, "a read", "p99 latency") == pytest.approx(90e-6)
    assert "fio.options-unknown" in _trouble_ids(result) and not result.contradictions


@every_case(
    ("options", "condition", "value"),
    [
        ({"rw": "randrw", "rwmixread": "70"}, "pattern", "randrw 70 % read"),
        ({"rw": "randrw", "rwmixwrite": "10"}, "pattern", "randrw 90 % read"),
        ({"rw": "randrw"}, "pattern", "randrw 50 % read"),
        ({"bs": "4k", "bsrange": "4k-64k"}, "block size", "4k-64k"),
        ({"bs": "4k", "bssplit": "4k/60:64k/40"}, "block size", "4k/60:64k/40"),
        ({"bs": "4096"}, "block size", "4 KiB"),
    ],
)
def test_what_the_job_did_is_its_identity(options: dict[str, str], condition: str, value: str) -> None:
    job = texts.fio_job()
    job["job options"] = options
    assert {m.conditions[condition] for m in read_text(texts.fio(job)).measures} == {value}


def test_groups_ran_one_after_another_and_are_not_added() -> None:
    result = read_text(texts.fio(texts.fio_job(), texts.fio_job(group=1, iops=5000)))
    assert value(result, "job read (group 0)", "IOPS") == 10_000
    assert value(result, "job read (group 1)", "IOPS") == 5000


def test_all_clients_is_not_added_but_compared() -> None:
    jobs = [texts.fio_job(hostname="a"), texts.fio_job(hostname="b")]

    def text(total: float) -> str:
        every = [*jobs, texts.fio_job("All clients", iops=total)]
        return json.dumps({"fio version": "fio-3.7", "client_stats": every})

    right, wrong = read_text(text(20_000)), read_text(text(30_000))
    assert value(right, "job read", "IOPS") == 20_000 and not right.contradictions
    assert [c.id for c in wrong.contradictions] == ["fio.all-clients"]


def test_text_around_the_document_is_looked_through() -> None:
    text = f"note: {{braces}} in text\nfio: terminating on signal 2\n{texts.fio(texts.fio_job())}\n  lat (usec): 1=2%\n"
    result = read_text(text)
    assert value(result, "job read", "IOPS") == 10_000
    assert "fio.interrupted" in _trouble_ids(result)


def test_interim_results_give_way_to_the_last() -> None:
    first = texts.fio(texts.fio_job(iops=1000, elapsed=6), timestamp=1_700_000_006)
    result = read_text(f"{first}\n{texts.fio(texts.fio_job())}\n")
    assert value(result, "job read", "IOPS") == 10_000
    assert [t.said for t in result.troubles if t.id == "fio.status-documents"] == ["1"]


def test_an_error_without_io_is_no_measurement() -> None:
    job = texts.fio_job(error=22)
    del job["read"]
    result = read_text(texts.fio(job))
    assert result.is_fatal and {"fio.error", "fio.nothing"} <= _trouble_ids(result)


def test_of_very_many_jobs_a_thousand_are_kept_and_all_are_summed() -> None:
    result = read_text(texts.fio(*(texts.fio_job(f"j{n}", iops=100) for n in range(1200))))
    assert len({m.workload for m in result.measures}) == 1000
    assert "fio.left-out" in _trouble_ids(result)


TERSE = "3;fio-3.8;seq;0;0;" + ";".join(["0"] * 41) + ";1000;100;25;10000;" + ";".join(
    ["0"] * 8 + ["0", "0", "2.5", "0"][:0] + ["1", "9", "4.5", "0.5"] + ["99.000000%=20"] + ["0%=0"] * 19 + ["0"] * 9
)  # fmt: skip


def test_terse_version_3() -> None:
    fields = TERSE.split(";")
    fields[5 + 41 + 8 : 5 + 41 + 12] = ["1", "9", "4.5", "0.5"]
    fields[5 + 41 + 12] = "99.000000%=20"
    result = read_text(";".join(fields) + "\n")
    assert value(result, "seq write", "IOPS") == 25
    assert value(result, "seq write", "bandwidth") == 100 * 1024
    assert value(result, "seq write", "mean latency") == pytest.approx(4.5e-6)
    assert value(result, "seq write", "p99 latency") == pytest.approx(20e-6)


def test_other_terse_versions_are_refused_by_name() -> None:
    with pytest.raises(ImportRefusedError, match="terse version 5"):
        read_text("5;fio-3.8;seq;0;0;" + "0;" * 200)


def test_each_of_numjobs_may_have_a_line_of_its_own() -> None:
    first, second = texts.FIO_TEXT.split("\njob: (groupid=0")
    third = second.replace("pid=6340", "pid=6341")
    result = kinds.parse_import(ImportSource("f", "\njob: (groupid=0".join((first, second, third)).encode()))
    assert {m.conditions["jobs"] for m in result.measures} == {"2"}
    assert next(m.value for m in result.measures if m.metric == "IOPS") == pytest.approx(
        2 * 12344.4, rel=1e-4
    )


def test_several_calls_of_fio_in_one_text_are_runs_and_are_not_summed() -> None:
    slower = texts.FIO_TEXT.replace("IOPS=12.3k", "IOPS=6172").replace("total=123456", "total=61728")
    result = kinds.parse_import(ImportSource("f", (texts.FIO_TEXT + slower + texts.FIO_TEXT).encode()))
    [rate] = [m for m in result.measures if m.metric == "IOPS"]
    assert [round(value) for value in rate.runs] == [12344, 6172, 12344]
    assert (
        rate.workload == "job read" and rate.value == rate.runs[0] and rate.seconds == pytest.approx(30.003)
    )
    assert len([m for m in result.measures if m.metric == "p99 latency"]) == 1


def test_of_what_is_printed_on_the_way_the_last_stands() -> None:
    head, job = texts.FIO_TEXT.split("\njob: (groupid=0")
    on_the_way = job.replace("IOPS=12.3k", "IOPS=15.0k")
    result = kinds.parse_import(ImportSource("f", "\njob: (groupid=0".join((head, on_the_way, job)).encode()))
    assert [round(m.value) for m in result.measures if m.metric == "IOPS"] == [12344]


def test_the_text_of_the_second_version_has_kib_and_slashes() -> None:
    result = kinds.parse_import(ImportSource("f", texts.FIO_OLD_TEXT.encode()))
    values = {m.metric: m.value for m in result.measures}
    assert (values["IOPS"], values["bandwidth"]) == (1600.0, pytest.approx(6400.2 * 1024))
    assert (
        result.measures[0].conditions["block size"] == "4 KiB"
        and result.measures[0].conditions["jobs"] == "4"
    )


def test_iops_that_do_not_follow_from_the_operations_are_contradicted() -> None:
    edited = texts.FIO_TEXT.replace("IOPS=12.3k", "IOPS=22.3k")
    result = kinds.parse_import(ImportSource("f", edited.encode()))
    assert [c.id for c in result.contradictions] == ["fio.iops"]


def test_text_without_a_line_of_iops_is_refused() -> None:
    cut = texts.FIO_TEXT.partition("  read:")[0]
    with pytest.raises(ImportRefusedError):
        kinds.parse_import(ImportSource("f", cut.encode()))

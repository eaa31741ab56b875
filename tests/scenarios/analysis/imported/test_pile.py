"""Several imported results together."""

import math
import random
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

import hostdx.probes.imports
from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportedMeasure
from hostdx.probes.imports.path_names import distinct_short_names
from hostdx.probes.imports.source import ImportSource
from hostdx.scenarios.analysis.compare.run_summary import summarise_run
from hostdx.scenarios.analysis.compare.snapshot import ParsedImportFile, RunSnapshot
from hostdx.scenarios.analysis.imported.cross_run import history_findings
from hostdx.scenarios.analysis.imported.findings import NOT_IMPORTED, RECOGNISED, file_findings
from hostdx.scenarios.analysis.imported.pile import ResultSet, judge_histories, make_result_set
from hostdx.scenarios.analysis.imported.recording import recording_events
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.triage.rules.texts import finding_texts
from tests.every_case import every_case
from tests.probes.imports import originals as texts
from tests.probes.imports import other_forms as forms
from tests.scenarios.analysis.compare.test_compare import BEGAN


def file(name: str, text: str) -> ParsedImportFile:
    source = ImportSource(name, text.encode())
    return ParsedImportFile(
        name=name,
        path=name,
        sha256=source.sha256_digest,
        bytes=source.size,
        modified="2026-11-24T00:00:00+00:00",
        result=kinds.parse_import(source),
    )


def fio(name: str, iops: float, depth: int = 16, host: str = "", place: str = "/dev/sda") -> ParsedImportFile:
    options = {"rw": "randread", "bs": "4k", "iodepth": str(depth), "filename": place}
    job = texts.fio_job(iops=iops, **{"job options": options})
    if host:
        job["hostname"] = host
    return file(name, texts.fio(job))


def ids(results: ResultSet) -> set[str]:
    return {finding.id for finding in results.findings}


def only_finding(results: ResultSet, prefix: str) -> Finding:
    [finding] = [finding for finding in results.findings if finding.id.startswith(prefix)]
    return finding


@every_case(
    ("paths", "names"),
    [
        (["a/1/result.txt", "a/2/result.txt"], ["1", "2"]),
        (["a/1/result.txt", "a/2/result.txt", "a/2/old.txt"], ["1/result.txt", "2/result.txt", "2/old.txt"]),
        (["a/x.json", "b/y.json"], ["x.json", "y.json"]),
        (["a/x/r/result.txt", "b/x/r/result.txt"], ["a", "b"]),
        (["a/result.txt", "a/b/result.txt"], ["a", "a/b"]),
        (["/only/one.txt"], ["one.txt"]),
    ],
)
def test_files_are_named_by_the_part_of_the_path_that_differs(paths: list[str], names: list[str]) -> None:
    labels = distinct_short_names(paths)
    assert len(set(labels)) == len(paths)
    if paths[-1] != "a/b/result.txt":  # two paths, one within the other, need the folder above
        assert labels == names


def test_a_pile_of_mixed_depths_compares_no_load_with_another() -> None:
    files = [fio(f"f{n}", 1000.0 * depth, depth) for n, depth in enumerate((1, 2, 4, 8, 16, 32, 64, 128))]
    result_set = make_result_set(files, series=True)
    workloads = [m.workload for s in result_set.order for m in s.measures]
    assert len(set(workloads)) == 8 and "job read (iodepth 128)" in workloads
    assert result_set.odd is not None and not result_set.odd.loads and not result_set.courses


def test_the_odd_one_of_eight_is_named_by_its_file_with_what_differs() -> None:
    files = [fio(f"node{n}", 10_000 + 40 * n, place="/dev/sdb" if n == 5 else "/dev/sda") for n in range(7)]
    files[5] = fio("node5", 5_000, place="/dev/sdb")
    result_set = make_result_set(files)
    assert result_set.odd is not None and {
        outlier.run for load in result_set.odd.found for outlier in load.apart
    } == {"node5"}
    facts = {(fact.subject, fact.name): fact.value for fact in result_set.odd.facts["node5"]}
    assert facts["job:job", "place"] == "/dev/sdb"
    assert only_finding(result_set, "import.odd").severity == "warning"


def test_a_trend_needs_one_host_and_place_or_the_users_word() -> None:
    def import_rows(hosts: list[str], places: list[str]) -> list[ParsedImportFile]:
        pairs = zip(hosts, places, strict=True)
        return [fio(f"f{n}", 10_000 - 100 * n, host=h, place=p) for n, (h, p) in enumerate(pairs)]

    of_one_place = import_rows(["n1"] * 6, ["/dev/sda"] * 6)
    assert make_result_set(of_one_place).courses
    disks = make_result_set(import_rows(["n1"] * 6, [f"/dev/sd{c}" for c in "abcdef"]))
    hosts = make_result_set(import_rows([f"n{n}" for n in range(6)], ["/dev/sda"] * 6))
    unknown = import_rows([""] * 6, ["/dev/sda"] * 6)
    assert not disks.courses and not hosts.courses and not make_result_set(unknown).courses
    assert "import.several-hosts" in ids(hosts) and "import.no-series" in ids(make_result_set(unknown))
    assert make_result_set(unknown, series=True).courses


def test_files_of_the_same_figures_are_one_result_and_that_is_said() -> None:
    result_set = make_result_set([fio("a", 10_000), fio("copy", 10_000), fio("b", 9_900)])
    assert [s.name for s in result_set.order] == ["a", "b"] and result_set.twins == (("copy", "a"),)
    assert "import.twins" in ids(result_set)


def test_the_box_law_says_which_of_two_groups_is_broken() -> None:
    table = "ior_hard_GiBps\tior_easy_GiBps\tmdtest_hard_kIOPS\tmdtest_easy_kIOPS\n"
    rows = "".join(
        f"0.{90 + n % 3}\t{0.47 if n in (1, 2, 4, 5, 6, 7, 8, 9) else 1.9}\t11.{n}\t13{n % 5}\n"
        for n in range(13)
    )
    result_set = make_result_set([file("t.tsv", table + rows)])
    below = only_finding(result_set, "io500.box-ior-easy")
    assert len(below.evidence) == 1 + 8
    assert (
        result_set.odd is not None and not result_set.odd.found
    )  # the sound five are alike, the broken ones have no vote


def test_darshan_bytes_of_a_module_that_is_not_shown_are_said() -> None:
    line = "DFS\t0\t7\tDFS_BYTES_WRITTEN\t1073741824\t/f\t/\tdaos\n"
    result = kinds.parse_import(ImportSource("d", (texts.DARSHAN + line).encode()))
    [trouble] = [t for t in result.troubles if t.id == "darshan.unseen"]
    assert trouble.subject == "DFS" and not any("DFS" in m.workload for m in result.measures)


def test_a_job_of_few_processes_gets_no_advice_from_a_box_of_many() -> None:
    box = file("s", texts.IO500)
    job = msgspec.structs.replace(
        file("job", texts.IOR.replace("32.00      32.00", "0.01       0.01")), name="job"
    )
    findings = [f for f in make_result_set([box, job]).findings if f.id.startswith("box.placed")]
    assert findings and not any(f.remedy for f in findings)


def test_an_import_that_is_invalid_stays_so_in_its_recording() -> None:
    pile = make_result_set([file("a", forms.fio_steady_state(0))])
    run = summarise_run(recording_events(pile, BEGAN), "a")
    assert not run.figures
    assert {key.metric for key in run.invalid} >= {"IOPS", "bandwidth", "mean latency"}


def test_one_finding_names_what_is_left_out_or_what_was_recognised_in_a_text() -> None:
    left_out, recognised = (
        [f for f in file_findings(file("a", text)) if f.id in (NOT_IMPORTED, RECOGNISED)]
        for text in (forms.fio_sync(), forms.FIO_TEXT_SYNC)
    )
    assert [f.id for f in left_out] == [NOT_IMPORTED] and len(left_out[0].evidence) > 2
    assert [f.id for f in recognised] == [RECOGNISED]
    assert {f.severity for f in (*left_out, *recognised)} == {"ok"}


def test_who_is_slower_in_many_loads_is_named_first_and_who_is_in_one_is_not() -> None:
    def node(number: int, *slow_sizes: int) -> ParsedImportFile:
        rows = "".join(
            f"{size:<20}{(0.5 if size in slow_sizes else 1) * (1000 + size % 7 + number):.2f}\n"
            for size in (1, 2, 4, 8, 16, 32, 64, 128)
        )
        return file(f"n{number}", f"# OSU MPI Bandwidth Test v5.3.2\n# Size      Bandwidth (MB/s)\n{rows}")

    pile = make_result_set([*(node(number) for number in range(8)), node(8, 2, 8, 16, 64), node(9, 128)])
    finding = only_finding(pile, "import.often-slower")
    assert len(finding.evidence) == 1 and finding.severity == "warning"
    assert pile.findings[0] is finding


def make_results(**courses: Sequence[float]) -> list[RunSnapshot]:
    count = len(next(iter(courses.values())))
    return [
        RunSnapshot(
            name=f"r{n}",
            kind="hepscore",
            began=f"2024-01-{n + 1:02}",
            host="h",
            measures=tuple(
                ImportedMeasure(workload=name, metric="score", value=values[n], unit="")
                for name, values in courses.items()
            ),
        )
        for n in range(count)
    ]


def draw_noise(seed: int, count: int, share: float) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(0, share) for _ in range(count)]


def test_a_step_is_found_where_it_is() -> None:
    values = [100 * math.exp(e) * (1.0 if n < 7 else 0.8) for n, e in enumerate(draw_noise(3, 14, 0.01))]
    order = make_results(a=values)
    [history] = judge_histories(order)
    assert [s.before for s in history.steps] == [6] and abs(history.steps[0].ratio - 0.8) < 0.03
    first = history_findings(history and [history], order)[0]
    assert first.severity == "warning" and "r6 (2024-01-07)" in first.title


def test_what_not_all_results_have_is_left_out() -> None:
    order = [*make_results(a=[1.0, 1.0], b=[1.0, 1.0]), *make_results(a=[1.0])]
    assert [h.workload for h in judge_histories(order)] == ["a"]


SOURCES = Path(hostdx.probes.imports.__file__).parent
KNOWN = {
    name for kind, name in finding_texts("analysis/imported").all_entries if kind == "finding" and "." in name
}


def _source_text() -> str:
    """The importers: code, and formats that are data."""
    files = (*SOURCES.rglob("*.py"), *(SOURCES / "formats").glob("*.toml"))
    return "".join(path.read_text() for path in sorted(files))


def test_every_id_has_its_sentence() -> None:
    text = _source_text()
    raised = set(
        re.findall(r'"((?:io500|fio|hepscore|suite|prmon|ior|mdtest|sysstat|iperf3|sysbench|stream|rados|'
                            r'elbencho|hpl|hpcg|nccl|stress-ng|perf|darshan|numactl|unixbench)\.[a-z0-9-]+)"', text)
    )  # fmt: skip
    assert len(raised) > 60
    assert raised <= KNOWN


def test_no_sentence_without_its_id() -> None:
    text = _source_text()
    other_ids = {name for name in KNOWN if not name.startswith("import.")}
    assert not [name for name in other_ids if f'"{name}"' not in text]

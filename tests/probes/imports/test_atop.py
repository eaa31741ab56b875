"""atop's parseable output: counters as rates, threads and values since boot left out."""

import json
import random
from typing import Any

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat import atop
from tests.every_case import every_case
from tests.fakes.sampled_files import atop_file


def parse(text: str) -> ImportResult:
    return kinds.parse_import(ImportSource("file", text.encode()))


def test_counters_of_an_interval_become_rates() -> None:
    result = parse(atop_file([{"iowait": 0.25, "busy": 0.5, "write my job (1)": 51_200.0}] * 3))
    values = {(m.workload, m.metric): m.value for m in result.measures}
    assert result.kind == "atop" and result.host == "node1" and result.began == "2026-11-29T01:00:10"
    assert values["CPU", "iowait share"] == pytest.approx(0.25)
    assert values["disk:sda", "utilisation"] == pytest.approx(0.5)
    assert values["disk:sda", "read rate"] == 8000 * 512 / 10
    assert values["process:my job (1)", "write rate"] == pytest.approx(51_200), (
        "its threads are not counted again"
    )
    assert values["process:my job (1)", "CPU share"] == pytest.approx(15 / 100 / 10)
    assert next(list(s.at_s) for s in result.series if s.subject == "CPU") == [0.0, 10.0, 20.0]
    assert result.times is not None and result.times.first == "2026-11-29T01:00:10"


@every_case(
    ("samples", "stuck"),
    [
        ("D00 D00 D00", [0, 1, 1]),
        ("S00 S00 S00", [0, 0, 0]),
        ("D00 D02 D00", [0, 0, 0]),
        ("D00 D00w D00", [0, 0, 0]),
        ("D00 S00 D00", [0, 0, 0]),
    ],
)
def test_a_process_that_waits_in_two_samples_and_does_nothing_is_stuck(
    samples: str, stuck: list[int]
) -> None:
    lines: list[str] = []
    for number, sample in enumerate(samples.split(), 1):
        at = f"node1 {1_795_917_376 + 10 * number} 2026/11/29 01:00:{10 * number} 10"
        lines.append(f"PRC {at} 77 (mysqld) {sample[0]} 100 {sample[1]} {sample[2]} 0 120 0 0 1 0 77 y 0")
        lines.append(f"PRD {at} 77 (mysqld) {sample[0]} n y 0 0 9 {8 * ('w' in sample)} 0 77 n y")
        lines.append(f"PRC {at} 79 (jbd2/sda1-8) D 100 0 0 0 120 0 0 1 0 79 y 0")  # the kernel's own
        lines += [f"PRC {at} 78 (mysqld) D 100 0 0 0 120 0 0 1 0 77 n 0", "SEP"]
    (series,) = (s for s in parse("\n".join(lines) + "\n").series if s.metric == "stuck tasks")
    assert list(series.values) == stuck


def test_a_raw_file_is_refused_with_the_command_that_converts_it() -> None:
    with pytest.raises(ImportRefusedError) as error:
        kinds.parse_import(ImportSource("file", b"\xef\xbe\xed\xfe" + bytes(500)))
    assert error.value.hint


def test_a_command_with_closing_brackets_and_rubbish_lines_is_harmless() -> None:
    text = (
        atop_file([{"write a) S 1 (b": 1e4}] * 2)
        + "PRD node1 x\nPRC node1 1795917376 2026/11/29 02:00:00 10 77 (x\n"
    )
    assert any(m.workload.startswith("process:a)") for m in parse(text).measures)


_JSON_NAMES = {
    "CPU": (
        "hertz",
        "nrcpu",
        "stime",
        "utime",
        "ntime",
        "itime",
        "wtime",
        "Itime",
        "Stime",
        "steal",
        "guest",
    ),
    "PAG": ("pagesz", "pgscans", "allocstall", "free", "swins", "swouts"),
    "DSK": ("dskname", "io_ms", "nread", "nrsect", "nwrite", "nwsect"),
}


def as_json(text: str) -> bytes:
    """What `atop -J` prints of the same samples: with threads, and with command lines cut within a character."""
    documents: dict[int, dict[str, Any]] = {}
    for line in text.splitlines():
        label, *words = line.split()
        if not words:
            continue
        values = [int(word) if word.lstrip("-").isdigit() else word for word in words[5:]]
        document = documents.setdefault(
            int(words[1]), {"host": words[0], "timestamp": int(words[1]), "elapsed": int(words[4])}
        )
        body: dict[str, Any] = {"pid": values[0]}
        if label in _JSON_NAMES:
            body = dict(zip(_JSON_NAMES[label], values, strict=False))
            document[label] = [body] if label == "DSK" else body
        elif label == "PRC":
            document.setdefault("PRG", []).append(
                body | {"name": words[6], "state": words[7], "cmdline": "x\udcc3"}
            )
            times = body | {"utime": values[4], "stime": values[5]}
            threads = [times | {"pid": 78, "isproc": 0}, times | {"isproc": 0}]
            document.setdefault("PRC", []).extend([times | {"isproc": 1}, *threads])
        elif label == "PRD":
            document.setdefault("PRD", []).append(body | {"rsz": values[6], "wsz": values[8]})
    lines = [json.dumps(document, ensure_ascii=False) for document in documents.values()]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"


def test_json_holds_the_same_as_the_text() -> None:
    text = atop_file([{"iowait": 0.25, "busy": 0.5, "write job": 51_200.0}] * 3)
    from_text = parse(text)
    from_json = kinds.parse_import(ImportSource("file", as_json(text) + b'{"host": "node1", "tim'))
    assert from_json.kind == "atop" and from_json.host == from_text.host
    text_series, json_series = (
        {(s.subject, s.metric): (list(s.at_s), list(s.values)) for s in result.series}
        for result in (from_text, from_json)
    )
    assert json_series == text_series and ("process:job", "write rate") in json_series
    assert from_json.times is not None and from_json.times.zone == "UTC"
    with pytest.raises(ImportRefusedError):
        kinds.parse_import(ImportSource("file", as_json(text) + b"{rubbish}\n" + as_json(text)))


def test_counters_that_the_kernel_lacks_are_no_values() -> None:
    text = atop_file([{}] * 2).replace("4096 0 0 0 0 0 -1", "4096 0 0 0 -1 -1 -1")
    names = {s.metric for s in parse(text).series if s.subject == "host"}
    assert "pages swapped in" not in names and "allocation stalls" in names


@every_case("seed", [*range(20)])
def test_lines_that_are_passed_over_say_nothing(seed: int) -> None:
    """Idle processes and labels that are not read are skipped in runs: the result is that of all lines."""
    rng = random.Random(seed)
    names = ("(a)", "(a) S 100 0 0 b)", "(kworker/0:1)", "()", "bare", "(D 0)")
    lines = []
    for number in range(6):
        at = f"node1 {1_795_917_376 + 10 * number} 2026/11/29 01:00:{10 * number:02d} 10"
        lines += [
            f"CPL {at} 2 0.{rng.randrange(99)} 0 0 {rng.randrange(9)} 7",
            f"PRM {at} 5 (x) S 4096 1",
            "cpu",
        ]
        for pid in range(8):
            name, state = rng.choice(names), rng.choice("SRD")
            ticks = f"{rng.choice((0, 0, 7))} {rng.choice((0, 0, 3))}"
            sectors = " ".join(str(rng.choice((0, 0, 64))) for _ in range(4))
            lines.append(
                f"PRC {at} {pid} {name} {state} 100 {ticks} 0 120 0 0 1 0 {pid} {rng.choice('yn')} 0"
            )
            lines.append(f"PRD {at} {pid} {name} {state} n y {sectors} 0 {pid} n {rng.choice('yn')}")
        lines += rng.choice((["SEP"], ["SEP"], ["SEP", "RESET"], ["rubbish", "SEP"]))
    source = ImportSource("file", ("\n".join(lines) + rng.choice(("", "\n", "\r\n"))).encode())
    assert atop.parse_atop(source) == atop.parse_atop_lines(source.read_lines())

"""Long tables are read column by column, with the same result as row by row; no copy of a large file is made."""

import random
from collections.abc import Callable, Iterator
from functools import partialmethod
from typing import Any

import msgspec
import pytest

from hostdx.probes.imports import json_text, kinds, numbers
from hostdx.probes.imports.hep import prmon
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat import sar, sysstat_table, vmstat
from tests.every_case import every_case
from tests.needs import one_always

ROWS = 14_000  # two batches
VMSTAT_ROWS = 2_800  # three batches of `small_batches`, the first of which is always read row by row
VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st"
)
PRMON = (
    "Time\twtime\tutime\tstime\tpss\trss\tswap\tvmem\trchar\twchar\tread_bytes\twrite_bytes\tnprocs\tnthreads"
)
SAR = "Linux 5.14.0 (node1) \t11/22/2026 \t_x86_64_\t(2 CPU)\n"


def vmstat_lines(rng: random.Random) -> Iterator[str]:
    for row in range(VMSTAT_ROWS):
        if row % 20 == 0:
            yield VMSTAT
        yield " ".join(f"{rng.randrange(10_000):4d}" for _ in range(12)) + "  1  2 93  4  0"


def prmon_lines(rng: random.Random) -> Iterator[str]:
    yield PRMON
    count = 0
    for row in range(ROWS):
        count += rng.randrange(10_000)
        values = (
            1_600_000_000 + row,
            row,
            row // 2,
            row // 9,
            10 + row % 99,
            20,
            0,
            40,
            count,
            count,
            row,
            row,
            4,
            9,
        )
        yield "\t".join(map(str, values))


def sar_lines(rng: random.Random) -> Iterator[str]:
    yield SAR
    for row in range(8_000):
        clock = f"{row // 3600 % 24:02d}:{row // 60 % 60:02d}:{row % 60:02d}"
        if row % 60 == 0:
            yield f"\n{clock}        CPU     %user     %nice   %system   %iowait    %steal     %idle"
        for cpu in ("all", "0", "1"):
            yield f"{clock}        {cpu}      {rng.random() * 50:.2f}      0.00      1.00      2.00      0.00     47.00"
    yield "\nAverage:        all     25.00      0.00      1.00      2.00      0.00     47.00"


LINES: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "vmstat": vmstat_lines, "prmon-text": prmon_lines, "sar": sar_lines,
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImportSource, "read_batches", partialmethod(ImportSource.read_batches, 1_000))


def read(lines: list[str]) -> tuple[str, Any]:
    result = kinds.parse_import(ImportSource("large", "\n".join(lines).encode()))
    every_sample = [[s.subject, s.metric, s.at_s.tolist(), s.values.tolist()] for s in result.series]
    result = msgspec.structs.replace(result, series=())
    return result.kind, [msgspec.json.decode(msgspec.json.encode(result)), every_sample]


def row_by_row(monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> tuple[str, Any]:
    with monkeypatch.context() as patched:
        patched.setattr(vmstat._VmstatReader, "read_all", lambda *_: False)
        together = prmon._PrmonTable.add_all
        patched.setattr(
            prmon._PrmonTable, "add_all", lambda table, rows: len(rows) == 1 and together(table, rows)
        )
        patched.setattr(sar._SarReader, "_read_alike_lines", lambda *_: False)
        return read(lines)


def are_same(left: Any, right: Any) -> bool:
    """Sums in another order differ in their last digit; msgspec leaves out a 0.0 that is the default's own."""
    if isinstance(left, dict) and isinstance(right, dict):
        return all(are_same(left.get(key, 0.0), right.get(key, 0.0)) for key in left.keys() | right.keys())
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(are_same, left, right))
    if isinstance(left, float) or isinstance(right, float):
        return left == pytest.approx(right)
    return bool(left == right)


@pytest.mark.parametrize("kind", one_always(*LINES))
def test_column_by_column_gives_what_row_by_row_gives_with_odd_rows_too(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    rng = random.Random(kind)
    lines = list(LINES[kind](rng))
    odd: list[Callable[[str], str]] = [
        lambda line: "", lambda line: "words", lambda line: line + " 7", lambda line: line.replace("0", "nan", 1),
        lambda line: line.replace("0", "1_0", 1), lambda line: line[: len(line) // 2],
        lambda line: "12:00:01  LINUX RESTART",
        lambda line: VMSTAT.splitlines()[1].replace("  swpd", ""),
    ]  # fmt: skip
    for place in rng.sample(range(len(lines) * 2 // 3, len(lines)), 8):
        lines[place] = rng.choice(odd)(lines[place])
    result = read(lines)
    assert result[0] == kind and are_same(result, row_by_row(monkeypatch, lines))


@every_case("kind", LINES)
def test_the_most_of_a_long_table_is_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    lines = list(LINES[kind](random.Random(1)))
    calls = 0

    def count_and_parse(text: object) -> float | None:
        nonlocal calls
        calls += 1
        return numbers.parse_number(text)

    monkeypatch.setattr(sysstat_table, "parse_number", count_and_parse)
    monkeypatch.setattr(prmon, "parse_number", count_and_parse)
    read(lines)
    assert calls < sum(len(line.split()) for line in lines) * 0.7


def test_a_nan_is_looked_for_once_in_a_file_of_many_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    job = '{"jobname": "a", "read": {"bw": 5, "iops": 7, "io_bytes": 9, "x": nan}}'
    text = f'{{"fio version": "fio-2.1", "jobs": [{job}]}}'
    calls: list[int] = []
    cleaned = json_text.blank_non_finite_numbers

    def count_and_clean(data: bytes | bytearray, path: str) -> bytearray | None:
        calls.append(len(data))
        return cleaned(data, path)

    monkeypatch.setattr(json_text, "blank_non_finite_numbers", count_and_clean)
    result: ImportResult = kinds.parse_import(ImportSource("fio", "\n".join([text] * 200).encode()))
    assert result.measures
    assert len(calls) == 2  # once by the importer, once by the account of its fields


def test_what_is_no_number_is_taken_out_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "_STEP", 7)
    data = b'{"a": nan, "b": [-nan, +inf,\n Infinity], "info": "nan, inf", "c":\n  NaN}'
    document = json_text.blank_non_finite_numbers(data, "x")
    assert document is not None
    assert len(document) == len(data)
    assert msgspec.json.decode(document) == {"a": "", "b": ["", "", ""], "info": "nan, inf", "c": ""}
    assert json_text.blank_non_finite_numbers(b'{"information": "nan"}', "x") is None
    monkeypatch.setattr(json_text, "NOT_FINITE_LIMIT", 10)
    with pytest.raises(ImportRefusedError):
        json_text.blank_non_finite_numbers(data, "x")

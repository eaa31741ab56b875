"""Each number of a file is accounted for, and no damage crashes a reader."""

import json
import math
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.probes.imports import accounting, kinds
from hostdx.probes.imports.accounting import (
    UNKNOWN_REASON,
    FieldAccount,
    LeftOutFields,
    load_field_accounts,
    matches_any,
    numeric_fields,
    with_left_out_fields,
)
from hostdx.probes.imports.confinement import MAX_WRITTEN_BYTES, MEMORY_BYTES, NOBODY, SECONDS
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource
from tests.every_case import every_case
from tests.measured.reading.imports_expected import FOLDERS, find_differences
from tests.measured.reading.imports_mutations import mutate
from tests.needs import ROOT, needs, not_here
from tests.probes.imports import originals as texts
from tests.probes.imports.other_forms import FORMS

ALL = texts.ALL | FORMS
JSON = {name: text for name, text in ALL.items() if text.lstrip()[:1] in "{["}


def source_of(text: str) -> ImportSource:
    return ImportSource("result", text.encode())


@every_case("name", ALL)
def test_no_field_is_without_a_declaration(name: str) -> None:
    left_out = kinds.parse_import(source_of(ALL[name])).left_out
    assert not [part.name for part in left_out if part.reason == UNKNOWN_REASON]
    assert all(part.reason and part.fields for part in left_out)


def test_a_star_is_one_part_of_a_path_and_two_are_any_number() -> None:
    paths = ("jobs/read", "jobs/read/iops", "jobs")
    assert [matches_any(("jobs/*",), path) for path in paths] == [True, False, False]
    assert [matches_any(("jobs/**",), path) for path in paths] == [True, True, False]


def test_what_is_left_out_together_is_counted_and_a_large_file_is_not_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = FieldAccount(
        left_out=(LeftOutFields(name="few", reason="why", fields=("a", "b/*")),), imported=("c",)
    )
    monkeypatch.setattr(accounting, "load_field_accounts", lambda: {"kind": account})
    result = kinds.parse_import(source_of(texts.fio(texts.fio_job())))
    result = msgspec.structs.replace(result, left_out=())
    source = source_of('{"a": 1, "b": {"x": 2, "y": 3}, "c": 4}')
    [omitted] = with_left_out_fields(result, "kind", source).left_out
    assert (omitted.name, omitted.fields) == ("few", 3)
    monkeypatch.setattr(accounting, "MAX_LISTED_BYTES", source.size - 1)
    [unlisted] = with_left_out_fields(result, "kind", source).left_out
    assert unlisted.name != omitted.name


def test_the_heading_of_a_csv_may_stand_below_other_lines() -> None:
    account = FieldAccount(form="csv", heading="time,", delimiter=",")
    source = source_of("a note, 7\ntime,value\n1,2\n")
    result = kinds.parse_import(source_of(texts.fio(texts.fio_job())))
    assert numeric_fields(source, account, result) == ["time", "value"]


def kind_of(text: str) -> str:
    kind = kinds.recognise_kind(source_of(text))
    assert kind is not None
    return kind.id


def _change_field(value: Any, field: str, path: str = "") -> Any:
    """The document with other numbers in this field."""
    if isinstance(value, dict):
        return {k: _change_field(v, field, f"{path}/{k}" if path else str(k)) for k, v in value.items()}
    if isinstance(value, list):
        return [_change_field(v, field, path) for v in value]
    if path != field or isinstance(value, bool) or (read := parse_number(value)) is None:
        return value
    other = int(read * 0.5) + 3 if float(read).is_integer() else read * 1.37 + 0.11
    other += other == read
    return str(other) if isinstance(value, str) else other


def _figures_of(result: ImportResult | None) -> object:
    return result and [(m.workload, m.metric, m.value, m.runs, m.seconds) for m in result.measures]


def _everything_of(result: ImportResult | None) -> object:
    """What an import says, but for the values as the tool printed them and for what it leaves out."""
    if result is None:
        return None
    parts = (result.facts, result.points, result.contradictions, result.troubles, result.missing)
    head = (result.began, result.version, result.host, result.seconds)
    return _figures_of(result), [(m.conditions, m.invalid) for m in result.measures], parts, head


def _parse(text: str) -> ImportResult | None:
    try:
        return kinds.parse_import(source_of(text))
    except ImportRefusedError:
        return None


def _changed_texts(text: str) -> Iterator[tuple[str, str]]:
    """Each numeric field of a JSON text, and the text with that field changed."""
    lines = text.strip().splitlines()
    documents = (
        [json.loads(line) for line in lines] if len(lines) > 1 and lines[1][:1] == "{" else [json.loads(text)]
    )
    account = load_field_accounts()[kind_of(text)]
    result = kinds.parse_import(source_of(text))
    for field in numeric_fields(source_of(text), account, result):
        yield field, "\n".join(json.dumps(_change_field(document, field)) for document in documents)


_OF_COLUMNS = ("sadf", "iostat-s")  # their account is of columns


@every_case("name", [n for n in JSON if n not in _OF_COLUMNS])
def test_no_field_that_is_left_out_changes_a_figure(name: str) -> None:
    text = JSON[name]
    account = load_field_accounts()[kind_of(text)]
    before = _figures_of(kinds.parse_import(source_of(text)))
    left_out = [
        (f, text_of) for f, text_of in _changed_texts(text) if account.use_and_omission_of(f)[0] == "left out"
    ]
    assert not [field for field, text_of in left_out if _figures_of(_parse(text_of)) != before]


@every_case("kind", sorted({"fio", "iperf3", "hepscore", "prmon-json", "perf-json"}))
def test_each_declaration_of_a_field_that_is_used_is_true_of_a_file(kind: str) -> None:
    """A change of a field shows in the import, in one of the files at least: an idle direction's shows in none."""
    account = load_field_accounts()[kind]
    shown: dict[str, bool] = {}
    for text in (text for name, text in JSON.items() if name not in _OF_COLUMNS and kind_of(text) == kind):
        before = _everything_of(kinds.parse_import(source_of(text)))
        for field, changed in _changed_texts(text):
            use, _ = account.use_and_omission_of(field)
            for declared in (
                account.condition if use == "condition" else account.imported if use == "imported" else ()
            ):
                if matches_any((declared,), field):
                    shown[declared] = shown.get(declared, False) or _everything_of(_parse(changed)) != before
    unseen = {declared for declared, is_shown in shown.items() if not is_shown}
    assert len(shown) > 2 and unseen <= {"benchmarks/*/weight"}  # of one workload the weight changes nothing


def _check(data: bytes, kind: str | None) -> None:
    try:
        result = kinds.parse_import(ImportSource("x", data), kinds.find_kind(kind) if kind else None)
    except ImportRefusedError as error:
        assert "\n" not in error.why
        return
    assert all(math.isfinite(m.value) and all(map(math.isfinite, m.runs)) for m in result.measures)
    assert all(math.isfinite(p.value) and math.isfinite(p.at_s) for p in result.points)
    assert all(map(math.isfinite, (n for s in result.series for n in (*s.values, *s.at_s))))
    msgspec.json.encode(msgspec.structs.replace(result, series=()))


@every_case("kind", texts.ALL)
def test_damaged_results(kind: str) -> None:
    draw = random.Random(kind)
    original = texts.ALL[kind].encode()
    for turn in range(60):
        _check(mutate(original, draw), kind if turn % 2 else None)


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=400), st.sampled_from([k.id for k in kinds.KINDS if k.id != "darshan"]))
def test_any_bytes(data: bytes, kind: str) -> None:
    _check(data, kind)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(texts.ALL)), st.integers(0, 400), st.text(max_size=30))
def test_any_text_in_the_middle(kind: str, place: int, text: str) -> None:
    original = texts.ALL[kind]
    _check((original[:place] + text + original[place:]).encode("utf-8", "surrogatepass"), kind)


ASKED = """
import json, os, resource
from hostdx.probes.imports.confinement import confine_process
confine_process()
names = ("AS", "CPU", "FSIZE", "CORE")
print(json.dumps([resource.getrlimit(getattr(resource, "RLIMIT_" + n))[1] for n in names]
                 + [os.getresuid(), os.getresgid(), os.getgroups()]))
"""


def ask_confined() -> list[object]:
    answer = subprocess.run([sys.executable, "-P", "-c", ASKED], capture_output=True, text=True, check=True)
    return list(json.loads(answer.stdout))


def test_memory_time_and_disk_have_bounds() -> None:
    memory, seconds, written, core, *_ = ask_confined()
    assert memory == MEMORY_BYTES and seconds == SECONDS and written == MAX_WRITTEN_BYTES and core == 0


@needs(ROOT)
def test_root_is_nobody_there() -> None:
    assert ask_confined()[4:] == [[NOBODY] * 3, [NOBODY] * 3, []]


SAMPLES = Path(__file__).parents[4] / "shared" / "samples"
NOT_HERE = ("darshan",)  # needs PyDarshan


def _expected_facts(folder: str) -> dict[str, object]:
    file = SAMPLES / folder / "expected.json"
    return json.loads(file.read_text()) if file.exists() else {}


@every_case("folder", [f for f in FOLDERS if f not in NOT_HERE])
def test_every_value_is_that_of_the_facts(folder: str) -> None:
    facts = _expected_facts(folder)
    if not facts:
        not_here(f"no {SAMPLES / folder}")
    wrong = {}
    for name, want in facts.items():
        source = ImportSource.read(SAMPLES / folder / name)
        if kinds.recognise_kind(source) is None or not _is_importable(name, want):
            continue
        wrong[name] = find_differences(folder, kinds.parse_import(source), want)
    assert len(wrong) > 6 and not any(wrong.values()), wrong


def _is_importable(name: str, want: object) -> bool:
    """What the facts themselves call no result."""
    broken = isinstance(want, dict) and (want.get("valid_json") is False or want.get("empty"))
    return not broken and "invalid-utf16" not in name

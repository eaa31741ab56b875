"""Patterns, JSON without loss, and time limits of a reader."""

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostdx.app.features.imports import recording as imported
from hostdx.app.terminal.failure import Failure
from hostdx.probes.reading.host import Host, OutOfTime
from hostdx.probes.reading.lossless_json import Decoder, encode, escape_undecodable, unescape_undecodable
from hostdx.probes.reading.parsed_toml import parse_toml
from hostdx.probes.reading.patterns import matches_glob, words_every_match_needs
from hostdx.probes.reading.time_limit import iterate_in_time
from hostdx.scenarios.contract import events as ev
from tests.every_case import every_case


@every_case(
    ("pattern", "words"),
    [
        ("I/O error, dev (sd|vd)", ["i/o error, dev "]),
        ("(Out of memory|killed)", ["killed", "out of memory"]),
        (r"ata\d+: failed", [": failed"]),
        (r"(a|bcdef)", []),
        (r"\d+", []),
    ],
)
def test_words_without_which_nothing_matches(pattern: str, words: list[str]) -> None:
    assert words_every_match_needs(pattern) == words


def test_a_changed_file_is_parsed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "x.toml"
    (tmp_path / "__pycache__").mkdir()
    assert parse_toml(path, b"a = 1") == parse_toml(path, b"a = 1") == {"a": 1}
    assert parse_toml(path, b"a = 2") == {"a": 2}
    assert len(list((tmp_path / "__pycache__").glob("*.json"))) == 1, "the old one is gone"


def test_nothing_is_kept_where_python_keeps_no_byte_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert parse_toml(tmp_path / "x.toml", b"a = 1") == {"a": 1}
    assert not (tmp_path / "__pycache__").exists()


@given(st.text("ab*?[].", max_size=8), st.text("ab*?[].", max_size=5))
def test_a_glob_matches_what_fnmatch_says(name: str, pattern: str) -> None:
    assert matches_glob(name, pattern) is fnmatchcase(name, pattern)


ANY_TEXT = st.text(st.characters(exclude_categories=()))  # with lone surrogates


@given(st.binary())
@example(b"r\xe9sultats")
@example(b"r\\xe9sultats")
@example(b"\\\\\\xe9\xe9\\")
@example("ré\ud7ff".encode())
def test_every_byte_string_comes_back(path: bytes) -> None:
    form = escape_undecodable(path.decode("utf-8", "surrogateescape"))
    form.encode("utf-8", "strict")
    assert unescape_undecodable(form).encode("utf-8", "surrogateescape") == path


@given(st.dictionaries(ANY_TEXT, ANY_TEXT))
def test_so_does_any_text_in_a_document(values: dict[str, str]) -> None:
    document = encode(values)
    assert Decoder(dict[str, str]).decode(document) == values
    assert Decoder(dict[str, str]).decode_lines(document + b"\n\n" + document + b"\n") == [values, values]


def test_what_needs_no_escape_is_as_msgspec_writes_it() -> None:
    note = ev.Note(t=1.5, text='ré "quoted"\n')
    assert encode(note) == msgspec.json.encode(note)


ENDLESS = re.compile(r"(a+)+b")  # doubles with each letter


def yield_busy() -> Iterator[int]:
    yield 1
    try:
        ENDLESS.fullmatch("a" * 60)
    except OutOfTime:
        yield 2
    yield 3


def test_an_expression_that_would_outlive_the_host_is_interrupted(tmp_path: Path) -> None:
    host = Host(str(tmp_path))
    assert list(iterate_in_time(yield_busy(), host, 0.05)) == [1, 2, 3]
    assert host.is_out_of_time
    assert isinstance(signal.getsignal(signal.SIGALRM), (signal.Handlers, type(None)))
    assert signal.getitimer(signal.ITIMER_REAL) == signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_what_does_not_take_it_itself_ends_there(tmp_path: Path) -> None:
    def yield_parts() -> Iterator[int]:
        yield 1
        ENDLESS.fullmatch("a" * 60)
        yield 2

    assert list(iterate_in_time(yield_parts(), Host(str(tmp_path)), 0.05)) == [1]


NEVER_ENDS = """
from hostdx.probes.reading import time_limit
from hostdx.probes.reading.host import Host

def swallow_all():
    while True:
        try:
            while True:
                yield from ()
        except BaseException:
            pass

time_limit.SPARE_CPU_S = 0.1
list(time_limit.iterate_in_time(swallow_all(), Host("/"), 0.05))
"""


def test_what_no_handler_can_interrupt_is_ended_by_the_kernel() -> None:
    ended = subprocess.run([sys.executable, "-P", "-c", NEVER_ENDS], timeout=60, stdin=subprocess.DEVNULL)
    assert ended.returncode == -signal.SIGVTALRM


def test_who_takes_it_is_not_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostdx.probes.reading.time_limit.AGAIN_S", 0.01)
    numbers = []
    for number in iterate_in_time(range(3), Host(str(tmp_path)), 0.01):
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            pass
        numbers.append(number)
    assert numbers == [0, 1, 2]


def test_beyond_the_main_thread_the_reading_ends_at_least(tmp_path: Path) -> None:
    host = Host(str(tmp_path))
    numbers: list[int] = []
    thread = threading.Thread(target=lambda: numbers.extend(iterate_in_time(range(2), host, 0.0)))
    thread.start()
    thread.join()
    assert numbers == [0, 1] and host.is_out_of_time


def test_an_imported_file_that_is_read_for_ever_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("anything")
    monkeypatch.setattr(imported, "MAX_READ_S", 0.05)
    monkeypatch.setattr(imported, "parse_import", lambda *_: ENDLESS.fullmatch("a" * 60))
    with pytest.raises(Failure, match=r"^import: .*/a: took longer than 0 s to read; import the parts"):
        imported.read_foreign_result(tmp_path / "a")
    assert signal.getitimer(signal.ITIMER_REAL) == signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)

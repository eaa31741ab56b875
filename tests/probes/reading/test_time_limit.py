"""What works on a text that was read ends with the time for reading, also where it looks at no clock."""

import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.app.features.imports import recording as imported
from hostdx.app.terminal.failure import Failure
from hostdx.probes.reading.host import Host, OutOfTime
from hostdx.probes.reading.time_limit import iterate_in_time

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
    assert host.out_of_time
    assert isinstance(signal.getsignal(signal.SIGALRM), (signal.Handlers, type(None)))
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_does_not_take_it_itself_ends_there(tmp_path: Path) -> None:
    def yield_parts() -> Iterator[int]:
        yield 1
        ENDLESS.fullmatch("a" * 60)
        yield 2

    assert list(iterate_in_time(yield_parts(), Host(str(tmp_path)), 0.05)) == [1]


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
    assert numbers == [0, 1] and host.out_of_time


def test_an_imported_file_that_is_read_for_ever_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("anything")
    monkeypatch.setattr(imported, "MAX_READ_S", 0.05)
    monkeypatch.setattr(imported, "parse", lambda *_: ENDLESS.fullmatch("a" * 60))
    with pytest.raises(Failure, match=r"^import: .*/a: took longer than 0 s to read; import the parts"):
        imported.read_foreign_result(tmp_path / "a")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)

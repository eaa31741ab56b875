"""Rows that a pattern cuts from texts: one for each match in files, or in what a command prints."""

import re
from collections.abc import Callable, Iterator
from functools import cache

from hostdx.probes.number_text import parse_signed
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.read import MAX_READ_BYTES, without_long_lines
from hostdx.scenarios.triage.rules.table import SubjectRow

MAX_ROWS = 10_000


def rows_of_matches(host: Host, globs: str, pattern: str, command: tuple[str, ...]) -> list[SubjectRow]:
    """The named groups of each match are columns; `name` is the file's own where no group has that name,
    of a device's output (`smartctl_-a_.dev.sdb`) the device.

    With a command its output is cut. A live host is asked for it only where a path of `each` is there.
    """
    rows: list[SubjectRow] = []
    for path, text in _sources_and_texts(host, globs, command):
        for match in re.finditer(pattern, without_long_lines(text), re.MULTILINE):
            columns = {name: _number_or_text(word) for name, word in match.groupdict().items()}
            name = match.groupdict().get("name") or path.rpartition(".dev.")[2].rpartition("/")[2]
            rows.append(SubjectRow(name, {"path": path, **columns, "name": name}, path))
            if len(rows) == MAX_ROWS:
                return rows
    return rows


def _sources_and_texts(host: Host, globs: str, command: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if command and host.live and not any(map(host.glob_paths, globs.split())):
        return
    if command:
        output = host.compute_once(_output_reader(command))
        if is_present(output):
            yield host.captured_output_path_or_command(" ".join(command)), output
        return
    for path in (path for glob in globs.split() for path in host.glob_paths(glob)):
        text = host.read_file_text(path, MAX_READ_BYTES)
        if is_present(text):
            yield path, text


@cache
def _output_reader(command: tuple[str, ...]) -> Callable[[Host], str | Absent]:
    """Return one function for one command, so that several rules ask a host once."""
    return lambda host: host.read_command(*command)


def _number_or_text(word: str | None) -> Value:
    """A number where it is written as one is; what begins with a zero is a text."""
    if word is None:
        return Absent("the text does not say it", "unsupported")
    number = parse_signed(word) if re.fullmatch(r"-?(?:0|[1-9][0-9]{0,18})", word) else None
    return word if number is None else number

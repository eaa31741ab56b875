"""What was read while a value was worked out, so that evidence can cite the file or command that it came from."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Self


class ReadTrace:
    """Paths and commands in the order in which they were read. Iterating gives each of them once.

    A folder whose names were listed ends with a slash. `with` collects what is read within; the trace around it gets
    the same.
    """

    __slots__ = ("_all", "_three_letter_parts")

    def __init__(self) -> None:
        self._three_letter_parts: list[str | ReadTrace] = []
        self._all: frozenset[str] | None = None

    def __contains__(self, source: object) -> bool:
        """Asked of a trace that is complete."""
        if self._all is None:
            self._all = frozenset(self)
        return source in self._all

    def __enter__(self) -> Self:
        _OPEN.traces.append(self)
        return self

    def __exit__(self, *_error: object) -> None:
        _OPEN.traces.pop()
        note_read(self)

    def append(self, part: str | ReadTrace) -> None:
        self._three_letter_parts.append(part)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self._sources_of_all_parts(set())))

    def _sources_of_all_parts(self, visited_ids: set[int]) -> Iterator[str]:
        for part in self._three_letter_parts:
            if isinstance(part, str):
                yield part
            elif id(part) not in visited_ids:  # many columns of a row come from one table
                visited_ids.add(id(part))
                yield from part._sources_of_all_parts(visited_ids)


class _OpenTraces(threading.local):
    def __init__(self) -> None:
        self.traces: list[ReadTrace] = []


_OPEN = _OpenTraces()


def note_read(source: str | ReadTrace) -> None:
    """Remember that this was read, in the innermost trace that is open."""
    if _OPEN.traces:
        _OPEN.traces[-1].append(source)

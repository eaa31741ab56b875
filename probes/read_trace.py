"""What was read while a value was worked out, so that evidence can cite the file or command that it came from."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Trace:
    """Paths and commands in the order in which they were read. Iterating gives each of them once.

    A folder whose names were listed ends with a slash.
    """

    __slots__ = ("_all", "_parts")

    def __init__(self) -> None:
        self._parts: list[str | Trace] = []
        self._all: frozenset[str] | None = None

    def __contains__(self, what: object) -> bool:
        """Asked of a trace that is complete."""
        if self._all is None:
            self._all = frozenset(self)
        return what in self._all

    def append(self, part: str | Trace) -> None:
        self._parts.append(part)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self._flat(set())))

    def _flat(self, seen: set[int]) -> Iterator[str]:
        for part in self._parts:
            if isinstance(part, str):
                yield part
            elif id(part) not in seen:  # many columns of a row come from one table
                seen.add(id(part))
                yield from part._flat(seen)


class _Open(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_OPEN = _Open()


def note(what: str | Trace) -> None:
    """Remember that this was read, in the innermost trace that is open."""
    if _OPEN.traces:
        _OPEN.traces[-1].append(what)


@contextmanager
def tracing() -> Iterator[Trace]:
    """Collect what is read within; the trace around it gets the same."""
    own = Trace()
    _OPEN.traces.append(own)
    try:
        yield own
    finally:
        _OPEN.traces.pop()
        note(own)

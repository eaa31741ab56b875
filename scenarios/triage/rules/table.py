"""What rules look at: rows of named values, one row a subject (a card, a disk, a mount), each value read when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.read_trace import ReadTrace
from hostdx.probes.types import Absent
from hostdx.scenarios.triage.rules.expression import Value

Reader: TypeAlias = Callable[[], Value]
Table: TypeAlias = Callable[[Host], "list[SubjectRow] | Absent"]


def field_value(record: object, name: str) -> Value:
    """A field of what was read, or why it was not."""
    return record if isinstance(record, Absent) else getattr(record, name)


class SubjectRow(Mapping[str, Value]):
    """`subject` names what it is about; `folder` is where relative paths of a rule's `read` lie."""

    def __init__(
        self,
        subject: str,
        columns: Mapping[str, Value | Reader],
        folder: str = "",
        before: Mapping[str, Value] | None = None,
    ) -> None:
        self.subject = subject
        self.folder = folder
        self._columns = columns
        self._before = before if before is not None else {"subject": subject}
        self._read: dict[str, Value] = {}
        self._traces: dict[str, ReadTrace] = {}

    def __getitem__(self, name: str) -> Value:
        if name in self._read:
            return self._read[name]
        if name not in self._columns:
            return self._before[name]
        column = self._columns[name]
        if callable(column):
            with ReadTrace() as self._traces[name]:
                column = column()
        self._read[name] = column
        return column

    def value_sources(self, name: str) -> tuple[str, ...]:
        """The files and commands that this value was read from; empty where its table read it with the others."""
        if name in self._traces:
            return tuple(self._traces[name])
        if name in self._columns or not isinstance(self._before, SubjectRow):
            return ()
        return self._before.value_sources(name)

    def __contains__(self, name: object) -> bool:
        return name in self._columns or name in self._before

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._before, *self._columns)))

    def __len__(self) -> int:
        return len(dict.fromkeys((*self._before, *self._columns)))

    def with_columns(self, columns: Mapping[str, Value | Reader]) -> SubjectRow:
        """The same row with more columns; what it has read is kept."""
        return SubjectRow(self.subject, columns, self.folder, self)

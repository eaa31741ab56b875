"""The words every layer shares: what was read, what could not be read, what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard, TypeVar

import msgspec

T = TypeVar("T")

# What an event can carry. Values are finite: NaN and infinity have no JSON form.
# msgspec cannot build a decoder for an alias that names itself (forward reference), so it sees Any.
if TYPE_CHECKING:
    Json: TypeAlias = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
else:
    Json = Any

AbsentKind: TypeAlias = Literal[
    "missing",  # no such file or directory
    "permission",  # a right is missing; the reason names it
    "container",  # hidden by the container's boundary
    "tool",  # the command is not installed
    "captured",  # the captured tree does not hold it
    "timeout",  # the read hung and was abandoned
    "unsupported",  # this kernel or device does not offer it
    "invalid",  # there, but not in a form that we understand
]


class Absent(msgspec.Struct, frozen=True):
    """Why a fact could not be read. Absent is not zero; it is false in a condition."""

    reason: str
    kind: AbsentKind = "missing"
    source: str = ""

    def __bool__(self) -> bool:
        return False


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value read from the host, of what (`disk:sda`, `cpu`). `source` is the path or the command it came from."""

    subject: str
    name: str
    value: Json
    source: str
    unit: str = ""


class UnreadFact(msgspec.Struct, frozen=True):
    """A fact that could not be read, and why."""

    subject: str
    name: str
    absent: Absent


FactOrUnread: TypeAlias = Fact | UnreadFact


def make_fact(subject: str, name: str, value: Json | Absent, source: str, unit: str = "") -> FactOrUnread:
    """A fact, or the reason why there is none."""
    if isinstance(value, Absent):
        return UnreadFact(subject, name, msgspec.structs.replace(value, source=value.source or source))
    return Fact(subject, name, value, source, unit)


def is_present(value: T | Absent) -> TypeGuard[T]:
    """True where the value was read; narrows `T | Absent` to `T` (also for false values such as 0)."""
    return not isinstance(value, Absent)

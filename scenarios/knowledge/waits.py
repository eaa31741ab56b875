"""What a task waits for, by the kernel function that it sleeps in, and what a kernel thread works for, by its name."""

import datetime
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from scenarios.knowledge.load import load

WaitKind: TypeAlias = Literal["network", "fuse", "frozen", "memory", "block", "lock", "unknown"]


_SLEEPERS = frozenset({"__schedule", "schedule", "schedule_timeout", "io_schedule", "io_schedule_timeout"})


class Wait(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Functions that mean one kind of wait."""

    kind: Literal["network", "fuse", "frozen", "memory", "block", "lock"]
    functions: tuple[str, ...]
    dated: datetime.date
    source: str


@lru_cache(maxsize=1)
def waits() -> tuple[Wait, ...]:
    return load("waits", "wait", Wait).entries


def wait_kind(functions: Iterable[str]) -> tuple[WaitKind, str]:
    """The kind, and the function that says so; "unknown" where none is known. Innermost function first."""
    # Where a task sleeps says less than who sent it to sleep: the scheduler's own functions come last.
    names = tuple(sorted(functions, key=lambda name: name in _SLEEPERS))
    for wait in waits():
        for name in names:
            if any(fnmatchcase(name, pattern) for pattern in wait.functions):
                return wait.kind, name
    return "unknown", names[0] if names else ""


class KernelThread(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Threads of one kind. `work`: goes on after "a kernel thread that"; `commands` only look."""

    names: tuple[str, ...]
    work: str
    advice: str
    commands: tuple[str, ...]
    dated: datetime.date
    source: str


@lru_cache(maxsize=1)
def kernel_threads() -> tuple[KernelThread, ...]:
    return load("kernel_threads", "kernel_thread", KernelThread).entries


def kernel_thread(name: str) -> KernelThread | None:
    """None for one of a name that is not known."""
    return next((k for k in kernel_threads() if any(fnmatchcase(name, n) for n in k.names)), None)

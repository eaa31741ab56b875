"""What a kernel thread works for, by its name (kernel_threads.toml)."""

from __future__ import annotations

import datetime
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from scenarios.knowledge.load import load


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

"""What a task waits for, by the kernel function that it sleeps in, and what a kernel thread works for, by its name."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

import msgspec

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries

WaitKind: TypeAlias = Literal["network", "fuse", "frozen", "memory", "block", "lock", "unknown"]


_SLEEPERS = frozenset({"__schedule", "schedule", "schedule_timeout", "io_schedule", "io_schedule_timeout"})


class WaitEntry(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """Functions and modules that mean one kind of wait. `waits_for` goes on after "waiting for".

    `weak`: any subsystem sleeps in these functions; another function of the stack says more.
    `advice`: what to do, with `commands` that find who keeps the task waiting.
    """

    kind: WaitKind
    subsystem: str
    waits_for: str
    functions: tuple[str, ...]
    source: str
    modules: tuple[str, ...] = ()
    weak: bool = False
    advice: str = ""
    commands: tuple[str, ...] = ()


class WaitReason(msgspec.Struct, frozen=True):
    """What a kernel stack says of a wait: the function that says so and its module, "" where none is named."""

    kind: WaitKind
    waits_for: str
    function: str = ""
    module: str = ""
    advice: str = ""
    commands: tuple[str, ...] = ()

    @property
    def function_name(self) -> str:
        """`rpc_wait_bit_killable [sunrpc]`; empty for a stack that nobody could read."""
        return f"{self.function} [{self.module}]" if self.module else self.function


def wait_reason(functions: Iterable[str], modules: Mapping[str, str] | None = None) -> WaitReason:
    """By the functions of a stack, innermost first, and the module of each function that has one.

    A function of no entry is named itself, with its module.
    """
    # Where a task sleeps says less than who sent it to sleep: the scheduler's own functions come last.
    names = tuple(sorted(functions, key=lambda name: name in _SLEEPERS))
    of = modules or {}
    for weak in (False, True):
        for name in names:
            module = of.get(name, "")
            for wait in load_entries("waits", "wait", WaitEntry).entries:
                meets = _matches_any(name, wait.functions) or (module and _matches_any(module, wait.modules))
                if wait.weak is weak and meets:
                    return WaitReason(wait.kind, wait.waits_for, name, module, wait.advice, wait.commands)
    if not names:
        return WaitReason("unknown", "an unknown cause (there is no kernel stack of it)")
    name = next((name for name in names if name in of), names[0])
    module = of.get(name, "")
    target = f"the module {module} ({name})" if module else f"the function {name} of the kernel"
    return WaitReason("unknown", target, name, module)


def _matches_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def wait_kind_and_function(functions: Iterable[str]) -> tuple[WaitKind, str]:
    """The kind, and the function that says so; "unknown" where none is known. Innermost function first."""
    reason = wait_reason(functions)
    return reason.kind, reason.function


class KnownKernelThread(KnowledgeEntry, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Threads of one kind. `work`: goes on after "a kernel thread that"; `commands` only look.

    `set`: settings that make it use less. `by_design`: it polls on purpose, its CPU time is no fault. `fault`: it works
    so much only when something is wrong.
    """

    names: tuple[str, ...]
    work: str
    advice: str
    commands: tuple[str, ...]
    source: str
    set: dict[str, str] = {}
    by_design: bool = False
    fault: bool = False


def kernel_thread_entries() -> tuple[KnownKernelThread, ...]:
    return load_entries("kernel_threads", "kernel_thread", KnownKernelThread).entries


def known_kernel_thread(name: str) -> KnownKernelThread | None:
    """None for one of a name that is not known."""
    return next((k for k in kernel_thread_entries() if any(fnmatchcase(name, n) for n in k.names)), None)

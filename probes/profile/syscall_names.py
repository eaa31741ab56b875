"""Names of the system calls that may wait long, by their numbers (`syscalls.toml`); of others the number."""

import platform

from hostdx.probes.files.safe_read import read_shipped_words

_TABLES = {"x86_64": "x86_64", "aarch64": "generic", "riscv64": "generic", "loongarch64": "generic"}


def system_call_names(machine: str = "") -> dict[int, str]:
    """Of this machine's kind, or of another one; empty where its numbers are not known here."""
    table = _TABLES.get(machine or platform.machine())
    words = read_shipped_words(__file__, "syscalls.toml", table) if table else []
    return {int(number): name for number, name in zip(words[::2], words[1::2], strict=True)}


def syscall_name(number: int, call_names: dict[int, str]) -> str:
    """`unlink`; `no call` for a page fault or another wait outside of a call; empty where none was told."""
    if number < 0:
        return "no call" if number == -1 else ""
    return call_names.get(number, f"call {number}")

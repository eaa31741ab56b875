"""The program itself under what slows a host down.

`CONFINED=seccomp python -m tests.measured.running.confined run kernel`.

`seccomp`: a filter that looks at a system call's argument many times before it allows it (the kernel cannot remember
the answer: seccomp(2), SECCOMP_RET_ALLOW and the bitmap of 5.11). The other word, `one-cpu`: what `nosmt` or
`taskset` leave.
"""

from __future__ import annotations

import ctypes
import os
import struct

from app.cli import main

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_WORD, RETURN, ALLOW, FIRST_ARGUMENT = 0x20, 0x06, 0x7FFF0000, 16  # linux/bpf_common.h, linux/seccomp.h
LOOKS = 1000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def filtered(looks: int = LOOKS) -> None:
    """Installs the filter for this process and its children. Raises OSError."""
    code = struct.pack("=HBBI", LOAD_WORD, 0, 0, FIRST_ARGUMENT) * looks + struct.pack(
        "=HBBI", RETURN, 0, 0, ALLOW
    )
    held = ctypes.create_string_buffer(code, len(code))
    program = _Program(looks + 1, ctypes.cast(held, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    words = (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program), 0, 0),
    )
    for word in words:
        if libc.prctl(word[0], *(ctypes.c_ulong(value) for value in word[1:])) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def confine(kind: str) -> None:
    if kind == "seccomp":
        filtered()
    elif kind == "one-cpu":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    else:
        raise SystemExit(f"CONFINED: seccomp or one-cpu, not {kind!r}")


if __name__ == "__main__":
    confine(os.environ.get("CONFINED", ""))
    main()

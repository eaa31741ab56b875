"""Memory on a chosen NUMA node: mbind(2), move_pages(2), madvise(2) by their numbers. Standard library only.

glibc has no wrappers; libnuma has, and is not everywhere. Numbers: each architecture's syscall
table; asm-generic serves arm64 and RISC-V.
"""

import ctypes
import mmap
import os
import platform

_NUMBERS = {
    "x86_64": (237, 279),
    "aarch64": (235, 239),
    "riscv64": (235, 239),
    "ppc64le": (259, 301),
    "ppc64": (259, 301),
    "s390x": (268, 310),
}
_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261, "ppc64": 261, "s390x": 270}
MPOL_PREFERRED = 1  # include/uapi/linux/mempolicy.h
MPOL_BIND, MPOL_MF_STRICT, MPOL_MF_MOVE = 2, 1, 2  # include/uapi/linux/mempolicy.h
_BITS = 1024  # of the node mask: MAX_NUMNODES is at most 1024
_LOOKED_AT = 64  # pages of a buffer


class MemoryNotPlaceable(OSError):
    """Memory cannot be placed here; says why."""


def bind_memory(buffer: mmap.mmap, node: int) -> None:
    """Pages of an untouched private map come from this node or not at all. Raises MemoryNotPlaceable."""
    mask = (ctypes.c_ulong * (_BITS // (8 * ctypes.sizeof(ctypes.c_ulong))))()
    width = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask[node // width] = 1 << node % width
    number, _ = _mbind_and_move_pages_numbers()
    _system_call(
        number,
        ctypes.c_void_p(buffer_address(buffer)),
        ctypes.c_ulong(len(buffer)),
        ctypes.c_int(MPOL_BIND),
        mask,
        ctypes.c_ulong(_BITS + 1),
        ctypes.c_uint(MPOL_MF_STRICT | MPOL_MF_MOVE),
    )


def prefer_node(node: int) -> None:
    """This process and what it becomes or starts takes memory from the node while it has some. Raises
    MemoryNotPlaceable.
    """
    number = _SET_MEMPOLICY.get(platform.machine())
    if number is None:
        raise MemoryNotPlaceable(
            38, f"the system calls for memory placement on {platform.machine()} are not known"
        )
    width = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * (_BITS // width))()
    mask[node // width] = 1 << node % width
    _system_call(number, ctypes.c_int(MPOL_PREFERRED), mask, ctypes.c_ulong(_BITS + 1))


def count_pages_by_node(buffer: mmap.mmap) -> dict[int, int]:
    """Node -> how many of up to 64 pages, spread over the buffer, lie there (move_pages without a
    target only tells).
    """
    pages = len(buffer) // mmap.PAGESIZE
    step = max(1, pages // _LOOKED_AT)
    starts = [buffer_address(buffer) + page * mmap.PAGESIZE for page in range(0, pages, step)]
    wanted = (ctypes.c_void_p * len(starts))(*starts)
    status = (ctypes.c_int * len(starts))()
    _, number = _mbind_and_move_pages_numbers()
    _system_call(number, ctypes.c_int(0), ctypes.c_ulong(len(starts)), wanted, None, status, ctypes.c_int(0))
    pages_by_node: dict[int, int] = {}
    for node in status:
        pages_by_node[node] = pages_by_node.get(node, 0) + 1
    return pages_by_node


def buffer_address(buffer: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def _mbind_and_move_pages_numbers() -> tuple[int, int]:
    try:
        return _NUMBERS[platform.machine()]
    except KeyError:
        raise MemoryNotPlaceable(
            38, f"the system calls for memory placement on {platform.machine()} are not known"
        ) from None


def _system_call(number: int, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), *arguments) != 0:
        error = ctypes.get_errno()
        raise MemoryNotPlaceable(error, f"memory cannot be placed on a chosen node: {os.strerror(error)}")

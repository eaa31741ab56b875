"""Loads on chosen CPUs with memory on a chosen node: what CPU, memory and placement are compared with.

The same worker serves every placement in turn. It is moved before a slice, and the slice is refused where the
kernel did something else than was asked. Standard library only.
"""

import contextlib
import ctypes
import hashlib
import math
import mmap
import os
import time
import zlib
from collections.abc import Callable

from probes.engine.loads.chase import PointerChain
from probes.engine.loads.loopback import make_request, make_stream
from probes.engine.loads.memory_policy import bind, nodes_of
from probes.engine.spec import Spec
from probes.reading.process_stat import read_own_stat

MIB = 1 << 20
BLOCK = 64 << 10
STEPS = 1000
CHASED = 5000  # dependent loads an operation: half a millisecond, so that the call itself does not show
READINGS = 1000
SYSTEM_CALLS = 200
NUMBER_BITS = 20_000

Operation = Callable[[int], None]
Key = tuple[int, int | None, str, int, str]
_buffers: dict[Key, mmap.mmap] = {}
_chains: dict[Key, PointerChain] = {}


def make_placed(spec: Spec) -> tuple[Operation, Callable[[int], None]]:
    """spec: work, cpus (affinity), node (of the memory; null: where the kernel likes), page (`small`, `huge`, ``),
    bytes, store (whose buffers), peer (CPUs of the loopback's other end).

    The worker stays where it is put until the next order.
    """
    cpus = set(spec["cpus"])
    os.sched_setaffinity(0, cpus)
    operation = WORKS[spec["work"]](spec)

    def check_cpu(_done: int) -> None:
        at = current_cpu()
        if at not in cpus:
            raise OSError(5, f"the worker ran on CPU {at}, which is none of those that it was put on")

    return operation, check_cpu


def current_cpu() -> int:
    """The CPU that ran this process last; -1 where /proc does not tell."""
    stat = read_own_stat()
    return -1 if stat is None else stat.last_cpu


def placed_buffer(spec: Spec, which: int) -> mmap.mmap:
    """Touched, and where it should be; kept from slice to slice. Raises OSError where the pages lie elsewhere."""
    key = _key(spec, which)
    _, node, page, size, _ = key
    if key not in _buffers:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError, AttributeError):  # a kernel without huge pages refuses the advice
            if page:
                memory.madvise(mmap.MADV_HUGEPAGE if page == "huge" else mmap.MADV_NOHUGEPAGE)
        if node is not None:
            bind(memory, node)
        filling = os.urandom(MIB)
        for at in range(0, size, MIB):
            memory[at : at + MIB] = filling[: min(MIB, size - at)]
        if node is not None and (nodes := nodes_of(memory)).keys() != {node}:
            raise OSError(5, f"memory for node {node} lies on {', '.join(map(str, sorted(nodes)))}")
        _buffers[key] = memory
    return _buffers[key]


def _key(spec: Spec, which: int) -> Key:
    return which, spec.get("node"), spec.get("page", ""), spec["bytes"], spec.get("store", "")


def make_integer(_spec: Spec) -> Operation:
    """A linear congruential generator in the interpreter: branches, integer arithmetic, no system call."""

    def compute_integers(_number: int) -> None:
        value = 1
        for step in range(STEPS):
            value = (value * 1103515245 + step) & 0xFFFFFFFF

    return compute_integers


def _make_floating(_spec: Spec) -> Operation:
    here, there = ([math.sin(n * k) for n in range(STEPS)] for k in (1, 2))
    return lambda _number: (math.dist(here, there), None)[1]


def _make_large_numbers(_spec: Spec) -> Operation:
    first, second = (
        int.from_bytes(hashlib.shake_128(w).digest(NUMBER_BITS // 8), "big") for w in (b"a", b"b")
    )
    return lambda _number: (first * second, None)[1]


def make_hash(_spec: Spec) -> Operation:
    """SHA-256 of 64 KiB in OpenSSL, which uses the CPU's SHA or vector instructions."""
    data = bytes(range(256)) * (BLOCK // 256)
    return lambda _number: (hashlib.sha256(data).digest(), None)[1]


def make_compress(_spec: Spec) -> Operation:
    """zlib of 64 KiB that are half repetition."""
    half = hashlib.shake_128(b"hostdx").digest(BLOCK // 2)
    data = b"".join(half[at : at + 512] + bytes(512) for at in range(0, len(half), 512))
    return lambda _number: (zlib.compress(data, 1), None)[1]


def _make_matrix(_spec: Spec) -> Operation:
    """numpy's product of 128x128 doubles, on one thread: vector multiply-add. Only where numpy is installed."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    try:
        import numpy
    except ImportError as error:
        raise OSError(2, "numpy is not installed") from error
    matrix = numpy.linspace(0.0, 1.0, 128 * 128).reshape(128, 128)
    return lambda _number: (matrix @ matrix, None)[1]


def _make_copy(spec: Spec) -> Operation:
    """A mebibyte an operation, round and round through two buffers larger than the caches."""
    source, target = (memoryview(placed_buffer(spec, which)) for which in (0, 1))
    pieces = spec["bytes"] // MIB

    def copy_piece(number: int) -> None:
        at = number % pieces * MIB
        target[at : at + MIB] = source[at : at + MIB]

    return copy_piece


def _make_chase(spec: Spec) -> Operation:
    key = _key(spec, 2)
    if key not in _chains:
        _chains[key] = PointerChain(placed_buffer(spec, 2))
    chain = _chains[key]
    return lambda _number: chain.walk_chain(CHASED)


def _make_own_cache(_spec: Spec) -> Operation:
    """Copies 256 KiB to and fro: in the second-level cache of a core that nobody shares."""
    data = bytearray(os.urandom(BLOCK * 4))
    view = memoryview(data)
    half = len(data) // 2

    def copy_in_cache(_number: int) -> None:
        for _ in range(8):
            view[half:] = view[:half]

    return copy_in_cache


def _make_clock(_spec: Spec) -> Operation:
    now, many = time.perf_counter_ns, range(READINGS)

    def read_clock(_number: int) -> None:
        for _ in many:
            now()

    return read_clock


def make_system_call(_spec: Spec) -> Operation:
    """getppid, which does nothing in the kernel: the way in and out."""
    getppid, many = os.getppid, range(SYSTEM_CALLS)

    def call_getppid(_number: int) -> None:
        for _ in many:
            getppid()

    return call_getppid


def _release_buffers(_spec: Spec) -> Operation:
    """Gives all buffers back: the next pair of nodes needs the memory."""
    _chains.clear()
    _buffers.clear()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return lambda _number: None


WORKS: dict[str, Callable[[Spec], Operation]] = {
    "integer": make_integer,
    "floating": _make_floating,
    "large-numbers": _make_large_numbers,
    "hash": make_hash,
    "compress": make_compress,
    "matrix": _make_matrix,
    "copy": _make_copy,
    "chase": _make_chase,
    "own-cache": _make_own_cache,
    "clock": _make_clock,
    "system-call": make_system_call,
    "loopback-stream": make_stream,
    "loopback-ask": make_request,
    "forget": _release_buffers,
}

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

from probes.bench.engine.loads.chase import Chain
from probes.bench.engine.loads.loopback import asking, streaming
from probes.bench.engine.loads.memory_policy import bind, nodes_of
from probes.bench.engine.spec import Spec
from probes.process_stat import own_stat

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
_chains: dict[Key, Chain] = {}


def placed(spec: Spec) -> tuple[Operation, Callable[[int], None]]:
    """spec: work, cpus (affinity), node (of the memory; null: where the kernel likes), page (`small`, `huge`, ``),
    bytes, store (whose buffers), peer (CPUs of the loopback's other end).

    The worker stays where it is put until the next order.
    """
    cpus = set(spec["cpus"])
    os.sched_setaffinity(0, cpus)
    operation = WORKS[spec["work"]](spec)

    def finish(_done: int) -> None:
        at = current_cpu()
        if at not in cpus:
            raise OSError(5, f"the worker ran on CPU {at}, which is none of those that it was put on")

    return operation, finish


def current_cpu() -> int:
    """The CPU that ran this process last; -1 where /proc does not tell."""
    stat = own_stat()
    return -1 if stat is None else stat.last_cpu


def buffer(spec: Spec, which: int) -> mmap.mmap:
    """Touched, and where it should be; kept from slice to slice. Raises OSError where the pages lie elsewhere."""
    key = _key(spec, which)
    _, node, page, size, _ = key
    if key not in _buffers:
        made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError, AttributeError):  # a kernel without huge pages refuses the advice
            if page:
                made.madvise(mmap.MADV_HUGEPAGE if page == "huge" else mmap.MADV_NOHUGEPAGE)
        if node is not None:
            bind(made, node)
        filling = os.urandom(MIB)
        for at in range(0, size, MIB):
            made[at : at + MIB] = filling[: min(MIB, size - at)]
        if node is not None and (seen := nodes_of(made)).keys() != {node}:
            raise OSError(5, f"memory for node {node} lies on {', '.join(map(str, sorted(seen)))}")
        _buffers[key] = made
    return _buffers[key]


def _key(spec: Spec, which: int) -> Key:
    return which, spec.get("node"), spec.get("page", ""), spec["bytes"], spec.get("store", "")


def integer(_spec: Spec) -> Operation:
    """A linear congruential generator in the interpreter: branches, integer arithmetic, no system call."""

    def operation(_number: int) -> None:
        value = 1
        for step in range(STEPS):
            value = (value * 1103515245 + step) & 0xFFFFFFFF

    return operation


def _floating(_spec: Spec) -> Operation:
    here, there = ([math.sin(n * k) for n in range(STEPS)] for k in (1, 2))
    return lambda _number: (math.dist(here, there), None)[1]


def _large_numbers(_spec: Spec) -> Operation:
    one, other = (int.from_bytes(hashlib.shake_128(w).digest(NUMBER_BITS // 8), "big") for w in (b"a", b"b"))
    return lambda _number: (one * other, None)[1]


def hashing(_spec: Spec) -> Operation:
    """SHA-256 of 64 KiB in OpenSSL, which uses the CPU's SHA or vector instructions."""
    data = bytes(range(256)) * (BLOCK // 256)
    return lambda _number: (hashlib.sha256(data).digest(), None)[1]


def compressing(_spec: Spec) -> Operation:
    """zlib of 64 KiB that are half repetition."""
    half = hashlib.shake_128(b"hostdx").digest(BLOCK // 2)
    data = b"".join(half[at : at + 512] + bytes(512) for at in range(0, len(half), 512))
    return lambda _number: (zlib.compress(data, 1), None)[1]


def _matrix(_spec: Spec) -> Operation:
    """numpy's product of 128x128 doubles, on one thread: vector multiply-add. Only where numpy is installed."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    try:
        import numpy
    except ImportError as error:
        raise OSError(2, "numpy is not installed") from error
    one = numpy.linspace(0.0, 1.0, 128 * 128).reshape(128, 128)
    return lambda _number: (one @ one, None)[1]


def _copying(spec: Spec) -> Operation:
    """A mebibyte an operation, round and round through two buffers larger than the caches."""
    source, target = (memoryview(buffer(spec, which)) for which in (0, 1))
    pieces = spec["bytes"] // MIB

    def operation(number: int) -> None:
        at = number % pieces * MIB
        target[at : at + MIB] = source[at : at + MIB]

    return operation


def _chasing(spec: Spec) -> Operation:
    key = _key(spec, 2)
    if key not in _chains:
        _chains[key] = Chain(buffer(spec, 2))
    chain = _chains[key]
    return lambda _number: chain.walk(CHASED)


def _own_cache(_spec: Spec) -> Operation:
    """Copies 256 KiB to and fro: in the second-level cache of a core that nobody shares."""
    data = bytearray(os.urandom(BLOCK * 4))
    view = memoryview(data)
    half = len(data) // 2

    def operation(_number: int) -> None:
        for _ in range(8):
            view[half:] = view[:half]

    return operation


def _clock(_spec: Spec) -> Operation:
    now, many = time.perf_counter_ns, range(READINGS)

    def operation(_number: int) -> None:
        for _ in many:
            now()

    return operation


def system_call(_spec: Spec) -> Operation:
    """getppid, which does nothing in the kernel: the way in and out."""
    getppid, many = os.getppid, range(SYSTEM_CALLS)

    def operation(_number: int) -> None:
        for _ in many:
            getppid()

    return operation


def _forget(_spec: Spec) -> Operation:
    """Gives all buffers back: the next pair of nodes needs the memory."""
    _chains.clear()
    _buffers.clear()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return lambda _number: None


WORKS: dict[str, Callable[[Spec], Operation]] = {
    "integer": integer,
    "floating": _floating,
    "large-numbers": _large_numbers,
    "hash": hashing,
    "compress": compressing,
    "matrix": _matrix,
    "copy": _copying,
    "chase": _chasing,
    "own-cache": _own_cache,
    "clock": _clock,
    "system-call": system_call,
    "loopback-stream": streaming,
    "loopback-ask": asking,
    "forget": _forget,
}

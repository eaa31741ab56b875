"""Loads on chosen CPUs with memory on a chosen node: what CPU, memory and placement are compared with.

The same worker serves every placement in turn. It is moved before a slice, and the slice is refused
where the kernel did something else than was asked. Standard library only.

Memory latency by a dependent chain, without a compiler: libc's own tree search walks it.

tfind(3) loads a node, compares its key, and goes to the right child. Our nodes have no left child and keys that are all
smaller, so that it walks a list: each address comes out of the load before. glibc (misc/tsearch.c) and musl
(src/search/tfind.c) both keep key, left and right in the first three words. The comparison (strcmp of two bytes in the
first-level cache) runs beside the load. Both lie at the start of a page: near the end of one, glibc compares in
another, longer way, which a processor hides behind the load; an emulated one took half as long again by it on one side.
A self-check refuses where the layout is another.

TCP over the loopback device to a partner on chosen CPUs: how far the other end is shows here.

The same two partners a worker for all slices, moved like the worker itself.
"""

import contextlib
import ctypes
import hashlib
import math
import mmap
import os
import socket
import time
import zlib
from array import array
from collections.abc import Callable

from hostdx.probes.children.parent_death import fork_partner
from hostdx.probes.engine.loads.memory_policy import bind_memory, buffer_address, count_pages_by_node
from hostdx.probes.engine.spec import LoadSpec
from hostdx.probes.reading.process_stat import read_live_stat

Operation = Callable[[int], None]
PIECE = 256 << 10  # of a mebibyte: stays in a second-level cache
ASKED = 64  # bytes of a question and of its answer
REPLY_S = 10.0
# By what they do: our end of the connection and the partner's process.
_partners: dict[str, tuple[socket.socket, int]] = {}


def make_stream_operation(spec: LoadSpec) -> Operation:
    """A mebibyte, and the partner's word that it has all of it."""
    connection = _connect_partner("stream", _receive_and_confirm_mebibytes, spec)
    data = memoryview(os.urandom(PIECE))

    def send_piece(_number: int) -> None:
        for _ in range(MIB // PIECE):
            connection.sendall(data)
        if not connection.recv(1):
            raise ConnectionError(32, "the partner on the loopback device is gone")

    return send_piece


def make_loopback_operation(spec: LoadSpec) -> Operation:
    """A question of 64 bytes and its answer."""
    connection = _connect_partner("ask", _echo_requests, spec)
    data = os.urandom(ASKED)

    def send_request(_number: int) -> None:
        connection.sendall(data)
        if len(connection.recv(ASKED, socket.MSG_WAITALL)) < ASKED:
            raise ConnectionError(32, "the partner on the loopback device is gone")

    return send_request


def _connect_partner(name: str, serve: Callable[[socket.socket], None], spec: LoadSpec) -> socket.socket:
    """Raises OSError where there is no loopback device, and where the partner may not run on those CPUs."""
    if name not in _partners:
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = socket.create_connection(server.getsockname(), REPLY_S)
            peer, address = server.accept()
        if address != client.getsockname():
            raise ConnectionError(103, "another process took the connection on the loopback device")
        for end in (client, peer):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.settimeout(None)
        pid = fork_partner(lambda: serve(peer), own_fds=(0, 1, client.fileno()))
        peer.close()
        _partners[name] = client, pid
    connection, pid = _partners[name]
    os.sched_setaffinity(pid, spec["peer"])
    return connection


def _receive_and_confirm_mebibytes(end: socket.socket) -> None:
    buffer, received_bytes = memoryview(bytearray(PIECE)), 0
    while size := end.recv_into(buffer):
        received_bytes += size
        if received_bytes >= MIB:
            received_bytes -= MIB
            end.send(b"1")


def _echo_requests(end: socket.socket) -> None:
    buffer = memoryview(bytearray(ASKED))
    while size := end.recv_into(buffer, ASKED, socket.MSG_WAITALL):
        end.sendall(buffer[:size])


LINE = 64
_WORDS = LINE // 8
# Hull and Dobell: a full period for every power of two. Neighbours lie far apart, so that no prefetcher follows.
_MULTIPLIER, _STEP = 0x5851F42D, 0x2545F491


class PointerChain:
    """A ring through all lines of a buffer, whose length is a power of two."""

    def __init__(self, buffer: mmap.mmap) -> None:
        self.lines = len(buffer) // LINE
        self._buffer = buffer
        self._base = buffer_address(buffer)
        self._keys = mmap.mmap(-1, mmap.PAGESIZE)
        self._keys[: LINE + 1] = b"a".ljust(LINE, b"\0") + b"b"
        self._key = buffer_address(self._keys)
        self._sought = self._key + LINE
        self._words = memoryview(buffer).cast("Q")
        self._words[0::_WORDS] = memoryview(array("Q", [self._key]) * self.lines)
        self._words[1::_WORDS] = memoryview(array("Q", [0]) * self.lines)
        self._words[2::_WORDS] = memoryview(_successor_addresses(self.lines, self._base)).cast("Q")
        libc = ctypes.CDLL(None)
        libc.tfind.restype = ctypes.c_void_p
        libc.tfind.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        self._find = libc.tfind
        self._compare = ctypes.cast(libc.strcmp, ctypes.c_void_p)
        self._at = 0
        for steps in (1, 7, 100):
            self.walk_chain(steps)

    def walk_chain(self, steps: int) -> None:
        """So many dependent loads, going on where the last walk ended. Raises OSError where libc walks otherwise."""
        end = self._line_after_steps(self._at, steps)
        self._words[end * _WORDS] = self._sought
        try:
            root = ctypes.c_void_p(self._base + self._at * LINE)
            reached_address = self._find(self._sought, ctypes.addressof(root), self._compare)
        finally:
            self._words[end * _WORDS] = self._key
        if reached_address != self._base + end * LINE:
            raise OSError(38, "this C library's tfind does not walk a chain")
        self._at = end

    def _line_after_steps(self, line: int, steps: int) -> int:
        """Where `steps` steps lead, by squaring: x -> m x + c composed with itself."""
        multiplier, constant, mask = _MULTIPLIER, _STEP, self.lines - 1
        while steps:
            if steps & 1:
                line = (line * multiplier + constant) & mask
            constant = (constant * multiplier + constant) & mask
            multiplier = multiplier * multiplier & mask
            steps >>= 1
        return line


def _successor_addresses(lines: int, base: int) -> bytes:
    """The address after each line, 8 bytes each. By arithmetic on long numbers whose 64-bit lanes never carry over.

    After k more lines the successor is m k further: a block gives the next one, twice as many each
    time. A loop over four million lines takes a second here and minutes in an emulated machine.
    """
    mask = lines - 1
    first = array("Q", [(line * _MULTIPLIER + _STEP) & mask for line in range(min(lines, 256))])
    data = first.tobytes()
    while (known_lines := len(data) // 8) < lines:
        ones = int.from_bytes(b"\1\0\0\0\0\0\0\0" * known_lines, "little")
        further = (int.from_bytes(data, "little") + ones * (_MULTIPLIER * known_lines & mask)) & (ones * mask)
        data += further.to_bytes(len(data), "little")
    ones = int.from_bytes(b"\1\0\0\0\0\0\0\0" * lines, "little")
    return ((int.from_bytes(data, "little") << 6) + ones * base).to_bytes(8 * lines, "little")


MIB = 1 << 20
BLOCK = 64 << 10
STEPS = 1000
CHASED = 5000  # dependent loads an operation: half a millisecond, so that the call itself does not show
READINGS = 1000
SYSTEM_CALLS = 200
NUMBER_BITS = 20_000

Key = tuple[int, int | None, str, int, str]
_buffers: dict[Key, mmap.mmap] = {}
_chains: dict[Key, PointerChain] = {}


def make_placed_operation(spec: LoadSpec) -> tuple[Operation, Callable[[int], None]]:
    """spec: work, cpus (affinity), node (of the memory; null: where the kernel likes), page
    (`small`, `huge`, ``), bytes, store (whose buffers), peer (CPUs of the loopback's other end).

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
    stat = read_live_stat()
    return -1 if stat is None else stat.last_cpu


def kept_node_buffer(spec: LoadSpec, which: int) -> mmap.mmap:
    """Touched, and where it should be; kept from slice to slice. Raises OSError where the pages lie elsewhere."""
    key = _buffer_key(spec, which)
    _, node, page, size, _ = key
    if key not in _buffers:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError, AttributeError):  # a kernel without huge pages refuses the advice
            if page:
                memory.madvise(mmap.MADV_HUGEPAGE if page == "huge" else mmap.MADV_NOHUGEPAGE)
        if node is not None:
            bind_memory(memory, node)
        filling = os.urandom(MIB)
        for at in range(0, size, MIB):
            memory[at : at + MIB] = filling[: min(MIB, size - at)]
        if node is not None and (nodes := count_pages_by_node(memory)).keys() != {node}:
            raise OSError(5, f"memory for node {node} lies on {', '.join(map(str, sorted(nodes)))}")
        _buffers[key] = memory
    return _buffers[key]


def _buffer_key(spec: LoadSpec, which: int) -> Key:
    return which, spec.get("node"), spec.get("page", ""), spec["bytes"], spec.get("store", "")


def make_integer_operation(_spec: LoadSpec) -> Operation:
    """A linear congruential generator in the interpreter: branches, integer arithmetic, no system call."""

    def compute_integers(_number: int) -> None:
        value = 1
        for step in range(STEPS):
            value = (value * 1103515245 + step) & 0xFFFFFFFF

    return compute_integers


def _make_float_distance(_spec: LoadSpec) -> Operation:
    here, there = ([math.sin(n * k) for n in range(STEPS)] for k in (1, 2))
    return lambda _number: (math.dist(here, there), None)[1]


def _make_large_product(_spec: LoadSpec) -> Operation:
    first, second = (
        int.from_bytes(hashlib.shake_128(w).digest(NUMBER_BITS // 8), "big") for w in (b"a", b"b")
    )
    return lambda _number: (first * second, None)[1]


def make_hash_operation(_spec: LoadSpec) -> Operation:
    """SHA-256 of 64 KiB in OpenSSL, which uses the CPU's SHA or vector instructions."""
    data = bytes(range(256)) * (BLOCK // 256)
    return lambda _number: (hashlib.sha256(data).digest(), None)[1]


def make_compress_operation(_spec: LoadSpec) -> Operation:
    """zlib of 64 KiB that are half repetition."""
    half = hashlib.shake_128(b"hostdx").digest(BLOCK // 2)
    data = b"".join(half[at : at + 512] + bytes(512) for at in range(0, len(half), 512))
    return lambda _number: (zlib.compress(data, 1), None)[1]


def _make_matrix_product(_spec: LoadSpec) -> Operation:
    """numpy's product of 128x128 doubles, on one thread: vector multiply-add. Only where numpy is installed."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    try:
        import numpy
    except ImportError as error:
        raise OSError(2, "numpy is not installed") from error
    matrix = numpy.linspace(0.0, 1.0, 128 * 128).reshape(128, 128)
    return lambda _number: (matrix @ matrix, None)[1]


def _make_memory_copy(spec: LoadSpec) -> Operation:
    """A mebibyte an operation, round and round through two buffers larger than the caches."""
    source, target = (memoryview(kept_node_buffer(spec, which)) for which in (0, 1))
    pieces = spec["bytes"] // MIB

    def copy_piece(number: int) -> None:
        at = number % pieces * MIB
        target[at : at + MIB] = source[at : at + MIB]

    return copy_piece


def _make_pointer_chase(spec: LoadSpec) -> Operation:
    key = _buffer_key(spec, 2)
    if key not in _chains:
        _chains[key] = PointerChain(kept_node_buffer(spec, 2))
    chain = _chains[key]
    return lambda _number: chain.walk_chain(CHASED)


def _make_cache_copy(_spec: LoadSpec) -> Operation:
    """Copies 256 KiB to and fro: in the second-level cache of a core that nobody shares."""
    data = bytearray(os.urandom(BLOCK * 4))
    view = memoryview(data)
    half = len(data) // 2

    def copy_in_cache(_number: int) -> None:
        for _ in range(8):
            view[half:] = view[:half]

    return copy_in_cache


def _make_clock_reading(_spec: LoadSpec) -> Operation:
    now, many = time.perf_counter_ns, range(READINGS)

    def read_clock(_number: int) -> None:
        for _ in many:
            now()

    return read_clock


def make_system_call_operation(_spec: LoadSpec) -> Operation:
    """getppid, which does nothing in the kernel: the way in and out."""
    getppid, many = os.getppid, range(SYSTEM_CALLS)

    def call_getppid(_number: int) -> None:
        for _ in many:
            getppid()

    return call_getppid


def _release_buffers(_spec: LoadSpec) -> Operation:
    """Gives all buffers back: the next pair of nodes needs the memory."""
    _chains.clear()
    _buffers.clear()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return lambda _number: None


WORKS: dict[str, Callable[[LoadSpec], Operation]] = {
    "integer": make_integer_operation,
    "floating": _make_float_distance,
    "large-numbers": _make_large_product,
    "hash": make_hash_operation,
    "compress": make_compress_operation,
    "matrix": _make_matrix_product,
    "copy": _make_memory_copy,
    "chase": _make_pointer_chase,
    "own-cache": _make_cache_copy,
    "clock": _make_clock_reading,
    "system-call": make_system_call_operation,
    "loopback-stream": make_stream_operation,
    "loopback-ask": make_loopback_operation,
    "forget": _release_buffers,
}

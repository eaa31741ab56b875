"""Memory latency by a dependent chain, without a compiler: libc's own tree search walks it. Standard library only.

tfind(3) loads a node, compares its key, and goes to the right child. Our nodes have no left child and keys that are all
smaller, so that it walks a list: each address comes out of the load before. glibc (misc/tsearch.c) and musl
(src/search/tfind.c) both keep key, left and right in the first three words. The comparison (strcmp of two bytes in the
first-level cache) runs beside the load. Both lie at the start of a page: near the end of one, glibc compares in
another, longer way, which a processor hides behind the load; an emulated one took half as long again by it on one side.
A self-check refuses where the layout is another.
"""

import ctypes
import mmap
from array import array

from probes.engine.loads.memory_policy import buffer_address

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
        end = self._line_after(self._at, steps)
        self._words[end * _WORDS] = self._sought
        try:
            root = ctypes.c_void_p(self._base + self._at * LINE)
            reached_address = self._find(self._sought, ctypes.addressof(root), self._compare)
        finally:
            self._words[end * _WORDS] = self._key
        if reached_address != self._base + end * LINE:
            raise OSError(38, "this C library's tfind does not walk a chain")
        self._at = end

    def _line_after(self, line: int, steps: int) -> int:
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

    After k more lines the successor is m k further: a block gives the next one, twice as many each time. A loop over
    four million lines takes a second here and minutes in an emulated machine.
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

"""Where the workers of one train wait for each other between two slices. Standard library only.

Nobody begins a slice before everybody's operation of the slice before has ended: what is in flight never crosses a
switch. Pipes, not shared memory: whoever waits takes no CPU from those that still work. Made before the workers are
forked, so that all of them inherit it; when one dies the others wait until the runner, who sees that, ends them.
"""

import os
import struct
import time

_START = struct.Struct("=q")


class Meeting:
    """One for all workers of a fork server; one train at a time.

    Two pipes for the starts, used in turn: a worker that is served late must find its own start there, not have it
    taken by a fast one that is a slice ahead already. A pipe is filled again only after everybody has read from it.
    """

    def __init__(self) -> None:
        self._arrivals = os.pipe()
        self._starts = (os.pipe(), os.pipe())
        self._turn = 0

    def begin(self) -> None:
        """Before a train: everybody counts from 0."""
        self._turn = 0

    def wait(self, place: int, crew: int, until_ns: int) -> int:
        """The common start of the next slice (perf_counter_ns), once all `crew` have come; 0: the train ends here.

        Worker 0 decides: after `until_ns` no slice is begun any more.
        """
        starts = self._starts[self._turn]
        self._turn = 1 - self._turn
        if place:
            os.write(self._arrivals[1], b".")
            return int(_START.unpack(os.read(starts[0], _START.size))[0])
        missing = crew - 1
        while missing:
            missing -= len(os.read(self._arrivals[0], missing))
        now = time.perf_counter_ns()
        start = now if now < until_ns else 0
        if crew > 1:
            os.write(starts[1], _START.pack(start) * (crew - 1))  # at most PIPE_BUF: 511 workers
        return start

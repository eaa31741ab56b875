"""In which call and at which place in the kernel the threads of a tree wait: /proc/PID/task/TID/{stat,syscall,wchan},
100 times a second at most. For a light child: standard library only.

Each look stands for the time since the look before. Samples divide totals that are known exactly; they are no totals:
a wait that is shorter than our own waking is seen too seldom. Own processes need no root (PTRACE_MODE_READ for wchan,
PTRACE_MODE_ATTACH for syscall; kernel: fs/proc/base.c); what a file does not tell is left empty.
"""

import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from hostdx.probes.number_text import parse_unsigned

EVERY_S = 0.01
SHARE = 0.01  # of a core for all that this process does: looks come as often as that leaves room for
CREDIT_S = 0.5  # of which as much is made up for as was left
MAX_INTERVAL_S = 0.1  # between two looks at most; who would take more than SHARE so looks at fewer threads
LONGEST_S = 0.2  # that a look stands for: we were stopped, or had no CPU
MAX_THREADS, MIN_THREADS = 64, 4  # in a look; of more, so many in turn, each counted for several
MAX_KINDS = 512  # of waits kept: a program cannot make us remember without end
UNKNOWN = -2  # no system call was told; -1: none is under way (a page fault)
MAX_FACTOR = 3.0  # between what was sampled and what is exact
MAX_FRAMES = 6
FOR_CHILDREN = ("do_wait", "kernel_wait4")
MUTEX = "mutex"  # as a place: a thread that wants a lock which another one holds
_FUTEX_CALLS = (98, 202)  # its number (asm-generic, x86)


class WaitSample(NamedTuple):
    """Threads that were in `state` (D: cannot be interrupted, S: asleep) in one call at one place of the kernel.

    thread_s  thread seconds.
    alone_s   wall seconds in which nothing of the tree ran, wanted to run or was in D, divided among those that slept
              then; who waits for a child of the tree counts only where all do.
    stack     the kernel's functions, the innermost first; empty where not wanted, or not to be read (not root).
    """

    state: str
    call: int
    place: str
    thread_s: float
    alone_s: float
    stack: tuple[str, ...] = ()


_Kind: TypeAlias = tuple[str, int, str, tuple[str, ...]]  # state, call, place, stack


class _SampledThread:
    def __init__(self, proc: str, pid: int, tid: str, names: Sequence[str]) -> None:
        self.files: dict[str, int] = {}
        for name in names:
            try:
                self.files[name] = os.open(f"{proc}/{pid}/task/{tid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue

    def read(self, name: str) -> bytes:
        try:
            return os.pread(self.files[name], 1024, 0) if name in self.files else b""
        except OSError:  # it has ended, or may no longer be read
            return b""

    def close(self) -> None:
        for fd in self.files.values():
            os.close(fd)


class WaitSamples:
    """`follow_pids` the tree's processes as often as they are listed, and when `blind`; `take_samples` when `due`;
    `wait_rows` at the end, then `close`."""

    def __init__(self, proc: str = "/proc", *, stacks: bool = False) -> None:
        self._proc = proc
        self._names = ("stat", "syscall", "wchan", *(["stack"] if stacks else []))
        self._pids: Sequence[int] = ()
        self._threads: dict[tuple[int, str], _SampledThread] = {}
        self._order: list[tuple[int, str]] = []
        self._at = 0
        self._thread_counts: dict[int, int] = {}
        self._seconds_by_kind: dict[_Kind, list[float]] = {}
        self._most = MAX_THREADS
        self._last = time.monotonic()
        self._cpu_s = self._paid_at = 0.0  # up to the last look; when SHARE of the time has been as much
        self.looks = 0
        self.blind = False  # all that were looked at wait for a child: it began after they were listed
        self.due = self._last + EVERY_S

    def follow_pids(self, pids: Sequence[int]) -> None:
        self._pids = pids
        living: set[tuple[int, str]] = set()
        for pid in pids[:MAX_THREADS]:
            try:
                living |= {(pid, tid) for tid in os.listdir(f"{self._proc}/{pid}/task")[:MAX_THREADS]}  # noqa: PTH208
            except OSError:
                continue
            if len(living) > 4 * MAX_THREADS:
                break
        for key in [key for key in self._threads if key not in living]:
            self._threads.pop(key).close()
        self._order = sorted(living)

    def take_samples(self) -> None:
        began = time.monotonic()
        passed = min(LONGEST_S, began - self._last)
        self._last = began
        count = min(self._most, len(self._order))
        chosen = [self._order[(self._at + n) % len(self._order)] for n in range(count)]
        self._at += count
        self._thread_counts.clear()
        self._add_samples(
            [self._sample_thread(key) for key in chosen], passed, len(self._order) / max(1, count)
        )
        listed_threads = Counter(pid for pid, _ in self._order)
        if any(listed_threads[pid] != threads for pid, threads in self._thread_counts.items()):
            self.follow_pids(self._pids)  # threads that began since
        self._account_look_and_plan_next(began)

    def _account_look_and_plan_next(self, now: float) -> None:
        cpu_s = time.process_time()
        spent_s = cpu_s - self._cpu_s if self.looks else 0.0  # not what came before the command
        self._cpu_s, self.looks = cpu_s, self.looks + 1
        self._paid_at = max(self._paid_at, now - CREDIT_S) + spent_s / SHARE
        late = self._paid_at > now + MAX_INTERVAL_S
        self._most = max(MIN_THREADS, self._most // 2) if late else min(MAX_THREADS, 2 * self._most)
        self.due = max(now + EVERY_S, min(self._paid_at, now + MAX_INTERVAL_S))

    def _sample_thread(self, key: tuple[int, str]) -> _Kind:
        thread = self._threads.get(key)
        if thread is None:
            if len(self._threads) >= 2 * MAX_THREADS:  # open files are bounded too
                self._threads.pop(next(iter(self._threads))).close()
            thread = self._threads[key] = _SampledThread(self._proc, *key, self._names)
        fields = thread.read("stat").rpartition(b") ")[2].split(None, 18)
        state = fields[0].decode("ascii", "replace") if fields else ""
        if (
            len(fields) > 18
            and (threads := parse_unsigned(fields[17].decode("ascii", "replace"))) is not None
        ):
            self._thread_counts[key[0]] = min(threads, MAX_THREADS)  # that the process has
        if state not in ("D", "S"):
            return state, UNKNOWN, "", ()
        call, place, stack = (thread.read(name) for name in ("syscall", "wchan", "stack"))
        return (
            state,
            parse_call_number(call),
            MUTEX if is_waiting_for_mutex(call) else wait_function_name(place),
            stack_functions(stack),
        )

    def _add_samples(self, kinds: Sequence[_Kind], passed_s: float, threads_a_sample: float) -> None:
        sleeping = [kind for kind in kinds if kind[0] == "S"]
        others = [kind for kind in sleeping if kind[2] not in (*FOR_CHILDREN, MUTEX)] or sleeping
        busy = any(kind[0] in ("R", "D") for kind in kinds)
        self.blind = all(kind[2] in FOR_CHILDREN for kind in kinds)
        for kind in kinds:
            if kind[0] in ("D", "S") and (
                kind in self._seconds_by_kind or len(self._seconds_by_kind) < MAX_KINDS
            ):
                self._seconds_by_kind.setdefault(kind, [0.0, 0.0])[0] += passed_s * threads_a_sample
        for kind in others if not busy else ():
            if kind in self._seconds_by_kind:
                self._seconds_by_kind[kind][1] += passed_s / len(others)

    def wait_rows(self, asleep_s: float | None) -> list[WaitSample]:
        """Divides `asleep_s`, the exact thread seconds of all waits; None: as sampled."""
        rows = [
            WaitSample(*key[:3], spent[0], spent[1], key[3]) for key, spent in self._seconds_by_kind.items()
        ]
        return scale_waits(distribute_incomplete_waits(rows), asleep_s)

    def close(self) -> None:
        for thread in self._threads.values():
            thread.close()
        self._threads.clear()


def distribute_incomplete_waits(rows: Sequence[WaitSample]) -> list[WaitSample]:
    """Who woke up between two files of a look told no call or no place: that is divided as it is among those that did
    tell, in the same state, call and place as far as these are known.
    """
    complete_rows = [row for row in rows if row.call != UNKNOWN and row.place]
    seconds_by_row: dict[WaitSample, list[float]] = {
        row: [row.thread_s, row.alone_s] for row in complete_rows
    }
    for row in rows:
        if row in seconds_by_row:
            continue
        like = [
            complete_row
            for complete_row in complete_rows
            if complete_row.state == row.state
            and row.call in (UNKNOWN, complete_row.call)
            and row.place in ("", complete_row.place)
        ]
        for complete_row in like or [row]:
            part = complete_row.thread_s / total if (total := sum(o.thread_s for o in like)) else 1.0
            spent = seconds_by_row.setdefault(complete_row, [0.0, 0.0])
            spent[0] += part * row.thread_s
            spent[1] += part * row.alone_s
    return [row._replace(thread_s=spent[0], alone_s=spent[1]) for row, spent in seconds_by_row.items()]


def scale_waits(rows: Sequence[WaitSample], asleep_s: float | None) -> list[WaitSample]:
    """Who waits for a child waits long and is sampled well: the others' sum is made exact."""
    children = sum(row.thread_s for row in rows if row.place in FOR_CHILDREN)
    others = sum(row.thread_s for row in rows) - children
    if asleep_s is None or others <= 0 or asleep_s <= children:
        return list(rows)
    factor = (asleep_s - children) / others
    if not 1 / MAX_FACTOR <= factor <= MAX_FACTOR:  # it is not of the same threads, then
        return list(rows)
    return [
        row if row.place in FOR_CHILDREN else row._replace(thread_s=row.thread_s * factor) for row in rows
    ]


def parse_call_number(text: bytes) -> int:
    """Of /proc/PID/syscall: `257 0x... ...`, `-1 0x... 0x...` or `running`."""
    first = text.split(b" ", 1)[0].strip()
    try:
        return max(UNKNOWN, min(int(first), 1 << 16))
    except ValueError:
        return UNKNOWN


def is_waiting_for_mutex(text: bytes) -> bool:
    """By the arguments of futex(2): a word that stands at 2, locked with waiters (glibc's and Rust's mutexes; Drepper,
    "Futexes are tricky"), or a lock that the kernel hands on (FUTEX_LOCK_PI). Condition variables wait otherwise.
    """
    words = text.split()
    if len(words) < 4 or parse_call_number(text) not in _FUTEX_CALLS:
        return False
    try:
        operation, value = int(words[2], 16) & ~128, int(words[3], 16)  # without FUTEX_PRIVATE_FLAG
    except ValueError:
        return False
    return operation in (6, 13) or (operation in (0, 9) and value & 0xFFFFFFFF == 2)


def stack_functions(stack: bytes) -> tuple[str, ...]:
    """Of /proc/PID/stack, the innermost first: `[<0>] do_wait+0x60/0x100`."""
    lines = stack.decode("ascii", "replace").splitlines()[:MAX_FRAMES]
    return tuple(line.partition("] ")[2].partition("+")[0][:96] for line in lines)


def wait_function_name(text: bytes) -> str:
    """Of /proc/PID/wchan, which is `0` for nothing; a symbol's name is short and of few characters."""
    name = text.decode("ascii", "replace").strip()[:96]
    return name if name != "0" and name.replace("_", "").replace(".", "").isalnum() else ""

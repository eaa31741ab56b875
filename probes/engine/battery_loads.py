"""The battery's loads, as data: what a host does all day, each measured on one CPU and on all of them at once."""

from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.engine.loads import calls
from hostdx.probes.engine.loads.pinned_loads import BLOCK, SYSTEM_CALLS
from hostdx.probes.engine.workloads import MIB, EngineLoad
from hostdx.probes.files.safe_read import read_shipped_toml

Slot: TypeAlias = Literal["one", "all"]
SLOTS: tuple[Slot, ...] = ("one", "all")

CALL_SLICE_S = 0.04
MIN_FILES_PER_SLICE = 200  # a slice of deleting has only what the slice of creating made
DISK_SLICE_S = 0.1
MAX_DISK_WORKERS = 32


class CallLoad(msgspec.Struct, frozen=True, kw_only=True):
    """A load of one everyday service. `call` names it in `engine.calls`; one operation is `calls`
    calls or `bytes` bytes.

    Its value is the rate at the lower quartile of the operations' times, which is the rate while no
    other program is in the way.
    """

    id: str
    title: str
    call: str
    unit: str
    why: str
    calls: int = 1
    bytes: int = 0
    control: bool = False


CALLS: tuple[CallLoad, ...] = (
    CallLoad(id="cpu-integer", title="CPU, integer arithmetic", call="integer", unit="loops/s", control=True,
         why="makes no system calls: a kernel alone must not change it; if it changes, clock or hypervisor did"),
    CallLoad(id="cpu-hash", title="CPU, SHA-256", call="hash", unit="MB/s", bytes=BLOCK,
         why="vector and SHA instructions, in OpenSSL"),
    CallLoad(id="cpu-compress", title="CPU, zlib", call="compress", unit="MB/s", bytes=BLOCK,
         why="branches and the first-level cache"),
    CallLoad(id="memory-copy", title="memory copy", call="copy", unit="MB/s", bytes=MIB,
         why="memory bandwidth; on all CPUs the limit of the memory channels"),
    CallLoad(id="page-fault", title="page fault, 4 KiB", call="fault", unit="faults/s", calls=calls.FAULTED_PAGES,
         why="starting and growing processes: nested paging and memory control groups cost time here"),
    CallLoad(id="syscall", title="system call", call="syscall", unit="calls/s", calls=SYSTEM_CALLS,
         why="entering the kernel: mitigations, audit and seccomp cost time here"),
    CallLoad(id="context-switch", title="context switch", call="switch", unit="switches/s", calls=2 * calls.SWITCHES,
         why="two processes on one CPU: scheduler and the mitigations between processes"),
    CallLoad(id="pipe", title="pipe, 64 KiB", call="pipe", unit="MB/s", bytes=calls.PIPED_BYTES,
         why="data between processes: wake-ups and copies"),
    CallLoad(id="fork", title="fork and exit", call="fork", unit="forks/s", why="builds, shell scripts, web servers"),
    CallLoad(id="exec", title="start a program", call="exec", unit="starts/s", why="exec, the dynamic linker, exit"),
    CallLoad(id="file-create", title="create a file", call="create", unit="files/s",
         why="unpacking, building: the file system's names and inodes"),
    CallLoad(id="file-stat", title="stat a file", call="stat", unit="files/s", why="searching, build systems"),
    CallLoad(id="file-delete", title="delete a file", call="delete", unit="files/s", why="cleaning up"),
    CallLoad(id="tcp-stream", title="TCP within the host", call="tcp", unit="MB/s", bytes=calls.SENT_BYTES,
         why="the network stack without a card: filters, offloads, wake-ups"),
    CallLoad(id="udp-echo", title="UDP round trip within the host", call="udp", unit="round trips/s",
         why="the cost of a packet and its answer"),
)  # fmt: skip
FILES = frozenset({"create", "stat", "delete"})  # need a directory, and each other: in this order
# have workers of their own: what a fork costs hangs on what it copies
PROCESSES = frozenset({"fork", "exec"})


# What is measured without a break between, in this order; the turns themselves come in any order.
TURNS: tuple[tuple[str, ...], ...] = (
    *((call.id,) for call in CALLS if call.call not in FILES),
    tuple(call.id for call in CALLS if call.call in FILES),
)


DISK_LOADS = read_shipped_toml(__file__, "battery.toml", dict[str, tuple[EngineLoad, ...]])["load"]


def disk_loads(workers: int) -> tuple[EngineLoad, ...]:
    """Return the storage loads with so many operations in flight, each in slices of a tenth of a second."""
    count = min(workers, MAX_DISK_WORKERS)
    return tuple(msgspec.structs.replace(load, workers=count) for load in DISK_LOADS)

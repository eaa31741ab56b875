"""What a worker is told to do: the fields of a block, of a slice batch, of one side of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class LoadSpec(TypedDict, total=False):
    """What a worker does, sent as JSON. Each kind of load reads its own fields."""

    kind: str
    seed: int
    stretch: float
    # how long, how many
    slices: Sequence[float]
    least: int
    most: int | None
    at_most_s: float
    priority: Sequence[int] | None
    # reads and writes
    fd: int
    fds: list[int]
    first: int
    length: int
    start: int
    block_bytes: int
    sequential: bool
    sync: bool
    direct: bool
    buffered: bool
    rate: int
    file_bytes: int
    # names and inodes
    folder: str
    stem: int | str
    names: int
    links: bool
    # IO500's corners: records `stride` bytes apart, names, what find looks for
    corner: str
    folders: Sequence[str]
    stride: int
    wanted: str
    since_ns: int
    # calls, and loads on CPUs of their own
    call: str
    cpu: int
    program: str
    bytes: int
    work: str
    cpus: Sequence[int]
    node: int | None
    peer: Sequence[int]
    store: str
    page: str
    # trains
    sides: list[LoadSpec]
    order: list[int]
    slice_s: float
    onset_s: float
    lead: int
    quarters: bool
    place: int
    crew: int
    mark: int


class WorkerCommand(LoadSpec, total=False):
    """A command to a worker. `id` is repeated in the answer; `go` is the common start, once all are ready."""

    id: int
    do: str
    go: int


class SliceReply(TypedDict):
    """One slice of a block: see `run_block`."""

    ns: int
    n: int
    cpu: float
    q: int
    h: Sequence[tuple[int, int]]


class BlockReply(TypedDict):
    """A worker's answer to a window."""

    slices: list[SliceReply]
    ns: int
    n: int
    steps: Sequence[int]

"""What the runner and the process that streams say to each other, one JSON object a line."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import msgspec

Direction: TypeAlias = Literal["out", "in"]
Job: TypeAlias = Literal["disk", "network", "copy", "sendfile", "splice", "direct", "zerocopy"]
PATHS: dict[Direction, tuple[Job, ...]] = {
    "out": ("copy", "sendfile", "direct"),
    "in": ("copy", "splice", "direct"),
}


class SliceJob(msgspec.Struct, frozen=True, kw_only=True):
    """What runs in a slice. The first job is the one that counts, `beside` runs as long. `cpus`: only on these.

    `link`: over which of our own links, 0 where there is a peer.
    """

    job: Job
    direction: Direction = "out"
    beside: Job | None = None
    cpus: tuple[int, ...] = ()
    link: int = 0

    @property
    def does_write(self) -> bool:
        return self.direction == "in" and (self.job != "network" or self.beside == "disk")


class OwnLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link of our own. `spread`: rfs gives what arrives to the CPUs of its readers (rps_cpus, rps_flow_cnt), xps a
    queue to send from to each CPU (xps_cpus); at both ends.
    """

    mtu: int = 1500
    spread: Literal["", "rfs", "xps"] = ""


Where: TypeAlias = Literal["namespaces", "loopback", "peer"]


class PeerAddress(NamedTuple):
    """Where a peer listens, and the token that it wants."""

    address: str
    port: int
    token: str


class OpenStreams(msgspec.Struct, frozen=True, kw_only=True, tag="open"):
    """`where`: namespaces of its own, the loopback, or a peer at `address`. `read_fds`, `write_fds`: descriptors,
    one each a worker, of `file_bytes`, which the bench fills in. `links`: in namespaces, the first as they come.
    """

    where: Where
    address: str = ""
    port: int = 0
    token: str = ""
    links: tuple[OwnLink, ...] = (OwnLink(),)
    read_fds: tuple[int, ...] = ()
    write_fds: tuple[int, ...] = ()
    file_bytes: int = 0


class MeasureSlices(msgspec.Struct, frozen=True, kw_only=True, tag="slices"):
    """A train: `order` numbers the sides. The first `onset_s` of each slice do not count.

    It ends after `most_s`, whatever is left of it then.
    """

    sides: list[SliceJob]
    order: list[int]
    slice_s: float
    onset_s: float = 0.0
    most_s: float = 60.0


class StreamSlice(msgspec.Struct, frozen=True, kw_only=True):
    """seconds, bytes, operations: of what counts, without the onset. `read`, `written`: of files, all of it.

    cpu_s: of our threads, `peer_cpu_s` of the peer. busy: share (0..1) of all CPUs' time; softirq: of the CPU that
    spent most of its time in it; `worker`: share of the slice that the counted threads ran. sends: with MSG_ZEROCOPY,
    `copied` those that the kernel copied all the same. memory: bytes that all memory controllers moved.
    """

    seconds: float
    bytes: int
    operations: int
    quarters: tuple[float, float, float, float]
    cpu_s: float
    peer_cpu_s: float
    busy: float
    softirq: float
    worker: float
    read: int = 0
    written: int = 0
    sends: int = 0
    copied: int = 0
    memory: float | None = None


class StreamsReady(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """`here`, `there`: the ends of the connections to a peer; `unprivileged`: in a user namespace; `uncounted`: why no
    memory traffic is.
    """

    here: str = ""
    there: str = ""
    unprivileged: bool = False
    uncounted: str = ""


class CountedSlices(msgspec.Struct, frozen=True, kw_only=True, tag="counted"):
    slices: list[StreamSlice]


class StreamsFailed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    reason: str
    kind: Literal["refused", "not applicable"] = "refused"


Request: TypeAlias = OpenStreams | MeasureSlices
Answer: TypeAlias = StreamsReady | CountedSlices | StreamsFailed
requests = msgspec.json.Decoder(Request)
answers = msgspec.json.Decoder(Answer)

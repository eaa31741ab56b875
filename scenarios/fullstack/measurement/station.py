"""The process that streams: it holds the private namespaces where there is no peer, and the workers.

Started as `python -m hostdx.scenarios.fullstack.measurement.station NAME PARENT`; NAME is how the undo journal finds it
again. It dies with its parent, and the peer that it forks dies with it.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
from msgspec import structs

from hostdx.probes.children.parent_death import die_with_parent, fork_partner
from hostdx.probes.engine.measured import BenchRefused, MeasurementInvalid
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu_times import CpuTimes, read_cpu_times
from hostdx.probes.types import Absent
from hostdx.scenarios.fullstack.measurement.memory_traffic import MemoryTraffic
from hostdx.scenarios.fullstack.measurement.messages import (
    Answer,
    CountedSlices,
    MeasureSlices,
    OpenStreams,
    PeerAddress,
    Request,
    SliceJob,
    StreamsFailed,
    StreamSlice,
    StreamsReady,
    requests,
)
from hostdx.scenarios.fullstack.measurement.peer import (
    REQUEST,
    USAGE,
    USED,
    WELCOME,
    StreamPeer,
    greeting_bytes,
    new_peer_token,
    open_timed_listener,
    receive_bytes,
    set_keepalive,
    set_time_limit,
)
from hostdx.scenarios.fullstack.measurement.worker import StreamWorker, WorkerBytes

CONNECT_S = 10.0
STUCK_S = 30.0  # a transfer of CHUNK that takes longer stands still
LEAD_S = 0.002
PEER_S = 3600.0


class StreamStation:
    def __init__(self) -> None:
        self._host = Host()
        self._workers: list[StreamWorker] = []
        self._lifelines: list[socket.socket] = []  # by link, as the others
        self._links: list[list[socket.socket]] = []
        self._cpus = os.sched_getaffinity(0)
        self._pool: ThreadPoolExecutor | None = None
        self._traffic = MemoryTraffic(self._host)
        self._unset: dict[int, str] = {}  # by link, why its setting could not be made

    def answer_request(self, request: Request) -> Answer:
        return (
            self._open_streams(request) if isinstance(request, OpenStreams) else self._measure_slices(request)
        )

    def _open_streams(self, request: OpenStreams) -> StreamsReady:
        streams = len(request.read_fds)
        uncounted = self._traffic.reason
        ready = StreamsReady(uncounted=uncounted)
        if request.where == "namespaces":
            from hostdx.scenarios.fullstack.measurement.own_links import (
                own_links,  # pyroute2 takes 0.2 s to load
            )

            def join(peer: PeerAddress) -> None:
                self._connect_lifeline_and_streams(peer, streams)

            unprivileged, self._unset = own_links(request.links, _fork_peer, join)
            ready = StreamsReady(unprivileged=unprivileged, uncounted=uncounted)
        elif request.where == "loopback":
            self._connect_lifeline_and_streams(_fork_peer("127.0.0.1"), streams)
        else:
            self._connect_lifeline_and_streams(
                PeerAddress(request.address, request.port, request.token), streams
            )
            here, there = (
                end[0] for end in (self._lifelines[0].getsockname(), self._lifelines[0].getpeername())
            )
            ready = StreamsReady(here=here, there=there, uncounted=uncounted)
        for number in range(streams):
            connections = [link[number] for link in self._links]
            reads, writes = request.read_fds[number], request.write_fds[number]
            self._workers.append(StreamWorker(connections, reads, writes, request.file_bytes))
        self._pool = ThreadPoolExecutor(2 * streams)
        return ready

    def _connect_lifeline_and_streams(self, peer: PeerAddress, streams: int) -> None:
        self._lifelines.append(_connect_to_peer(*peer))
        self._links.append([_connect_to_peer(*peer) for _ in range(streams)])

    def _measure_slices(self, request: MeasureSlices) -> CountedSlices:
        until = time.perf_counter() + request.most_s
        done: list[StreamSlice] = []
        for number in request.order:
            if time.perf_counter() > until:
                break
            done.append(self._measure_slice(request.sides[number], request.slice_s, request.onset_s))
        return CountedSlices(slices=done)

    def _measure_slice(self, side: SliceJob, slice_s: float, onset_s: float) -> StreamSlice:
        assert self._pool is not None
        if side.link in self._unset:
            raise MeasurementInvalid(self._unset[side.link])
        if side.job != "network" or side.beside == "disk":
            for worker in self._workers:
                worker.drop_cached(side.direction)
        cpus = side.cpus or tuple(self._cpus)
        peer_s, before, memory = self._peer_cpu_s(side.link), read_cpu_times(self._host), self._traffic.read()
        began = time.perf_counter()
        begin = began + LEAD_S
        jobs = (side.job,) if side.beside is None else (side.job, side.beside)
        running = [
            [self._pool.submit(w.run, job, side.direction, side.link, begin, onset_s, slice_s, cpus)
             for w in self._workers]
            for job in jobs
        ]  # fmt: skip
        for each in running:
            for future in each:
                future.exception()  # wait for all of them, whatever became of the first
        counted, *others = [[future.result() for future in each] for each in running]
        moved = self._traffic.read()
        busy, softirq = _busy_and_softirq_shares(before, read_cpu_times(self._host))
        peer_s = self._peer_cpu_s(side.link) - peer_s
        measured = _slice_of_workers(
            side, counted, [future for each in others for future in each], peer_s, busy, softirq
        )
        return (
            measured if moved is None or memory is None else structs.replace(measured, memory=moved - memory)
        )

    def _peer_cpu_s(self, link: int) -> float:
        lifeline = self._lifelines[link]
        lifeline.sendall(REQUEST.pack(USED, 0))
        (used,) = USAGE.unpack(receive_bytes(lifeline, USAGE.size))
        return float(used)


def _slice_of_workers(
    side: SliceJob,
    counted: Sequence[WorkerBytes],
    others: Sequence[WorkerBytes],
    peer_s: float,
    busy: float,
    softirq: float,
) -> StreamSlice:
    seconds = max(part.end for part in counted) - counted[0].begin
    moved = sum(part.all_bytes for part in counted)
    beside_bytes = sum(part.all_bytes for part in others)
    disk = (moved if side.job != "network" else 0) + (beside_bytes if side.beside == "disk" else 0)
    length = seconds or 1.0
    a, b, c, d = (sum(part.quarters[n] for part in counted) for n in range(4))
    return StreamSlice(
        seconds=seconds,
        bytes=sum(part.counted for part in counted),
        operations=sum(part.operations for part in counted),
        quarters=(4 * a / length, 4 * b / length, 4 * c / length, 4 * d / length),
        cpu_s=sum(part.cpu_s for part in (*counted, *others)),
        peer_cpu_s=peer_s,
        busy=busy,
        softirq=softirq,
        worker=max(part.cpu_s / max(1e-9, part.end - part.begin) for part in counted),
        read=disk if side.direction == "out" else 0,
        written=disk if side.direction == "in" else 0,
        sends=sum(part.sends for part in counted),
        copied=sum(part.copied for part in counted),
    )


def _busy_and_softirq_shares(
    before: dict[int, CpuTimes] | Absent, after: dict[int, CpuTimes] | Absent
) -> tuple[float, float]:
    """Of all CPUs the share that was busy, of the one that had most the share in soft interrupts."""
    if isinstance(before, Absent) or isinstance(after, Absent):
        return 0.0, 0.0
    grown = [after[n].subtract_earlier(before[n]) for n in before if n in after]
    total = sum(times.total_s for times in grown)
    return (
        sum(times.busy_s for times in grown) / total if total else 0.0,
        max((times.softirq_s / times.total_s for times in grown if times.total_s), default=0.0),
    )


def _connect_to_peer(address: str, port: int, token: str) -> socket.socket:
    try:
        connection = socket.create_connection((address, port), CONNECT_S)
        connection.settimeout(None)
        set_time_limit(connection, STUCK_S)
        set_keepalive(connection)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(greeting_bytes(token))
        if receive_bytes(connection, len(WELCOME)) != WELCOME:
            raise OSError("no peer of hostdx answers there")
    except OSError as error:
        raise BenchRefused(
            f"{address} port {port}: {error.strerror or error}; is the peer running, is its token the right one, "
            "does a firewall let that port through?"
        ) from None
    return connection


def _fork_peer(address: str) -> PeerAddress:
    """Start a peer of our own on this address of the namespace that we are in."""
    port, token = open_timed_listener(address), new_peer_token()
    number = int(port.getsockname()[1])

    def run_peer() -> None:
        StreamPeer(port, token, PEER_S).serve_and_get_ending()

    fork_partner(run_peer, own_fds=(0,))
    port.close()
    return PeerAddress(address, number, token)


def answer_request_line(station: StreamStation, line: bytes) -> Answer:
    """A failure of any kind is an answer."""
    try:
        return station.answer_request(requests.decode(line))
    except MeasurementInvalid as why:
        return StreamsFailed(reason=str(why), kind="not applicable")
    except BenchRefused as why:
        return StreamsFailed(reason=str(why))
    except BlockingIOError:
        return StreamsFailed(reason=f"the other end did not answer for {STUCK_S:.0f} s")
    except OSError as error:
        return StreamsFailed(reason=f"the streams: {error.strerror or error}")
    except Exception as error:  # pyroute2 raises its own
        return StreamsFailed(reason=f"the streams: {type(error).__name__}: {error}")


def main() -> None:
    die_with_parent(int(sys.argv[2]))
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing but answers may reach the parent
    station = StreamStation()
    for line in sys.stdin.buffer:
        out.write(msgspec.json.encode(answer_request_line(station, line)) + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main()

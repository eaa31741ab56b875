"""The load: small UDP packets or one TCP stream between the private namespaces, from one CPU, for a bounded time.

The receiver's softirq runs on the sender's CPU (veth), so that the wall time of a packet is sending, receiving and
the rule together. Wall time without that of other processes, not process time: what the kernel frees later (RCU)
belongs to the cost, and kernels that account interrupts apart would leave the receiver out.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from hostdx.probes.children.bounded_wait import reap_or_kill
from hostdx.probes.children.parent_death import die_with_parent
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.namespaces import NetNamespaces
from hostdx.scenarios.rpfilter.measurement.lab_messages import PacketSlice, SentPackets
from hostdx.scenarios.rpfilter.measurement.scheduling_delay import RunDelay

MAX_SECONDS = 30.0
DRAIN_S = 10.0  # the receiver waits so long for the next bytes
DISCARD_PORT = 9
_BATCH = 256  # sends between two looks at the clock: 0.3 ms
_PAYLOAD = b"\0" * 64
_CHUNK = b"\0" * (128 << 10)


class StopRequest:
    """Set by SIGUSR1: a block that was cancelled ends within a batch."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGUSR1, self._note_stop)

    def _note_stop(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def open_udp_socket(namespaces: NetNamespaces, source: str, target: str) -> socket.socket:
    """A connected UDP socket that belongs to the sending namespace."""
    namespaces.enter("sender")
    family = socket.AF_INET6 if ":" in target else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    connection.bind((source, 0))
    connection.connect((target, DISCARD_PORT))
    namespaces.enter("receiver")
    return connection


def send_packets(sock: socket.socket, count: int) -> None:
    for _ in range(count):
        sock.send(_PAYLOAD)


def send_udp_block(sock: socket.socket, seconds: float, stop: StopRequest, held_up: RunDelay) -> SentPackets:
    """64-byte payloads as fast as one CPU makes them, for `seconds_held_up`."""
    send, payload, packets = sock.send, _PAYLOAD, 0
    held = held_up.seconds_held_up()
    began = time.perf_counter()
    end = began + min(seconds, MAX_SECONDS)
    now = began
    while now < end and not stop.asked:
        for _ in range(_BATCH):
            send(payload)
        packets += _BATCH
        now = time.perf_counter()
    others = min(max(0.0, held_up.seconds_held_up() - held), now - began)
    return SentPackets(
        packets=packets,
        bytes=packets * len(_PAYLOAD),
        seconds=now - began,
        cpu_s=now - began - others,
        others_s=others,
        stopped=stop.asked,
    )


def send_udp_slices(
    sockets: Mapping[int, socket.socket],
    order: Sequence[int],
    slice_s: float,
    onset_s: float,
    stop: StopRequest,
    held_up: RunDelay,
) -> tuple[list[PacketSlice], dict[int, int]]:
    """64-byte payloads through one socket after the other; packets sent by socket, with those that do not count.

    What one check leaves for the kernel to free later (RCU) falls into the next slice's onset, and what is freed for
    the counted part into that part itself.
    """
    slices: list[PacketSlice] = []
    total = dict.fromkeys(sockets, 0)
    for number in order:
        if stop.asked:
            break
        send = sockets[number].send
        total[number] += _packets_sent_and_end(send, time.perf_counter() + onset_s, stop)[0] if onset_s else 0
        held = held_up.seconds_held_up()
        began = now = time.perf_counter()
        packets, quarters = 0, []
        for part in range(1, 5):
            before = now
            count, now = _packets_sent_and_end(send, began + (slice_s - onset_s) * part / 4, stop)
            packets += count
            quarters.append(count / max(1e-9, now - before))
        total[number] += packets
        others = min(max(0.0, held_up.seconds_held_up() - held), now - began)
        slices.append(
            PacketSlice(packets, now - began, others, (quarters[0], quarters[1], quarters[2], quarters[3]))
        )
    return slices, total


def _packets_sent_and_end(send: Callable[[bytes], int], end: float, stop: StopRequest) -> tuple[int, float]:
    """Packets sent, a batch at least, and when the last one was."""
    payload, packets = _PAYLOAD, 0
    while True:
        for _ in range(_BATCH):
            send(payload)
        packets += _BATCH
        now = time.perf_counter()
        if now >= end or stop.asked:
            return packets, now


def send_tcp_block(namespaces: NetNamespaces, target: str, seconds: float, stop: StopRequest) -> SentPackets:
    """One TCP stream; a child process in the receiving namespace drains it and counts."""
    namespaces.enter("receiver")
    family = socket.AF_INET6 if ":" in target else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as listener:
        listener.bind((target, 0))
        listener.listen(1)
        port = listener.getsockname()[1]
        reading, writing = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            _accept_and_drain(listener, writing, parent)
    os.close(writing)
    try:
        namespaces.enter("sender")
        cpu = time.process_time()
        with socket.create_connection((target, port), timeout=5.0) as stream:
            namespaces.enter("receiver")
            began = time.perf_counter()
            end = began + min(seconds, MAX_SECONDS)
            while time.perf_counter() < end and not stop.asked:
                stream.sendall(_CHUNK)
            stream.shutdown(socket.SHUT_WR)
            if not select.select([reading], [], [], DRAIN_S)[0]:
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            received = int(os.read(reading, 64) or b"0")
        took = time.perf_counter() - began
    except OSError as error:
        os.kill(child, signal.SIGKILL)
        raise BenchRefused(f"the TCP stream between the private namespaces failed: {error}") from None
    finally:
        os.close(reading)
        used = reap_or_kill(child)
    if used is None:
        raise BenchRefused("the receiver of the TCP stream did not end")
    own = time.process_time() - cpu + used.ru_utime + used.ru_stime
    return SentPackets(bytes=received, seconds=took, cpu_s=own, stopped=stop.asked)


def _accept_and_drain(listener: socket.socket, writing: int, parent: int) -> None:
    """The child: it dies with its parent, and never returns into the parent's code."""
    try:
        die_with_parent(parent)
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        listener.settimeout(DRAIN_S)
        stream, _ = listener.accept()
        stream.settimeout(DRAIN_S)
        buffer, total = bytearray(1 << 20), 0
        while size := stream.recv_into(buffer):
            total += size
        os.write(writing, str(total).encode())
    finally:
        os._exit(0)

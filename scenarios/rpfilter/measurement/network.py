"""The cost of a check on the receive path, measured between two private network namespaces of a child process."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Sequence
from typing import Literal

from hostdx.probes.children.line_child import LineChild
from hostdx.probes.engine.measured import (
    BenchRefused,
    Measured,
    MeasuredBatch,
    MeasurementInvalid,
    VariantsUnfit,
)
from hostdx.scenarios.rpfilter.measurement.firewall_rules import Treatment
from hostdx.scenarios.rpfilter.measurement.lab_messages import (
    ActivateRequest,
    Answer,
    CountedSlices,
    LabFailed,
    LabReady,
    MeasureRequest,
    MeasureSlices,
    PacketSlice,
    PacketsSent,
    Request,
    SetUpRequest,
    answers,
)
from hostdx.scenarios.rpfilter.measurement.route_set import RouteSet

_START_S = 10.0
_ANSWER_S = 20.0
_ARRIVE_AT_LEAST = 0.99  # of the packets sent; the private link loses none unless its queue overflows


class LabNetwork:
    """The child process with its network namespaces. `name`: the process name that the undo journal knows."""

    def __init__(self, child: LineChild, ready: LabReady) -> None:
        self._child = child
        self.in_user_namespace = ready.in_user_namespace
        self._lock = asyncio.Lock()

    @classmethod
    async def start(cls, name: str) -> LabNetwork:
        """Start the child. Raise BenchRefused where no network namespace can be made."""
        child = await LineChild.start("hostdx.scenarios.rpfilter.measurement.lab", name)
        try:
            first = await _read_answer(child, child.read_line(_START_S), _START_S)
        except BaseException:
            await child.end()
            raise
        if not isinstance(first, LabReady):
            await child.end()
            reason = first.reason if isinstance(first, LabFailed) else "no answer"
            raise BenchRefused(reason)
        return cls(child, first)

    @property
    def process_id(self) -> int:
        return self._child.process_id

    async def set_up(self, routes: RouteSet, *, ipv6: bool, pair: int = 0) -> LabReady:
        """Make links, addresses and routes of a pair of namespaces; return how many routes were added."""
        seconds = _ANSWER_S + 0.003 * (len(routes.ipv6) + len(routes.ipv4))
        answer = await self._send_request(SetUpRequest(ipv6=ipv6, routes=routes, pair=pair), seconds)
        assert isinstance(answer, LabReady)
        return answer

    async def apply_treatment(self, treatment: Treatment, *, offload: bool = True, pair: int = 0) -> LabReady:
        """Make a variant active and check that it is. Raise MeasurementInvalid with the reason."""
        answer = await self._send_request(
            ActivateRequest(treatment=treatment, offload=offload, pair=pair), _ANSWER_S
        )
        assert isinstance(answer, LabReady)
        return answer

    async def measure(
        self, load: Literal["udp", "tcp"], protocol: Literal["IPv6", "IPv4"], seconds: float
    ) -> Measured:
        """Measure one window. Raise MeasurementInvalid where the packets did not arrive where they are counted."""
        request = MeasureRequest(load=load, protocol=protocol, seconds=seconds)
        moved = await self._send_request(request, seconds + _ANSWER_S)
        assert isinstance(moved, PacketsSent)
        sent = moved.sent
        if sent.seconds <= 0 or (sent.packets == 0 and load == "udp"):
            raise MeasurementInvalid("no packet was sent")
        if load == "tcp":
            values = {"MB/s": sent.bytes / sent.seconds / 1e6}
            return Measured(seconds=sent.seconds, values=values, bytes=sent.bytes, cpu_s=sent.cpu_s)
        if moved.arrived < _ARRIVE_AT_LEAST * sent.packets:
            raise MeasurementInvalid(f"only {moved.arrived} of {sent.packets} packets arrived")
        return Measured(
            seconds=sent.seconds,
            values={"ns/packet": (sent.seconds - sent.others_s) / sent.packets * 1e9},
            operations=sent.packets,
            bytes=sent.bytes,
            cpu_s=sent.cpu_s,
        )

    async def measure_batch(
        self, protocol: Literal["IPv6", "IPv4"], order: Sequence[int], slice_s: float, *, onset_s: float = 0.0
    ) -> MeasuredBatch:
        """Send small packets through these pairs in turn; `order` holds their numbers, which number the sides, too.

        Raise VariantsUnfit with the pairs' numbers as text where packets were lost, MeasurementInvalid as `measure`
        does.
        """
        request = MeasureSlices(protocol=protocol, order=list(order), slice_s=slice_s, onset_s=onset_s)
        began = time.perf_counter()
        counted = await self._send_request(request, 3 * slice_s * len(order) + _ANSWER_S)
        assert isinstance(counted, CountedSlices)
        lost = [n for n, sent in counted.sent.items() if counted.arrived[n] < _ARRIVE_AT_LEAST * sent]
        if lost:
            arrived, sent_count = counted.arrived[lost[0]], counted.sent[lost[0]]
            raise VariantsUnfit([str(n) for n in lost], f"only {arrived} of {sent_count} packets arrived")
        return _batch_from_slices(order, slice_s, counted.slices, time.perf_counter() - began)

    async def close(self) -> None:
        """End the child, and with it the namespaces."""
        await self._child.end()

    async def _send_request(self, request: Request, seconds: float) -> Answer:
        """Send one request and return its answer. If this is cancelled, the load stops within a batch and the answer
        is read and dropped.
        """
        async with self._lock:
            try:
                answer = await _read_answer(self._child, self._child.send_request(request, seconds), seconds)
            except asyncio.CancelledError:
                await asyncio.shield(self._stop_load())
                raise
        if isinstance(answer, LabFailed):
            raise (MeasurementInvalid if answer.kind == "not applicable" else BenchRefused)(answer.reason)
        return answer

    async def _stop_load(self) -> None:
        self._child.send_signal(signal.SIGUSR1)
        try:
            await _read_answer(self._child, self._child.read_line(1.0), 1.0)
        except (BenchRefused, asyncio.CancelledError):
            await self._child.end()


def _batch_from_slices(
    order: Sequence[int], slice_s: float, slices: Sequence[PacketSlice], seconds: float
) -> MeasuredBatch:
    values = [(s.seconds - s.others_s) / s.packets * 1e9 for s in slices]
    sides = []
    for number in range(max(order) + 1):
        own = [at for at, which in enumerate(order[: len(slices)]) if which == number]
        packets = sum(slices[at].packets for at in own)
        took = sum(slices[at].seconds for at in own)
        others = sum(slices[at].others_s for at in own)
        sides.append(
            Measured(
                seconds=took,
                values={"ns/packet": (took - others) / packets * 1e9} if packets else {},
                operations=packets,
                bytes=64 * packets,
                cpu_s=took - others,
            )
        )
    return MeasuredBatch(
        seconds=seconds,
        slice_s=slice_s,
        order=list(order[: len(slices)]),
        values={"ns/packet": values},
        lengths=[s.seconds for s in slices],
        operations=[s.packets for s in slices],
        quarters=[list(s.quarters) for s in slices],
        sides=sides,
        waited_s=sum(s.others_s for s in slices),
    )


async def _read_answer(child: LineChild, line_read: Awaitable[bytes], seconds: float) -> Answer:
    """Return the answer; end the child where none comes in time. Raise BenchRefused."""
    try:
        line = await line_read
    except TimeoutError:
        await child.end()
        raise BenchRefused(f"the private namespaces did not answer within {seconds:.0f} s") from None
    if not line:
        raise BenchRefused("the process with the private namespaces has ended")
    answer: Answer = answers.decode(line)
    return answer

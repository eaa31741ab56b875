"""The process that holds the private namespaces and measures in them: requests on stdin, answers on stdout.

Started as `python -m hostdx.scenarios.rpfilter.measurement.lab NAME PARENT`. The undo journal finds it by NAME.
One thread, so that the namespace entered last is the one that everything happens in. It dies with its parent.

Which CPU to measure on: the one that has the least to do, so that neither side disturbs the other.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path

import msgspec

from hostdx.probes.children.parent_death import die_with_parent
from hostdx.probes.engine.measured import BenchRefused, MeasurementInvalid
from hostdx.probes.engine.namespaces import (
    RECEIVER_LINK,
    SENDER_LINK,
    LabAddresses,
    NetNamespaces,
    connect_by_veth_pair,
    draw_lab_addresses,
)
from hostdx.probes.system.network.offload import read_tso_and_gso, set_offload
from hostdx.probes.system.processor.cpu_times import SOURCE, CpuTimes, parse_proc_stat
from hostdx.scenarios.rpfilter.measurement import firewall_rules as netrules
from hostdx.scenarios.rpfilter.measurement.firewall_rules import Treatment
from hostdx.scenarios.rpfilter.measurement.lab_messages import (
    Answer,
    CountedSlices,
    LabFailed,
    LabReady,
    MeasureRequest,
    MeasureSlices,
    PacketsSent,
    Request,
    SetUpRequest,
    requests,
)
from hostdx.scenarios.rpfilter.measurement.route_set import add_routes_in_receiver
from hostdx.scenarios.rpfilter.measurement.scheduling_delay import RunDelay
from hostdx.scenarios.rpfilter.measurement.sender import (
    StopRequest,
    open_udp_socket,
    send_packets,
    send_tcp_block,
    send_udp_block,
    send_udp_slices,
)

_LOOK_S = 0.1  # ten jiffies: enough to tell an idle CPU from one that serves a network card


def choose_least_busy_cpu(allowed: set[int], before: dict[int, CpuTimes], after: dict[int, CpuTimes]) -> int:
    """The least busy of the allowed ones; among equals the highest, since interrupts gather on the low numbers."""

    def busy_seconds(cpu: int) -> float:
        if cpu not in before or cpu not in after:
            return 0.0
        spent = after[cpu].subtract_earlier(before[cpu])
        return spent.busy_s + spent.steal_s

    return min(allowed, key=lambda cpu: (busy_seconds(cpu), -cpu))


def quietest_cpu() -> int:
    allowed = os.sched_getaffinity(0)
    stat = Path(SOURCE)
    try:
        before = parse_proc_stat(stat.read_text("ascii")).cpus
        time.sleep(_LOOK_S)
        return choose_least_busy_cpu(allowed, before, parse_proc_stat(stat.read_text("ascii")).cpus)
    except (OSError, ValueError):
        return max(allowed)


MAX_PAIRS = 16
_CONF = Path("/proc/sys/net/ipv4/conf")
_PROOF = 20  # packets sent to prove that a variant is what it says


class NamespacePair:
    """Two namespaces with what is in them now."""

    def __init__(self, namespaces: NetNamespaces) -> None:
        self.namespaces = namespaces
        self.addresses: LabAddresses = draw_lab_addresses()
        self.treatment: Treatment | None = None  # active and proved
        self.sockets: dict[str, socket.socket] = {}
        self._loaded: Treatment | None = None
        self._offload = True
        self._spoofing: dict[str, socket.socket] = {}

    def set_up(self, request: SetUpRequest) -> tuple[int, int]:
        """Returns how many IPv6 and IPv4 routes were added."""
        connect_by_veth_pair(self.namespaces, self.addresses, ipv6=request.ipv6)
        added = add_routes_in_receiver(self.namespaces, self.addresses, request.routes, ipv6=request.ipv6)
        self._open_udp_sockets("IPv4", self.addresses.ipv4, self.addresses.spoofed4)
        if request.ipv6:
            self._open_udp_sockets("IPv6", self.addresses.ipv6, self.addresses.spoofed6)
        return added

    def _open_udp_sockets(self, protocol: str, ends: tuple[str, str], spoofed: str) -> None:
        self.sockets[protocol] = open_udp_socket(self.namespaces, ends[0], ends[1])
        self._spoofing[protocol] = open_udp_socket(self.namespaces, spoofed, ends[1])

    def apply_treatment(self, treatment: Treatment, *, offload: bool) -> int:
        """Loads the variant and proves it: honest packets arrive, and spoofed ones only where they should.

        Returns how many of the spoofed packets were dropped.
        """
        if treatment.protocol not in self.sockets:
            raise MeasurementInvalid(f"no {treatment.protocol} in the private namespaces")
        self.namespaces.assert_private()
        _set_rp_filter_of_all_and(RECEIVER_LINK, treatment.rp_filter)
        before, self.treatment, self._loaded = self._loaded, None, treatment
        netrules.replace_rules(before, treatment)
        self._set_offload(offload)
        if not netrules.are_rules_loaded(treatment):
            raise MeasurementInvalid("the rule was loaded, but the kernel does not list it")
        send_packets(self.sockets[treatment.protocol], _PROOF)
        honest = netrules.read_counters(treatment)
        send_packets(self._spoofing[treatment.protocol], _PROOF)
        after = netrules.read_counters(treatment)
        if honest.arrived != _PROOF or honest.caught != 0:
            raise MeasurementInvalid(
                f"only {honest.arrived} of {_PROOF} packets with a valid source address arrived"
            )
        came_through = after.arrived - honest.arrived
        if came_through != (0 if treatment.catches else _PROOF):
            should = "be dropped" if treatment.catches else "arrive"
            raise MeasurementInvalid(
                f"{came_through} of {_PROOF} spoofed packets arrived, all should {should}"
            )
        if treatment.rule_kind == "check" and after.caught != _PROOF:
            raise MeasurementInvalid(
                f"the check's own counter saw {after.caught} of {_PROOF} spoofed packets"
            )
        self.treatment = treatment
        return _PROOF - came_through

    def _set_offload(self, on: bool) -> None:
        if on == self._offload:
            return
        try:
            self.namespaces.enter("sender")
            set_offload(SENDER_LINK, tso=on, gso=on, gro=False)
            if read_tso_and_gso(SENDER_LINK) != (on, on):
                raise MeasurementInvalid("the virtual card's offloads cannot be switched")
        except OSError as error:
            raise MeasurementInvalid(
                f"the virtual card's offloads cannot be switched: {error.strerror}"
            ) from None
        finally:
            self.namespaces.enter("receiver")
        self._offload = on

    def active_treatment(self, protocol: str) -> Treatment:
        if self.treatment is None or self.treatment.protocol != protocol:
            raise MeasurementInvalid("the variant is not active")
        return self.treatment

    def count_arrived_in_receiver(self, treatment: Treatment) -> int:
        self.namespaces.enter("receiver")
        return netrules.read_counters(treatment).arrived


class Lab:
    """The pairs of namespaces: one for each variant where they are measured in turn, else the first alone."""

    def __init__(self) -> None:
        self.pairs = [NamespacePair(NetNamespaces.make())]
        self.stop = StopRequest()
        self.cpu = quietest_cpu()
        os.sched_setaffinity(0, {self.cpu})
        self.held_up = RunDelay(self.cpu)

    @property
    def in_user_namespace(self) -> bool:
        return self.pairs[0].namespaces.in_user_namespace

    def serve(self, request: Request) -> Answer:
        self.stop.asked = False
        if isinstance(request, MeasureSlices):
            return self._send_slices_and_count(request)
        if isinstance(request, SetUpRequest) and request.pair == len(self.pairs) < MAX_PAIRS:
            self.pairs.append(NamespacePair(self.pairs[0].namespaces.make_second_pair()))
        if isinstance(request, MeasureRequest):
            return self._send_block_and_count(request, self.pairs[0])
        pair = self.pairs[request.pair]
        pair.namespaces.enter("receiver")
        if isinstance(request, SetUpRequest):
            added = pair.set_up(request)
            return LabReady(
                in_user_namespace=self.in_user_namespace,
                cpu=self.cpu,
                ipv6_routes=added[0],
                ipv4_routes=added[1],
            )
        return LabReady(spoofed=pair.apply_treatment(request.treatment, offload=request.offload))

    def _send_block_and_count(self, request: MeasureRequest, pair: NamespacePair) -> PacketsSent:
        pair.namespaces.enter("receiver")
        treatment = pair.active_treatment(request.protocol)
        if request.load == "tcp":
            ends = pair.addresses.ipv6 if request.protocol == "IPv6" else pair.addresses.ipv4
            return PacketsSent(sent=send_tcp_block(pair.namespaces, ends[1], request.seconds, self.stop))
        before = pair.count_arrived_in_receiver(treatment)
        sent = send_udp_block(pair.sockets[request.protocol], request.seconds, self.stop, self.held_up)
        return PacketsSent(sent=sent, arrived=pair.count_arrived_in_receiver(treatment) - before)

    def _send_slices_and_count(self, request: MeasureSlices) -> CountedSlices:
        """The sockets belong to their namespaces: no switch between them but that of the socket."""
        used = {number: self.pairs[number] for number in dict.fromkeys(request.order)}
        treatments = {number: pair.active_treatment(request.protocol) for number, pair in used.items()}
        before = {number: pair.count_arrived_in_receiver(treatments[number]) for number, pair in used.items()}
        sockets = {number: pair.sockets[request.protocol] for number, pair in used.items()}
        slices, sent = send_udp_slices(
            sockets, request.order, request.slice_s, request.onset_s, self.stop, self.held_up
        )
        arrived = {
            number: pair.count_arrived_in_receiver(treatments[number]) - before[number]
            for number, pair in used.items()
        }
        return CountedSlices(slices=slices, sent=sent, arrived=arrived)


def _set_rp_filter_of_all_and(interface: str, value: int) -> None:
    """Sets `all` and the interface, since the larger of both counts. The caller has asserted a private namespace, whose
    settings /proc/sys/net shows to those who are in it.
    """
    for name in ("all", interface):
        path = _CONF / name / "rp_filter"
        try:
            if int(path.read_text("ascii")) != value:
                path.write_text(str(value), "ascii")
        except (OSError, ValueError) as error:
            if value == 0:
                continue  # a read-only /proc/sys (a container): 0 is what a new namespace has by default
            reason = getattr(error, "strerror", None) or error
            raise MeasurementInvalid(f"rp_filter cannot be set in the private namespace: {reason}") from None


def answer_request_line(lab: Lab, line: bytes) -> Answer:
    """A failure of any kind is an answer: one line, told apart by what it means for the run."""
    try:
        return lab.serve(requests.decode(line))
    except MeasurementInvalid as why:
        return LabFailed(reason=str(why), kind="not applicable")
    except BenchRefused as why:
        return LabFailed(reason=str(why), kind="refused")
    except Exception as error:  # pyroute2 raises its own; a user namespace may lack a right that root has
        return LabFailed(reason=f"the private namespaces: {type(error).__name__}: {error}", kind="refused")


def main() -> None:
    die_with_parent(int(sys.argv[2]))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # the parent decides; it closes stdin, or dies and takes us with it
        signal.signal(number, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing but answers may reach the parent
    try:
        lab = Lab()
    except (BenchRefused, OSError) as why:
        out.write(msgspec.json.encode(LabFailed(reason=str(why), kind="refused")) + b"\n")
        return
    out.write(msgspec.json.encode(LabReady(in_user_namespace=lab.in_user_namespace)) + b"\n")
    for line in sys.stdin.buffer:
        out.write(msgspec.json.encode(answer_request_line(lab, line)) + b"\n")


if __name__ == "__main__":
    main()

"""The process that holds the private namespaces and measures in them: requests on stdin, answers on stdout.

Started as `python -P -m probes.bench.lab NAME PARENT`; NAME is how the undo journal finds it again. One thread, so
that the namespace entered last is the one that everything happens in. It dies with its parent.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

import msgspec

from probes.bench import netrules
from probes.bench.copied_routes import copy_routes
from probes.bench.held_up import HeldUp
from probes.bench.lab_messages import (
    Activate,
    Answer,
    Failed,
    Measure,
    Moved,
    Ready,
    Request,
    SetUp,
    requests,
)
from probes.bench.measured import BenchRefused, NotApplicable
from probes.bench.namespaces import (
    RECEIVER_LINK,
    SENDER_LINK,
    Addresses,
    Namespaces,
    connect,
    die_with_parent,
    draw_addresses,
)
from probes.bench.netrules import Treatment
from probes.bench.quiet_cpu import quietest
from probes.bench.sender import Stop, send_packets, tcp_block, udp_block, udp_socket
from probes.bench.setting import set_rp_filter
from probes.system.offload import segmentation, set_offload

_PROOF = 20  # packets sent to prove that a variant is what it says


class Lab:
    """The namespaces with what is in them now."""

    def __init__(self) -> None:
        self.namespaces = Namespaces.make()
        self.addresses: Addresses = draw_addresses()
        self.stop = Stop()
        self.treatment: Treatment | None = None  # active and proved
        self._loaded: Treatment | None = None
        self.offload = True
        self._sockets: dict[str, socket.socket] = {}
        self._spoofing: dict[str, socket.socket] = {}
        self.cpu = quietest()
        os.sched_setaffinity(0, {self.cpu})
        self.held_up = HeldUp(self.cpu)

    def serve(self, request: Request) -> Answer:
        self.stop.asked = False
        self.namespaces.enter("receiver")
        if isinstance(request, SetUp):
            return self._set_up(request)
        if isinstance(request, Activate):
            return self._activate(request)
        return self._measure(request)

    def _set_up(self, request: SetUp) -> Ready:
        connect(self.namespaces, self.addresses, ipv6=request.ipv6)
        added = copy_routes(self.namespaces, self.addresses, request.routes, ipv6=request.ipv6)
        self._open("IPv4", self.addresses.ipv4, self.addresses.spoofed4)
        if request.ipv6:
            self._open("IPv6", self.addresses.ipv6, self.addresses.spoofed6)
        return Ready(
            in_user_namespace=self.namespaces.in_user_namespace,
            cpu=self.cpu,
            ipv6_routes=added[0],
            ipv4_routes=added[1],
        )

    def _open(self, protocol: str, ends: tuple[str, str], spoofed: str) -> None:
        self._sockets[protocol] = udp_socket(self.namespaces, ends[0], ends[1])
        self._spoofing[protocol] = udp_socket(self.namespaces, spoofed, ends[1])

    def _activate(self, request: Activate) -> Ready:
        """Loads the variant and proves it: honest packets arrive, and spoofed ones only where they should."""
        treatment = request.treatment
        if treatment.protocol not in self._sockets:
            raise NotApplicable(f"no {treatment.protocol} in the private namespaces")
        self.namespaces.assert_private()
        set_rp_filter(RECEIVER_LINK, treatment.rp_filter)
        before, self.treatment, self._loaded = self._loaded, None, treatment
        netrules.replace(before, treatment)
        self._set_offload(request.offload)
        if not netrules.rules_loaded(treatment):
            raise NotApplicable("the rule was loaded, but the kernel does not list it")
        send_packets(self._sockets[treatment.protocol], _PROOF)
        honest = netrules.counted(treatment)
        send_packets(self._spoofing[treatment.protocol], _PROOF)
        after = netrules.counted(treatment)
        if honest.arrived != _PROOF or honest.caught != 0:
            raise NotApplicable(f"of {_PROOF} packets with an honest source {honest.arrived} arrived")
        came_through = after.arrived - honest.arrived
        if came_through != (0 if treatment.catches else _PROOF):
            should = "be dropped" if treatment.catches else "arrive"
            raise NotApplicable(f"{came_through} of {_PROOF} spoofed packets arrived, all should {should}")
        if treatment.what == "check" and after.caught != _PROOF:
            raise NotApplicable(f"the check's own counter saw {after.caught} of {_PROOF} spoofed packets")
        self.treatment = treatment
        return Ready(spoofed=_PROOF - came_through)

    def _set_offload(self, on: bool) -> None:
        if on == self.offload:
            return
        try:
            self.namespaces.enter("sender")
            set_offload(SENDER_LINK, tso=on, gso=on, gro=False)
            if segmentation(SENDER_LINK) != (on, on):
                raise NotApplicable("the virtual card's offloads cannot be switched")
        except OSError as error:
            raise NotApplicable(f"the virtual card's offloads cannot be switched: {error.strerror}") from None
        finally:
            self.namespaces.enter("receiver")
        self.offload = on

    def _measure(self, request: Measure) -> Moved:
        if self.treatment is None or self.treatment.protocol != request.protocol:
            raise NotApplicable("the variant is not active")
        if request.load == "tcp":
            ends = self.addresses.ipv6 if request.protocol == "IPv6" else self.addresses.ipv4
            return Moved(sent=tcp_block(self.namespaces, ends[1], request.seconds, self.stop))
        before = netrules.counted(self.treatment)
        sent = udp_block(self._sockets[request.protocol], request.seconds, self.stop, self.held_up)
        after = netrules.counted(self.treatment)
        return Moved(sent=sent, arrived=after.arrived - before.arrived)


def answer(lab: Lab, line: bytes) -> Answer:
    """A failure of any kind is an answer: one line, told apart by what it means for the run."""
    try:
        return lab.serve(requests.decode(line))
    except NotApplicable as why:
        return Failed(reason=str(why), kind="not applicable")
    except BenchRefused as why:
        return Failed(reason=str(why), kind="refused")
    except Exception as error:  # pyroute2 raises its own; a user namespace may lack a right that root has
        return Failed(reason=f"the private namespaces: {type(error).__name__}: {error}", kind="refused")


def main() -> None:
    die_with_parent(int(sys.argv[2]))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(
            number, signal.SIG_IGN
        )  # the parent decides; it closes stdin, or dies and takes us with it
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing but answers may reach the parent
    try:
        lab = Lab()
    except (BenchRefused, OSError) as why:
        out.write(msgspec.json.encode(Failed(reason=str(why), kind="refused")) + b"\n")
        return
    out.write(msgspec.json.encode(Ready(in_user_namespace=lab.namespaces.in_user_namespace)) + b"\n")
    for line in sys.stdin.buffer:
        out.write(msgspec.json.encode(answer(lab, line)) + b"\n")


if __name__ == "__main__":
    main()

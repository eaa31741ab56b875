"""What the runner and the process with the private namespaces say to each other, one JSON object a line.

Apart from both, so that asking costs the runner none of what answering needs (pyroute2 takes 0.2 s to load).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from hostdx.scenarios.rpfilter.measurement.firewall_rules import Treatment
from hostdx.scenarios.rpfilter.measurement.route_set import RouteSet


class SentPackets(msgspec.Struct, frozen=True, kw_only=True):
    """What one block moved. `others_s`: while other processes held the CPU; `cpu_s`: what the load took of it."""

    packets: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    others_s: float = 0.0
    stopped: bool = False


class SetUpRequest(msgspec.Struct, frozen=True, kw_only=True, tag="setup"):
    """Links, addresses and routes of a pair of namespaces; the pair is made where it is not there yet."""

    ipv6: bool
    routes: RouteSet
    pair: int = 0


class ActivateRequest(msgspec.Struct, frozen=True, kw_only=True, tag="activate"):
    """`offload`: whether segmentation is left to the (virtual) card, so that large packets pass the hook as one."""

    treatment: Treatment
    offload: bool = True
    pair: int = 0


class MeasureRequest(msgspec.Struct, frozen=True, kw_only=True, tag="measure"):
    load: Literal["udp", "tcp"]
    protocol: Literal["IPv6", "IPv4"]
    seconds: float


class MeasureSlices(msgspec.Struct, frozen=True, kw_only=True, tag="train"):
    """A train: packets through one pair after the other, in `order`, `slice_s` seconds each.

    The first `onset_s` of a slice do not count.
    """

    protocol: Literal["IPv6", "IPv4"]
    order: list[int]
    slice_s: float
    onset_s: float = 0.0


class PacketSlice(msgspec.Struct, frozen=True, array_like=True):
    """What counts of one slice. `quarters`: packets a second in each fourth of it."""

    packets: int
    seconds: float
    others_s: float
    quarters: tuple[float, float, float, float]


class CountedSlices(msgspec.Struct, frozen=True, kw_only=True, tag="slices"):
    """By pair: packets sent in the whole train, those that do not count too, and arrived."""

    slices: list[PacketSlice]
    sent: dict[int, int]
    arrived: dict[int, int]


class LabReady(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """`spoofed` of 20 packets from a source without a way back were dropped by the check."""

    in_user_namespace: bool = False
    cpu: int = 0
    ipv6_routes: int = 0
    ipv4_routes: int = 0
    spoofed: int = 0


class PacketsSent(msgspec.Struct, frozen=True, kw_only=True, tag="moved"):
    sent: SentPackets
    arrived: int = 0


class LabFailed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    reason: str
    kind: Literal["refused", "not applicable"]


Request: TypeAlias = SetUpRequest | ActivateRequest | MeasureRequest | MeasureSlices
Answer: TypeAlias = LabReady | PacketsSent | CountedSlices | LabFailed
requests = msgspec.json.Decoder(Request)
answers = msgspec.json.Decoder(Answer)

"""What a run of `rpfilter` records beside its verdicts: the check's cost, and what it comes to at line rate."""

from typing import ClassVar

import msgspec

from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.result import Result


class CheckCost(msgspec.Struct, frozen=True, kw_only=True):
    """Of a packet, in ns, beside the whole receive path; `cores_now` at this host's own rate. None: not known."""

    protocol: str
    check: str
    whose: str
    loaded: bool | None
    place: str | None
    every_packet: bool | None
    cost_ns: of.Value
    cost_ns_ci95: tuple[of.Value, of.Value]
    path_ns: of.Value
    packets_per_s_now: of.Value | None
    cores_now: of.Value | None
    cores_now_ci95: tuple[of.Value, of.Value] | None
    card: str | None
    merges: bool | None
    link_bits_per_s: of.Value | None
    model: str


class CostResult(Result, frozen=True, tag="rpfilter.cost/1"):
    name: ClassVar[str] = "rpfilter"
    value: CheckCost


class LineRate(msgspec.Struct, frozen=True, kw_only=True):
    """One way for the card's line rate to arrive: the cores that the check takes, with its interval.

    `core_holds_gbit_per_s`: what one receiving core holds with the check, by the model; `without_check`: without it.
    """

    mtu: of.Number
    merged: bool
    packets_per_s: of.Count
    cores: of.Value
    cores_low: of.Value
    cores_high: of.Value
    core_holds_gbit_per_s: of.Value
    without_check: of.Value


class AtLineRate(Result, frozen=True, tag="rpfilter.at-line-rate/1"):
    name: ClassVar[str] = "at_line_rate"
    value: tuple[LineRate, ...]

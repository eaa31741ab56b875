"""iperf3's JSON (`-J`), TCP and UDP. `bits_per_second` is bits; what was sent and what arrived differ."""

import msgspec

from probes.imports import json_text
from probes.imports.dates import epoch
from probes.imports.json_text import mapping
from probes.imports.model import Contradiction, Measure, Point, Refused, Result, Trouble, compared, noted
from probes.imports.numbers import integer, number
from probes.imports.source import Source
from probes.types import Json

_MOST_POINTS = 4000  # kept for the drawing, evenly spread


class Iperf3(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Rates in bit/s as printed; None: not in the file."""

    version: str | None = None
    protocol: str | None = None
    streams: int | None = None
    duration_s: float | None = None
    reverse: bool = False
    intervals: int = 0
    sent_bit_s: float | None = None
    received_bit_s: float | None = None
    retransmits: int | None = None
    bytes: int | None = None
    lost_percent: float | None = None
    jitter_ms: float | None = None
    cpu_local_percent: float | None = None
    cpu_remote_percent: float | None = None
    min_interval_bit_s: float | None = None
    max_interval_bit_s: float | None = None
    error: str | None = None


class _Interval(msgspec.Struct):
    sum: Json = None


class _Document(msgspec.Struct):
    start: dict[str, Json] = {}
    intervals: list[_Interval] = []
    end: dict[str, Json] = {}
    error: Json = None


def recognised(source: Source) -> bool:
    return source.has(b'"start"', b'"version"', b"iperf") or source.has(b'"start"', b'"intervals"')


def parse(source: Source) -> Result:
    documents = [found[2] for found in json_text.documents(source.data, _Document, "iperf3")]
    if not documents:
        raise Refused("iperf3: no JSON document in it", "run iperf3 with -J")
    document = documents[-1]
    start, end = document.start, document.end
    test = mapping(start.get("test_start"))
    sums = [mapping(i.sum) for i in document.intervals]
    rates = [r for s in sums if (r := number(s.get("bits_per_second"))) is not None and not s.get("omitted")]
    sent = mapping(end.get("sum_sent")) or mapping(end.get("sum"))
    got = mapping(end.get("sum_received")) or mapping(end.get("sum"))
    cpu = mapping(end.get("cpu_utilization_percent"))
    detail = Iperf3(
        version=json_text.text(start.get("version"), 60),
        protocol=json_text.text(test.get("protocol"), 20),
        streams=integer(test.get("num_streams")),
        duration_s=number(test.get("duration")),
        reverse=bool(test.get("reverse")),
        intervals=len(document.intervals),
        sent_bit_s=number(sent.get("bits_per_second")),
        received_bit_s=number(got.get("bits_per_second")),
        retransmits=integer(sent.get("retransmits")),
        bytes=integer(got.get("bytes")),
        lost_percent=number(got.get("lost_percent")),
        jitter_ms=number(got.get("jitter_ms")),
        cpu_local_percent=number(cpu.get("host_total")),
        cpu_remote_percent=number(cpu.get("remote_total")),
        min_interval_bit_s=min(rates, default=None),
        max_interval_bit_s=max(rates, default=None),
        error=json_text.text(document.error),
    )
    troubles = [Trouble(id="iperf3.error", said=detail.error)] if detail.error else []
    if not detail.received_bit_s and not detail.sent_bit_s:
        if detail.error:
            raise Refused(f"iperf3: the test failed: {detail.error[:120]}", "repeat the test")
        raise Refused("iperf3: no sum at its end", "the test was cut off: repeat it")
    if len(documents) > 1:
        troubles.append(Trouble(id="iperf3.several-runs", said=str(len(documents))))
    if detail.retransmits:
        troubles.append(Trouble(id="iperf3.retransmits", said=str(detail.retransmits)))
    facts = noted(
        ("protocol", detail.protocol),
        ("streams", detail.streams),
        ("duration", detail.duration_s, "s"),
        ("other end", json_text.text(mapping(start.get("connecting_to")).get("host"))),
        ("congestion control", json_text.text(end.get("sender_tcp_congestion"), 40)),
    )
    words = str(start.get("system_info", "")).split()
    linux = len(words) > 2 and words[0] == "Linux"
    facts += noted(("release", words[2]), subject="kernel") if linux else []
    points = []
    for one in sums[:: -(-len(sums) // _MOST_POINTS) or 1]:
        at, rate = number(one.get("end")), number(one.get("bits_per_second"))
        if at is not None and rate is not None:
            points.append(Point(series="throughput", at_s=at, value=rate / 8, unit="B/s"))
    return Result(
        kind="iperf3", tool="iperf3", version=(detail.version or "").removeprefix("iperf ") or None,
        host=words[1][:120] if linux else None,
        began=epoch(number(mapping(start.get("timestamp")).get("timesecs"))),
        seconds=number(sent.get("seconds")), measures=tuple(_measures(detail, tuple(rates))),
        facts=tuple(facts), contradictions=tuple(_contradictions(sent, got, sums)),
        troubles=tuple(troubles), points=tuple(points),
        recomputed=("rate from bytes and seconds", "bytes from the intervals"), detail=detail,
    )  # fmt: skip


def _measures(detail: Iperf3, rates: tuple[float, ...]) -> list[Measure]:
    workload = f"iperf3 {detail.protocol or 'TCP'} {'receive' if detail.reverse else 'send'}"
    conditions = {"streams": str(detail.streams)} if detail.streams else {}
    seconds = detail.duration_s or 0.0
    made = []
    for metric, bits in (
        ("bandwidth received", detail.received_bit_s),
        ("bandwidth sent", detail.sent_bit_s),
    ):
        if bits:
            runs = tuple(r / 8 for r in rates[:1000]) if metric == "bandwidth sent" else ()
            made.append(
                Measure(
                    workload=workload, metric=metric, value=bits / 8, unit="B/s", seconds=seconds, runs=runs,
                    judged=metric == "bandwidth received", conditions=conditions,
                )
            )  # fmt: skip
    for metric, value, unit in (
        ("retransmits", detail.retransmits, ""),
        ("packets lost", detail.lost_percent / 100 if detail.lost_percent is not None else None, ""),
        ("jitter", detail.jitter_ms / 1000 if detail.jitter_ms is not None else None, "s"),
    ):
        if value is not None:
            made.append(
                Measure(
                    workload=workload, metric=metric, value=float(value), unit=unit, better="less",
                    seconds=seconds, judged=False, conditions=conditions,
                )
            )  # fmt: skip
    return made


def _contradictions(
    sent: dict[str, Json], got: dict[str, Json], sums: list[dict[str, Json]]
) -> list[Contradiction]:
    found: list[Contradiction] = []
    for name, part in (("sum_sent", sent), ("sum_received", got)):
        rate, moved, seconds = (number(part.get(k)) for k in ("bits_per_second", "bytes", "seconds"))
        if rate and moved and seconds:
            found += compared(
                "iperf3.rate", name, rate / 8, moved / seconds, "bytes ÷ seconds", 0.01, unit="B/s"
            )
    parts = [number(s.get("bytes")) for s in sums if not s.get("omitted")]
    total = sum(p for p in parts if p is not None)
    both = sorted(v for v in (number(sent.get("bytes")), number(got.get("bytes"))) if v)
    if both and total and not (both[0] * 0.98 <= total <= both[-1] * 1.02):
        found.append(
            Contradiction(
                id="iperf3.bytes", subject="sum_sent", claimed=both[-1], recomputed=total, unit="B",
                rule="sum over the intervals",
            )
        )  # fmt: skip
    return found

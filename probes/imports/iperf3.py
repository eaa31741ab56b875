"""iperf3's JSON (`-J`) and `--json-stream`, TCP and UDP. `bits_per_second` is bits; sent and received bytes differ.

With `--bidir` the way back has sums of its own: under "…_bidir_reverse", and in 3.7 under the same keys once more.
"""

import json
from collections.abc import Iterator
from statistics import fmean

import msgspec

from hostdx.probes.imports import json_text
from hostdx.probes.imports.command_options import neutral_fields
from hostdx.probes.imports.dates import epoch_to_iso
from hostdx.probes.imports.json_text import mapping_or_empty
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    SeriesPoint,
    compare_claim,
    make_facts,
    parse_uname,
)
from hostdx.probes.imports.numbers import parse_integer, parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.types import Json

_MAX_POINTS = 4000  # kept for the drawing, evenly spread
_BACK = "_bidir_reverse"
_NAMED = {
    "num_streams": "streams",
    "blksize": "block size",
    "target_bitrate": "target bit rate",
    "bytes": "bytes to send",
}


class _Iperf3Document(msgspec.Struct):
    start: dict[str, Json] = {}
    intervals: list[dict[str, Json]] = []
    end: dict[str, Json] = {}
    error: Json = None


class _StreamEvent(msgspec.Struct):
    event: str
    data: Json


class _TestDirection(msgspec.Struct):
    """One direction of the test: its sums, and those of its intervals."""

    name: str
    sent: dict[str, Json]
    received: dict[str, Json]
    sums: list[dict[str, Json]]
    round_trips_us: list[float | None] = []

    @property
    def interval_rates(self) -> tuple[float, ...]:
        """Bit/s of each interval that counts."""
        counted = (s for s in self.sums if not s.get("omitted"))
        return tuple(rate for s in counted if (rate := parse_number(s.get("bits_per_second"))) is not None)


def parse_iperf3(source: ImportSource) -> ImportResult:
    documents = list(_read_documents(source))
    if not documents:
        raise ImportRefusedError("iperf3: no JSON document in it", "run iperf3 with -J")
    document = documents[-1]
    start, end = document.start, document.end
    test = mapping_or_empty(start.get("test_start"))
    ways = _find_directions(document, test)
    first = ways[0]
    cpu = mapping_or_empty(end.get("cpu_utilization_percent"))
    error, seconds = json_text.text_or_number(document.error), parse_number(test.get("duration"))
    troubles = [ImportTrouble(id="iperf3.error", said=error)] if error else []
    if not any(parse_number(p.get("bits_per_second")) for way in ways for p in (way.sent, way.received)):
        if error:
            raise ImportRefusedError(f"iperf3: the test failed: {error[:120]}", "repeat the test")
        raise ImportRefusedError("iperf3: no sum at its end", "the test did not end: import a finished one")
    if len(documents) > 1:
        troubles.append(ImportTrouble(id="iperf3.several-runs", said=str(len(documents))))
    for way in ways:
        if count := parse_integer(way.sent.get("retransmits")):
            subject = way.name if len(ways) > 1 else ""
            troubles.append(ImportTrouble(id="iperf3.retransmits", subject=subject, said=str(count)))
    congestion = json_text.text_or_number(end.get("sender_tcp_congestion"), 40)
    facts = make_facts(
        ("protocol", json_text.text_or_number(test.get("protocol"), 20)),
        ("streams", parse_integer(test.get("num_streams"))),
        ("duration", seconds, "s"),
        ("bytes received", parse_integer(first.received.get("bytes")), "B"),
        ("other end", json_text.text_or_number(mapping_or_empty(start.get("connecting_to")).get("host"))),
        ("congestion control", congestion),
        ("CPU used", _share_of_percent(parse_number(cpu.get("host_total"))), ""),
        ("CPU used at the other end", _share_of_percent(parse_number(cpu.get("remote_total"))), ""),
    )
    host, kernel_facts = parse_uname(start.get("system_info"))
    facts += kernel_facts
    conditions = _test_conditions(test, start) | ({"congestion control": congestion} if congestion else {})
    conditions |= {"bidir": "1"} if len(ways) > 1 else {}  # before 3.16 the settings do not name it
    return ImportResult(
        kind="iperf3",
        tool="iperf3",
        version=str(start.get("version") or "")[:60].removeprefix("iperf ") or None,
        host=host,
        began=epoch_to_iso(parse_number(mapping_or_empty(start.get("timestamp")).get("timesecs"))),
        seconds=parse_number(first.sent.get("seconds")),
        measures=tuple(m for way in ways for m in _make_measures(way, seconds or 0.0, error, conditions)),
        facts=tuple(facts),
        contradictions=tuple(c for way in ways for c in _find_contradictions(way)),
        troubles=tuple(troubles),
        points=tuple(p for way in ways for p in _throughput_points(way, len(ways))),
        recomputed=("rate from bytes and seconds", "bytes from the intervals"),
    )


def _read_documents(source: ImportSource) -> Iterator[_Iperf3Document]:
    """Every test in the file, whatever form it was written in."""
    if source.head.lstrip().startswith(b'{"event":'):
        yield from _read_event_stream(source)
        return
    for start, end, document in json_text.iterate_documents(source.data, _Iperf3Document, "iperf3"):
        twice = "sum_sent" in document.end and source.data.count(b'"sum_sent":', start, end) > 1
        yield _decode_repeated_keys(source.data[start:end]) if twice else document


def _read_event_stream(source: ImportSource) -> Iterator[_Iperf3Document]:
    """`--json-stream`: an event a line; "end" closes a test."""
    document = _Iperf3Document()
    for _, _, event in json_text.iterate_documents(source.data, _StreamEvent, "iperf3"):
        if event.event == "start":
            document = _Iperf3Document(start=mapping_or_empty(event.data))
        elif event.event == "interval":
            document.intervals.append(mapping_or_empty(event.data))
        elif event.event == "error":
            document.error = event.data
        elif event.event == "end":
            document.end = mapping_or_empty(event.data)
            yield document
            document = _Iperf3Document()
    if document.intervals or document.error:
        yield document


def _decode_repeated_keys(data: bytes) -> _Iperf3Document:
    """3.7 writes the sums of the way back under the keys of the way there, once more."""
    if len(data) > json_text.UNTYPED_LIMIT:
        raise ImportRefusedError("iperf3: both ways have the same keys in it", "run iperf3 3.12 or newer")

    def rename_second(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        renamed: dict[str, Json] = {}
        for key, value in pairs:
            renamed[f"{key}{_BACK}" if key in renamed else key] = value
        return renamed

    return msgspec.convert(json.loads(data, object_pairs_hook=rename_second), _Iperf3Document)


def _find_directions(document: _Iperf3Document, test: dict[str, Json]) -> list[_TestDirection]:
    """The way that was tested; with `--bidir` the way there and the way back."""
    protocol = json_text.text_or_number(test.get("protocol"), 20) or "TCP"
    end = document.end
    streams = end.get("streams")
    senders = [
        mapping_or_empty(mapping_or_empty(stream).get("sender"))
        for stream in (streams if isinstance(streams, list) else [])
    ]

    def make_way(name: str, suffix: str) -> _TestDirection:
        both = mapping_or_empty(end.get(f"sum{suffix}"))
        return _TestDirection(
            name=f"iperf3 {protocol} {name}",
            sent=mapping_or_empty(end.get(f"sum_sent{suffix}")) or both,
            received=mapping_or_empty(end.get(f"sum_received{suffix}")) or both,
            sums=[mapping_or_empty(interval.get(f"sum{suffix}")) for interval in document.intervals],
            # of a stream that the other end sends, this end knows no round trip
            round_trips_us=[
                parse_number(sender.get("mean_rtt"))
                for sender in senders
                if sender.get("sender", True) and not suffix
            ],
        )

    back = make_way("receive", _BACK)
    if back.sent or back.received:
        return [make_way("send", ""), back]
    return [make_way("receive" if test.get("reverse") else "send", "")]


def _share_of_percent(percent: float | None) -> float | None:
    return percent / 100 if percent is not None else None


def _test_conditions(test: dict[str, Json], start: dict[str, Json]) -> dict[str, str]:
    """Every setting that is not at zero, and the sizes of segments and buffers that were asked for."""
    asked = test | {name: start.get(name) for name in ("sock_bufsize", "tcp_mss")}
    neutral = neutral_fields("iperf3")
    return {
        _NAMED.get(name, name.replace("_", " "))[:60]: text
        for name, value in asked.items()
        if name not in neutral and value and (text := json_text.text_or_number(value, 80)) is not None
    }


def _throughput_points(way: _TestDirection, ways: int) -> Iterator[SeriesPoint]:
    for interval in way.sums[:: -(-len(way.sums) // _MAX_POINTS) or 1]:
        at, rate = parse_number(interval.get("end")), parse_number(interval.get("bits_per_second"))
        if at is not None and rate is not None:
            series = f"throughput, {way.name}" if ways > 1 else "throughput"
            yield SeriesPoint(series=series, at_s=at, value=rate / 8, unit="B/s")


def _make_measures(
    way: _TestDirection, seconds: float, error: str | None, conditions: dict[str, str]
) -> Iterator[ImportedMeasure]:
    runs = tuple(rate / 8 for rate in way.interval_rates[:1000])
    invalid = f"iperf3 reports an error: {error}"[:200] if error else ""
    round_trips = [t for t in way.round_trips_us if t]
    lost, jitter = parse_number(way.received.get("lost_percent")), parse_number(way.received.get("jitter_ms"))
    received, sent = (
        parse_number(way.received.get("bits_per_second")),
        parse_number(way.sent.get("bits_per_second")),
    )
    for metric, value, unit in (
        ("bandwidth received", received and received / 8, "B/s"),
        ("bandwidth sent", sent and sent / 8, "B/s"),
        ("retransmits", parse_number(way.sent.get("retransmits")), ""),
        ("packets lost", _share_of_percent(lost), ""),
        ("jitter", jitter / 1000 if jitter is not None else None, "s"),
        ("mean round trip", fmean(round_trips) / 1e6 if round_trips else None, "s"),
    ):
        is_rate = unit == "B/s"
        if value is None or (is_rate and not value):
            continue
        yield ImportedMeasure(
            workload=way.name, metric=metric, value=value, unit=unit, better="more" if is_rate else "less",
            seconds=seconds, runs=runs if metric == "bandwidth sent" else (), invalid=invalid,
            judged=metric == "bandwidth received", conditions=conditions,
        )  # fmt: skip


def _find_contradictions(way: _TestDirection) -> list[Contradiction]:
    contradictions: list[Contradiction] = []
    for name, part in (("sum_sent", way.sent), ("sum_received", way.received)):
        rate, moved, seconds = (parse_number(part.get(k)) for k in ("bits_per_second", "bytes", "seconds"))
        if rate and moved and seconds:
            contradictions += compare_claim(
                "iperf3.rate", name, rate / 8, moved / seconds, "bytes ÷ seconds", 0.01, unit="B/s"
            )
    parts = [parse_number(s.get("bytes")) for s in way.sums if not s.get("omitted")]
    total = sum(p for p in parts if p is not None)
    both = sorted(
        v for v in (parse_number(way.sent.get("bytes")), parse_number(way.received.get("bytes"))) if v
    )
    if both and total and not (both[0] * 0.98 <= total <= both[-1] * 1.02):
        contradictions.append(
            Contradiction(
                id="iperf3.bytes", subject="sum_sent", claimed=both[-1], recomputed=total, unit="B",
                rule="sum over the intervals",
            )
        )  # fmt: skip
    return contradictions

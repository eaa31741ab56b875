"""iperf3's JSON (`-J`) and `--json-stream`, TCP and UDP. `bits_per_second` is bits; sent and received bytes differ.

With `--bidir` the way back has sums of its own: under "…_bidir_reverse", and in 3.7 under the same keys once more.
"""

import json
from collections.abc import Iterator
from statistics import fmean

import msgspec

from probes.imports import json_text
from probes.imports.dates import epoch
from probes.imports.json_text import mapping
from probes.imports.model import Contradiction, Measure, Point, Refused, Result, Trouble, compared, noted
from probes.imports.numbers import integer, number
from probes.imports.source import Source
from probes.types import Json

_MAX_POINTS = 4000  # kept for the drawing, evenly spread
_BACK = "_bidir_reverse"
# Every setting of the test is a condition, but how often iperf3 reported.
_NEUTRAL = frozenset({"interval", "protocol", "reverse"})
_NAMED = {
    "num_streams": "streams",
    "blksize": "block size",
    "target_bitrate": "target bit rate",
    "bytes": "bytes to send",
}


class _Document(msgspec.Struct):
    start: dict[str, Json] = {}
    intervals: list[dict[str, Json]] = []
    end: dict[str, Json] = {}
    error: Json = None


class _Event(msgspec.Struct):
    event: str
    data: Json


class _Way(msgspec.Struct):
    """One direction of the test: its sums, and those of its intervals."""

    name: str
    sent: dict[str, Json]
    received: dict[str, Json]
    sums: list[dict[str, Json]]
    round_trips_us: list[float | None] = []

    @property
    def rates(self) -> tuple[float, ...]:
        """Bit/s of each interval that counts."""
        counted = (s for s in self.sums if not s.get("omitted"))
        return tuple(rate for s in counted if (rate := number(s.get("bits_per_second"))) is not None)


def recognised(source: Source) -> bool:
    known = source.has(b'"start"', b'"version"', b"iperf") or source.has(b'"start"', b'"intervals"')
    return known or source.head.lstrip().startswith(b'{"event":')


def parse(source: Source) -> Result:
    documents = list(_documents(source))
    if not documents:
        raise Refused("iperf3: no JSON document in it", "run iperf3 with -J")
    document = documents[-1]
    start, end = document.start, document.end
    test = mapping(start.get("test_start"))
    ways = _ways(document, test)
    first = ways[0]
    cpu = mapping(end.get("cpu_utilization_percent"))
    error, seconds = json_text.text(document.error), number(test.get("duration"))
    troubles = [Trouble(id="iperf3.error", said=error)] if error else []
    if not any(number(part.get("bits_per_second")) for way in ways for part in (way.sent, way.received)):
        if error:
            raise Refused(f"iperf3: the test failed: {error[:120]}", "repeat the test")
        raise Refused("iperf3: no sum at its end", "the test did not end: import a finished one")
    if len(documents) > 1:
        troubles.append(Trouble(id="iperf3.several-runs", said=str(len(documents))))
    for way in ways:
        if count := integer(way.sent.get("retransmits")):
            subject = way.name if len(ways) > 1 else ""
            troubles.append(Trouble(id="iperf3.retransmits", subject=subject, said=str(count)))
    congestion = json_text.text(end.get("sender_tcp_congestion"), 40)
    facts = noted(
        ("protocol", json_text.text(test.get("protocol"), 20)),
        ("streams", integer(test.get("num_streams"))),
        ("duration", seconds, "s"),
        ("bytes received", integer(first.received.get("bytes")), "B"),
        ("other end", json_text.text(mapping(start.get("connecting_to")).get("host"))),
        ("congestion control", congestion),
        ("CPU used", _share(number(cpu.get("host_total"))), ""),
        ("CPU used at the other end", _share(number(cpu.get("remote_total"))), ""),
    )
    words = str(start.get("system_info", "")).split()
    linux = len(words) > 2 and words[0] == "Linux"
    facts += noted(("release", words[2]), subject="kernel") if linux else []
    conditions = _conditions(test, start) | ({"congestion control": congestion} if congestion else {})
    conditions |= {"bidir": "1"} if len(ways) > 1 else {}  # before 3.16 the settings do not name it
    return Result(
        kind="iperf3", tool="iperf3", version=str(start.get("version") or "")[:60].removeprefix("iperf ") or None,
        host=words[1][:120] if linux else None,
        began=epoch(number(mapping(start.get("timestamp")).get("timesecs"))), seconds=number(first.sent.get("seconds")),
        measures=tuple(m for way in ways for m in _measures(way, seconds or 0.0, error, conditions)),
        facts=tuple(facts), contradictions=tuple(c for way in ways for c in _contradictions(way)),
        troubles=tuple(troubles), points=tuple(p for way in ways for p in _points(way, len(ways))),
        recomputed=("rate from bytes and seconds", "bytes from the intervals"),
    )  # fmt: skip


def _documents(source: Source) -> Iterator[_Document]:
    """Every test in the file, whatever form it was written in."""
    if source.head.lstrip().startswith(b'{"event":'):
        yield from _streamed(source)
        return
    for start, end, document in json_text.documents(source.data, _Document, "iperf3"):
        twice = "sum_sent" in document.end and source.data.count(b'"sum_sent":', start, end) > 1
        yield _with_both_ways(source.data[start:end]) if twice else document


def _streamed(source: Source) -> Iterator[_Document]:
    """`--json-stream`: an event a line; "end" closes a test."""
    document = _Document()
    for _, _, event in json_text.documents(source.data, _Event, "iperf3"):
        if event.event == "start":
            document = _Document(start=mapping(event.data))
        elif event.event == "interval":
            document.intervals.append(mapping(event.data))
        elif event.event == "error":
            document.error = event.data
        elif event.event == "end":
            document.end = mapping(event.data)
            yield document
            document = _Document()
    if document.intervals or document.error:
        yield document


def _with_both_ways(data: bytes) -> _Document:
    """3.7 writes the sums of the way back under the keys of the way there, once more."""
    if len(data) > json_text.UNTYPED_LIMIT:
        raise Refused("iperf3: both ways have the same keys in it", "run iperf3 3.12 or newer")

    def rename_second(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        named: dict[str, Json] = {}
        for key, value in pairs:
            named[f"{key}{_BACK}" if key in named else key] = value
        return named

    return msgspec.convert(json.loads(data, object_pairs_hook=rename_second), _Document)


def _ways(document: _Document, test: dict[str, Json]) -> list[_Way]:
    """The way that was tested; with `--bidir` the way there and the way back."""
    protocol = json_text.text(test.get("protocol"), 20) or "TCP"
    end = document.end
    streams = end.get("streams")
    senders = [
        mapping(mapping(stream).get("sender")) for stream in (streams if isinstance(streams, list) else [])
    ]

    def way(name: str, suffix: str) -> _Way:
        both = mapping(end.get(f"sum{suffix}"))
        return _Way(
            name=f"iperf3 {protocol} {name}",
            sent=mapping(end.get(f"sum_sent{suffix}")) or both,
            received=mapping(end.get(f"sum_received{suffix}")) or both,
            sums=[mapping(interval.get(f"sum{suffix}")) for interval in document.intervals],
            # of a stream that the other end sends, this end knows no round trip
            round_trips_us=[
                number(one.get("mean_rtt")) for one in senders if one.get("sender", True) and not suffix
            ],
        )

    back = way("receive", _BACK)
    if back.sent or back.received:
        return [way("send", ""), back]
    return [way("receive" if test.get("reverse") else "send", "")]


def _share(percent: float | None) -> float | None:
    return percent / 100 if percent is not None else None


def _conditions(test: dict[str, Json], start: dict[str, Json]) -> dict[str, str]:
    """Every setting that is not at zero, and the sizes of segments and buffers that were asked for."""
    asked = test | {name: start.get(name) for name in ("sock_bufsize", "tcp_mss")}
    return {
        _NAMED.get(name, name.replace("_", " "))[:60]: text
        for name, value in asked.items()
        if name not in _NEUTRAL and value and (text := json_text.text(value, 80)) is not None
    }


def _points(way: _Way, ways: int) -> Iterator[Point]:
    for one in way.sums[:: -(-len(way.sums) // _MAX_POINTS) or 1]:
        at, rate = number(one.get("end")), number(one.get("bits_per_second"))
        if at is not None and rate is not None:
            series = f"throughput, {way.name}" if ways > 1 else "throughput"
            yield Point(series=series, at_s=at, value=rate / 8, unit="B/s")


def _measures(way: _Way, seconds: float, error: str | None, conditions: dict[str, str]) -> Iterator[Measure]:
    runs = tuple(rate / 8 for rate in way.rates[:1000])
    invalid = f"iperf3 reports an error: {error}"[:200] if error else ""
    round_trips = [t for t in way.round_trips_us if t]
    lost, jitter = number(way.received.get("lost_percent")), number(way.received.get("jitter_ms"))
    received, sent = number(way.received.get("bits_per_second")), number(way.sent.get("bits_per_second"))
    for metric, value, unit in (
        ("bandwidth received", received and received / 8, "B/s"),
        ("bandwidth sent", sent and sent / 8, "B/s"),
        ("retransmits", number(way.sent.get("retransmits")), ""),
        ("packets lost", _share(lost), ""),
        ("jitter", jitter / 1000 if jitter is not None else None, "s"),
        ("mean round trip", fmean(round_trips) / 1e6 if round_trips else None, "s"),
    ):
        is_rate = unit == "B/s"
        if value is None or (is_rate and not value):
            continue
        yield Measure(
            workload=way.name, metric=metric, value=value, unit=unit, better="more" if is_rate else "less",
            seconds=seconds, runs=runs if metric == "bandwidth sent" else (), invalid=invalid,
            judged=metric == "bandwidth received", conditions=conditions,
        )  # fmt: skip


def _contradictions(way: _Way) -> list[Contradiction]:
    found: list[Contradiction] = []
    for name, part in (("sum_sent", way.sent), ("sum_received", way.received)):
        rate, moved, seconds = (number(part.get(k)) for k in ("bits_per_second", "bytes", "seconds"))
        if rate and moved and seconds:
            found += compared(
                "iperf3.rate", name, rate / 8, moved / seconds, "bytes ÷ seconds", 0.01, unit="B/s"
            )
    parts = [number(s.get("bytes")) for s in way.sums if not s.get("omitted")]
    total = sum(p for p in parts if p is not None)
    both = sorted(v for v in (number(way.sent.get("bytes")), number(way.received.get("bytes"))) if v)
    if both and total and not (both[0] * 0.98 <= total <= both[-1] * 1.02):
        found.append(
            Contradiction(
                id="iperf3.bytes", subject="sum_sent", claimed=both[-1], recomputed=total, unit="B",
                rule="sum over the intervals",
            )
        )  # fmt: skip
    return found

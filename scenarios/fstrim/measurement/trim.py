"""One trim: what fstrim claims, what the kernel counted, and when the disk came to rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from probes.action import Action
from probes.host import Host
from probes.system.disk.diskstats import disk_counters
from probes.types import Absent
from scenarios import events as ev
from scenarios.fstrim.measurement.durations import Pattern
from scenarios.model import Run

LOOK_S = 0.5


class Discards(NamedTuple):
    """The leaves' counters: what was asked to be discarded, and written, since boot; None on old kernels."""

    requests: int | None
    bytes: int | None
    in_flight: int
    written: int


class Trimmed(NamedTuple):
    """`claimed`: what `fstrim -v` printed (None where it printed something else); `rest_s`: from its end until the
    counters stood still, None where they did not within the time.
    """

    claimed: int | None
    said: str
    requested: int | None
    requests: int | None
    rest_s: float | None
    waited_s: float


def discards(host: Host, leaves: Sequence[str]) -> Discards | Absent:
    counters = disk_counters(host)
    if isinstance(counters, Absent):
        return counters
    gone = [name for name in leaves if name not in counters]
    if gone:
        return Absent(f"{', '.join(gone)} is gone", "missing", "/proc/diskstats")
    own = [counters[name] for name in leaves]
    counted = [c for c in own if c.discards is not None and c.discard_bytes is not None]
    known = len(counted) == len(own)
    return Discards(
        sum(c.discards or 0 for c in counted) if known else None,
        sum(c.discard_bytes or 0 for c in counted) if known else None,
        sum(c.in_flight for c in own),
        sum(c.write_bytes for c in own),
    )


def claim(said: str) -> int | None:
    """`/mnt: 3.9 GiB (4186771456 bytes) trimmed`; the number is there since util-linux 2.24, in other words before."""
    found = re.search(r"\(([0-9]{1,20}) bytes\)[^()]*$", said) or re.search(r":\s*([0-9]{1,20}) B\b", said)
    found = found or re.search(r"\b([0-9]{1,20}) bytes (?:were|was) trimmed", said)
    return int(found[1]) if found else None


async def trim(run: Run, action: Action, leaves: Sequence[str], pattern: Pattern) -> Trimmed:
    """Trims and waits until the disk rests, at most `settle_at_most_s`. Raises Refused (from `change`)."""
    before = discards(run.host, leaves)
    began = run.clock.now()
    async with run.change(action) as applied:
        ended = run.clock.now()
        rest_s = await _rest(run, leaves, pattern, ended)
    after = discards(run.host, leaves)
    requested = requests = None
    if isinstance(before, Discards) and isinstance(after, Discards):
        if before.bytes is not None and after.bytes is not None:
            requested = after.bytes - before.bytes
        if before.requests is not None and after.requests is not None:
            requests = after.requests - before.requests
    return Trimmed(claim(applied.value), applied.value, requested, requests, rest_s, run.clock.now() - began)


async def _rest(run: Run, leaves: Sequence[str], pattern: Pattern, ended: float) -> float | None:
    """Waits until for `rest_s` nothing is in flight and no discard comes, at most `settle_at_most_s`.

    Returns since when no discard came, seconds after fstrim's end; None where discards came to the last.

    Others' requests are in flight too: on a busy disk the whole time passes, and only the counters tell.
    """
    quiet_since = counted_since = ended
    last: int | None = None
    while True:
        now = discards(run.host, leaves)
        if isinstance(now, Absent):
            return None
        at = run.clock.now()
        if last is not None and now.bytes != last:
            quiet_since = counted_since = at
        if now.in_flight:
            quiet_since = at
        last = now.bytes
        if at - quiet_since >= pattern.rest_s:
            return max(0.0, counted_since - ended)
        if at - ended >= pattern.settle_at_most_s:
            return max(0.0, counted_since - ended) if at - counted_since >= pattern.rest_s else None
        run.emit(
            ev.Progress(
                t=run.time(),
                step="trim",
                text="waiting until the disk is idle",
                seconds_left=max(0.0, pattern.rest_s - (at - quiet_since)),
            )
        )
        await run.clock.sleep(min(LOOK_S, pattern.rest_s))

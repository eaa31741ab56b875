"""The nights of a fleet's other hosts, as far as one host's history needs them: of each the loads' figures.

They lie in a directory of the site's, thousands of recordings at any depth. What was read once is kept in our own
state directory, by path, size and time; another size or time, and it is read again.
"""

import os
from hashlib import sha256
from pathlib import Path

import msgspec

from hostdx.app.recordings import store
from hostdx.app.recordings.sides import read_run_summary
from hostdx.app.state import make_private_dir, state_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output_file import write_bytes
from hostdx.probes.files.safe_read import read_trusted_file
from hostdx.probes.units import count_noun
from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.analysis.nights.fleet import OtherNight

_MAX_CACHE_BYTES = 1 << 30
_ANSWERS = "answers.jsonl"  # of a fleet run: no recording


class _CachedNight(msgspec.Struct, array_like=True):
    """`keys`: places in the list of all keys, one for each of `logs`. `why` it cannot be read."""

    size: int
    changed_ns: int
    host: str = ""
    wall: str = ""
    keys: list[int] = []
    logs: list[float] = []
    why: str = ""


class _NightCache(msgspec.Struct):
    keys: list[FigureKey] = []
    entries: dict[str, _CachedNight] = {}


class FleetNights(msgspec.Struct, frozen=True):
    """`others`: by host. `trouble`: how many recordings cannot be read, and why the first; empty where all can."""

    others: dict[str, list[OtherNight]] = {}
    trouble: str = ""


_decoder = msgspec.msgpack.Decoder(_NightCache)


def read_fleet_nights(folder: str) -> FleetNights:
    """Of all recordings below it; no link is followed. Raises Failure."""
    kept_in = state_dir() / "fleet-nights" / f"{sha256(os.fsencode(folder)).hexdigest()[:16]}.msgpack"
    before = _read_cache_or_new(kept_in)
    cache = _NightCache(before.keys)
    places = {key: place for place, key in enumerate(cache.keys)}
    fresh: dict[Path, tuple[int, int]] = {}
    for path, there in _recordings_below(folder):
        earlier = before.entries.get(str(path))
        size_and_time = (there.st_size, there.st_mtime_ns)
        if earlier is not None and (earlier.size, earlier.changed_ns) == size_and_time:
            cache.entries[str(path)] = earlier
        else:
            fresh[path] = size_and_time
    for path, size_and_time in fresh.items():
        night, why = _read_night_or_reason(path)
        entry = cache.entries[str(path)] = _CachedNight(*size_and_time, why=why)
        if night is not None:
            entry.host, entry.wall, entry.logs = night.host, night.wall, list(night.logs.values())
            entry.keys = [places.setdefault(key, len(places)) for key in night.logs]
    cache.keys = list(places)
    if fresh or len(cache.entries) < len(before.entries):
        _write_cache_if_possible(kept_in, cache)
    return _fleet_nights_of(folder, cache)


def _fleet_nights_of(folder: str, cache: _NightCache) -> FleetNights:
    others: dict[str, list[OtherNight]] = {}
    unread = []
    for path, entry in sorted(cache.entries.items()):
        if entry.why:
            unread.append(f"{path}: {entry.why}")
        elif entry.logs:
            logs = {cache.keys[place]: log for place, log in zip(entry.keys, entry.logs, strict=True)}
            others.setdefault(entry.host, []).append(OtherNight(entry.host, entry.wall, logs))
    if not unread:
        return FleetNights(others)
    count = f"{len(unread)} of {count_noun(len(cache.entries), 'recording')}"
    return FleetNights(others, f"{count} below {folder} cannot be read, the first: {unread[0]}")


def _read_night_or_reason(path: Path) -> tuple[OtherNight | None, str]:
    """None of one that did not end as it should; with the reason where it cannot be read."""
    try:
        take = read_run_summary(path, path.name, spread=False)
    except (OSError, Failure, ValueError) as why:
        return None, " ".join(str(getattr(why, "text", why)).removeprefix(f"{path}: ").split())[:200]
    if take.status != "done":
        return None, ""
    return OtherNight(
        take.host, take.wall, {key: figure.log_mean for key, figure in take.figures.items()}
    ), ""


def _recordings_below(folder: str) -> list[tuple[Path, os.stat_result]]:
    paths = []
    for at, _, _ in os.walk(folder):
        for path in store.recordings_in(Path(at)):
            try:
                if path.name != _ANSWERS:
                    paths.append((path, path.stat()))
            except OSError:
                continue  # it has gone meanwhile
    return paths


def _read_cache_or_new(path: Path) -> _NightCache:
    """Nothing where there is none, or none of this version."""
    try:
        cache = _decoder.decode(read_trusted_file(path, _MAX_CACHE_BYTES))
    except (OSError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _NightCache()
    sound = all(
        len(cached_night.keys) == len(cached_night.logs)
        and all(0 <= place < len(cache.keys) for place in cached_night.keys)
        for cached_night in cache.entries.values()
    )
    return cache if sound else _NightCache()


def _write_cache_if_possible(path: Path, cache: _NightCache) -> None:
    """Where that cannot be written all of them are read again the next time."""
    try:
        make_private_dir(path.parent)
        write_bytes("history", str(path), 0o600, msgspec.msgpack.encode(cache))
    except Failure:
        pass

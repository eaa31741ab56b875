"""The nights of a fleet's other hosts, as far as one host's history needs them: of each the loads' figures.

They lie in a directory of the site's, thousands of recordings at any depth. What was read once is kept in our own
state directory, by path, size and time; another size or time, and it is read again.
"""

import os
from hashlib import sha256
from pathlib import Path

import msgspec

from app.failure import Failure
from app.output_file import write_bytes
from app.recording import store
from app.recording.sides import take_of
from app.state import private, state_dir
from probes.safe_read import read_named
from probes.units import counted
from scenarios.compare.run_summary import FigureKey
from scenarios.nights.fleet import OtherNight

_MOST_BYTES = 1 << 30
_ANSWERS = "answers.jsonl"  # of a fleet run: no recording


class _Kept(msgspec.Struct, array_like=True):
    """`keys`: places in the list of all keys, one for each of `logs`. `why` it cannot be read."""

    size: int
    changed_ns: int
    host: str = ""
    wall: str = ""
    keys: list[int] = []
    logs: list[float] = []
    why: str = ""


class _File(msgspec.Struct):
    keys: list[FigureKey] = []
    entries: dict[str, _Kept] = {}


class FleetNights(msgspec.Struct, frozen=True):
    """`others`: by host. `trouble`: how many recordings cannot be read, and why the first; empty where all can."""

    others: dict[str, list[OtherNight]] = {}
    trouble: str = ""


_decoder = msgspec.msgpack.Decoder(_File)


def fleet_nights(folder: str) -> FleetNights:
    """Of all recordings below it; no link is followed. Raises Failure."""
    kept_in = state_dir() / "fleet-nights" / f"{sha256(os.fsencode(folder)).hexdigest()[:16]}.msgpack"
    before = _kept(kept_in)
    found = _File(before.keys)
    places = {key: place for place, key in enumerate(found.keys)}
    fresh: dict[Path, tuple[int, int]] = {}
    for path, there in _below(folder):
        known = before.entries.get(str(path))
        seen = (there.st_size, there.st_mtime_ns)
        if known is not None and (known.size, known.changed_ns) == seen:
            found.entries[str(path)] = known
        else:
            fresh[path] = seen
    for path, seen in fresh.items():
        night, why = _read(path)
        entry = found.entries[str(path)] = _Kept(*seen, why=why)
        if night is not None:
            entry.host, entry.wall, entry.logs = night.host, night.wall, list(night.logs.values())
            entry.keys = [places.setdefault(key, len(places)) for key in night.logs]
    found.keys = list(places)
    if fresh or len(found.entries) < len(before.entries):
        _keep(kept_in, found)
    return _told(folder, found)


def _told(folder: str, found: _File) -> FleetNights:
    others: dict[str, list[OtherNight]] = {}
    unread = []
    for path, entry in sorted(found.entries.items()):
        if entry.why:
            unread.append(f"{path}: {entry.why}")
        elif entry.logs:
            logs = {found.keys[place]: log for place, log in zip(entry.keys, entry.logs, strict=True)}
            others.setdefault(entry.host, []).append(OtherNight(entry.host, entry.wall, logs))
    if not unread:
        return FleetNights(others)
    count = f"{len(unread)} of {counted(len(found.entries), 'recording')}"
    return FleetNights(others, f"{count} below {folder} cannot be read, the first: {unread[0]}")


def _read(path: Path) -> tuple[OtherNight | None, str]:
    """None of one that did not end as it should; with the reason where it cannot be read."""
    try:
        take = take_of(path, path.name, spread=False)
    except (OSError, Failure, ValueError) as why:
        return None, " ".join(str(getattr(why, "text", why)).removeprefix(f"{path}: ").split())[:200]
    if take.status != "done":
        return None, ""
    return OtherNight(take.host, take.wall, {key: one.log_mean for key, one in take.figures.items()}), ""


def _below(folder: str) -> list[tuple[Path, os.stat_result]]:
    found = []
    for at, _, _ in os.walk(folder):
        for path in store.files(Path(at)):
            try:
                if path.name != _ANSWERS:
                    found.append((path, path.stat()))
            except OSError:
                continue  # it has gone meanwhile
    return found


def _kept(path: Path) -> _File:
    """Nothing where there is none, or none of this version."""
    try:
        found = _decoder.decode(read_named(path, _MOST_BYTES))
    except (OSError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _File()
    sound = all(
        len(one.keys) == len(one.logs) and all(0 <= place < len(found.keys) for place in one.keys)
        for one in found.entries.values()
    )
    return found if sound else _File()


def _keep(path: Path, found: _File) -> None:
    """Where that cannot be written all of them are read again the next time."""
    try:
        private(path.parent)
        write_bytes("history", str(path), 0o600, msgspec.msgpack.encode(found))
    except Failure:
        pass

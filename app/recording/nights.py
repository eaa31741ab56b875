"""The nights that a host's watch recorded: ordinary recordings in a folder, numbered, and an index made of them.

`000012-1-20261124T013000Z.jsonl` is the first run of the twelfth night, `000012-2-…` its retest. The number gives the
order, whatever the clock was set to. The index holds what the history needs of each, so that a year of nights is shown
in a moment; it is made again from the recordings wherever it does not fit them.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from app.failure import Failure
from app.output_file import write_bytes
from app.recording import store
from app.recording.sides import takes
from app.state import private
from probes.lossless_json import Decoder, encode
from probes.safe_read import read_named
from scenarios.compare.run_summary import Take
from scenarios.nights.fleet import OtherNight, without_common
from scenarios.nights.history import History, history
from scenarios.nights.night import NightRun, night_run

SCHEMA = "hostdx-nights/1"
INDEX = "index.json"
Others: TypeAlias = Mapping[str, Sequence[OtherNight]]  # by host
NONE: Others = {}
MOST_INDEX_BYTES = 64 << 20
_NAME = re.compile(r"(\d{6})-(\d)-[0-9TZ]{16}\.jsonl")


class _Entry(msgspec.Struct, frozen=True):
    """A recording as it was when it was read: another size or time, and it is read again."""

    size: int
    changed_ns: int
    run: NightRun


class _Index(msgspec.Struct):
    schema: str
    entries: dict[str, _Entry] = {}


_decoder = Decoder(_Index)


class Nights:
    """One folder of nights. Reading it writes nothing; `refresh` writes the index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.troubles: list[str] = []  # recordings that cannot be read, a line each

    @property
    def files(self) -> list[Path]:
        """In the order of the nights."""
        return sorted(path for path in store.files(self.folder) if _NAME.fullmatch(path.name))

    @property
    def baseline(self) -> tuple[Path, ...]:
        """The first runs of the newest whole baseline, else of all nights."""
        runs = self.runs()
        found = _history(runs)
        numbers = {seen.night for seen in found.nights if seen.baseline == found.baselines}
        chosen = {run.name for run in runs if run.state == "measured" and run.night in numbers}
        return tuple(path for path in self.files if path.name in chosen)

    def history(self, fleet: Others = NONE) -> History:
        """`fleet`: other hosts' nights, of which what they have in common is taken off."""
        return _history(_own(self.runs(), fleet))

    def runs(self) -> list[NightRun]:
        """Of every recording, from the index where it has it."""
        return [entry.run for entry in self._entries().values()]

    def refresh(self) -> None:
        """Writes the index anew, in one step. Raises Failure."""
        write_bytes("watch", str(self.folder / INDEX), 0o600, encode(_Index(SCHEMA, self._entries())))

    def next_name(self, stamp: str, *, again: bool) -> Path:
        """`stamp`: 20261124T013000Z. `again`: once more in the last night. Raises Failure."""
        private(self.folder)
        last = _NAME.fullmatch(self.files[-1].name) if self.files else None
        night, run = (int(last[1]), int(last[2])) if last else (0, 0)
        name = f"{night:06d}-{run + 1}" if again else f"{night + 1:06d}-1"
        return self.folder / f"{name}-{stamp}.jsonl"

    def prune(self, keep: int) -> list[Path]:
        """Deletes the oldest nights beyond the newest `keep`; a baseline's, whole or not, stay. What was deleted."""
        found = self.history()
        newest = {seen.night for seen in found.nights[-keep:]}
        newest |= {seen.night for seen in found.nights if seen.baseline and seen.baseline == found.baselines}
        measured = [seen.night for seen in found.nights if seen.state == "measured"]
        newest |= set(measured[len(measured) - found.collected :])
        gone = [path for path in self.files if int(path.name[:6]) not in newest]
        for path in gone:
            store.delete(path)
        return gone

    def _entries(self) -> dict[str, _Entry]:
        known = self._index()
        found: dict[str, _Entry] = {}
        before: Path | None = None  # the last measured one
        for path in self.files:
            try:
                there = path.stat()
                entry = known.get(path.name)
                if entry is None or (entry.size, entry.changed_ns) != (there.st_size, there.st_mtime_ns):
                    entry = _Entry(there.st_size, there.st_mtime_ns, _read(path, before))
            except (OSError, Failure, ValueError) as why:
                self.troubles.append(f"{path}: {why}")
                continue
            found[path.name] = entry
            if entry.run.state == "measured":
                before = path
        return found

    def _index(self) -> dict[str, _Entry]:
        """Nothing where there is none, or none of this version."""
        try:
            read: _Index = _decoder.decode(read_named(self.folder / INDEX, MOST_INDEX_BYTES))
        except (OSError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return {}
        return read.entries if read.schema == SCHEMA else {}


def _read(path: Path, before: Path | None) -> NightRun:
    (now,) = takes([path])
    earlier: Take | None = takes([before])[0] if before is not None else None
    return night_run(int(path.name[:6]), now, earlier)


def _history(runs: Sequence[NightRun]) -> History:
    return history(runs[-1].host if runs else os.uname().nodename, runs)


def of_recordings(paths: Iterable[Path], host: str = "", fleet: Others = NONE) -> History | None:
    """Of any recordings in the order of their dates: each is a night. `host`: only that one's; None without any."""
    found = sorted(takes(list(paths)), key=lambda take: take.wall)
    runs = _runs([take for take in found if take.host == host] if host else found)
    return history(host or runs[-1].host, _own(runs, fleet)) if runs else None


def _runs(nights: Iterable[Take]) -> list[NightRun]:
    runs: list[NightRun] = []
    before: Take | None = None
    for number, take in enumerate(nights, 1):
        runs.append(night_run(number, take, before))
        if runs[-1].state == "measured":
            before = take
    return runs


def _own(runs: Sequence[NightRun], fleet: Others) -> Sequence[NightRun]:
    """Without what the other hosts' nights have in common."""
    own = {run.host for run in runs}
    others = {host: nights for host, nights in fleet.items() if host not in own}
    return without_common(runs, others) if others else runs

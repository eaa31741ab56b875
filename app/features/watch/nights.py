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

from hostdx.app.recordings import store
from hostdx.app.recordings.sides import read_run_summaries
from hostdx.app.state import make_private_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output_file import write_bytes
from hostdx.probes.files.safe_read import read_trusted_file
from hostdx.probes.reading.lossless_json import Decoder, encode
from hostdx.scenarios.analysis.compare.run_summary import RunSummary
from hostdx.scenarios.analysis.nights.fleet import OtherNight, remove_common_effects
from hostdx.scenarios.analysis.nights.history import HostHistory, NightRun, make_history, make_night_run

SCHEMA = "hostdx-nights/1"
INDEX = "index.json"
Others: TypeAlias = Mapping[str, Sequence[OtherNight]]  # by host
NONE: Others = {}
MAX_INDEX_BYTES = 64 << 20
_NAME = re.compile(r"(\d{6})-(\d)-[0-9TZ]{16}\.jsonl")


class _CachedRun(msgspec.Struct, frozen=True):
    """A recording as it was when it was read: another size or time, and it is read again."""

    size: int
    changed_ns: int
    run: NightRun


class _Index(msgspec.Struct):
    schema: str
    entries: dict[str, _CachedRun] = {}


_decoder = Decoder(_Index)


class NightsFolder:
    """One folder of nights. Reading it writes nothing; `write_index` writes the index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.troubles: list[str] = []  # recordings that cannot be read, a line each

    @property
    def recording_paths(self) -> list[Path]:
        """In the order of the nights."""
        return sorted(path for path in store.recordings_in(self.folder) if _NAME.fullmatch(path.name))

    @property
    def baseline_paths(self) -> tuple[Path, ...]:
        """The first runs of the newest whole baseline, else of all nights."""
        runs = self.read_runs()
        night_history = _history_of_runs(runs)
        numbers = {night.night for night in night_history.nights if night.baseline == night_history.baselines}
        chosen = {run.name for run in runs if run.state == "measured" and run.night in numbers}
        return tuple(path for path in self.recording_paths if path.name in chosen)

    def read_history(self, fleet: Others = NONE) -> HostHistory:
        """`fleet`: other hosts' nights, of which what they have in common is taken off."""
        return _history_of_runs(_without_fleet_effects(self.read_runs(), fleet))

    def read_runs(self) -> list[NightRun]:
        """Of every recording, from the index where it has it."""
        return [entry.run for entry in self._cached_entries().values()]

    def write_index(self) -> None:
        """Writes the index anew, in one step. Raises Failure."""
        write_bytes("watch", str(self.folder / INDEX), 0o600, encode(_Index(SCHEMA, self._cached_entries())))

    def next_recording_path(self, stamp: str, *, again: bool) -> Path:
        """`stamp`: 20261124T013000Z. `again`: once more in the last night. Raises Failure."""
        make_private_dir(self.folder)
        last = _NAME.fullmatch(self.recording_paths[-1].name) if self.recording_paths else None
        night, run = (int(last[1]), int(last[2])) if last else (0, 0)
        name = f"{night:06d}-{run + 1}" if again else f"{night + 1:06d}-1"
        return self.folder / f"{name}-{stamp}.jsonl"

    def prune_nights(self, keep: int) -> list[Path]:
        """Deletes the oldest nights beyond the newest `keep`; a baseline's, whole or not, stay. What was deleted."""
        night_history = self.read_history()
        newest = {night.night for night in night_history.nights[-keep:]}
        newest |= {
            night.night
            for night in night_history.nights
            if night.baseline and night.baseline == night_history.baselines
        }
        measured = [night.night for night in night_history.nights if night.state == "measured"]
        newest |= set(measured[len(measured) - night_history.collected :])
        removed = [path for path in self.recording_paths if int(path.name[:6]) not in newest]
        for path in removed:
            store.delete_recording_and_parts(path)
        return removed

    def _cached_entries(self) -> dict[str, _CachedRun]:
        indexed = self._read_index()
        entries: dict[str, _CachedRun] = {}
        before: Path | None = None  # the last measured one
        for path in self.recording_paths:
            try:
                there = path.stat()
                entry = indexed.get(path.name)
                if entry is None or (entry.size, entry.changed_ns) != (there.st_size, there.st_mtime_ns):
                    entry = _CachedRun(there.st_size, there.st_mtime_ns, _read_night_run(path, before))
            except (OSError, Failure, ValueError) as why:
                self.troubles.append(f"{path}: {why}")
                continue
            entries[path.name] = entry
            if entry.run.state == "measured":
                before = path
        return entries

    def _read_index(self) -> dict[str, _CachedRun]:
        """Nothing where there is none, or none of this version."""
        try:
            read: _Index = _decoder.decode(read_trusted_file(self.folder / INDEX, MAX_INDEX_BYTES))
        except (OSError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return {}
        return read.entries if read.schema == SCHEMA else {}


def _read_night_run(path: Path, before: Path | None) -> NightRun:
    (now,) = read_run_summaries([path])
    earlier: RunSummary | None = read_run_summaries([before])[0] if before is not None else None
    return make_night_run(int(path.name[:6]), now, earlier)


def _history_of_runs(runs: Sequence[NightRun]) -> HostHistory:
    return make_history(runs[-1].host if runs else os.uname().nodename, runs)


def history_of_recordings(paths: Iterable[Path], host: str = "", fleet: Others = NONE) -> HostHistory | None:
    """Of any recordings in the order of their dates: each is a night. `host`: only that one's; None without any."""
    ordered = sorted(read_run_summaries(list(paths)), key=lambda take: take.wall)
    runs = _night_runs([take for take in ordered if take.host == host] if host else ordered)
    return make_history(host or runs[-1].host, _without_fleet_effects(runs, fleet)) if runs else None


def _night_runs(nights: Iterable[RunSummary]) -> list[NightRun]:
    runs: list[NightRun] = []
    before: RunSummary | None = None
    for number, take in enumerate(nights, 1):
        runs.append(make_night_run(number, take, before))
        if runs[-1].state == "measured":
            before = take
    return runs


def _without_fleet_effects(runs: Sequence[NightRun], fleet: Others) -> Sequence[NightRun]:
    """Without what the other hosts' nights have in common."""
    own = {run.host for run in runs}
    others = {host: nights for host, nights in fleet.items() if host not in own}
    return remove_common_effects(runs, others) if others else runs


def baseline_paths(folder: Path) -> tuple[Path, ...]:
    """Return the nights that the newest baseline is made of, or is being made of."""
    return NightsFolder(folder).baseline_paths

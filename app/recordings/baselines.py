"""Baselines: recordings kept under a name, to compare later runs with. A copy each, so that cleaning up loses none."""

import filecmp
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec

from hostdx.app.feature import import_and_call, own_features
from hostdx.app.recordings import store
from hostdx.app.recordings.limits import SIZE_LIMIT
from hostdx.app.recordings.sides import read_run_summaries
from hostdx.app.state import ELSEWHERE, make_private_dir, state_dir
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.probes import units
from hostdx.probes.files.safe_read import open_trusted_regular
from hostdx.scenarios.analysis.compare.comparison import ComparedRecordings, compare_recordings
from hostdx.scenarios.analysis.compare.run_summary import RunSummary

CHUNK = 1 << 20
WATCH = "watch"  # the nights': made and kept by `hostdx watch`, its baseline is a baseline as any other
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Baseline(msgspec.Struct, frozen=True):
    name: str
    recordings: tuple[Path, ...]


def baselines_dir() -> Path:
    return state_dir() / "baselines"


def add_to_baseline(name: str, files: Sequence[Path]) -> Baseline:
    """Adds copies of finished runs; a recording that is there already stays as it is. Raises Failure.

    Another one of the same name gets its host and time into its name.
    """
    checked = _require_valid_name(name)
    if name == WATCH:
        raise Failure(f"baseline {name}: is the one of `hostdx watch`; choose another name", USAGE)
    runs = [(path, _require_finished(name, path)) for path in files]
    folder = make_private_dir(baselines_dir() / checked)
    try:
        for path, run in runs:
            for target in (folder / path.name, folder / _name_with_host_and_time(run)):
                if not target.exists():
                    _copy_recording_or_nothing(path, target)
                    break
                if filecmp.cmp(path, target, shallow=False):
                    break
            else:
                raise Failure(
                    f"baseline {name}: {path}: another recording of that name, host and time is kept already"
                )
    except OSError as error:
        failed_path = Path(error.filename or path)
        room = f"; {ELSEWHERE}" if failed_path.parent == folder else ""
        raise Failure(f"baseline {name}: {failed_path}: {error.strerror}{room}") from None
    return Baseline(name, tuple(sorted(store.recordings_in(folder))))


def _name_with_host_and_time(run: store.ListedRecording) -> str:
    stem, dot, suffix = run.name.partition(".jsonl")
    host_and_time = re.sub(r"[^A-Za-z0-9._-]", "_", f"{run.host[:60]}-{run.wall[:19]}")
    return f"{stem}-{host_and_time}{dot}{suffix}"


def _require_finished(name: str, path: Path) -> store.ListedRecording:
    """Raises Failure for what is no recording, and for one without a normal end."""
    if not path.name.endswith(store.SUFFIXES):
        raise Failure(f"baseline: {path}: is no recording by its name (*.jsonl, *.jsonl.gz)", USAGE)
    entry = store.examine_recording(path)
    if entry.state == "unreadable":
        raise Failure(f"baseline {name}: {entry.reason}", USAGE)
    if entry.state != "done":
        raise Failure(
            f"baseline {name}: {path}: did not end normally ({entry.state}); save a finished run", USAGE
        )
    return entry


def _copy_recording_or_nothing(path: Path, target: Path) -> None:
    """A file only: a name may lead to a device that never ends. Raises Failure and OSError; leaves no half of it."""
    with os.fdopen(open_trusted_regular(path), "rb") as source:
        if os.fstat(source.fileno()).st_size > SIZE_LIMIT:
            raise Failure(
                f"baseline: {path}: is no file of at most {units.format_size(SIZE_LIMIT)}, so not a recording"
            )
        target.touch(0o600, exist_ok=False)
        blamed = target
        try:
            with target.open("wb") as file:
                while True:
                    blamed = path
                    data = source.read(CHUNK)
                    blamed = target
                    if not data:
                        break
                    file.write(data)
        except OSError as error:
            target.unlink(missing_ok=True)
            raise OSError(error.errno, error.strerror, str(blamed)) from None


def baseline_recordings(name: str) -> tuple[Path, ...]:
    """Those of a baseline. Raises Failure where there is none of that name."""
    paths = _kept_files(baselines_dir() / _require_valid_name(name))
    if not paths:
        names = ", ".join(b.name for b in list_baselines())
        others = f"there are: {names}" if names else "`hostdx baseline save NAME` makes one"
        raise Failure(f"baseline {name}: there is no such baseline; {others}", USAGE)
    return paths


def load_baseline_runs(name: str, scenario: str) -> list[RunSummary]:
    """The runs of `scenario` in a baseline, summed up.

    Raises Failure: no such baseline, no run of that scenario in it, a damaged file.
    """
    runs = read_run_summaries(baseline_recordings(name))
    fitting = [run for run in runs if run.scenario == scenario]
    if fitting and not any(run.figures for run in fitting):
        raise Failure(
            f"baseline {name}: its runs of {scenario} hold no figures (cut off?): {baselines_dir() / name}; "
            "delete that directory and save the baseline again"
        )
    if not fitting:
        others = ", ".join(sorted({run.scenario for run in runs}))
        raise Failure(
            f"baseline {name}: holds no run of {scenario}, only of {others}; "
            f"`hostdx run {scenario}`, then `hostdx baseline save {name}`",
            USAGE,
        )
    return fitting


def baselines_of_host(host: str, scenario: str) -> list[str]:
    """Names of the baselines that have a readable run of `scenario` on `host`, the one added to last first."""
    dated_names: list[tuple[str, str]] = []
    for baseline in list_baselines():
        heads = [store.examine_recording(path) for path in baseline.recordings]
        walls = [h.wall for h in heads if (h.host, h.scenario, h.state) == (host, scenario, "done")]
        if walls:
            dated_names.append((max(walls), baseline.name))
    return [name for _, name in sorted(dated_names, reverse=True)]


def compare_since(name: str, recording: Path) -> ComparedRecordings:
    """Return what changed from the baseline `name` (side A) to one recording (side B), for
    `hostdx.scenarios.analysis.compare.worse`.

    Raises Failure where there is no such baseline, where it has no run of that scenario, or where a file is damaged.
    """
    (now,) = read_run_summaries([recording])
    return compare_recordings(load_baseline_runs(name, now.scenario), [now])


def list_baselines() -> list[Baseline]:
    try:
        folders = sorted(p for p in baselines_dir().iterdir() if p.is_dir())
    except OSError:
        return []
    return [Baseline(folder.name, kept_files) for folder in folders if (kept_files := _kept_files(folder))]


def _kept_files(folder: Path) -> tuple[Path, ...]:
    """Return the recordings in the folder; of a baseline that a feature keeps, those that the feature names."""
    targets = (feature.baselines.get(folder.name) for feature in own_features())
    target = next(filter(None, targets), "")
    return (
        cast("tuple[Path, ...]", import_and_call(target, folder))
        if target
        else tuple(sorted(store.recordings_in(folder)))
    )


def _require_valid_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Failure(f"baseline {name}: a name has letters, digits, `.`, `_` and `-`, 64 at most", USAGE)
    return name

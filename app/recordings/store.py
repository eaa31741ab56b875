"""The recordings kept in the state directory: which there are, which are still being written, and by name."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from hostdx.app.recordings.limits import LINE_LIMIT
from hostdx.app.recordings.reader import BrokenRecording, RecordingFollower
from hostdx.app.state import make_private_dir, recordings_dir
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.app.terminal.process import ProcessIdentity, is_living
from hostdx.probes.files.safe_read import decode_host_text, open_trusted_regular, read_trusted_file
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.lossless_json import Decoder
from hostdx.scenarios.contract import events as ev

State: TypeAlias = Literal["running", "done", "skipped", "failed", "interrupted", "dead", "unreadable"]
SUFFIXES = (".jsonl", ".jsonl.gz")
MAX_LABEL_CHARACTERS = 60  # characters
HEAD = 1 << 16  # bytes: a list of a thousand recordings must not read a gigabyte

_decoder = Decoder(ev.Common)


class ListedRecording(msgspec.Struct, frozen=True, kw_only=True):
    """One recording. `dead`: its runner is gone without an end; `seconds` is the last event's time."""

    path: Path
    name: str
    state: State
    scenario: str = ""
    host: str = ""
    wall: str = ""
    seconds: float = 0.0
    pid: int | None = None
    reason: str | None = None
    bytes: int = 0
    planned_s: float = 0.0  # what its plan says that it takes; 0: not known, or until it is stopped
    directories: tuple[str, ...] = ()  # that it was asked to measure
    label: str = ""  # what somebody calls it


def list_recordings() -> list[ListedRecording]:
    """Newest first. Only the first and the last lines are read."""
    return [
        examine_recording(path)
        for path in sorted(recordings_in(recordings_dir()), key=_sort_key_by_change, reverse=True)
    ]


def examine_recording(path: Path) -> ListedRecording:
    name = path.name
    try:
        with closing(RecordingFollower(path)) as follower:
            events = follower.poll(HEAD)
            while not events and follower.unfinished and follower.bytes < LINE_LIMIT:
                before = follower.bytes
                events = follower.poll()
                if follower.bytes == before:
                    break
        began = events[0] if events else None
    except BrokenRecording as why:
        return ListedRecording(path=path, name=name, state="unreadable", reason=why.text)
    if not isinstance(began, ev.Began):
        return ListedRecording(
            path=path, name=name, state="unreadable", reason=f"{path}: line 1: is empty or unfinished"
        )
    last = _last_readable_event(path) or events[-1]
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # it was removed meanwhile
    state: State
    if isinstance(last, ev.RunEnded):
        state = last.status
    else:
        state = "running" if is_living(ProcessIdentity(began.pid, began.pid_start, began.boot_id)) else "dead"
    return ListedRecording(
        path=path,
        name=name,
        state=state,
        scenario=began.scenario,
        host=began.host,
        wall=began.wall,
        seconds=round(last.t, 1),
        pid=began.pid if state == "running" else None,
        reason=last.reason if isinstance(last, ev.RunEnded) else None,
        bytes=size,
        planned_s=next((e.plan.seconds for e in events if isinstance(e, ev.Planned)), 0.0),
        directories=_measured_directories(began),
        label=read_label(path),
    )


def read_first_events(path: Path, max_bytes: int = HEAD) -> list[ev.AnyEvent]:
    """The events of its first `max_bytes` bytes. Raises BrokenRecording."""
    with closing(RecordingFollower(path)) as follower:
        return follower.poll(max_bytes)


def _measured_directories(began: ev.Began) -> tuple[str, ...]:
    """A foreign recording may hold anything there."""
    chosen = began.options.get("dir")
    several = chosen if isinstance(chosen, list) else [chosen]
    return tuple(directory for directory in several if isinstance(directory, str) and directory)


def resolve_recording(argument: str) -> Path:
    """A path, a name in the state directory (unfinished too, where only one begins so), what
    somebody calls it, `last`, or `demo:NAME`."""
    if argument.startswith("demo:"):
        return _find_demo_or_refuse(argument.removeprefix("demo:"))
    if argument == "last":
        every = sorted(recordings_in(recordings_dir()), key=_sort_key_by_change)
        if not every:
            raise Failure(f"last: there is no recording in {recordings_dir()}; `hostdx run` makes one", USAGE)
        for path in reversed(every):
            if (newest := examine_recording(path)).state != "unreadable":
                return path
            print_note(f"last: {newest.reason}; the one before it is taken")
        return every[-1]
    path = Path(argument)
    if "/" in argument or path.exists():
        return path
    own = recordings_in(recordings_dir())
    matches = [p for p in own if p.name.startswith(argument)] or [p for p in own if read_label(p) == argument]
    exact = [p for p in matches if p.name in (argument, *(argument + suffix for suffix in SUFFIXES))]
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    if matches:
        raise Failure(
            f"{argument}: {len(matches)} recordings are called so; `hostdx recordings` lists them", USAGE
        )
    raise Failure(f"{argument}: no such recording; `hostdx recordings` lists them", USAGE)


def shortest_name(path: Path) -> str:
    """Return what `resolve_recording` takes for it: the shortest that stays right."""
    if path.parent == example_recordings_dir():
        return "demo:" + path.name.split(".")[0]
    return path.name if path.parent == recordings_dir() else str(path)


def read_label(path: Path) -> str:
    """Return what somebody calls it, from the file beside it; empty where nobody does, or it cannot be read."""
    try:
        words = decode_host_text(read_trusted_file(_path_of_label(path), 4 * MAX_LABEL_CHARACTERS))
    except OSError:
        return ""
    return "".join(c if c.isprintable() else " " for c in words).strip()[:MAX_LABEL_CHARACTERS]


def set_label(path: Path, words: str) -> None:
    """Nothing takes the name away. Raises Failure for what is not kept here, and for words that are no name."""
    words = words.strip()
    if path.parent.resolve() != recordings_dir().resolve() or not path.is_file():
        raise Failure(f"{path.name}: only a recording of `hostdx recordings` can be given a name", USAGE)
    if not words.isprintable() or len(words) > MAX_LABEL_CHARACTERS:
        raise Failure(f"a name is one line of at most {MAX_LABEL_CHARACTERS} characters", USAGE)
    file, scratch = _path_of_label(path), _path_of_label(path).with_suffix(".new")
    try:
        if not words:
            file.unlink(missing_ok=True)
            return
        make_private_dir(path.parent)
        scratch.unlink(missing_ok=True)
        scratch.touch(0o600, exist_ok=False)
        scratch.write_text(words + "\n", "utf-8")
        scratch.replace(file)
    except OSError as error:
        raise Failure(f"{path.name}: not named: {error.strerror}") from None


def _path_of_label(path: Path) -> Path:
    return path.with_name(_name_stem(path) + ".name")


def _name_stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def recording_file_names() -> list[str]:
    return [path.name for path in recordings_in(recordings_dir())]


def delete_recording_and_parts(path: Path) -> None:
    """The recording, what its runner said, and the parts of a checkup. Raises OSError."""
    for part in list_part_recordings(path):
        delete_recording_and_parts(part)
    folder = parts_folder_of(path)
    if folder.is_dir() and not folder.is_symlink():
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()
    path.unlink()
    path.with_suffix(".log").unlink(missing_ok=True)
    _path_of_label(path).unlink(missing_ok=True)


def parts_folder_of(recording: Path) -> Path:
    """Where the runs that this one started keep their recordings: a folder beside it."""
    return recording.with_name(_name_stem(recording) + ".parts")


def list_part_recordings(recording: Path) -> list[Path]:
    """Those recordings, in the order in which they were made."""
    return sorted(recordings_in(parts_folder_of(recording)), key=_number_and_name_key)


def _number_and_name_key(path: Path) -> tuple[int, str]:
    return parse_unsigned(path.name.partition("-")[0]) or 0, path.name


def list_demo_arguments() -> list[str]:
    """The bundled recordings, as arguments: `demo:rpfilter`."""
    return sorted("demo:" + path.name.split(".")[0] for path in recordings_in(example_recordings_dir()))


def example_recordings_dir() -> Path:
    return Path(__file__).parent / "demos"


def _find_demo_or_refuse(name: str) -> Path:
    for path in recordings_in(example_recordings_dir()):
        if path.name.split(".")[0] == name:
            return path
    demo_names = ", ".join(list_demo_arguments()) or "none is bundled"
    raise Failure(f"demo:{name}: no such demo; there are: {demo_names}", USAGE)


def recordings_in(directory: Path) -> list[Path]:
    """The recordings in a folder; none where it cannot be read."""
    try:
        return [path for path in directory.iterdir() if path.name.endswith(SUFFIXES)]
    except OSError:
        return []


def _sort_key_by_change(path: Path) -> tuple[float, str]:
    """By the last change: the name begins with the time of the run, but files of other names may lie here too."""
    try:
        return path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name


def _last_readable_event(path: Path) -> ev.AnyEvent | None:
    if path.name.endswith(".gz"):
        return None
    for length in (HEAD, LINE_LIMIT):  # most last lines are short
        event = _last_event_in_tail(path, length)
        if event is not None:
            return event
    return None


def _last_event_in_tail(path: Path, length: int) -> ev.AnyEvent | None:
    try:
        with os.fdopen(open_trusted_regular(path), "rb") as file:
            file.seek(max(0, path.stat().st_size - length))
            lines = file.read(length + 1).split(b"\n")[:-1]
    except OSError:
        return None
    for line in reversed(lines):
        try:
            event: ev.AnyEvent = _decoder.decode(line)
            return event
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            continue  # of a type that this version does not know, or the line that the tail begins in
    return None


MAX_FILES = 100_000
MAX_DEPTH = 6  # folders below the one that was named


def files_below(
    command: str,
    folder: Path,
    is_wanted: Callable[[str], bool],
    on_refused: Callable[[str, str], object] = lambda _name, _why: None,
) -> Iterator[Path]:
    """Yield the regular files whose names are wanted, in order of names, a folder's files before its folders.

    No link is followed, as who may write there must not name a file of ours. `on_refused` is called
    with the name of a wanted one that is no regular file, and why it is left out. Hidden folders
    are left out. `command` begins the line of the Failure that this raises.
    """
    waiting, count = [(folder, 0)], 0
    while waiting:
        at, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(at), key=lambda entry: entry.name)
        except OSError as why:
            raise Failure(f"{command}: {at}: cannot be read: {why.strerror}", USAGE) from None
        below = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH and not entry.name.startswith("."):
                    below.append((Path(entry.path), depth + 1))
            elif not is_wanted(entry.name):
                continue
            elif entry.is_symlink():
                on_refused(entry.name, "a link; links are not followed")
            elif not entry.is_file(follow_symlinks=False):
                on_refused(entry.name, "no regular file")
            else:
                count += 1
                if count > MAX_FILES:
                    raise Failure(f"{command}: {folder}: more than {MAX_FILES} files; name fewer", USAGE)
                yield Path(entry.path)
        waiting += reversed(below)

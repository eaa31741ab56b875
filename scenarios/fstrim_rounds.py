"""The rounds of a file system, kept from run to run: one JSON line a round under the state directory.

The form is open for scores from elsewhere: `value` (more is better), `reference` (null: none), `written_bytes`,
`trim_before` and `source` are all that a line needs; its rounds are judged apart, by `source` and `workload`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from probes.host import Host
from probes.system.kernel import kernel
from probes.types import present
from scenarios.fstrim_layout import Layout
from scenarios.fstrim_trim import Discards, discards

SOURCE = "hostdx"
MOST_BYTES = 8 << 20
# Discards since the round before of at least this share of the free space count as a trim; where every deletion is
# discarded by itself, only what no deletions explain does.
TRIM_SHARE = 0.01
TRIM_SHARE_ONLINE = 0.5


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One line. `written_bytes`: to the device, between the round before and this one; counters are the leaves' own.

    `trim_before`: the file system was trimmed since the round before; `trimmed_bytes` is what was asked for.
    """

    value: float
    reference: float | None = None
    written_bytes: int | None = None
    trim_before: bool = False
    source: str = SOURCE
    workload: str = ""
    metric: str = ""
    wall: str = ""
    trimmed_bytes: int | None = None
    boot_id: str = ""
    device_written_bytes: int | None = None
    device_discarded_bytes: int | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return self.source, self.workload, self.metric


class Kept(msgspec.Struct, frozen=True):
    """What a file holds; `bad` lines were passed over."""

    rounds: tuple[Round, ...]
    bad: int = 0


def identity(host: Host, layout: Layout) -> str:
    """The file system's UUID; where udev does not tell it, its device and the id that statvfs gives."""
    names = host.listing("/dev/disk/by-uuid")
    top = layout.chain.device if layout.chain else ""
    for name in names if present(names) else ():
        target = host.link(f"/dev/disk/by-uuid/{name}")
        if present(target) and target.rsplit("/", 1)[-1] == top:
            return _safe(name)
    try:
        number = os.statvfs(layout.mountpoint).f_fsid
    except OSError:
        number = 0
    return _safe(f"{top or layout.device}-{number & (1 << 64) - 1:016x}")


def _safe(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z_-]", "_", name)[:100] or "unknown"


def rounds_file(state: str, name: str) -> Path:
    return Path(state) / "series" / f"{name}.jsonl"


def read(path: Path) -> Kept:
    """Raises OSError where the file is there and cannot be read; a half line of a power cut is passed over."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES)
    except FileNotFoundError:
        return Kept(())
    rounds: list[Round] = []
    bad = 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            rounds.append(msgspec.json.decode(line, type=Round))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            bad += 1
    return Kept(tuple(rounds), bad)


def append(path: Path, one: Round) -> None:
    """Written and synced before it returns; a line that was cut short before is ended first. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        end = os.lseek(fd, 0, os.SEEK_END)
        torn = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
        os.write(fd, (b"\n" if torn else b"") + msgspec.json.encode(one) + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)


def since(host: Host, layout: Layout, before: Sequence[Round]) -> Round:
    """What happened to the file system since the last round of ours: a round without a value yet."""
    now = discards(host, layout.leaves)
    boot = kernel(host).boot_id
    boot_id = boot if present(boot) else ""
    if not isinstance(now, Discards):
        return Round(value=0.0, boot_id=boot_id)
    last = next((r for r in reversed(before) if r.source == SOURCE), None)
    written = discarded = None
    if last is not None:
        same = last.boot_id == boot_id and boot_id != ""
        # After a reboot the counters began anew: at least so much.
        written = now.written - (last.device_written_bytes or 0 if same else 0)
        if now.bytes is not None:
            discarded = now.bytes - (last.device_discarded_bytes or 0 if same else 0)
    free = layout.free_bytes() or 0
    online = layout.chain is not None and layout.chain.online != ""
    share = TRIM_SHARE_ONLINE if online else TRIM_SHARE
    return Round(
        value=0.0,
        written_bytes=written,
        trim_before=bool(discarded and discarded >= share * free),
        trimmed_bytes=discarded,
        boot_id=boot_id,
        device_written_bytes=now.written,
        device_discarded_bytes=now.bytes,
    )

"""The rounds of a file system, kept from run to run: one JSON line a round under the state directory.

The form is open for scores from elsewhere: `value` (more is better), `reference_value` (null: none), `written_bytes`,
`trim_before` and `source` are all that a line needs; its rounds are judged apart, by `source` and `workload`.
"""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

import msgspec

from hostdx.probes import units
from hostdx.probes.files.rights import advice_for_failed_write
from hostdx.probes.files.safe_read import open_trusted_regular
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.secrecy.harmless_words import mask_unknown_text
from hostdx.probes.system.disk.trim.discard import sole_devices
from hostdx.probes.system.disk.trim.trim_timer import TrimTimer, read_last_timer_trim
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.model import Run, RunRefused
from hostdx.scenarios.experiment.before_after import MIN_BLOCKS
from hostdx.scenarios.experiment.treated_trend import TreatedTrend, treated_trend
from hostdx.scenarios.fstrim.findings import degradation_finding
from hostdx.scenarios.fstrim.measurement.phase import MeasuredPhase, PhaseMeasurer
from hostdx.scenarios.fstrim.measurement.trim import DiscardCounters, read_discard_counters
from hostdx.scenarios.fstrim.plan import ROUND, TrimRequest
from hostdx.scenarios.fstrim.results import Round, TrimRoundsResult
from hostdx.scenarios.fstrim.trim_setup import TrimSetup

SOURCE = "hostdx"
COUNTERS, TIMER = "the kernel's counters of discards", "fstrim.timer"
MAX_SERIES_BYTES = 8 << 20
# Without online discard only a trim discards: what it offers is at least what our own round deleted, unless others took
# some of that space again. A share of the free space would be wrong: ext4 offers only groups where something was freed.
SHARE_OF_DELETED = 0.25
MIN_DISCARDED_BYTES = 16 << 20  # where it is not known what a round deleted
# With it deletions discard too: at most what was written since and what became free, but btrfs gives whole block groups
# and XFS what it allocated ahead. Only much more than that is a trim.
SHARE_OF_FREE_ONLINE = 0.5


class RoundSeries(msgspec.Struct, frozen=True):
    """What a file holds; `bad` lines were passed over."""

    rounds: tuple[Round, ...]
    bad: int = 0


def file_system_id(host: Host, layout: TrimSetup) -> str:
    """The file system's UUID; where udev does not tell it, its device and the id that statvfs gives."""
    names = host.list_names("/dev/disk/by-uuid")
    top = layout.chain.device if layout.chain else ""
    for name in names if is_present(names) else ():
        target = host.read_link(f"/dev/disk/by-uuid/{name}")
        if is_present(target) and target.rsplit("/", 1)[-1] == top:
            return _safe_name(name)
    try:
        number = os.statvfs(layout.mount_directory).f_fsid
    except OSError:
        number = 0
    return _safe_name(f"{top or layout.device_names}-{number & (1 << 64) - 1:016x}")


def _safe_name(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z_-]", "_", name)[:100] or "unknown"


def rounds_file(state: str, name: str) -> Path:
    return Path(state) / "series" / f"{name}.jsonl"


def read_trim_rounds(path: Path) -> RoundSeries:
    """Raises OSError where the file is there and cannot be read; a half line of a power cut is passed over."""
    try:
        with os.fdopen(open_trusted_regular(path), "rb") as file:
            data = file.read(MAX_SERIES_BYTES)
    except FileNotFoundError:
        return RoundSeries(())
    rounds: list[Round] = []
    bad = 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            rounds.append(msgspec.json.decode(line, type=Round))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            bad += 1
    return RoundSeries(tuple(rounds), bad)


def append_round(path: Path, new_round: Round) -> None:
    """Written and synced before it returns; a line that was cut short before is ended first. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        end = os.lseek(fd, 0, os.SEEK_END)
        torn = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
        os.write(fd, (b"\n" if torn else b"") + msgspec.json.encode(new_round) + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)


def round_since(host: Host, layout: TrimSetup, earlier: Sequence[Round]) -> Round:
    """Return what happened to the file system since the last round of ours: a round without a value yet."""
    now = read_discard_counters(host, layout.leaf_names)
    boot = read_kernel(host).boot_id
    boot_id = boot if is_present(boot) else ""
    last = next((r for r in reversed(earlier) if r.source == SOURCE), None)
    timer = _did_timer_run_since(host, last)
    if not isinstance(now, DiscardCounters):
        return Round(value=0.0, boot_id=boot_id, trim_before=timer, trim_seen_by=TIMER if timer else "")
    counted, names = _discards_and_their_devices(host, layout, now)
    free = layout.read_free_bytes()
    written = discarded = None
    same = last is not None and last.boot_id == boot_id and boot_id != ""
    if last is not None:
        # After a reboot the counters began anew: at least so much.
        written = _growth_if_known(now.written, last.device_written_bytes if same else 0)
        if same and last.discards_of in ("", names):
            own_discards = counted if last.discards_of else now.bytes
            discarded = _growth_if_known(own_discards, last.device_discarded_bytes)
        elif not same:
            discarded = counted
    by_counters = last is not None and _was_trimmed(layout, last, discarded, written, free)
    # Counters of one boot that saw no trim outweigh a timer that fired: it found nothing to offer here.
    seen_by = COUNTERS if by_counters else TIMER if timer and not (same and discarded is not None) else ""
    return Round(
        value=0.0,
        written_bytes=written,
        trim_before=seen_by != "",
        trimmed_bytes=discarded,
        boot_id=boot_id,
        device_written_bytes=now.written,
        device_discarded_bytes=counted,
        discards_of=names,
        free_bytes=free,
        trim_seen_by=seen_by,
    )


def _discards_and_their_devices(
    host: Host, layout: TrimSetup, leaves: DiscardCounters
) -> tuple[int | None, str]:
    """The counter of the file system's own devices, and their names; the leaves' where those count nothing."""
    names = sole_devices(host, layout.chain) if layout.chain is not None else layout.leaf_names
    counters = read_discard_counters(host, names)
    if isinstance(counters, Absent) or counters.bytes is None:
        return leaves.bytes, ", ".join(layout.leaf_names)
    return counters.bytes, ", ".join(names)


def _growth_if_known(now: int | None, before: int | None) -> int | None:
    """None: not known. A counter that fell began anew: a loop device that was made again."""
    if now is None or before is None:
        return None
    return now - before if now >= before else now


def _was_trimmed(
    layout: TrimSetup, last: Round, discarded: int | None, written: int | None, free: int | None
) -> bool:
    """Return whether there were more discards than deletions explain."""
    if not discarded:
        return False
    if layout.chain is None or not layout.chain.online:
        return discarded >= max(1, int(SHARE_OF_DELETED * (last.deleted_bytes or MIN_DISCARDED_BYTES)))
    freed = max(0, free - last.free_bytes) if free is not None and last.free_bytes is not None else 0
    return discarded - (written or 0) - freed >= SHARE_OF_FREE_ONLINE * (free or 0)


def _did_timer_run_since(host: Host, last: Round | None) -> bool:
    """Return whether fstrim.timer fired since: all there is to go by where the kernel counts no discards (before
    4.18).
    """
    fired = read_last_timer_trim(host)
    if last is None or fired is None:
        return False
    try:
        return fired > datetime.fromisoformat(last.wall)
    except (ValueError, TypeError):
        return False


async def measure_one_round(
    run: Run, layout: TrimSetup, request: TrimRequest, blocks: PhaseMeasurer, timer: TrimTimer
) -> None:
    """Raises RunRefused where the round cannot be measured or kept; then the series is as it was. One that was measured
    is judged with the others all the same.
    """
    path = rounds_file(request.state, file_system_id(run.host, layout))
    try:
        series = read_trim_rounds(path)
    except OSError as error:
        raise RunRefused(f"{path}: the series cannot be read: {error.strerror}") from None
    if series.bad:
        run.emit_note(f"{path}: unreadable lines left out: {series.bad}")
    behind = round_since(run.host, layout, series.rounds)
    with run.begin_step(ROUND, "measure one round"):
        phase = await blocks.measure_phase(ROUND, "steady")
        deleted = await blocks.engine.delete()
        if len(phase.values) < MIN_BLOCKS:
            raise RunRefused(
                f"{layout.directory}: the round has only {len(phase.values)} blocks: {phase.reason}"
            )
        if blocks.cached:
            run.emit_note(f"the reference reads are {blocks.cached}")
        if blocks.too_short_text:
            run.emit_note(blocks.too_short_text)
        now = msgspec.structs.replace(finish_round(request, blocks, phase, behind), deleted_bytes=deleted)
        _emit_trim_note(run, layout, now)
        lost = ""
        try:
            append_round(path, now)
        except OSError as error:
            advice = advice_for_failed_write(error.errno, "name another state directory (XDG_STATE_HOME)")
            lost = f"{path}: the round cannot be kept: {error.strerror}; {advice}, and measure it again"
    rounds = comparable_rounds(RoundSeries((*series.rounds, now)), now)
    run.emit(TrimRoundsResult(t=run.elapsed_s(), value=tuple(rounds)))
    judge_and_emit_rounds(run, layout, blocks, rounds, timer)
    if lost:
        raise RunRefused(lost)


def _emit_trim_note(run: Run, layout: TrimSetup, now: Round) -> None:
    if not now.trim_before:
        return
    trim_text = f"trimmed since the round before, by {now.trim_seen_by}"
    if now.trimmed_bytes is not None:
        trim_text += f": {units.format_size(now.trimmed_bytes, 4)} discarded on {now.discards_of}"
    if now.trim_seen_by == TIMER:
        trim_text += ", which need not have included this file system"
    elif now.discards_of == ", ".join(layout.leaf_names) and is_disk_shared(layout):
        trim_text += "; other file systems share that disk, so one of those may have been trimmed instead"
    run.emit_note(f"{layout.mount_directory} was {trim_text}")


def is_disk_shared(layout: TrimSetup) -> bool:
    """Return whether the leaves carry more than this file system: then their counters are not its alone."""
    if layout.chain is None:
        return True
    tops = layout.chain.tops or (layout.chain.device,)
    return any(name not in layout.leaf_names for name in tops)


def finish_round(request: TrimRequest, blocks: PhaseMeasurer, phase: MeasuredPhase, behind: Round) -> Round:
    return msgspec.structs.replace(
        behind,
        value=phase.value,
        reference=phase.reference_value,
        source=SOURCE,
        workload=mask_unknown_text(request.command) or blocks.load.id,
        metric=blocks.load.metrics[0].name,
        wall=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )


def comparable_rounds(series: RoundSeries, new_round: Round) -> list[Round]:
    """The rounds that can be compared: of the same source, workload and metric."""
    return [past for past in series.rounds if past.key == new_round.key]


def trend_of_rounds(rounds: Sequence[Round]) -> TreatedTrend:
    """References only where every round has one; bytes only where they are known of every round after the first."""
    referenced = all(past.reference for past in rounds)
    written = [past.written_bytes for past in rounds[1:]]
    known_written = [w for w in written if w is not None]
    totals = [0.0, *accumulate(map(float, known_written))] if len(known_written) == len(written) else None
    return treated_trend(
        [past.value for past in rounds],
        [past.reference or 1.0 if referenced else 1.0 for past in rounds],
        [past.trim_before for past in rounds],
        totals,
    )


def judge_and_emit_rounds(
    run: Run, layout: TrimSetup, blocks: PhaseMeasurer, rounds: Sequence[Round], timer: TrimTimer
) -> None:
    course = trend_of_rounds(rounds)
    run.emit(course.series_verdict(run.elapsed_s(), blocks.load.id))
    if layout.chain is not None and layout.chain.online:
        text = (
            f"{layout.mount_directory} is mounted with {layout.chain.online}: deletions discard too, so only a "
            "trim of at least half of its free space can be distinguished from them"
        )
        run.emit_note(text)
    finding = degradation_finding(run.host, layout, timer, course, len(rounds), rounds_a_day(rounds))
    run.emit_finding(finding)


def rounds_a_day(rounds: Sequence[Round]) -> float | None:
    times = []
    for past in rounds:
        try:
            times.append(datetime.fromisoformat(past.wall))
        except ValueError:
            continue
    if len(times) < 2 or times[-1].tzinfo is None or times[0].tzinfo is None:
        return None
    days = (times[-1] - times[0]).total_seconds() / 86400
    return (len(times) - 1) / days if days > 0 else None

"""One round of scenario `fstrim`: measured, added to the series of its file system, and the series judged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate

import msgspec

from probes import units
from probes.secrecy.secrets import masked
from probes.system.disk.trim.trim_timer import TrimTimer
from scenarios.experiment.before_after import LEAST_BLOCKS
from scenarios.experiment.treated_trend import Course, course
from scenarios.fstrim.findings import degradation
from scenarios.fstrim.layout import Layout
from scenarios.fstrim.measurement.phase import Blocks, Phase
from scenarios.fstrim.plan import ROUND, Request
from scenarios.fstrim.results import Round, Rounds
from scenarios.fstrim.rounds import SOURCE, TIMER, Kept, append, identity, read, rounds_file, since
from scenarios.model import Refused, Run


async def one_round(run: Run, layout: Layout, asked: Request, blocks: Blocks, timer: TrimTimer) -> None:
    """Raises Refused where the round cannot be measured or kept; then the series is as it was. One that was measured
    is judged with the others all the same.
    """
    path = rounds_file(asked.state, identity(run.host, layout))
    try:
        kept = read(path)
    except OSError as error:
        raise Refused(f"{path}: the series cannot be read: {error.strerror}") from None
    if kept.bad:
        run.note(f"{path}: unreadable lines left out: {kept.bad}")
    behind = since(run.host, layout, kept.rounds)
    with run.step(ROUND, "measure one round"):
        phase = await blocks.phase(ROUND, "steady")
        deleted = await blocks.engine.delete()
        if len(phase.values) < LEAST_BLOCKS:
            raise Refused(
                f"{layout.directory}: the round has only {len(phase.values)} blocks: {phase.reason}"
            )
        if blocks.cached:
            run.note(f"the reference reads are {blocks.cached}")
        if blocks.too_short:
            run.note(blocks.too_short)
        now = msgspec.structs.replace(finished(asked, blocks, phase, behind), deleted_bytes=deleted)
        _tell_trim(run, layout, now)
        lost = ""
        try:
            append(path, now)
        except OSError as error:
            lost = f"{path}: the round cannot be kept: {error.strerror}; free some space there and measure it again"
    rounds = alike(Kept((*kept.rounds, now)), now)
    run.emit(Rounds(t=run.time(), value=tuple(rounds)))
    judge(run, layout, blocks, rounds, timer)
    if lost:
        raise Refused(lost)


def _tell_trim(run: Run, layout: Layout, now: Round) -> None:
    if not now.trim_before:
        return
    said = f"trimmed since the round before, by {now.trim_seen_by}"
    if now.trimmed_bytes is not None:
        said += f": {units.size(now.trimmed_bytes, 4)} discarded on {now.discards_of}"
    if now.trim_seen_by == TIMER:
        said += ", which need not have included this file system"
    elif now.discards_of == ", ".join(layout.leaves) and shared_disk(layout):
        said += "; other file systems share that disk, so one of those may have been trimmed instead"
    run.note(f"{layout.mountpoint} was {said}")


def shared_disk(layout: Layout) -> bool:
    """Whether the leaves carry more than this file system: then their counters are not its alone."""
    if layout.chain is None:
        return True
    tops = layout.chain.tops or (layout.chain.device,)
    return any(name not in layout.leaves for name in tops)


def finished(asked: Request, blocks: Blocks, phase: Phase, behind: Round) -> Round:
    return msgspec.structs.replace(
        behind,
        value=phase.value,
        reference=phase.reference,
        source=SOURCE,
        workload=masked(asked.command) or blocks.load.id,
        metric=blocks.load.metrics[0].name,
        wall=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )


def alike(kept: Kept, now: Round) -> list[Round]:
    """The rounds that can be compared: of the same source, workload and metric."""
    return [one for one in kept.rounds if one.key == now.key]


def course_of(rounds: Sequence[Round]) -> Course:
    """References only where every round has one; bytes only where they are known of every round after the first."""
    referenced = all(one.reference for one in rounds)
    written = [one.written_bytes for one in rounds[1:]]
    known = [w for w in written if w is not None]
    totals = [0.0, *accumulate(map(float, known))] if len(known) == len(written) else None
    return course(
        [one.value for one in rounds],
        [one.reference or 1.0 if referenced else 1.0 for one in rounds],
        [one.trim_before for one in rounds],
        totals,
    )


def judge(run: Run, layout: Layout, blocks: Blocks, rounds: Sequence[Round], timer: TrimTimer) -> None:
    found = course_of(rounds)
    run.emit(found.verdict(run.time(), blocks.load.id))
    if layout.chain is not None and layout.chain.online:
        text = (
            f"{layout.mountpoint} is mounted with {layout.chain.online}: deletions discard too, so only a "
            "trim of at least half of its free space can be distinguished from them"
        )
        run.note(text)
    finding = degradation(run.host, layout, timer, found, len(rounds), rounds_a_day(rounds))
    run.found(finding)


def rounds_a_day(rounds: Sequence[Round]) -> float | None:
    times = []
    for one in rounds:
        try:
            times.append(datetime.fromisoformat(one.wall))
        except ValueError:
            continue
    if len(times) < 2 or times[-1].tzinfo is None or times[0].tzinfo is None:
        return None
    days = (times[-1] - times[0]).total_seconds() / 86400
    return (len(times) - 1) / days if days > 0 else None

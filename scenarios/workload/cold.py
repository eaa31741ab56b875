"""`--cold`: what a run reads comes from the disk: own files dropped from the page cache before it, or all of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from string import Template

from hostdx.probes.children.own_module import own_module
from hostdx.probes.engine.command.supervised import CommandOrder, Supervisors
from hostdx.probes.engine.measured import MeasurementInvalid
from hostdx.probes.files.safe_read import describe_file_kind, open_path_only
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.units import format_size
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.workload.variants import CommandVariant

ALL = "all"
_MODULE = "hostdx.probes.engine.command.drop_cache"
_OUTPUT = 256

WHOLE = Action(
    kind="command",
    title="drop the host's whole page cache before each run",
    target="/proc/sys/vm/drop_caches",
    apply=("sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches"),
    irreversible=True,
    consent=True,
    rights="root",
    risk="all other programs have to read from the disks again, and waiting writes are written first",
    parameters={"timeout_s": "600"},
)


def paths_to_drop(cold: Sequence[str], job: CommandVariant) -> tuple[str, ...]:
    """Of one variant: in its directory and with its variables (`$TMPDIR/data`)."""
    env = {**os.environ, **job.env}
    return tuple(
        os.path.join(job.cwd, Template(path).safe_substitute(env))  # noqa: PTH118 (as text)
        for path in cold
        if path != ALL
    )


def explain_undroppable(path: str) -> str:
    """Return why it cannot be dropped, before anything runs; "" where it can, or is not there yet (--prepare may
    make it).
    """
    try:
        looked = open_path_only(path)
    except FileNotFoundError:
        return ""
    except OSError as why:
        return f"--cold: {path}: {why.strerror}"
    mode = os.fstat(looked).st_mode
    os.close(looked)
    fit = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return "" if fit else f"--cold: {path}: {describe_file_kind(mode)}; name a file or a folder"


class CacheDropper:
    """Of one variant."""

    def __init__(self, run: Run, job: CommandVariant, supervisors: Supervisors, cold: Sequence[str]) -> None:
        self.run = run
        self.job = job
        self.supervisors = supervisors
        self.drops_whole_cache = ALL in cold
        self.paths = paths_to_drop(cold, job)
        self._was_reported = False

    async def drop_caches(self, at_most_s: float) -> None:
        """Raises MeasurementInvalid where a path is not there, Refused where the whole cache may not be dropped."""
        if self.paths:
            await self._drop_paths_or_raise(at_most_s)
        if self.drops_whole_cache:
            async with self.run.apply_change(WHOLE):
                pass

    async def _drop_paths_or_raise(self, at_most_s: float) -> None:
        argv = own_module(_MODULE, *self.paths)
        ran = await self.supervisors.run(
            CommandOrder(argv=argv, cwd="/", env=dict(os.environ), kept_bytes=_OUTPUT, at_most_s=at_most_s)
        )
        count, _, bytes_text = ran.output.strip().partition(" ")
        total = parse_unsigned(bytes_text)
        if ran.status != 0 or ran.stopped or total is None:
            raise MeasurementInvalid(
                f"--cold: {ran.errors.strip()[-300:] or 'the cache could not be dropped'}"
            )
        if count == "0":
            raise MeasurementInvalid(f"--cold: {', '.join(self.paths)}: no readable file there")
        if not self._was_reported:
            self._was_reported = True
            self.run.emit_note(
                f"{self.job.id}: dropped from the cache before each run: {format_size(total)} in {count} file"
                f"{'' if count == '1' else 's'}"
            )

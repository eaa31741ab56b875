"""The plan of scenario `fstrim`: a session around a trim, or one round of a series."""

import shlex
import shutil
from collections.abc import Callable

import msgspec

from hostdx.probes import units
from hostdx.probes.engine.workloads import engine_load, escape_fio_directory, fio_command, shell_line
from hostdx.probes.reading.host import Host
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.types import is_present
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import OptionMap, UsageError, make_directory_action
from hostdx.scenarios.contract.plan import Metric, Plan, PlannedStep, PlannedWrite, Variant, Workload
from hostdx.scenarios.experiment.before_after import MIN_BLOCKS
from hostdx.scenarios.experiment.guards.foreign_latency import STOPS_ITSELF
from hostdx.scenarios.fstrim.ageing import CHURN
from hostdx.scenarios.fstrim.measurement.load import CHURN_ID, COMMAND_ID, COMMAND_METRIC, REFERENCE_ID
from hostdx.scenarios.fstrim.measurement.trim import TrimPattern
from hostdx.scenarios.fstrim.trim_setup import TrimSetup
from hostdx.scenarios.triage.knowledge.disks import endurance_share, guess_seconds_to_write
from hostdx.scenarios.triage.knowledge.trims import trim_behaviour_of

TRIM_AT_MOST_S = 1800.0
# The last trims of a session: of what its last phase deleted; and, with --again, of nothing new.
CLOSING = ("trim once more", "trim again at once, with no deletion in between")
BEFORE, IDLE, AFTER, ROUND = "before", "idle", "after", "round"


class TrimRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for."""

    directory: str
    round: bool
    again: bool
    command: str
    state: str

    @property
    def phase_count(self) -> int:
        return 1 if self.round else 3

    @property
    def workload_id(self) -> str:
        return COMMAND_ID if self.command else CHURN_ID


def parse_request(options: OptionMap) -> TrimRequest:
    """Raises UsageError."""
    directories = options.as_strings("dir")
    if len(directories) != 1:
        raise UsageError("it writes and deletes files: name one directory on the disk with --dir")
    asked = TrimRequest(
        directory=directories[0],
        round=options.is_set("round"),
        again=options.is_set("again"),
        command=options.as_string("workload"),
        state=options.as_string("state"),
    )
    try:
        words = shlex.split(asked.command)
    except ValueError as error:
        raise UsageError(f"--workload cannot be split into words: {error}; check its quotes") from None
    if asked.command and not words:
        raise UsageError("--workload is empty; give a command with its arguments")
    if asked.round and asked.again:
        raise UsageError("--round does not trim, so --again makes no sense with it")
    if asked.round and not asked.state:
        raise UsageError("--round needs a place for its rounds: --state")
    return asked


def trim_action(layout: TrimSetup) -> Action:
    unqueued = [n for n, mode in (layout.chain.queued if layout.chain else {}).items() if "unqueued" in mode]
    stall = (
        f"; {', '.join(unqueued)} has no queued TRIM, so reads and writes stall while it runs"
        if unqueued
        else "; reads and writes may stall for seconds"
    )
    return Action(
        kind="command",
        title=f"trim {layout.mount_directory}",
        target=layout.mount_directory,
        apply=("fstrim", "-v", layout.mount_directory),
        irreversible=True,
        consent=True,
        rights="root (CAP_SYS_ADMIN)",
        risk=f"what was deleted on {layout.mount_directory} can no longer be recovered from the raw disk{stall}",
        parameters={"timeout_s": f"{TRIM_AT_MOST_S:.0f}"},
    )


def count_trims(request: TrimRequest, layout: TrimSetup) -> int:
    """Return how often a session trims: once to be measured, once at its end, and with --again once more at once."""
    if request.round or layout.no_trim:
        return 0
    return 3 if request.again else 2


def refusal_reason(request: TrimRequest, layout: TrimSetup) -> str:
    if why := layout.refusal or _not_startable_reason(request.command):
        return why
    if not request.round and layout.never_trim_reason:
        return f"{layout.never_trim_reason}; `hostdx triage` says more; --round can still follow its speed"
    return ""


def without_trim_note(layout: TrimSetup) -> str:
    """Return what a session without its trim can tell, and what to do for more: said before it measures."""
    return (
        f"{layout.no_trim}, and the run shows only what idling does to {layout.device_names}; to measure what a "
        f"trim gives back, {layout.to_trim} (--round never trims)"
    )


def _not_startable_reason(command: str) -> str:
    """It is started in the private directory: a path that begins where it was typed would lead nowhere."""
    if not command:
        return ""
    program = shlex.split(command)[0]
    if "/" in program and not program.startswith("/"):
        return f"--workload: {program} would be looked for in the private directory; give its full path"
    return "" if shutil.which(program) else f"--workload: {program}: no such program here, or not executable"


def load_and_control_workloads(
    request: TrimRequest, layout: TrimSetup, pattern: TrimPattern
) -> tuple[Workload, ...]:
    reads = engine_load(REFERENCE_ID)
    if request.command:
        load = Workload(
            id=COMMAND_ID,
            title="your own command",
            freed_from=REFERENCE_ID,
            metrics=(Metric(name=COMMAND_METRIC, unit=COMMAND_METRIC),),
            equivalent=request.command,
            min_groups=MIN_BLOCKS,
            why="what you want to know about",
        )
    else:
        load = Workload(
            id=CHURN_ID,
            title=CHURN.title,
            freed_from=REFERENCE_ID,
            metrics=(Metric(name=CHURN.metric, unit=CHURN.unit),),
            block_s=pattern.block_s,
            min_groups=MIN_BLOCKS,
            equivalent=shell_line(
                ["fio", "--name=churn", escape_fio_directory(layout.directory), "--rw=write", "--bs=64k", "--direct=1",
                 "--ioengine=psync", f"--numjobs={CHURN.workers}", f"--filesize={layout.file_bytes}",
                 f"--nrfiles={max(1, layout.block_bytes // CHURN.workers // max(1, layout.file_bytes))}",
                 "--file_service_type=sequential", "--fdatasync=64", "--refill_buffers", "--unlink=1"]
            ),
            why=CHURN.why,
        )  # fmt: skip
    control = Workload(
        id=REFERENCE_ID,
        title=f"{reads.title}, of an untouched file" + (" (reference)" if request.round else ""),
        metrics=(Metric(name=reads.metric, unit=reads.unit),),
        block_s=pattern.reference_s,
        min_groups=MIN_BLOCKS,
        control=True,
        equivalent=fio_command(REFERENCE_ID, layout.fixed_bytes, layout.directory),
        why="a trim does not touch this file: if its reads change too, the host changed and not the disk",
    )
    return load, control


def make_plan_and_setup(
    host: Host, options: OptionMap, pattern: TrimPattern, planned: Callable[..., Plan]
) -> tuple[Plan, TrimSetup, TrimRequest, TrimPattern]:
    asked = parse_request(options)
    budget_s = options.as_number("budget")
    if budget_s:
        pattern = pattern.spread_over_budget(budget_s, asked.phase_count)
    if "idle" in options.values and options.values["idle"] is not None:
        pattern = pattern.with_idle_time(options.as_number("idle"))
    layout = TrimSetup(host, asked.directory, blocks=pattern.blocks, phases=asked.phase_count)
    refused = refusal_reason(asked, layout)
    loads = load_and_control_workloads(asked, layout, pattern)
    trimming = count_trims(asked, layout)
    measuring = asked.phase_count * pattern.blocks * (pattern.block_s + pattern.reference_s)
    if not asked.round and layout.no_trim:
        measuring *= 2 / 3
    prepare_s = guess_seconds_to_write(layout.fixed_bytes) + 2.0
    steps = _planned_steps(asked, pattern, trimming, prepare_s)
    plan = planned(
        options=dict(options.values),
        variants=_planned_variants(asked, layout),
        workloads=loads,
        steps=steps,
        actions=(
            *((make_directory_action(host, layout.directory),) if not refused else ()),
            *((trim_action(layout),) * trimming if not refused else ()),
        ),
        writes=_planned_writes(layout) if not refused else (),
        rights=(
            f"write permission in {layout.directory}",
            *(("root (CAP_SYS_ADMIN) for the trim",) if not asked.round else ()),
        ),
        seconds=sum(step.seconds for step in steps),
        measuring_s=measuring,
        commands=(asked.command,) if asked.command else (),
        sentences=_plan_sentences(asked, layout, pattern, trimming),
        left_out=(layout.no_trim,) if layout.no_trim and not asked.round else (),
        refusal=refused,
    )
    return plan, layout, asked, pattern


def _planned_variants(asked: TrimRequest, layout: TrimSetup) -> tuple[Variant, ...]:
    if asked.round:
        return (Variant(id=ROUND, label="this round", detail=layout.directory),)
    labels = {BEFORE: "before anything", IDLE: "after idling only", AFTER: "after the trim"}
    return tuple(
        Variant(id=name, label=label, detail=layout.directory)
        for name, label in labels.items()
        if not (layout.no_trim and name == AFTER)
    )


def _planned_steps(
    asked: TrimRequest, pattern: TrimPattern, trim_count: int, prepare_s: float
) -> tuple[PlannedStep, ...]:
    phase_s = pattern.blocks * (pattern.block_s + pattern.reference_s)
    prepare = PlannedStep("prepare", "write the reference file", prepare_s)
    if asked.round:
        return prepare, PlannedStep(ROUND, "measure one round", phase_s)
    steps = [
        prepare,
        PlannedStep(BEFORE, "measure before", phase_s),
        PlannedStep("waiting", "idle as long as the trim (control)", pattern.idle_s),
        PlannedStep(IDLE, "measure after idling", phase_s),
    ]
    if trim_count:
        steps += [
            PlannedStep("trim", "trim, and wait until the disk is idle", pattern.idle_s),
            PlannedStep(AFTER, "measure after the trim", phase_s),
            *(PlannedStep(f"trim{n}", CLOSING[n - 2], pattern.rest_s + 1) for n in range(2, trim_count + 1)),
        ]
    return tuple(steps)


def _trim_sentences(layout: TrimSetup) -> list[str]:
    """Return what a trim would offer here."""
    free, release = layout.read_free_bytes(), read_kernel(layout.host).release
    trim_knowledge = trim_behaviour_of(layout.file_system_type, release if is_present(release) else "")
    most = (
        f"a trim discards at most the free {units.format_size(free)} on {layout.device_names}"
        if free is not None
        else ""
    )
    return [text for text in (most, trim_knowledge.memory if trim_knowledge else "") if text]


def _planned_writes(layout: TrimSetup) -> tuple[PlannedWrite, ...]:
    share = endurance_share(layout.devices[0], layout.most_bytes) if layout.devices else None
    return (
        PlannedWrite(
            device=layout.device_names, bytes=layout.most_bytes, where=layout.directory, endurance_share=share
        ),
    )


def _plan_sentences(
    asked: TrimRequest, layout: TrimSetup, pattern: TrimPattern, trimming: int
) -> tuple[str, ...]:
    if layout.refusal:
        return ()
    here = f"in {layout.directory} ({layout.device_names})"
    phases = asked.phase_count if trimming or asked.round else 2
    lines = [
        f"runs your command {here} and deletes what it leaves in its TMPDIR there; it is killed when it "
        "writes more than the limit, checked 50 times a second by the kernel's account of it and by "
        "the disk's counters, which include other processes' writes"
        if asked.command
        else f"writes new files {here} and deletes them at the end",
        f"measures {count_noun(phases, 'phase')} of {pattern.blocks} blocks",
    ]
    if trimming:
        lines.append(
            f"trims {layout.mount_directory} {trimming} times: once to measure what it gives, and at the "
            "end, so that no "
            "deleted file of this run stays behind as stale data"
        )
        lines += _trim_sentences(layout)
        lines.append("a trim cannot be undone: deleted files can no longer be recovered from the raw disk")
    elif not asked.round:
        lines.append(f"does not trim: {without_trim_note(layout)}")
    else:
        lines.append("does not trim: it adds one round to the series of this file system")
    lines.append(STOPS_ITSELF)
    return (*lines, *layout.notes)

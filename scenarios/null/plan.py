"""The plan of scenario `null`: where its two files go, what they write, how long it takes."""

import math
from collections.abc import Callable, Sequence

from hostdx.probes.engine.workloads import EngineLoad, engine_load, prepared_bytes
from hostdx.probes.reading.host import Host
from hostdx.probes.units import format_size
from hostdx.scenarios.contract.model import OptionMap, UsageError, make_directory_action
from hostdx.scenarios.contract.plan import Plan, PlannedStep, PlannedWrite, Variant, Workload
from hostdx.scenarios.experiment.files.directories import ChosenTestDirectory
from hostdx.scenarios.experiment.files.variant_bench import engine_workload
from hostdx.scenarios.experiment.guards.foreign_latency import STOPS_ITSELF
from hostdx.scenarios.experiment.load_schedule import MAY_BE_LEFT_OUT, MIN_LOAD_S
from hostdx.scenarios.triage.knowledge.disks import guess_seconds_to_write

ITSELF = "A"
AGAIN = "A'"
DEFAULT_BUDGET_S = 20.0
STORAGE = ("randread-4k-qd1", "fsync-4k-qd1")  # what jobs feel first, and what is noisiest
CPU = "cpu"
# Large enough that a disk's own cache (some dozen MiB) does not serve it all, small enough to be written twice
# within seconds.
SIZE_BYTES = 256 << 20
MAX_WRITTEN_BYTES = 4 << 30


class NullDirectory(ChosenTestDirectory):
    """Where the files go; without a suitable directory only the CPU is measured."""

    def __init__(self, host: Host, options: OptionMap) -> None:
        super().__init__(host, options, SIZE_BYTES, STORAGE)

    @property
    def measured_loads(self) -> tuple[EngineLoad, ...]:
        return tuple(engine_load(i) for i in ((*STORAGE, CPU) if self.fit else (CPU,)))


def make_plan_and_setup(
    host: Host, options: OptionMap, planned: Callable[..., Plan]
) -> tuple[Plan, NullDirectory]:
    """Raises UsageError where the budget is too short for a single workload."""
    place = NullDirectory(host, options)
    budget = options.as_number("budget") or DEFAULT_BUDGET_S
    workloads = tuple(
        engine_workload(load, place.size_bytes, place.directory_path, slices=True)
        for load in place.measured_loads
    )
    if budget < (need := MIN_LOAD_S):
        raise UsageError(
            f"null: a budget of {budget:.0f} s is too short for a workload; give --budget {math.ceil(need)} or more"
        )
    plan = planned(
        options=dict(options.values),
        variants=(
            Variant(id=ITSELF, label="itself", detail=place.directory_path),
            Variant(id=AGAIN, label="itself again", detail=place.directory_path),
        ),
        workloads=workloads,
        steps=_plan_steps(place, workloads, budget),
        actions=(make_directory_action(host, place.directory_path),) if place.fit else (),
        writes=_plan_writes(place),
        rights=(f"write permission in {place.directory_path}",) if place.fit else (),
        seconds=budget + _seconds_to_prepare(place),
        measuring_s=budget,
        sentences=_list_sentences(place),
        left_out=(f"storage: {place.refusal}",) if place.refusal else (),
        refusal=place.refusal if place.explicit else "",
    )
    return plan, place


def _two_files_bytes(place: NullDirectory) -> int:
    """A file that is read and one that is written, the same for both variants."""
    return prepared_bytes(place.size_bytes, STORAGE) if place.fit else 0


def _seconds_to_prepare(place: NullDirectory) -> float:
    return guess_seconds_to_write(_two_files_bytes(place)) + 1.0 if place.fit else 1.0


def _plan_steps(
    place: NullDirectory, workloads: Sequence[Workload], budget: float
) -> tuple[PlannedStep, ...]:
    measured = tuple(PlannedStep(w.id, w.title, budget / len(workloads)) for w in workloads)
    if place.fit is None:
        return measured
    return (PlannedStep("prepare", "write the test files", _seconds_to_prepare(place)), *measured)


def _plan_writes(place: NullDirectory) -> tuple[PlannedWrite, ...]:
    if place.fit is None:
        return ()
    return (
        PlannedWrite(device=place.device_name, bytes=max_written_bytes(place), where=place.directory_path),
    )


def max_written_bytes(place: NullDirectory) -> int:
    """The files, and as much again as half a minute of synced writes can need on a fast disk."""
    return max(MAX_WRITTEN_BYTES, 2 * _two_files_bytes(place))


def _list_sentences(place: NullDirectory) -> tuple[str, ...]:
    """Return what the plan's fields do not say."""
    if place.fit is None:
        return ("without a directory only the CPU is measured against itself",)
    return (
        STOPS_ITSELF,
        MAY_BE_LEFT_OUT,
        f"{format_size(_two_files_bytes(place))} of this are the test files (unnamed, so that nothing is left after a "
        "crash); the rest is the limit of the synced writes",
        *place.fit.notes,
    )

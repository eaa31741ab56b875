"""The plan of scenario `kernel`: the battery, where its files go, what it writes, how long it takes."""

from collections.abc import Callable

from hostdx.probes.engine.battery import own_affinity
from hostdx.probes.engine.battery_loads import CALLS, FILES, SLOTS, TURNS, CallLoad, Slot, disk_loads
from hostdx.probes.engine.workloads import EngineLoad, prepared_bytes
from hostdx.probes.reading.host import Host
from hostdx.probes.units import format_size
from hostdx.scenarios.contract.model import OptionMap, UsageError, make_directory_action
from hostdx.scenarios.contract.plan import Metric, Plan, PlannedStep, PlannedWrite, Variant, Workload
from hostdx.scenarios.experiment.files.directories import ChosenTestDirectory
from hostdx.scenarios.experiment.guards.foreign_latency import STOPS_ITSELF
from hostdx.scenarios.triage.knowledge.disks import guess_seconds_to_write

DEFAULT_BUDGET_S = 60.0
ROUND_S = 3.0  # of all loads, on one CPU and on all: 2.3 s on an idle virtual machine with two
FEWEST_ROUNDS = 4  # with fewer a run's own spread is hardly known
SIZE_BYTES = 128 << 20
MAX_WRITTEN_BYTES = 4 << 30
FILES_OF = ("randread-4k-qd1", "fsync-4k-qd1")  # the engine's loads that ask for both test files
FINGERPRINT = "read the host's fingerprint and every read-only rule"
FINGERPRINT_S = 2.0
LOADS = tuple(load for turn in TURNS for load in turn) + tuple(load.id for load in disk_loads(1))
ONE, ALL = SLOTS
TITLES: dict[Slot, str] = {"one": "one CPU", "all": "all CPUs"}


class KernelSetup(ChosenTestDirectory):
    """What is measured where. Without a suitable directory neither disk nor files are.

    `turns`: loads that are measured one right after the other stand together. `round_s`: what a round of them takes.
    """

    def __init__(self, host: Host, options: OptionMap) -> None:
        super().__init__(host, options, SIZE_BYTES, FILES_OF)
        self.cpus = own_affinity()
        self.most_bytes = options.as_integer("writes") or MAX_WRITTEN_BYTES
        only = frozenset(options.as_strings("only"))
        turns = (*TURNS, *((load.id,) for load in disk_loads(1)))
        asked = tuple(turn for turn in turns if not only or only & set(turn))
        of_calls = {call.id for call in CALLS if call.call not in FILES}
        if of_calls.issuperset(load for turn in asked for load in turn):
            self.fit, self.refusal = None, ""  # no directory is needed
        self.turns = tuple(turn for turn in asked if self.fit is not None or of_calls.issuperset(turn))
        share = sum(map(len, self.turns)) / len(LOADS) if only else 1.0
        self.round_s = ROUND_S * share
        least = FEWEST_ROUNDS * self.round_s
        self.budget_s = options.as_number("budget") or DEFAULT_BUDGET_S * share
        if only:
            self.budget_s = max(self.budget_s, least)
        elif self.budget_s < least:
            raise UsageError(
                f"kernel: a budget of {self.budget_s:.0f} s is too short for {FEWEST_ROUNDS} rounds of all loads; "
                f"give --budget {least:.0f} or more"
            )

    @property
    def planned_workloads(self) -> tuple[Workload, ...]:
        there = {load for turn in self.turns for load in turn}
        calls: list[tuple[CallLoad | EngineLoad, str, bool]] = [
            (call, call.unit, call.control) for call in CALLS
        ]
        return tuple(
            Workload(
                id=benchmark.id,
                title=benchmark.title,
                metrics=(Metric(metric, benchmark.unit),),
                control=control,
                why=benchmark.why,
                min_groups=FEWEST_ROUNDS,
            )
            for benchmark, metric, control in (
                *calls,
                *((load, load.metric, False) for load in disk_loads(1)),
            )
            if benchmark.id in there
        )

    @property
    def cpu_variants(self) -> tuple[Variant, ...]:
        count = {ONE: 1, ALL: len(self.cpus)}
        return tuple(Variant(id=slot, label=TITLES[slot], detail=f"{count[slot]} at once") for slot in SLOTS)

    @property
    def file_bytes(self) -> int:
        return prepared_bytes(self.size_bytes, FILES_OF) if self.fit is not None else 0

    @property
    def prepare_s(self) -> float:
        return guess_seconds_to_write(self.file_bytes) + 1.0 if self.fit is not None else 1.0

    def plan_sentences(self) -> tuple[str, ...]:
        lines = [
            "measures the loads in turn, in slices of a few hundredths of a second",
            "sends packets within this host only (127.0.0.1)",
        ]
        if self.fit is not None:
            lines += [
                f"{format_size(self.file_bytes)} of this are the test files; the rest is the limit of the "
                "writing loads",
                STOPS_ITSELF,
                *self.fit.notes,
            ]
        return tuple(lines)


def make_plan_and_setup(
    host: Host, options: OptionMap, planned: Callable[..., Plan]
) -> tuple[Plan, KernelSetup]:
    setup = KernelSetup(host, options)
    steps = [
        PlannedStep("fingerprint", FINGERPRINT, FINGERPRINT_S),
        PlannedStep("rounds", f"{len(setup.planned_workloads)} loads in turn", setup.budget_s),
    ]
    if setup.fit is not None:
        steps.insert(1, PlannedStep("prepare", "write the test files", setup.prepare_s))

    plan = planned(
        options=dict(options.values),
        variants=setup.cpu_variants,
        workloads=setup.planned_workloads,
        steps=tuple(steps),
        actions=(make_directory_action(host, setup.directory_path),) if setup.fit is not None else (),
        writes=(PlannedWrite(device=setup.device_name, bytes=setup.most_bytes, where=setup.directory_path),)
        if setup.fit is not None
        else (),
        rights=(f"write permission in {setup.directory_path}",) if setup.fit is not None else (),
        seconds=setup.budget_s + setup.prepare_s + FINGERPRINT_S,
        measuring_s=setup.budget_s,
        sentences=setup.plan_sentences(),
        left_out=(f"disk and files: {setup.refusal}",) if setup.refusal else (),
        refusal=setup.refusal if setup.explicit or not setup.turns else "",
    )
    return plan, setup

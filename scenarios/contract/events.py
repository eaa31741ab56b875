"""The typed events of a run: one stream, many views (law 1).

One JSON object a line, tagged by `type`, in the order of their time. Every view (screen, replay, report, `--json`) is
a function of this stream and of nothing else. The schema is versioned: an unknown type or field is survived.
"""

from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.types import AbsentKind, Fact, Json, UnreadFact
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.card import Card
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.event import RunEvent as RunEvent
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.plan import Option, Plan
from hostdx.scenarios.contract.results.result import Result as Result
from hostdx.scenarios.contract.surroundings import Watched as Watched
from hostdx.scenarios.contract.verdict.verdict import GroupVerdict, Trend, Word

SCHEMA = "hostdx/1"
SIDES = "0123456789abcdefghijklmnopqrstuvwxyz"  # a train's order is written in them

Phase: TypeAlias = Literal["warmup", "onset", "steady", "reference", "before", "idle", "after"]
StepState: TypeAlias = Literal["started", "done", "skipped", "failed"]
Status: TypeAlias = Literal["done", "skipped", "failed", "interrupted"]


class Began(RunEvent, frozen=True, tag="run"):
    """The first line of a recording: what runs, where, and which process writes (its start time tells a reused pid)."""

    schema: str
    version: str
    scenario: str
    command: list[str]
    host: str
    wall: str  # UTC, ISO 8601
    seed: of.Whole
    pid: of.Count
    pid_start: of.Count  # field 22 of /proc/PID/stat, clock ticks since boot
    boot_id: str
    options: dict[str, Json] = {}


class Planned(RunEvent, frozen=True, tag="plan"):
    plan: Plan


class ScenarioOffer(RunEvent, frozen=True, tag="offer"):
    """A scenario that can be started here, or why not (`blocked`)."""

    id: str
    title: str
    question: str
    takes_s: of.Duration
    needs: str = ""
    answers: str = ""
    blocked: str = ""
    options: tuple[Option, ...] = ()
    card: Card = Card()


class FactRead(RunEvent, frozen=True, tag="fact"):
    """A fact that was read. `subject` is `disk:sda`, `nic:eth0` or `kernel`; `source` is the path or command."""

    name: str
    value: Json
    source: str
    unit: str = ""
    subject: str = ""

    @property
    def label(self) -> str:
        """Return subject and name, the same for the same fact in each run."""
        return f"{self.subject} {self.name}".lstrip()

    @property
    def subject_kind_and_name(self) -> tuple[str, str]:
        """Return the kind and name of the subject: ("disk", "sda"); ("kernel", "") where the host has only one."""
        kind, _, which = self.subject.partition(":")
        return kind, which


class AbsentFact(RunEvent, frozen=True, tag="absent"):
    """A fact that could not be read: why in words and by kind (a right, a tool, a container, ...)."""

    name: str
    reason: str
    source: str = ""
    kind: AbsentKind = "missing"
    subject: str = ""

    @property
    def label(self) -> str:
        return f"{self.subject} {self.name}".lstrip()


def fact_event(entry: Fact | UnreadFact, t: float) -> FactRead | AbsentFact:
    """Return the event that records what a probe read, or why the probe could not read it."""
    if isinstance(entry, UnreadFact):
        why = entry.absent
        return AbsentFact(
            t=t, subject=entry.subject, name=entry.name, reason=why.reason, source=why.source, kind=why.kind
        )
    return FactRead(t=t, **msgspec.structs.asdict(entry))


class Checked(RunEvent, frozen=True, tag="check"):
    """An event that one read-only rule was evaluated. `ok`: no finding; `spoke`: a finding follows; `unreadable`:
    `reason` says why.
    """

    rule: str
    state: Literal["ok", "spoke", "unreadable", "not applicable"]
    reason: str = ""
    fault: str = ""  # the exception of a rule that is broken itself
    kind: AbsentKind = "missing"  # of what an unreadable one could not read
    title: str = ""  # what the rule looks for, where it could not read it


class RunStep(RunEvent, frozen=True, tag="step"):
    id: str
    title: str
    state: StepState
    reason: str = ""


ActionState: TypeAlias = Literal["applied", "reverted", "failed", "refused", "kept"]


class ActionEvent(RunEvent, frozen=True, tag="action"):
    """An action's life. `id` is the journal's entry."""

    id: str
    action: Action
    state: ActionState
    reason: str = ""


class Block(RunEvent, frozen=True, tag="block"):
    """One window of one variant. `t` is its end; `values` maps the load's metric names to the window's value.

    `histogram`: [upper bound in ns, count] pairs. `device_bytes`: what the disks below moved. A window with `disturbed`
    does not count.
    """

    workload: str
    variant: str
    group: of.Number
    index: of.Number
    seconds: of.Seconds
    values: dict[str, of.Value]
    phase: Phase = "steady"
    operations: of.Count = 0
    bytes: of.Count = 0
    device_bytes: of.Count | None = None
    cpu_s: of.Duration = 0.0
    p50_ns: of.Count | None = None
    p99_ns: of.Count | None = None
    histogram: list[tuple[of.Count, of.Count]] = []
    disturbed: tuple[Disturbance, ...] = ()


class SliceBatch(RunEvent, frozen=True, tag="train"):
    """A slice batch: about a second of slices of all variants in turn, several groups of them. `t` is its end.

    `order` numbers `ordered_variants` slice by slice (0 to 9, a to z), with a blank between groups: "0110 1001".
    `values` holds one value for each slice, by metric. `log_ratios` holds one for each group, by
    "metric|baseline|variant", turned so that more is better. `group` is the number of the first group. Operations,
    bytes and latencies are by variant. A disturbed batch is measured again as a whole.
    """

    workload: str
    index: of.Number
    group: of.Number
    seconds: of.Seconds
    slice_s: of.Seconds
    variants: list[str]
    order: str
    values: dict[str, list[of.Value]]
    log_ratios: dict[str, list[of.Logarithm]] = {}
    places: list[of.Number] = []  # of each group: the pair of places that it was measured in
    phase: Phase = "steady"
    operations: dict[str, of.Count] = {}
    bytes: dict[str, of.Count] = {}
    device_bytes: of.Count | None = None
    cpu_s: of.Duration = 0.0
    waited_s: of.Duration = 0.0  # of the workers' time they waited for a CPU
    p50_ns: dict[str, of.Count] = {}
    p99_ns: dict[str, of.Count] = {}
    histogram: dict[str, list[tuple[of.Count, of.Count]]] = {}
    disturbed: tuple[Disturbance, ...] = ()


class SliceLengthChosen(RunEvent, frozen=True, tag="slices"):
    """The length of the slices that follow, and what decided it.

    The first `onset_s` seconds of each slice do not count. `difference`: how far the first quarter differs from the
    rest of `variant`'s slices, a share, with its interval `ci99`; None where there are too few slices of this length.

    After `carry-over`, `bias` is the interval of the shift of ln(variant/baseline) by work that one variant left to the
    other. `blocks`: from now on the load is measured in windows, each flushed and waited for before the next begins.
    """

    workload: str
    seconds: of.Seconds
    why: Literal["shortest", "operations", "switch", "block", "carry-over", "budget", "order"]
    onset_s: of.Seconds = 0.0
    settled: bool = True
    variant: str = ""
    difference: of.Change | None = None
    ci99: tuple[of.Change, of.Change] | None = None
    bias: tuple[of.Logarithm, of.Logarithm] | None = None
    blocks: bool = False

    @property
    def begins_anew(self) -> bool:
        """Return whether the groups before this event no longer count."""
        return self.blocks or self.why in ("carry-over", "order")


class SampleTaken(RunEvent, frozen=True, tag="sample"):
    """A value within a longer window, or of a watch. `at_s`: when it was taken, where it is written later."""

    series: str
    variant: str
    block: of.Number
    value: of.Value
    unit: str
    at_s: of.Seconds | None = None


class ProcessTreeSample(RunEvent, frozen=True, tag="inside"):
    """A command's process tree while it runs, once a second. `at_s`: seconds since its start; `run` counts the
    variant's runs.

    "PSS" (B), "threads" and "processes" are of that moment; "CPU" (s), "read" and "written" (B) are sums since the
    start. "temperature" (°C, the hottest CPU package) and "frequency" (Hz, mean) are the host's. Values that cannot be
    read are left out.
    """

    variant: str
    run: of.Number
    at_s: of.Seconds
    values: dict[str, of.Value]


class Group(RunEvent, frozen=True, tag="group"):
    """A finished group: its order ("ABBA") and, per metric and pair, ln(variant/baseline) with more = better."""

    workload: str
    index: of.Number
    order: str
    log_ratios: dict[str, of.Logarithm] = {}  # key: "metric|baseline|variant"
    disturbed: tuple[Disturbance, ...] = ()

    @property
    def ordered_variants(self) -> list[str]:
        """Return the variants in the order in which they were measured."""
        return self.order.split() if " " in self.order else list(self.order)


class RunningEstimate(RunEvent, frozen=True, tag="estimate"):
    """The running estimate after a group; `ci95` is the interval that would hold if measuring stopped now."""

    workload: str
    metric: str
    baseline: str
    variant: str
    groups: of.Number
    ratio: of.Ratio
    ci95: tuple[of.Edge, of.Edge] | None = None
    seconds_left: of.Duration | None = None
    planned_groups: of.Number = 0  # at most
    next_look: of.Number = 0  # after so many groups; 0: not told
    p99_ns: tuple[of.Count, of.Count] | None = None  # of baseline and variant in the last group; never judged


class Guard(RunEvent, frozen=True, tag="guard"):
    """An event that names a disturbance, the process that caused it, and the reaction. Names come from the host: they
    are data, never markup.

    `disturbance`, or `text` where there is none; `again`: what is measured again because of the disturbance.
    """

    kind: str
    text: str = ""
    disturbance: Disturbance | None = None
    again: Literal["", "group", "train"] = ""
    early: bool = False  # before the first block, while nothing of ours ran
    workload: str = ""
    group: of.Number | None = None
    severity: Literal["warning", "notice"] = "notice"

    @property
    def guard_sentence(self) -> str:
        text = self.disturbance.full_sentence if self.disturbance is not None else self.text
        before = "before the first measurement: " if self.early else ""
        noun = "slice batch" if self.again == "train" else self.again
        return f"{before}{text}" + (f"; the {noun} is measured again" if noun else "")


class RunVerdict(GroupVerdict, frozen=True, omit_defaults=True, tag_field="type", tag="verdict"):
    """A verdict of a run: which variants, when, and on what. `ratio` is null where it was not measured or is `not
    applicable`.
    """

    t: of.Seconds
    workload: str
    metric: str
    baseline: str
    variant: str
    verdict: Word
    delta: of.Value | None = None
    delta_ci95: tuple[of.Value, of.Value] | None = None
    delta_unit: str = ""
    seconds: of.Duration = 0.0
    control: bool = False  # a negative control that must not move
    one_file_system: bool = False  # that both sides lie on: no difference is expected
    explain: str = ""  # a scenario's own words on how it came about, where the fields do not say it
    scope: str = ""  # "this stack", "this disk", "this directory, not the disk"
    bytes_to_decide: of.Count | None = None  # about; where the run's write limit ended it
    drift: dict[str, tuple[of.Value, of.Value]] = {}  # level at begin and end, where that forbids a verdict

    @property
    def group_ratio_key(self) -> str:
        """Return the key "metric|baseline|variant" of this verdict's ratio in each group."""
        return f"{self.metric}|{self.baseline}|{self.variant}"

    @property
    def has_no_groups(self) -> bool:
        """Return whether no group supports the verdict: it was not measured, or not as planned."""
        return self.groups == 0 and not self.is_judged


class SeriesVerdict(Trend, frozen=True, omit_defaults=True, tag_field="type", tag="series"):
    """The verdict on a trend over rounds, or on a change beyond the idle control."""

    t: of.Seconds
    workload: str
    rounds: of.Number
    verdict: Word


class Pulse(RunEvent, frozen=True, tag="pulse"):
    """The host's own state, once a second. Shares are 0..1, rates are per second."""

    load1: of.Rate
    cpu: of.Share
    steal: of.Share = 0.0
    iowait: of.Share = 0.0
    psi_cpu: of.Share | None = None
    psi_io: of.Share | None = None
    psi_memory: of.Share | None = None
    devices: dict[str, tuple[of.Value, of.Value, of.Share]] = {}  # name -> read B/s, write B/s, utilisation
    ours: dict[str, tuple[of.Value, of.Value]] = {}  # name -> our own read B/s, write B/s


class Progress(RunEvent, frozen=True, tag="progress"):
    """What is being done now and how long the rest takes (None: not known yet)."""

    step: str
    text: str
    seconds_left: of.Duration | None = None
    done: of.Share | None = None  # share 0..1 of the whole run


class Found(RunEvent, frozen=True, tag="finding"):
    finding: Finding


class Note(RunEvent, frozen=True, tag="note"):
    text: str


class LeftOutLine(RunEvent, frozen=True, tag="left out"):
    """Stands for a line of a recording with a value that does not fit its type; `why` says which. Only the reader
    makes it.
    """

    why: str


class RunEnded(RunEvent, frozen=True, tag="end"):
    status: Status
    reason: str | None = None
    exit: of.Number = 0


Common: TypeAlias = (  # of every scenario: what a decoder is made for
    Began
    | Planned
    | ScenarioOffer
    | FactRead
    | AbsentFact
    | Checked
    | RunStep
    | ActionEvent
    | Block
    | SliceBatch
    | SliceLengthChosen
    | SampleTaken
    | ProcessTreeSample
    | Group
    | RunningEstimate
    | Guard
    | Watched
    | RunVerdict
    | SeriesVerdict
    | Pulse
    | Progress
    | Found
    | Note
    | LeftOutLine
    | RunEnded
)
AnyEvent: TypeAlias = Common | Result  # a scenario's own results too, whose types the registry knows

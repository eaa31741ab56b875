"""A plan: what a run would do, said before anything happens. The same text feeds screen, help and report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.reading.lossless_json import encode
from hostdx.probes.types import Json
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.ranges import Count, Duration, Number, Rate, Value

OptionKind: TypeAlias = Literal["path", "text", "integer", "number", "bytes", "flag", "choice"]


class Option(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A scenario's option, declared once: feeds the command line, the plan screen and the help.

    `least` and `most` bound a number; a path is made absolute before the scenario sees it. A number's `unit` says
    what may stand behind it when it is typed: seconds `90s` or `2m`, a share `5%` (see
    `hostdx.scenarios.contract.option_value`).
    """

    name: str  # without dashes: "dir"
    kind: OptionKind
    help: str
    default: Json = None
    multiple: bool = False
    required: bool = False
    choices: tuple[str, ...] = ()
    hidden: bool = False
    loads: bool = False  # its values are ids of the loads that are measured, where it is given: a shorter run
    secret: bool = False  # may hold secrets: with `--private` a digest of it is recorded
    least: Value | None = None
    most: Value | None = None
    unit: Literal["", "s", "share"] = ""


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """A measured quantity. `better`: which direction is good. Ratios are turned so that one below 1 is slower."""

    name: str  # "IOPS", "MB/s", "ns/packet"
    unit: str
    better: Literal["more", "less"] = "more"
    judged: bool = True  # False: shown beside, never judged (p99)
    of: Literal["mean", "median", "max"] = "mean"  # which of an imported result's repetitions is its figure
    invalid: str = ""  # why an imported figure is never compared: the tool's own words, or too little work

    @property
    def sign(self) -> int:
        """Return 1 where more is better, -1 where less is: the sign that turns ln(variant / baseline)."""
        return 1 if self.better == "more" else -1

    def combine_blocks(self, values: Sequence[float]) -> float:
        """Return one value for the values of a run's blocks: their mean, median or maximum, as `of` says."""
        if self.of == "max":
            return max(values)
        return median(values) if self.of == "median" else math.fsum(values) / len(values)


class Workload(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One kind of load. The first metric is the leading one.

    A window lasts `block_s` seconds or until `min_operations` are done, whichever is longer, but at most `max_block_s`.
    The first `onset_s` seconds are reported apart. If fewer than `min_groups` groups fit into the budget, the load is
    not started and the verdict says so. Where only the warm-up shows how long a window must be, four groups are
    measured all the same.
    """

    id: str
    title: str
    metrics: tuple[Metric, ...]
    block_s: Duration = 0.5
    max_block_s: Duration = 5.0
    min_operations: Count = 200
    onset_s: Duration = 0.0
    min_groups: Number = 8
    # the shortest slice, where the variants can be switched quickly; 0: measured in blocks
    slice_s: Duration = 0.0
    slice_operations: Count = 50  # a slice holds at least as many, a queue depth's worth each
    slice_onset_s: Duration = 0.0  # of a slice, cut off at least
    control: bool = False
    conditions: dict[str, str] = {}  # of an imported load: only results with the same ones are compared
    one_file_system: bool = False  # that all sides lie on: no difference is expected
    controls: tuple[str, ...] = ()  # variants within it that must not move: negative controls beside others
    # its comparisons stand in the appendix: a result says on the first page what they come to
    aside: bool = False
    equivalent: str = ""  # the fio (or other) command line that would measure the same
    why: str = ""
    # the load measured beside it, whose changes its effect and values are freed from: nothing was done to that one
    freed_from: str = ""


def timed_command_workload(id: str, title: str, *, controls: tuple[str, ...] = ()) -> Workload:
    """Return a load of which each window is one run of a command (`hostdx.probes.engine.command.command`).

    The window lasts as long as the command; its value is in seconds.
    """
    return Workload(
        id=id,
        title=title,
        metrics=(Metric("seconds", "s", better="less"),),
        block_s=0.02,  # the warm-up tells how long it really takes
        max_block_s=600.0,
        min_operations=1,
        controls=controls,
    )


class Variant(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One of the things that are compared. A person reads `label`; `facts` hold the properties that differ from the
    other variants.
    """

    id: str  # "A", "B", "none", "mq-deadline", "before", ...
    label: str
    detail: str = ""
    facts: dict[str, str] = {}


def command_variant(id: str, words: dict[str, str]) -> Variant:
    """Return the variant of a user's command, whose label is what sets it apart, word by word."""
    label = ", ".join(f"{name}={value}" for name, value in words.items()) or "as it is"
    return Variant(id=id, label=label, facts=words)


class PlannedStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step of a run, with the seconds that it takes."""

    id: str
    title: str
    seconds: Duration = 0.0


class PlannedWrite(msgspec.Struct, frozen=True, omit_defaults=True):
    """The most bytes that a run writes to a device. `endurance_share` (0..1): of the device's rated endurance."""

    device: str
    bytes: Count
    where: str = ""
    endurance_share: Rate | None = None


class Plan(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a run would do, before it does anything. `seconds` is the time of the whole run, `measuring_s` the part
    that the budget bounds.

    `refusal` says why the run cannot be done here (exit status 3). `left_out`: what is left out, and why.
    """

    scenario: str
    title: str
    question: str
    why: str = ""
    options: dict[str, Json] = {}
    variants: tuple[Variant, ...] = ()
    workloads: tuple[Workload, ...] = ()
    steps: tuple[PlannedStep, ...] = ()
    reads: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    writes: tuple[PlannedWrite, ...] = ()
    differs: tuple[str, ...] = ()  # what else differs between the variants (attribution)
    common: tuple[str, ...] = ()  # what the variants lie on together, so that it cannot be what differs
    rights: tuple[str, ...] = ()
    seconds: Duration = 0.0
    measuring_s: Duration = 0.0
    # of the user's own that it starts: agreed to on the screen before it starts
    commands: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()  # the plan in plain words, one line each
    # of what it is about, drawn in characters: lines of at most 80, as they stand
    picture: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    # file systems that it loads and other hosts use too: hosts that share one are measured one at a time
    shares: tuple[str, ...] = ()
    refusal: str = ""
    digest: str = ""

    @property
    def needs_consent(self) -> bool:
        return any(action.needs_consent for action in self.actions)

    def with_digest(self) -> Plan:
        """Return the plan with a digest of what it would do. Times, wording and the free space of today do not
        change the digest.
        """
        done = (
            self.scenario,
            sorted(self.options.items()),
            [(v.id, v.label) for v in self.variants],
            [w.id for w in self.workloads],
            self.actions,
            [(w.device, w.where, w.bytes >> 30) for w in self.writes],
        )
        body = encode(done, order="deterministic")
        import hashlib  # loads OpenSSL, which the first screen does without

        return msgspec.structs.replace(self, digest=hashlib.sha256(body).hexdigest()[:16])

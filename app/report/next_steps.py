"""What to do after a run: the one or two steps that its answer asks for, each with its command."""

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from app.recording.session import Session
from app.report import confirmation
from app.report.headline import stopped_itself
from app.report.wording import measured
from app.state import recordings_dir
from probes import units
from scenarios import events as ev
from scenarios.card import Role, card_with_role
from scenarios.experiment.wording import reckoned_s
from scenarios.finding import LOUD, SEVERITIES, Finding, Remedy, SuggestedStep
from scenarios.option_value import command_arguments
from scenarios.rules.texts import Texts

# of the options beside numbers and flags; the others may hold what is no reader's business
SAYS = Texts(Path(__file__).with_name("findings.toml"))
SAID_AGAIN = frozenset({
    "dir", "size", "most-bytes", "most-written", "scheduler", "order", "only", "direction", "engine", "load", "writes",
})  # fmt: skip
DRAWN_ANEW = ("seed", "state")  # or found anew
GONE = "pid"  # another one by then; the reader knows which
GIB = 1 << 30
MOST_BYTES = 100 * GIB  # an SSD's endurance is thousands of times more, but nobody expects it of a short test
MOST_S = 3600.0  # longer than that nobody waits for an answer; then a quieter host is the better advice
MOST_SUSPECTS = 3
MOST_MARGIN = 0.5  # as the option has it
SLACK = 1.25  # of a margin over the interval that a like run would have to lie in
PARTS = ".parts/"  # in the path of a recording of one of a checkup's parts
REPLAY = "hostdx replay"
FEW = 3  # remedies on a verdict and on a report's first page


def following(session: Session, recording: str = "") -> tuple[SuggestedStep, ...]:
    """Empty where nothing is to be done: an import, a run under way."""
    began, ended = session.began, session.ended
    if began is None or ended is None or session.card.role in ("import", "whole"):
        return ()
    if ended.status == "interrupted":
        if found := _remedy(session, "critical", "warning"):
            return (found.as_step,)
        return (_again(session, "stopped"),)
    if ended.status == "failed":
        return (_again(session, "failed"),)
    if ended.status == "done" and stopped_itself(session):
        return (_again(session, "others-waited"),)
    told = [v for v in session.verdicts.values() if not v.control]
    missed = [v for v in told if v.is_not_measured]
    undecided = [v for v in told if v.is_undecided and measured(v)]
    nothing = bool(told) and all(v.has_no_groups for v in told)
    if ended.status != "done" and not (ended.status == "skipped" and nothing):
        return ()
    if control_differs(session):
        return (_again(session, "control"), _other("resolution", "smallest"))
    if not told and (steps := _compared(session, recording)):
        return steps
    if remedy := _remedy(session, "critical", "warning", *(() if told else ("notice",))):
        return (remedy.as_step,)
    if told and all(v.one_file_system for v in told):
        odd = any(v.is_different for v in told)
        return (_again(session, "one-file-system") if odd else _other("whole", "elsewhere"),)
    if any(v.is_different for v in told):
        if remedy := _remedy(session, "notice", measured_here=True):
            return (remedy.as_step,)
        groups = SuggestedStep(SAYS.text("groups"), f"{REPLAY} {shlex.quote(recording or 'last')}")
        longer = _more_time(session, undecided)
        return (groups, longer) if longer else (groups,)
    if let_write := _more_bytes(session, told):
        return (let_write,)
    resolution = session.card.role == "resolution"
    if undecided and not resolution:
        in_time = [v for v in undecided if v.bytes_to_decide is None]  # the others ended by their bytes
        needed = [seconds for v in in_time if (seconds := reckoned_s(v)) is not None]
        whole = math.ceil(sum(v.seconds for v in told) + sum(needed))
        if needed and len(needed) == len(in_time) and whole <= MOST_S:
            return (_again(session, "longer", budget_s=whole, seconds=whole),)
        if longer := _more_time(session, undecided):
            return (longer, _other("resolution", "smallest"))
        long = SAYS.text("too-long", seconds=sum(needed)) if needed and len(needed) == len(in_time) else ""
        return (
            _again(session, "quieter", long=long),
            *_coarser(session, undecided),
            _other("resolution", "smallest"),
        )
    if nothing and not missed:
        return ()
    if nothing:
        had_s = session.plan.measuring_s if session.plan is not None else 0.0
        least_s = max(v.seconds_to_decide or 0.0 for v in missed)
        more = math.ceil(max(4 * session.time, 2 * had_s, least_s))
        return (_again(session, "more-time", budget_s=more),)
    if resolution:
        return (_other("whole", "whole-host"),)
    if not any(f.severity in ("critical", "warning") for f in session.findings.values()) and (
        told or session.findings
    ):
        return (_other("whole", "elsewhere"),)
    return ()


def to_the_whole() -> str:
    return f"hostdx run {card_with_role('whole').id}"


def advised(session: Session) -> list[Finding]:
    """Those with a remedy, the worst first, and of one severity what was measured here before what rules say."""
    found = [f for f in session.worst_first if f.severity != "ok" and f.remedy]
    return sorted(found, key=lambda f: (SEVERITIES.index(f.severity), f.confidence != "measured"))


def to_do(session: Session, recording: str = "") -> tuple[Remedy, ...]:
    """What a verdict advises: the remedies of what is loud, else the next steps, then those of the notices.

    Empty for a checkup, whose list says it line by line; one of its parts does not lead back to it. A run whose control
    differs changes nothing.
    """
    if session.card.role == "whole":
        return ()
    found = [] if control_differs(session) else advised(session)
    loud = [f.remedy[0] for f in found if f.severity in LOUD]
    quiet = [f.remedy[0] for f in found if f.severity not in LOUD]
    taken = [remedy.as_step for remedy in quiet]  # these come whole, with what undoes them
    steps = [] if loud else [s for s in following(session, recording) if not s.command.startswith(REPLAY)]
    asked = to_the_whole() if PARTS in recording else None  # whose list sent here
    steps = [step for step in steps if step not in taken and step.command != asked]
    own = [
        Remedy(
            title=step.title_with_price[:1].upper() + step.title_with_price[1:], commands=step.all_commands
        )
        for step in steps
    ]
    told: dict[tuple[str, tuple[str, ...]], Remedy] = {}
    kept = () if loud or own or quiet else _kept(session, recording)
    for one in (*loud, *own, *quiet, *kept):
        told.setdefault((one.title, one.commands), one)
    return tuple(told.values())[:FEW]


def _kept(session: Session, recording: str) -> tuple[Remedy, ...]:
    """Of a run that ended and asks for nothing: its page for others, and what tells later whether it changed."""
    if session.ended is None or session.began is None or not any(map(measured, session.verdicts.values())):
        return ()
    if "/" in recording:  # a file that somebody keeps already
        return ()
    page, keep = (SAYS.remedy(what, recording=recording or "last") for what in ("page", "keep"))
    return (page,) if session.card.role == "import" else (page, keep)


def control_differs(session: Session) -> bool:
    return any(v.control and v.is_different for v in session.verdicts.values())


def _compared(session: Session, recording: str) -> tuple[SuggestedStep, ...]:
    """A battery alone is no verdict: what to compare it with, and what is suspected on this host meanwhile."""
    recorded = next((f for f in session.findings.values() if f.answers), None)
    if session.card.role != "battery" or recorded is None:
        return ()
    steps = [remedy.as_step for remedy in recorded.remedy if remedy.commands]
    # the first compares it, with a name that stays right when it is no longer the last one
    if recording and steps:
        command = shlex.join(["hostdx", "compare", "OLD", "--", recording])
        steps[0] = SuggestedStep(steps[0].title, command)
    if recording and (kept := recordings_dir() / recording).is_file():
        carry = shlex.join(["scp", str(kept), "HOST:"])
        steps.insert(1, SuggestedStep(SAYS.text("carry"), carry))
    known = [f for f in session.worst_first if f.confidence != "measured" and f.severity != "ok"]
    for found in known[:MOST_SUSPECTS]:
        step = found.remedy[0].as_step if found.remedy else SuggestedStep("")
        if found.prove:
            step = SuggestedStep("", confirmation.command(found, session))
        steps.append(SuggestedStep(SAYS.text("suspected", title=found.title), step.command, step.then))
    return tuple(steps)


def _remedy(session: Session, *severities: str, measured_here: bool = False) -> Remedy | None:
    """The first remedy of the worst finding that has one; `measured_here`: of what this run found out, not of rules."""
    known = (f for f in session.worst_first if not measured_here or f.confidence == "measured")
    return next((f.remedy[0] for f in known if f.severity in severities and f.remedy), None)


def _more_bytes(session: Session, told: Sequence[ev.RunVerdict]) -> SuggestedStep | None:
    """Where its write limit ended the run: the limit that would do, with the seconds that it takes."""
    needed = max((v.bytes_to_decide or 0 for v in told), default=0)
    if session.plan is None or "most-bytes" not in session.plan.options or not 0 < needed <= MOST_BYTES:
        return None
    limit = math.ceil(needed / GIB)
    whole = math.ceil(sum(v.seconds + (v.seconds_to_decide or 0.0) for v in told))
    longer = whole if whole > session.plan.measuring_s else 0
    return _again(session, "more-bytes", budget_s=longer, most_bytes=limit * GIB, limit=limit)


def _coarser(session: Session, undecided: Sequence[ev.RunVerdict]) -> tuple[SuggestedStep, ...]:
    """The same run with a margin that its intervals would lie in: decided in the same time, as coarsely as it says."""
    ends = [end for v in undecided for end in v.ci95 or (0.0, math.inf)]
    farthest = max((max(end, 1 / end) if end > 0 else math.inf for end in ends), default=math.inf) - 1
    margin = math.ceil(farthest * SLACK * 20) / 20 if farthest < MOST_MARGIN else 1.0
    if margin > MOST_MARGIN:
        return ()
    return (_again(session, "coarser", margin=margin, share=margin),)


def _other(role: Role, told: str) -> SuggestedStep:
    """Another scenario as it is usually run."""
    card = card_with_role(role)
    return SuggestedStep(SAYS.text(told), f"hostdx run {card.id}", seconds=card.takes_s)


def _more_time(session: Session, undecided: Sequence[ev.RunVerdict]) -> SuggestedStep | None:
    """Where a load had too few groups for a verdict: what they scatter tells nothing yet."""
    loads = {load.id: load.min_groups for load in session.workloads}
    lacking = [loads.get(v.workload, 0) / v.groups for v in undecided if v.groups < loads.get(v.workload, 0)]
    plan = session.plan
    if not lacking or plan is None or (budget := math.ceil(plan.measuring_s * max(lacking))) > MOST_S:
        return None
    figures = units.counted(len(lacking), "figure")
    return _again(session, "too-few-groups", budget_s=budget, figures=figures)


def _again(
    session: Session,
    told: str,
    *,
    budget_s: int = 0,
    most_bytes: int = 0,
    margin: float = 0.0,
    **fields: object,
) -> SuggestedStep:
    """The run's own command once more, with its options; in words where it needs what is not said again.

    `told` and `fields`: its title. `budget_s`, `most_bytes` and `margin`: in place of its own, where they are not 0.
    """
    assert session.began is not None
    given, plan = session.began.options, session.plan
    other = {
        f"--most-bytes={most_bytes // GIB}G": most_bytes,
        f"--budget={budget_s}": budget_s,
        f"--margin={margin:g}": margin,
    }
    more = [word for word, value in other.items() if value]
    title = SAYS.text(told, **fields)
    step = SuggestedStep(
        title,
        seconds=_seconds(session, budget_s),
        writes=most_bytes or max((one.bytes for one in plan.writes), default=0) if plan is not None else 0,
        rights=next((one.rights for one in plan.actions if one.rights), "") if plan is not None else "",
    )
    unsaid = (
        name == GONE or not (name in SAID_AGAIN or name in DRAWN_ANEW or isinstance(value, int | float))
        for name, value in given.items()
        if value
    )
    if any(unsaid):  # without it, it would be another run
        words = "".join(f" with {word}" for word in more)
        return msgspec.structs.replace(step, title=SAYS.text("same-command", title=title, words=words))
    changed = {word[2:].partition("=")[0] for word in more}
    again = {
        n: v
        for n, v in given.items()
        if n in SAID_AGAIN or (isinstance(v, int | float) and n not in DRAWN_ANEW)
    }
    kept = {n: v for n, v in again.items() if n not in changed}
    command = shlex.join(["hostdx", "run", session.began.scenario, *command_arguments(kept), *more])
    return msgspec.structs.replace(step, command=command)


def _seconds(session: Session, budget_s: int) -> float:
    """As planned, with another budget where there is one; where nothing was planned as long as it took."""
    plan = session.plan
    if plan is None or not plan.seconds:
        return max(session.time, budget_s)
    return plan.seconds - plan.measuring_s + budget_s if budget_s else plan.seconds

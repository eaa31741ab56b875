"""What to do after a run: the one or two steps that its answer asks for, each with its command."""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

import msgspec

from hostdx.app.recordings.session import RunSession
from hostdx.app.report import confirmation
from hostdx.app.report.headline import stop_for_others_guard
from hostdx.app.report.wording import is_measured
from hostdx.app.state import recordings_dir
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.card import Role, card_with_role
from hostdx.scenarios.contract.finding import LOUD, SEVERITIES, Finding, Remedy, SuggestedStep
from hostdx.scenarios.contract.option_value import command_arguments
from hostdx.scenarios.experiment.wording import estimate_seconds_to_decide
from hostdx.scenarios.triage.rules.texts import FindingTexts

# of the options beside numbers and flags; the others may hold what is no reader's business
SAYS = FindingTexts(Path(__file__).with_name("findings.toml"))
SAID_AGAIN = frozenset({
    "dir", "size", "most-bytes", "most-written", "scheduler", "order", "only", "direction", "engine", "load", "writes",
})  # fmt: skip
DRAWN_ANEW = ("seed", "state")  # or found anew
GONE = "pid"  # another one by then; the reader knows which
GIB = 1 << 30
# an SSD's endurance is thousands of times more, but nobody expects it of a short test
MAX_WRITE_BYTES = 100 * GIB
MAX_BUDGET_S = 3600.0  # longer than that nobody waits for an answer; then a quieter host is the better advice
MAX_SUSPECTS = 3
MAX_MARGIN = 0.5  # as the option has it
SLACK = 1.25  # of a margin over the interval that a like run would have to lie in
PARTS = ".parts/"  # in the path of a recording of one of a checkup's parts
REPLAY = "hostdx replay"
MAX_REMEDIES = 3  # remedies on a verdict and on a report's first page


def next_steps_for(session: RunSession, recording: str = "") -> tuple[SuggestedStep, ...]:
    """Empty where nothing is to be done: an import, a run under way."""
    if session.began is None or session.ended is None or session.scenario_card.role in ("import", "whole"):
        return ()
    answer = RunAnswer(session, recording, session.ended.status)
    return next((steps for rule in STEP_RULES if (steps := rule(answer)) is not None), ())


class RunAnswer:
    """What an ended run found out, as far as the next step depends on it."""

    def __init__(self, session: RunSession, recording: str, status: ev.Status) -> None:
        self.session, self.recording, self.status = session, recording, status
        self.judged = [v for v in session.verdicts.values() if not v.control]
        self.undecided = [v for v in self.judged if v.is_undecided and is_measured(v)]
        self.has_different = any(v.is_different for v in self.judged)
        self.has_no_groups = bool(self.judged) and all(v.has_no_groups for v in self.judged)
        self.is_resolution = session.scenario_card.role == "resolution"


Steps: TypeAlias = tuple[SuggestedStep, ...]


def _steps_after_early_end(answer: RunAnswer) -> Steps | None:
    """Return () where there is nothing to do, None where the next rule is asked."""
    session, status = answer.session, answer.status
    if status == "interrupted" and (first_remedy := _worst_remedy(session, "critical", "warning")):
        return (first_remedy.as_step,)
    if status in EARLY_ENDS:
        return (_suggest_own_command_again(session, EARLY_ENDS[status]),)
    if status == "done" and stop_for_others_guard(session):
        return (_suggest_own_command_again(session, "others-waited"),)
    return None if status == "done" or (status == "skipped" and answer.has_no_groups) else ()


def _steps_after_moved_control(answer: RunAnswer) -> Steps | None:
    if not control_differs(answer.session):
        return None
    return (
        _suggest_own_command_again(answer.session, "control"),
        _suggest_scenario("resolution", "smallest"),
    )


def _steps_after_benchmark_set(answer: RunAnswer) -> Steps | None:
    return None if answer.judged else _steps_of_benchmark_set(answer.session, answer.recording) or None


def _steps_after_severe_finding(answer: RunAnswer) -> Steps | None:
    severities = ("critical", "warning") if answer.judged else ("critical", "warning", "notice")
    remedy = _worst_remedy(answer.session, *severities)
    return (remedy.as_step,) if remedy else None


def _steps_after_one_file_system(answer: RunAnswer) -> Steps | None:
    if not answer.judged or not all(v.one_file_system for v in answer.judged):
        return None
    if answer.has_different:
        return (_suggest_own_command_again(answer.session, "one-file-system"),)
    return (_suggest_scenario("whole", "no-difference"),)


def _steps_after_difference(answer: RunAnswer) -> Steps | None:
    if not answer.has_different:
        return None
    if remedy := _worst_remedy(answer.session, "notice", measured_here=True):
        return (remedy.as_step,)
    groups = SuggestedStep(SAYS.text("groups"), f"{REPLAY} {shlex.quote(answer.recording or 'last')}")
    longer = _more_time_step(answer.session, answer.undecided)
    return (groups, longer) if longer else (groups,)


def _steps_after_write_limit(answer: RunAnswer) -> Steps | None:
    let_write = _suggest_more_write_bytes(answer.session, answer.judged)
    return (let_write,) if let_write else None


def _steps_after_undecided(answer: RunAnswer) -> Steps | None:
    session, undecided = answer.session, answer.undecided
    if not undecided or answer.is_resolution:
        return None
    in_time = [v for v in undecided if v.bytes_to_decide is None]  # the others ended by their bytes
    needed = [seconds for v in in_time if (seconds := estimate_seconds_to_decide(v)) is not None]
    is_reckoned = bool(needed) and len(needed) == len(in_time)
    total_s = math.ceil(sum(v.seconds for v in answer.judged) + sum(needed))
    if is_reckoned and total_s <= MAX_BUDGET_S:
        return (_suggest_own_command_again(session, "longer", budget_s=total_s, seconds=total_s),)
    smallest = _suggest_scenario("resolution", "smallest")
    if longer := _more_time_step(session, undecided):
        return (longer, smallest)
    long = SAYS.text("too-long", seconds=sum(needed)) if is_reckoned else ""
    return (
        _suggest_own_command_again(session, "quieter", long=long),
        *_wider_margin(session, undecided),
        smallest,
    )


def _steps_after_no_groups(answer: RunAnswer) -> Steps | None:
    if not answer.has_no_groups:
        return None
    session = answer.session
    missed = [v for v in answer.judged if v.is_not_measured]
    if not missed:
        return ()
    had_s = session.plan.measuring_s if session.plan is not None else 0.0
    least_s = max(v.seconds_to_decide or 0.0 for v in missed)
    return (
        _suggest_own_command_again(
            session, "more-time", budget_s=math.ceil(max(4 * session.time, 2 * had_s, least_s))
        ),
    )


def _steps_to_other_scenario(answer: RunAnswer) -> Steps | None:
    if answer.is_resolution:
        return (_suggest_scenario("whole", "whole-host"),)
    findings = answer.session.findings.values()
    is_quiet = not any(f.severity in LOUD for f in findings)
    text = "no-difference" if answer.judged else "elsewhere"
    return (_suggest_scenario("whole", text),) if is_quiet and (answer.judged or findings) else None


EARLY_ENDS: Mapping[str, str] = {"interrupted": "stopped", "failed": "failed"}  # by status: the text's key
# The first that has an answer decides; () says that nothing is to be done.
STEP_RULES: tuple[Callable[[RunAnswer], Steps | None], ...] = (
    _steps_after_early_end,
    _steps_after_moved_control,
    _steps_after_benchmark_set,
    _steps_after_severe_finding,
    _steps_after_one_file_system,
    _steps_after_difference,
    _steps_after_write_limit,
    _steps_after_undecided,
    _steps_after_no_groups,
    _steps_to_other_scenario,
)


def checkup_command() -> str:
    return f"hostdx run {card_with_role('whole').id}"


def findings_with_remedy(session: RunSession) -> list[Finding]:
    """Those with a remedy, the worst first, and of one severity what was measured here before what rules say."""
    actionable = [f for f in session.worst_first if f.severity != "ok" and f.remedy]
    return sorted(actionable, key=lambda f: (SEVERITIES.index(f.severity), f.confidence != "measured"))


def list_remedies(session: RunSession, recording: str = "") -> tuple[Remedy, ...]:
    """Return what a verdict advises: the remedies of what is loud, else the next steps, then those of the notices.

    Empty for a checkup, whose list says it line by line; one of its parts does not lead back to it. A run whose control
    differs changes nothing.
    """
    if session.scenario_card.role == "whole":
        return ()
    advised_findings = [] if control_differs(session) else findings_with_remedy(session)
    choice = _choice_of_directories(session)
    loud = [f.remedy[0] for f in advised_findings if f.severity in LOUD]
    quiet = [f.remedy[0] for f in advised_findings if f.severity not in LOUD]
    quiet_steps = [remedy.as_step for remedy in quiet]  # these come whole, with what undoes them
    steps = (
        [] if loud else [s for s in next_steps_for(session, recording) if not s.command.startswith(REPLAY)]
    )
    asked = checkup_command() if PARTS in recording else None  # whose list sent here
    steps = [step for step in steps if step not in quiet_steps and step.command != asked]
    own = [
        Remedy(
            title=step.title_with_price[:1].upper() + step.title_with_price[1:], commands=step.all_commands
        )
        for step in steps
    ]
    remedies: dict[tuple[str, tuple[str, ...]], Remedy] = {}
    keep_remedies = () if loud or own or quiet else _remedies_after_run(session, recording)
    for candidate in (*choice, *loud, *own, *quiet, *keep_remedies):
        remedies.setdefault((candidate.title, candidate.commands), candidate)
    return tuple(remedies.values())[:MAX_REMEDIES]


def _choice_of_directories(session: RunSession) -> tuple[Remedy, ...]:
    """Which directory to take, where several were compared and no difference is shown or expected."""
    directories = session.plan.options.get("dir") if session.plan is not None else None
    judged = [v for v in session.verdicts.values() if not v.control]
    if not judged or not isinstance(directories, list | tuple) or len(directories) < 2:
        return ()
    if session.ended is None or session.ended.status != "done" or control_differs(session):
        return ()
    if all(v.one_file_system for v in judged) and not any(v.is_different for v in judged):
        return (SAYS.remedy("either-on-one-file-system"),)
    return (SAYS.remedy("either"),) if all(v.is_equal for v in judged) else ()


def _remedies_after_run(session: RunSession, recording: str) -> tuple[Remedy, ...]:
    """Of a run that ended and asks for nothing: its page for others, and what tells later whether it changed."""
    if session.ended is None or session.began is None or not any(map(is_measured, session.verdicts.values())):
        return ()
    if "/" in recording:  # a file that somebody keeps already
        return ()
    page, keep = (SAYS.remedy(key, recording=recording or "last") for key in ("page", "keep"))
    return (page,) if session.scenario_card.role == "import" else (page, keep)


def control_differs(session: RunSession) -> bool:
    return any(v.control and v.is_different for v in session.verdicts.values())


def _steps_of_benchmark_set(session: RunSession, recording: str) -> tuple[SuggestedStep, ...]:
    """A battery alone is no verdict: what to compare it with, and what is suspected on this host meanwhile."""
    recorded = next((f for f in session.findings.values() if f.answers), None)
    if session.scenario_card.role != "battery" or recorded is None:
        return ()
    steps = [remedy.as_step for remedy in recorded.remedy if remedy.commands]
    # the first compares it, with a name that stays right when it is no longer the last one
    if recording and steps:
        before, after = _demos_to_compare(recording) or ("OLD", recording)
        command = shlex.join(["hostdx", "compare", before, "--", after])
        steps[0] = SuggestedStep(steps[0].title, command)
    if recording and (recording_path := recordings_dir() / recording).is_file():
        carry = shlex.join(["scp", str(recording_path), "HOST:"])
        steps.insert(1, SuggestedStep(SAYS.text("carry"), carry))
    suspects = [f for f in session.worst_first if f.confidence != "measured" and f.severity != "ok"]
    for suspect in suspects[:MAX_SUSPECTS]:
        step = suspect.remedy[0].as_step if suspect.remedy else SuggestedStep("")
        if suspect.prove:
            step = SuggestedStep("", confirmation.confirmation_command(suspect, session))
        steps.append(SuggestedStep(SAYS.text("suspected", title=suspect.title), step.command, step.then))
    return tuple(steps)


@cache
def _demos_to_compare(recording: str) -> tuple[str, str] | None:
    """Return a bundled recording and another one of its scenario, the earlier first; None where none fits."""
    from hostdx.app.recordings import store  # not for the first screen

    demos = store.list_demo_arguments()
    if recording not in demos:
        return None
    entries = {name: store.examine_recording(store.resolve_recording(name)) for name in demos}
    own = entries[recording]
    others = [name for name, entry in entries.items() if entry.scenario == own.scenario and name != recording]
    if not others:
        return None
    earlier = [name for name in others if entries[name].wall < own.wall]
    other = max(earlier, key=lambda name: entries[name].wall) if earlier else others[0]
    before, after = sorted((recording, other), key=lambda name: entries[name].wall)
    return before, after


def _worst_remedy(session: RunSession, *severities: str, measured_here: bool = False) -> Remedy | None:
    """The first remedy of the worst finding that has one; `measured_here`: of what this run found out, not of rules."""
    candidates = (f for f in session.worst_first if not measured_here or f.confidence == "measured")
    return next((f.remedy[0] for f in candidates if f.severity in severities and f.remedy), None)


def _suggest_more_write_bytes(session: RunSession, verdicts: Sequence[ev.RunVerdict]) -> SuggestedStep | None:
    """Where its write limit ended the run: the limit that would do, with the seconds that it takes."""
    needed = max((v.bytes_to_decide or 0 for v in verdicts), default=0)
    if session.plan is None or "most-bytes" not in session.plan.options or not 0 < needed <= MAX_WRITE_BYTES:
        return None
    limit = math.ceil(needed / GIB)
    total_s = math.ceil(sum(v.seconds + (v.seconds_to_decide or 0.0) for v in verdicts))
    longer = total_s if total_s > session.plan.measuring_s else 0
    return _suggest_own_command_again(
        session, "more-bytes", budget_s=longer, most_bytes=limit * GIB, limit=limit
    )


def _wider_margin(session: RunSession, undecided: Sequence[ev.RunVerdict]) -> tuple[SuggestedStep, ...]:
    """The same run with a margin that its intervals would lie in: decided in the same time, as coarsely as it says."""
    ends = [end for v in undecided for end in v.ci95 or (0.0, math.inf)]
    farthest = max((max(end, 1 / end) if end > 0 else math.inf for end in ends), default=math.inf) - 1
    margin = math.ceil(farthest * SLACK * 20) / 20 if farthest < MAX_MARGIN else 1.0
    if margin > MAX_MARGIN:
        return ()
    return (_suggest_own_command_again(session, "coarser", margin=margin, share=margin),)


def _suggest_scenario(role: Role, text_key: str) -> SuggestedStep:
    """Another scenario as it is usually run."""
    card = card_with_role(role)
    return SuggestedStep(SAYS.text(text_key), f"hostdx run {card.id}", seconds=card.takes_s)


def _more_time_step(session: RunSession, undecided: Sequence[ev.RunVerdict]) -> SuggestedStep | None:
    """Where a load had too few groups for a verdict: what they scatter tells nothing yet."""
    loads = {load.id: load.min_groups for load in session.planned_workloads}
    lacking = [loads.get(v.workload, 0) / v.groups for v in undecided if v.groups < loads.get(v.workload, 0)]
    plan = session.plan
    if not lacking or plan is None or (budget := math.ceil(plan.measuring_s * max(lacking))) > MAX_BUDGET_S:
        return None
    figures = units.count_noun(len(lacking), "figure")
    return _suggest_own_command_again(session, "too-few-groups", budget_s=budget, figures=figures)


def _suggest_own_command_again(
    session: RunSession,
    text_key: str,
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
    options, plan = session.began.options, session.plan
    other = {
        f"--most-bytes={most_bytes // GIB}G": most_bytes,
        f"--budget={budget_s}": budget_s,
        f"--margin={margin:g}": margin,
    }
    more = [word for word, value in other.items() if value]
    title = SAYS.text(text_key, **fields)
    step = SuggestedStep(
        title,
        seconds=_expected_run_seconds(session, budget_s),
        writes=most_bytes or max((item.bytes for item in plan.writes), default=0) if plan is not None else 0,
        rights=next((item.rights for item in plan.actions if item.rights), "") if plan is not None else "",
    )
    unsaid = (
        name == GONE or not (name in SAID_AGAIN or name in DRAWN_ANEW or isinstance(value, int | float))
        for name, value in options.items()
        if value
    )
    if any(unsaid):  # without it, it would be another run
        words = "".join(f" with {word}" for word in more)
        return msgspec.structs.replace(step, title=SAYS.text("same-command", title=title, words=words))
    changed = {word[2:].partition("=")[0] for word in more}
    again = {
        n: v
        for n, v in options.items()
        if n in SAID_AGAIN or (isinstance(v, int | float) and n not in DRAWN_ANEW)
    }
    kept_options = {n: v for n, v in again.items() if n not in changed}
    command = shlex.join(["hostdx", "run", session.began.scenario, *command_arguments(kept_options), *more])
    return msgspec.structs.replace(step, command=command)


def _expected_run_seconds(session: RunSession, budget_s: int) -> float:
    """As planned, with another budget where there is one; where nothing was planned as long as it took."""
    plan = session.plan
    if plan is None or not plan.seconds:
        return max(session.time, budget_s)
    return plan.seconds - plan.measuring_s + budget_s if budget_s else plan.seconds

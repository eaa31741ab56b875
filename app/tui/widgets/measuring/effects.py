"""The effects so far, one line each: whose, the interval drawn on a common scale, and the same in figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.glyphs import clean
from app.lines import Line, cells, crop, pad, ruled, split, text
from app.recording.limits import pair
from app.recording.progress import next_look
from app.recording.session import Session
from app.report.figures.interval_chart import MARGIN, axis, bar_line, common_scale
from app.report.verdict_style import role_of
from app.report.wording import load_title, measured, metric_title, workload_title
from app.tui.widgets.measuring.block_plot import variants
from app.tui.widgets.panel import SessionPanel
from probes import units
from scenarios import events as ev
from scenarios.experiment.wording import effect_cells

KNOWN_WITHIN = 2.0  # an interval that goes beyond this factor both ways says nothing yet


class Effect(NamedTuple):
    name: str
    ratio: float | None
    ci95: tuple[float, float] | None
    words: str
    role: str
    figures: str = ""  # beside the words where there is room: the interval is drawn, too
    verdict: ev.Verdict | None = None  # where the pair has one, the line says what it says


def margin_of(session: Session) -> float:
    """The smallest effect that matters in this run, as it was chosen."""
    for options in (
        session.plan.options if session.plan else {},
        session.began.options if session.began else {},
    ):
        value = options.get("margin")
        if isinstance(value, int | float) and 0 < value < 1:
            return float(value)
    return MARGIN


def title_of(session: Session, workload: str) -> str:
    return clean(workload_title(session, workload))


def running(session: Session) -> list[Effect]:
    """How the workload under way stands, one a pair of variants: by its verdict, before that by the estimate."""
    marks = variants(session)
    about = [e for e in session.estimates.values() if e.workload == session.workload]
    furthest = max((e.groups for e in about), default=0)
    several = len({e.metric for e in about}) > 1
    out = []
    for estimate in about:
        verdict = session.verdicts.get(pair(estimate))
        name = clean(f"{estimate.variant} / {estimate.baseline}")
        if several:
            name += f", {clean(metric_title(estimate.metric))}"
        if verdict is not None and measured(verdict):
            words, figures = effect_cells(verdict)
            out.append(Effect(name, verdict.ratio, verdict.ci95, words, role_of(verdict), figures, verdict))
            continue
        words, figures = _so_far(estimate)
        early = estimate.ci95 is None or estimate.ci95[0] < 1 < estimate.ci95[1]
        if estimate.groups < furthest:  # an open last estimate is older than what decided
            words = "decided" if early else f"{words}, decided"
        role = "dim" if early else marks.get(estimate.variant, ("", "strong"))[1]
        out.append(Effect(name, estimate.ratio, estimate.ci95, words, role, figures))
    return out


def _so_far(estimate: ev.Estimate) -> tuple[str, str]:
    """The effect and its interval; no direction before the interval allows one."""
    if estimate.ci95 is None:
        return "no interval yet", ""
    low, high = estimate.ci95
    if low < 1 / KNOWN_WITHIN and high > KNOWN_WITHIN:
        return "not known yet", ""
    if low < 1 < high:
        return "too early to say", f"({units.between(low, high)})"
    return units.effect(estimate.ratio), units.between(low, high, estimate.ratio)


def effect_lines(effects: Sequence[Effect], width: int, margin: float, limit: int = 1000) -> list[Line]:
    """An axis line and a line an effect; on narrow screens the words stand right of a shorter bar."""
    if not effects:
        return []
    drawn = [e for e in effects if e.ratio is not None]
    scale = common_scale(v for e in drawn for v in (e.ratio, *(e.ci95 or ())))
    names = min(max(len(e.name) for e in effects), max(14, width // 3))
    # a smaller picture tells nothing, and it is the interval: figures give way
    least = 21 if width >= 60 else 11
    most = max(22, width - names - 4 - (least if drawn else 0))
    said = [_fitting(e, most) for e in effects]
    words = min(most, max(map(len, said)))
    room = min(81, width - names - words - 4)
    out: list[Line] = []
    if drawn and room >= 9:
        out.append([(" " * (names + 2), "text"), *axis(room, scale)])
    for effect, told in zip(effects[:limit], said, strict=False):
        line = pad(text(effect.name), names)
        if drawn and room >= 9:
            picture = bar_line(effect.ratio, effect.ci95, room, scale, margin=margin, role=effect.role)
            line = [*line, ("  ", "text"), *pad(picture, room)]
        if room < 9:
            out.append(split(line, text(told, effect.role), width))
        else:
            out.append(crop([*line, ("  ", "text"), (told, effect.role)], width))
    if len(effects) > limit:
        out.append(text(f"and {len(effects) - limit} more", "dim"))
    return out


def _fitting(effect: Effect, most: int) -> str:
    whole = f"{effect.words}  {effect.figures}".rstrip()
    return whole if len(whole) <= most else effect.words


class RunningEffects(SessionPanel):
    """The live screen's: where the estimate stands now, and how many groups it rests on."""

    ID = "effects"

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        effects = running(session)
        if not effects:
            return [text("")]
        # the last line stays where nothing is to be said: a panel that grows and shrinks repaints the screen
        foot = [text(_foot(session, width), "dim"), text(_outlook(session), "strong")]
        return [*effect_lines(effects, width, margin_of(session), 4), *foot]


def judged_lines(session: Session, width: int, most: int) -> list[Line]:
    """The loads that are over, a line each, the largest effect first; empty as long as none is."""
    told = [v for v in session.verdicts.values() if measured(v)]
    if not told or session.plan is None:
        return []
    loads = len({v.workload for v in told})
    note = text(f"{loads} of {len(session.plan.workloads)} loads", "dim")
    out = [ruled(text("DECIDED SO FAR", "title"), note, width)]
    many = len({(v.baseline, v.variant) for v in told}) > 1
    names = [clean((f"{v.variant} / {v.baseline}: " if many else "") + load_title(session, v)) for v in told]
    room = min(max(map(len, names)), width // 2)
    ranked = sorted(
        zip(told, names, strict=True), key=lambda one: abs(math.log(one[0].ratio or 1.0)), reverse=True
    )
    shown = ranked if len(ranked) < most else ranked[: most - 2]
    for verdict, name in shown:
        size, interval = effect_cells(verdict)
        line: Line = [("  ", "text"), *pad(text(name), room), (f"  {size}", role_of(verdict))]
        whole: Line = [*line, (f"  {interval}", "dim")]
        out.append(crop(whole if cells(whole) <= width else line, width))  # never half an interval
    if len(shown) < len(ranked):
        out.append(text(f"  {len(ranked) - len(shown)} more: v", "dim"))
    return out


class Judged(SessionPanel):
    """What the run has decided already: its plot and its estimate are the load's that is under way."""

    ID = "judged"

    def draw(self, width: int, height: int) -> list[Line]:
        most = min(height, max(3, self.screen.size.height // 5))
        return judged_lines(self._session(), width, most) or [text("")]


def _outlook(session: Session) -> str:
    """When the next look comes, and whether it would decide as things stand."""
    about = [e for e in session.estimates.values() if e.workload == session.workload]
    open_ones = [e for e in about if pair(e) not in session.verdicts]
    # one that is not estimated any more has been decided; its verdict comes with the others', at the load's end
    furthest = max((e.groups for e in about), default=0)
    open_ones = [e for e in open_ones if e.groups == furthest]
    taken = sum(not g.disturbed for g in session.groups.get(session.workload, ()))
    following = [look for e in open_ones if (look := next_look(session, e, margin_of(session))) is not None]
    following = [look for look in following if look.groups > taken]  # not one that is being taken
    if not following or session.ended is not None:
        return ""
    first = min(following, key=lambda look: look.seconds)
    when = f"in {max(1, round(first.seconds))} s"
    if all(look.decides for look in following):
        return f"the next interim look, {when}, would decide it"
    return f"next interim look: after {first.groups} groups, {when}; undecided so far"


def _foot(session: Session, width: int) -> str:
    """What the estimates rest on, as much of it as has room; the interval itself is drawn and printed above."""
    groups = session.groups.get(session.workload, [])
    again = sum(1 for g in groups if g.disturbed)
    last = next((e for e in session.estimates.values() if e.workload == session.workload), None)
    planned = f" of at most {last.planned_groups}" if last is not None and last.planned_groups else ""
    parts = [
        f"{len(groups)}{planned} group{'s' if len(groups) != 1 or planned else ''}",
        "95 % confidence interval",
    ]
    parts += [f"{again} measured again"] if again else []
    if last is not None and last.p99_ns is not None:
        tails = " and ".join(units.elapsed(ns) for ns in last.p99_ns)
        parts.append(f"p99 {tails} (not judged)")
    foot = parts[0]
    for part in parts[1:]:
        if len(foot) + len(part) + 3 <= width:
            foot = f"{foot} · {part}"
    return foot

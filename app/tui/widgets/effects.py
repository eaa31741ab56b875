"""The effects so far, one line each: whose, the interval drawn on a common scale, and the same in figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.recording.outlook import next_look
from app.recording.session import Session
from app.tui.glyphs import clean
from app.tui.lines import Line, crop, pad, split, text
from app.tui.widgets.block_plot import variants
from app.tui.widgets.interval_bar import MARGIN, axis, bar, common_scale
from app.tui.widgets.panel import Panel
from probes import units
from scenarios import events as ev

KNOWN_WITHIN = 2.0  # an interval that goes beyond this factor both ways says nothing yet


class Effect(NamedTuple):
    name: str
    ratio: float | None
    ci95: tuple[float, float] | None
    words: str
    role: str


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
    titles = {w.id: w.title for w in session.plan.workloads} if session.plan else {}
    return clean(titles.get(workload, workload))


def running(session: Session) -> list[Effect]:
    """The running estimates of the workload under way, one a pair of variants."""
    marks = variants(session)
    out = []
    for estimate in session.estimates.values():
        if estimate.workload != session.workload:
            continue
        words = _so_far(estimate)
        name = clean(f"{estimate.variant} / {estimate.baseline}")
        early = estimate.ci95 is None or estimate.ci95[0] < 1 < estimate.ci95[1]
        role = "dim" if early else marks.get(estimate.variant, ("", "strong"))[1]
        out.append(Effect(name, estimate.ratio, estimate.ci95, words, role))
    return out


def _so_far(estimate: ev.Estimate) -> str:
    """No direction before the interval allows one."""
    if estimate.ci95 is None:
        return "no interval yet"
    low, high = estimate.ci95
    if low < 1 / KNOWN_WITHIN and high > KNOWN_WITHIN:
        return "not known yet"
    if low < 1 < high:
        return f"too early to say ({units.between(low, high)})"
    return f"{units.effect(estimate.ratio)}  {units.between(low, high, estimate.ratio)}"


def effect_lines(effects: Sequence[Effect], width: int, margin: float, most: int = 1000) -> list[Line]:
    """An axis line and a line an effect; on narrow screens the words stand right of a shorter bar."""
    if not effects:
        return []
    drawn = [e for e in effects if e.ratio is not None]
    scale = common_scale(v for e in drawn for v in (e.ratio, *(e.ci95 or ())))
    names = min(max(len(e.name) for e in effects), max(14, width // 4))
    words = max(len(e.words) for e in effects)
    room = min(81, width - names - words - 4)
    least = 21 if width >= 76 else 11
    if drawn and room < least:  # a smaller picture tells nothing: the words give way
        words = max(22, width - names - 4 - least)
        room = width - names - words - 4
    out: list[Line] = []
    if drawn and room >= 9:
        out.append([(" " * (names + 2), "text"), *axis(room, scale)])
    for effect in effects[:most]:
        line = pad(text(effect.name), names)
        if drawn and room >= 9:
            picture = bar(effect.ratio, effect.ci95, room, scale, margin=margin, role=effect.role)
            line = [*line, ("  ", "text"), *pad(picture, room)]
        if room < 9:
            out.append(split(line, text(effect.words, effect.role), width))
        else:
            out.append(crop([*line, ("  ", "text"), (effect.words, effect.role)], width))
    if len(effects) > most:
        out.append(text(f"and {len(effects) - most} more", "dim"))
    return out


class RunningEffects(Panel):
    """The live screen's: where the estimate stands now, and how many groups it rests on."""

    DEFAULT_CSS = "RunningEffects { height: auto; }"

    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="effects")
        self._session = session

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        effects = running(session)
        if not effects:
            return [text("")]
        # the last line stays where nothing is to be said: a panel that grows and shrinks repaints the screen
        foot = [text(_foot(session, width), "dim"), text(_outlook(session), "strong")]
        return [*effect_lines(effects, width, margin_of(session), 4), *foot]


def _outlook(session: Session) -> str:
    """When the next look comes, and whether it would decide as things stand."""
    about = [e for e in session.estimates.values() if e.workload == session.workload]
    decided = {(v.workload, v.metric, v.baseline, v.variant) for v in session.verdicts.values()}
    open_ones = [e for e in about if (e.workload, e.metric, e.baseline, e.variant) not in decided]
    following = [look for e in open_ones if (look := next_look(session, e, margin_of(session))) is not None]
    if not following or session.ended is not None:
        return ""
    first = min(following, key=lambda look: look.seconds)
    when = f"in {max(1, round(first.seconds))} s"
    if all(look.decides for look in following):
        return f"the next interim look, {when}, would decide it"
    return f"next interim look after {first.groups} groups, {when}: not decided yet"


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

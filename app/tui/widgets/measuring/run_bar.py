"""How far the whole run is, what it does now, and which sides it compares."""

from hostdx.app.recordings.progress import steady_share_done, time_left_s
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import MARKERS, SIGNS, clean_text
from hostdx.app.terminal.lines import Line, cell_width, crop_line, frame_rows, split_line, text_line
from hostdx.app.tui.widgets.measuring.variants import variant_label, variant_marks
from hostdx.app.tui.widgets.panel import SessionPanel
from hostdx.probes import units
from hostdx.scenarios.contract.plan import Plan

_SIGNS = {
    "started": ("▸", "accent"),
    "done": ("✓", "ok"),
    "skipped": ("–", "dim"),
    "failed": ("✗", "critical"),
}
_WAITS = ("‖", "accent")  # begun, undecided: it has another turn when the others had theirs


def step_lines(plan: Plan, width: int) -> list[Line]:
    """Return a line a step of the plan, with the time that it takes."""
    times = (units.format_duration(step.seconds) if step.seconds else "" for step in plan.steps)
    return [
        split_line(text_line(step.title), text_line(time, "dim"), width)
        for step, time in zip(plan.steps, times, strict=True)
    ]


def steps_line(session: RunSession, width: int) -> Line:
    """Return the steps around the one under way, as many as have room; `…` stands for the others."""
    titles = {s.id: s.title for s in (session.plan.steps if session.plan else ())}
    for step in session.steps.values():
        titles.setdefault(step.id, step.title)
    items: list[Line] = []
    current = 0
    for ident, title in titles.items():
        state = session.steps[ident].state if ident in session.steps else ""
        now = state == "started" and ident == session.current_step_id
        current = len(items) if now else current
        sign, role = _WAITS if state == "started" and not now else _SIGNS.get(state, ("·", "dim"))
        words = "strong" if now else "dim" if not state or state == "skipped" else "text"
        items.append([(f"{sign} ", role), (clean_text(title), words), ("   ", "text")])
    widths = [cell_width(item) for item in items]
    first, room = 0, width + 3  # the last one needs no gap
    if sum(widths) > room:
        first, room = max(0, current - 1), room - 2
        while first > 0 and sum(widths[first - 1 :]) <= room:
            first -= 1
    last = first + 1
    while last < len(items) and sum(widths[first : last + 1]) <= room:
        last += 1
    shown = [span for item in items[first:last] for span in item]
    return [*([("… ", "dim")] if first else []), *shown, *([("…", "dim")] if last < len(items) else [])]


_EIGHTHS = " ▏▎▍▌▋▊▉"
_MAX_BAR_CELLS = 60


def bar_line(session: RunSession, width: int) -> Line:
    """`████▌···  34 %  ≈ 77 s left`: the whole run with its preparation."""
    share, left_s = steady_share_done(session), time_left_s(session)
    if share is None or left_s is None or session.ended is not None:
        return []
    words = f"  {share * 100:3.0f} %   ≈ {units.format_duration(left_s)} left"
    room = min(_MAX_BAR_CELLS, width - len(words))
    if room < 8:
        return text_line(words.strip(), "strong")
    full, part = divmod(int(share * room * 8), 8)
    drawn = "█" * full + (_EIGHTHS[part] if part else "")
    return [(drawn, "accent"), ("·" * (room - len(drawn)), "dim"), (words, "strong")]


def legend_line(session: RunSession, width: int) -> Line:
    """`● A /scratch   ○ B /data`: as far as there is room."""
    planned = {variant.id for variant in session.planned_variants}
    marks = {
        variant_id: mark
        for variant_id, mark in variant_marks(session).items()
        if variant_id and (not planned or variant_id in planned)
    }
    if not marks and session.plan is not None:  # nothing is compared
        return crop_line(text_line(session.plan.question), width)
    line: Line = []
    for names in (40, 24, 14) if len(marks) <= len(MARKERS) else ():
        line = []
        for variant, (mark, role) in marks.items():
            line += [
                ("   " if line else "", "text"),
                (f"{mark} ", role),
                (variant_label(session, variant, names), "text"),
            ]
        if cell_width(line) <= width:
            return line
    return crop_line(line or text_line(session.plan.question if session.plan is not None else ""), width)


class RunBar(SessionPanel):
    DEFAULT_CSS = "RunBar { height: 1; }"
    ID = "course"

    def draw(self, width: int, height: int) -> list[Line]:
        session, feed = self._session(), self.shell.run_feed
        is_cut_off = feed.dead and feed.playback.is_at_end and session.ended is None
        if height < 4:
            cut_off = _cut_off_line(session, width) if is_cut_off else []
            return [cut_off or bar_line(session, width) or legend_line(session, width)]
        inner = width - 4
        steps = steps_line(session, inner) or text_line(session.activity_text or "starting")
        bar = _cut_off_line(session, inner) if is_cut_off else bar_line(session, inner)
        bar = bar or _answer_line(session, inner)
        rate = _write_rate_line(session)
        rows = [split_line(bar, rate, inner) if rate else bar, steps]
        return frame_rows(legend_line(session, inner), rows, width, height)


def _cut_off_line(session: RunSession, width: int) -> Line:
    """Of a run that was killed: where it ended, in the place of the time that would be left."""
    share = steady_share_done(session)
    at = f" at {share * 100:.0f} %" if share is not None else ""
    words = f"✗ cut off after {units.format_duration(session.time)}{at}: nothing runs any more"
    return crop_line(text_line(words, "warning"), width)


def _answer_line(session: RunSession, width: int) -> Line:
    """Once it is over: what it found, in the place of the bar."""
    if session.ended is None:
        return []
    from hostdx.app.report.headline import find_headline_answer  # not for the first screen

    run_answer = find_headline_answer(session)
    role = run_answer.weight if run_answer.weight != "ok" else "strong"
    return crop_line(
        [(f"{SIGNS.get(run_answer.weight, '?')} ", run_answer.weight), (run_answer.sentence, role)], width
    )


def _write_rate_line(session: RunSession) -> Line:
    """Return what goes to the disks while the files are written that will be measured."""
    if (
        session.blocks
        or session.samples
        or not session.pulses
        or session.plan is None
        or not session.plan.writes
    ):
        return []
    rate = sum(written for _, written, _ in session.pulses[-1].devices.values())
    return text_line(f"writing {units.format_rate(rate)}", "accent") if rate > 1e6 else []

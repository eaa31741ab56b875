"""Where in the recording the screen stands: `▶ 4×   01:12 / 03:12   [────●─────]   n jumps to: verdict on …`."""

from collections.abc import Callable

from hostdx.app.report.numbers import is_imported
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import Line, cell_width, crop_line, split_line, text_line
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.widgets.panel import Panel


def format_clock(seconds: float) -> str:
    """`01:12`, from an hour on `1:02:03`."""
    total_seconds = round(max(0.0, seconds))  # as `units.format_duration` says it beside
    hours, rest = divmod(total_seconds, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60:02d}:{rest % 60:02d}"


MAX_MARK_CELLS = 40  # of what a key jumps to: most are shown whole
MIN_TRACK_CELLS = 8


def speed_words(speed: float) -> str:
    return "as fast as it goes" if speed == float("inf") else f"{speed:g}×"


def transport_line(feed: RunFeed, width: int) -> Line:
    play = feed.playback
    if play.live and feed.is_growing:
        return split_line(
            [("● live", "ok"), (f"   {format_clock(play.time)}", "text")],
            text_line("space freezes the view; the run continues", "dim"),
            width,
        )
    state = ("▶ ", "ok") if play.playing else ("‖ ", "warning")
    times = f"{format_clock(play.time)} / {format_clock(play.end)}"
    # at the end nothing moves at any speed: there it looks the same whether it was followed live or replayed
    over = play.is_at_end and not play.playing and not feed.is_growing
    words = "at the end" if over else speed_words(play.speed)
    left: Line = [state, (words, "text"), (f"   {times}", "strong")]
    if feed.is_growing:
        left.append(("   still running, Z returns to live", "accent"))
        return left
    mark = clean_text(play.next_mark_text)
    most = min(MAX_MARK_CELLS, width - cell_width(left) - MIN_TRACK_CELLS - 6)
    jump: Line = [("n", "key"), (f" jumps to: {mark}", "dim")]
    right = crop_line(jump, max(30, width // 3, most)) if mark else []
    room = width - cell_width(left) - cell_width(right) - 6
    if room < MIN_TRACK_CELLS:
        return split_line(left, right, width)
    share = play.time / play.end if play.end else 1.0
    at = min(room - 3, int(share * (room - 3)))
    track: Line = [
        ("   [", "dim"),
        ("─" * at, "dim"),
        ("●", "accent"),
        ("─" * (room - 3 - at), "dim"),
        ("]", "dim"),
    ]
    return split_line([*left, *track], right, width)


class Transport(Panel):
    DEFAULT_CSS = "Transport { height: 1; }"

    def __init__(self, feed: Callable[[], RunFeed]) -> None:
        super().__init__(id="transport")
        self._feed = feed

    def draw(self, width: int, height: int) -> list[Line]:
        feed = self._feed()
        # an import has no course
        return [text_line("") if is_imported(feed.session) else transport_line(feed, width)]

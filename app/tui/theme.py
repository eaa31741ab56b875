"""Roles to styles. Five palettes: dark, light, one for the colour-blind, one of high contrast, and the terminal's own
16 colours (console, NO_COLOR).

Nothing is told by colour alone: severities carry a word and a sign, variants a marker, the cursor a `▸`. `a2` is what
lies below the edge of a column in `a`.
"""

import os
from functools import cache

from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from hostdx.app.state import make_private, state_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.lines import HIGHLIGHT

KEPT = "theme"  # the file in the state directory
MAX_KEPT_CHARS = 64

# Chosen to stay apart after reduction to 256 colours (what SSH leaves where COLORTERM is not forwarded).
DARK = {
    "bg": "#121212", "cursor": "#303030", "text": "#d0d0d0", "dim": "#8a8a8a", "accent": "#5fafff",
    "critical": "#ff5f5f", "warning": "#ffaf00", "notice": "#87afd7", "ok": "#87d75f", "unknown": "#af87d7",
    "a": "#5fd7ff", "b": "#ff87ff", "c": "#ffffff", "d": "#5f87ff",
    "a2": "#005f87", "b2": "#875f87", "c2": "#6c6c6c", "d2": "#5f5f87", "accent2": "#005f87",
    "rule": "#4e4e4e", "shade": "#4e4e4e",
    "@bar": "#262626", "@band": "#303030", "@critical": "#4e1a1a", "@warning": "#4a3500", "@notice": "#1c3347",
    "@ok": "#1a3a1a", "@unknown": "#3a2350",
}  # fmt: skip
LIGHT = {
    "bg": "#ffffff", "cursor": "#d0d0d0", "text": "#262626", "dim": "#626262", "accent": "#005faf",
    "critical": "#af0000", "warning": "#875f00", "notice": "#005f87", "ok": "#005f00", "unknown": "#5f00af",
    "a": "#0087af", "b": "#af00af", "c": "#000000", "d": "#0000d7",
    "a2": "#87d7ff", "b2": "#ffafff", "c2": "#bcbcbc", "d2": "#afafff", "accent2": "#afd7ff",
    "rule": "#bcbcbc", "shade": "#bcbcbc",
    "@bar": "#e4e4e4", "@band": "#e4e4e4", "@critical": "#ffd7d7", "@warning": "#ffe7bf", "@notice": "#d7efff",
    "@ok": "#d7f5d7", "@unknown": "#ecdcff",
}  # fmt: skip
# Of Okabe and Ito's palette: orange and sky blue in place of red and green, apart for every kind of colour blindness.
COLOUR_BLIND = DARK | {
    "critical": "#ffaf00", "warning": "#ffd75f", "notice": "#afd7ff", "ok": "#5fafff", "unknown": "#d7afd7",
    "a": "#5fd7ff", "b": "#ffaf5f", "c": "#ffffff", "d": "#d787af",
    "a2": "#005f87", "b2": "#875f00", "c2": "#6c6c6c", "d2": "#875f87",
    "@critical": "#4a3500", "@warning": "#3a3a1a", "@ok": "#1c3347",
}  # fmt: skip
HIGH_CONTRAST = DARK | {
    "bg": "#000000", "cursor": "#444444", "text": "#ffffff", "dim": "#d0d0d0", "accent": "#87d7ff",
    "critical": "#ff8787", "warning": "#ffd75f", "notice": "#afd7ff", "ok": "#87ff87", "unknown": "#d7afff",
    "a": "#87ffff", "b": "#ffafff", "c": "#ffffff", "d": "#afafff", "rule": "#8a8a8a", "shade": "#8a8a8a",
    "@bar": "#262626", "@band": "#303030", "@critical": "#3a0000", "@warning": "#3a2a00", "@notice": "#00253a",
    "@ok": "#002f00", "@unknown": "#25003a",
}  # fmt: skip
# No blue (unreadable on the console's black) and no bright black (invisible in some palettes).
TERMINAL = {
    "bg": "default", "cursor": "default", "text": "default", "dim": "default", "accent": "cyan",
    "critical": "red", "warning": "yellow", "notice": "cyan", "ok": "green", "unknown": "magenta",
    "a": "cyan", "b": "magenta", "c": "white", "d": "blue",
    "a2": "cyan", "b2": "magenta", "c2": "white", "d2": "blue", "accent2": "cyan",
    "rule": "default", "shade": "default",
}  # fmt: skip
_BOLD = {"title", "strong", "critical", "accent", "key"}
_LIKE = {"title": "accent", "strong": "text", "key": "accent"}

DARK_NAME, LIGHT_NAME, TERMINAL_NAME = "hostdx-dark", "hostdx-light", "hostdx-terminal"
COLOUR_BLIND_NAME, HIGH_CONTRAST_NAME = "hostdx-colour-blind", "hostdx-high-contrast"
_COLOURS = {
    DARK_NAME: DARK,
    LIGHT_NAME: LIGHT,
    COLOUR_BLIND_NAME: COLOUR_BLIND,
    HIGH_CONTRAST_NAME: HIGH_CONTRAST,
    TERMINAL_NAME: TERMINAL,
}


def list_themes() -> list[Theme]:
    """The same as Textual themes, for the few stock widgets (an input line) and the screen's ground."""
    textual_themes = []
    for name, colours in _COLOURS.items():
        ansi = name == TERMINAL_NAME
        ground = "ansi_default" if ansi else colours["bg"]
        textual_themes.append(
            Theme(
                name=name,
                ansi=ansi,
                dark=name != LIGHT_NAME,
                primary="ansi_cyan" if ansi else colours["accent"],
                foreground="ansi_default" if ansi else colours["text"],
                background=ground,
                surface=ground,
                panel=ground,
                boost=ground,
                text_alpha=1.0,
                # Textual's own style sheet asks an ANSI theme for names that only its own ones define
                variables=dict(BUILTIN_THEMES["ansi-dark"].variables) if ansi else {},
            )
        )
    return textual_themes


def choose_theme() -> str:
    """The theme that was chosen last, else what the terminal says of its ground (COLORFGBG), else the dark one."""
    try:
        kept_name = (state_dir() / KEPT).read_text("utf-8", "replace")[:MAX_KEPT_CHARS].strip()
    except OSError:
        kept_name = ""
    if kept_name in _COLOURS:
        return kept_name
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT_NAME if ground in ("7", "15") else DARK_NAME


def keep_theme(name: str) -> None:
    """For the next start; one that cannot be kept holds until the end."""
    try:
        place = make_private(state_dir()) / KEPT
        scratch = place.with_name(f".{KEPT}.{os.getpid()}")
        scratch.touch(0o600)
        scratch.write_text(f"{name}\n", "utf-8")
        scratch.replace(place)
    except (OSError, Failure):
        return


@cache
def role_style(theme: str, role: str) -> Style:
    """The style of a role, on its ground if it names one (`text@bar`); a chip is the role in reverse.

    Unknown ones are plain text. Never None: that crashes Textual's NO_COLOR filter. The terminal's own colours have
    no tinted grounds: what sixteen colours would make of them nobody can know.
    """
    colours = _COLOURS.get(theme, DARK)
    marked = role.endswith(HIGHLIGHT)
    name, _, ground = role.removesuffix(HIGHLIGHT).partition("@")
    colour = colours.get(_LIKE.get(name, name), colours["text"])
    own = theme == TERMINAL_NAME
    below = colours["cursor"] if marked else colours.get(f"@{ground}", colours["bg"])
    if ground == "chip" and not own:
        colour, below = colours["bg"], colour
    return Style(
        color=colour,
        bgcolor=below,
        bold=name in _BOLD or (own and name == "warning"),
        reverse=own and (marked or ground == "chip"),
    )

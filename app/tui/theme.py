"""Roles to styles. Five palettes: dark, light, one for the colour-blind, one of high contrast, and the terminal's own
16 colours (console, NO_COLOR); and those of the user.

Nothing is told by colour alone: severities carry a word and a sign, variants a marker, the cursor a `▸`. `a2` is what
lies below the edge of a column in `a`.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from hostdx.app.state import make_private_dir, state_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import HIGHLIGHT
from hostdx.app.tui.own_settings import MAX_FILE_BYTES, THEMES_FILE, read_state_toml
from hostdx.probes.files.safe_read import read_regular
from hostdx.probes.reading.parsed_toml import parse_toml
from hostdx.probes.types import Json

KEPT = "theme"  # the file in the state directory
MAX_KEPT_CHARS = 64

_BOLD = {"title", "strong", "critical", "accent", "key"}
_LIKE = {"title": "accent", "strong": "text", "key": "accent"}

DARK_NAME, LIGHT_NAME, TERMINAL_NAME = "hostdx-dark", "hostdx-light", "hostdx-terminal"
COLOUR_BLIND_NAME, HIGH_CONTRAST_NAME = "hostdx-colour-blind", "hostdx-high-contrast"
_COLOUR, _NAME = "#[0-9a-fA-F]{6}", "[a-z][a-z0-9-]{0,31}"  # few have themes of their own


def _read_palettes() -> dict[str, dict[str, str]]:
    """Return the colours of each of our themes by role, from `themes.toml`."""
    path = Path(__file__).with_name("themes.toml")
    parsed = parse_toml(path, read_regular(str(path), MAX_FILE_BYTES))
    palettes: dict[str, dict[str, str]] = {}
    for name, own in msgspec.convert(parsed, dict[str, dict[str, str]]).items():
        palettes[name] = _complete_palette(palettes, own)
    return palettes


def _complete_palette(palettes: Mapping[str, dict[str, str]], own: dict[str, str]) -> dict[str, str]:
    """Return the colours with those of the theme that it is like."""
    return palettes.get(own.get("like", ""), {}) | own


PALETTES = _read_palettes()
OURS = tuple(PALETTES)


def add_own_themes_or_problem() -> str:
    """Take in the user's own themes. Return what is wrong with them in one line, empty for nothing."""
    wrong: list[str] = []
    try:
        themes = read_state_toml(THEMES_FILE)
    except ValueError as why:
        return clean_text(str(why))
    for name, palette in themes.items():
        try:
            PALETTES[name] = _complete_palette(PALETTES, _palette_or_error(name, palette))
        except ValueError as why:  # the others are taken all the same
            wrong.append(clean_text(str(why)))
    return "; ".join(wrong)


def _palette_or_error(name: str, palette: Json) -> dict[str, str]:
    """A colour that is none would end the screen, a role that is none would do nothing. Raises ValueError."""
    if not re.fullmatch(_NAME, name) or name in OURS or not isinstance(palette, dict):
        raise ValueError(f"{THEMES_FILE}: {name}: is no table with a name of its own, of small letters")
    roles = PALETTES[DARK_NAME]
    for role, colour in palette.items():
        if role == "like" and colour in OURS and colour != TERMINAL_NAME:
            continue
        if role not in roles or not re.fullmatch(_COLOUR, str(colour)):
            wanted = 'a role with its colour as "#rrggbb", or like = "THEME", is wanted'
            raise ValueError(f"{THEMES_FILE}: {name}: {role} = {colour}: {wanted}")
    return {"like": DARK_NAME} | {role: str(colour) for role, colour in palette.items()}


def list_themes() -> list[Theme]:
    """The same as Textual themes, for the few stock widgets (an input line) and the screen's ground."""
    textual_themes = []
    for name, colours in PALETTES.items():
        ansi = name == TERMINAL_NAME
        ground = "ansi_default" if ansi else colours["bg"]
        textual_themes.append(
            Theme(
                name=name,
                ansi=ansi,
                dark=LIGHT_NAME not in (name, colours.get("like")),
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
    if kept_name in PALETTES:
        return kept_name
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT_NAME if ground in ("7", "15") else DARK_NAME


def save_theme_choice(name: str) -> None:
    """For the next start; one that cannot be kept holds until the end."""
    try:
        place = make_private_dir(state_dir()) / KEPT
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
    colours = PALETTES.get(theme) or PALETTES[DARK_NAME]
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

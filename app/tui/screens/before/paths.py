"""The path of a directory on the last line: completed by a child, those that were measured before under Up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from textual.app import App

from app.glyphs import clean
from app.tui.children.command import Outcome, hostdx
from app.tui.screens.ask import AskScreen
from probes.lossless_json import Decoder

PATH_HINT = "an absolute path; Tab completes it, Enter adds it, Esc cancels"
NONE_SUCH = "no directory begins like that"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_ASKED = 8  # one after the other


class Completion(msgspec.Struct, frozen=True):
    text: str
    choices: list[str]


def tidy(path: str) -> str:
    return "/" + path.strip("/") if path.startswith("/") else path.rstrip("/")


def path_prompt(
    app: App[int],
    question: str,
    beginning: str = "/",
    *,
    hint: str = PATH_HINT,
    before: Sequence[str] = (),
    none: bool = False,
) -> AskScreen:
    """`none`: Enter without a path is an answer, too."""

    def check(words: str) -> str:
        return "" if none and not words.strip("/ ") else _no_path(words)

    complete = partial(_complete, app, hint)
    return AskScreen(question, beginning, hint=hint, check=check, complete=complete, before=before)


def ask_paths(
    app: App[int],
    several: bool,
    used: Sequence[str],
    now: str,
    take: Callable[[list[str]], None],
    named: Sequence[str] = (),
) -> None:
    """One path after the other, each taken over at once; Enter without one ends it. `now`: what would be measured
    without any."""

    def answered(path: str | None) -> None:
        if path is None or not path.strip("/ "):
            return
        paths = [*named, one] if (one := tidy(path)) not in named else list(named)
        take(paths)
        if several and len(paths) < MOST_ASKED:
            ask_paths(app, several, used, now, take, paths)

    left = [path for path in used if path not in named]
    recalled = f"; ↑ {clean(left[0])}" + (f" and {len(left) - 1} more" if left[1:] else "") if left else ""
    ends = "is all of them" if named else f"keeps {now}" if now else "cancels"
    hint = f"an absolute path, Tab completes it{recalled}; Enter without one {ends}"
    question = f"directory {LETTERS[len(named)]}" if several else "directory"
    app.push_screen(path_prompt(app, question, hint=hint, before=left, none=True), answered)


def _complete(app: App[int], hint: str, words: str, then: Callable[[str, str], None]) -> None:
    """In a child: a directory on a mount that does not answer would hold the screen."""

    def told(outcome: Outcome) -> None:
        if not outcome.error:
            found = Decoder(Completion).decode(outcome.output.encode())
            certain = NONE_SUCH if found.text == words else hint
            then(found.text, "  ".join(map(clean, found.choices)) or certain)

    hostdx(app, ["places", f"--complete={words}"], told)


def _no_path(words: str) -> str:
    if not words.startswith("/"):
        return "a path that begins with /"
    return "" if words.strip("/") else "the path continues after the /; Tab completes it, Esc cancels"

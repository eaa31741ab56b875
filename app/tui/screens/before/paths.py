"""The path of a directory on the last line: completed by a child, those that were measured before under Up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from textual.app import App

from app.terminal.glyphs import clean_text
from app.tui.children.command import CommandOutcome, run_hostdx
from app.tui.screens.ask import AskScreen
from probes.reading.lossless_json import Decoder

PATH_HINT = "an absolute path; Tab completes it, Enter adds it, Esc cancels"
NONE_SUCH = "no directory begins like that"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_ASKED_PATHS = 8  # one after the other


class Completion(msgspec.Struct, frozen=True):
    text: str
    choices: list[str]


def normalize_path(path: str) -> str:
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
        return "" if none and not words.strip("/ ") else _explain_no_path(words)

    complete = partial(_complete_path, app, hint)
    return AskScreen(question, beginning, hint=hint, check=check, complete=complete, before=before)


def ask_paths(
    app: App[int],
    several: bool,
    used: Sequence[str],
    now: str,
    take: Callable[[list[str]], None],
    chosen_paths: Sequence[str] = (),
) -> None:
    """One path after the other, each taken over at once; Enter without one ends it. `now`: what would be measured
    without any."""

    def take_answer(path: str | None) -> None:
        if path is None or not path.strip("/ "):
            return
        paths = (
            [*chosen_paths, normal_path]
            if (normal_path := normalize_path(path)) not in chosen_paths
            else list(chosen_paths)
        )
        take(paths)
        if several and len(paths) < MAX_ASKED_PATHS:
            ask_paths(app, several, used, now, take, paths)

    left = [path for path in used if path not in chosen_paths]
    recalled = (
        f"; ↑ {clean_text(left[0])}" + (f" and {len(left) - 1} more" if left[1:] else "") if left else ""
    )
    ends = "when done" if chosen_paths else f"to keep {now}" if now else "to cancel"
    hint = f"an absolute path, Tab completes it{recalled}; press Enter on an empty line {ends}"
    question = f"directory {LETTERS[len(chosen_paths)]}" if several else "directory"
    app.push_screen(path_prompt(app, question, hint=hint, before=left, none=True), take_answer)


def _complete_path(app: App[int], hint: str, words: str, then: Callable[[str, str], None]) -> None:
    """In a child: a directory on a mount that does not answer would hold the screen."""

    def show_completion(outcome: CommandOutcome) -> None:
        if not outcome.error:
            completion = Decoder(Completion).decode(outcome.output.encode())
            certain = NONE_SUCH if completion.text == words else hint
            then(completion.text, "  ".join(map(clean_text, completion.choices)) or certain)

    run_hostdx(app, ["places", f"--complete={words}"], show_completion)


def _explain_no_path(words: str) -> str:
    if not words.startswith("/"):
        return "a path that begins with /"
    return "" if words.strip("/") else "the path continues after the /; Tab completes it, Esc cancels"

"""The path of a directory on the last line: completed by a child."""

from __future__ import annotations

from collections.abc import Callable
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


class Completion(msgspec.Struct, frozen=True):
    text: str
    choices: list[str]


def normalize_path(path: str) -> str:
    return "/" + path.strip("/") if path.startswith("/") else path.rstrip("/")


def path_prompt(app: App[int], question: str, beginning: str = "/") -> AskScreen:
    complete = partial(_complete_path, app, PATH_HINT)
    return AskScreen(question, beginning, hint=PATH_HINT, check=_explain_no_path, complete=complete)


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

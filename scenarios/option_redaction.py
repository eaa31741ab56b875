"""`--private`: what a run records of its own command line and options, values that can hold secrets as digests."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from probes.secrecy.secrets import digest
from probes.types import Json
from scenarios.plan import Option

FLAG = "private"
SHORT = 3  # letters: a shorter word stands in other words too, and is told


class Discretion:
    """Made of what was asked for; without `--private` it gives back what it gets."""

    def __init__(self, options: Mapping[str, Json], declared: Sequence[Option]) -> None:
        self._names = {o.name for o in declared if o.secret} if options.get(FLAG) else set()
        self._values = [text for name in self._names for text in _texts(options.get(name))]
        words = {word for text in self._values for word in (text, *_words(text)) if len(word) > SHORT}
        self._words = sorted(words, key=len, reverse=True)

    def options(self, options: Mapping[str, Json]) -> dict[str, Json]:
        return {k: _digests(v) if k in self._names else v for k, v in options.items()}

    def command(self, words: Sequence[str]) -> list[str]:
        return [self._word(word) for word in words]

    def text(self, text: str) -> str:
        """A sentence, as one that refuses what was asked for."""
        for word in self._words:
            text = text.replace(word, digest(word))
        return text

    def _word(self, word: str) -> str:
        name, equals, value = word.partition("=")
        if equals and name.removeprefix("--") in self._names:
            return f"{name}={digest(value)}"
        return digest(word) if word in self._values else word


def _texts(value: Json) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [] if value is None else [str(value)]


def _digests(value: Json) -> Json:
    told: list[Json] = [digest(text) for text in _texts(value)]
    return told if isinstance(value, list) else told[0] if told else None


def _words(text: str) -> list[str]:
    """Words of a command, and values of `NAME=VALUE` in it."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return [part for word in words for part in (word, word.partition("=")[2])]

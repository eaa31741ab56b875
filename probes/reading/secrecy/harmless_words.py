"""Which words of a command line are known to be harmless; every other word is left out of what is kept.

`secrets` beside this file masks what looks like a secret. A secret that looks like any other word passes there, so here
it is the other way round: a program, a path, a number, the name of an option or a word of this list is kept.
"""

import re
import shlex
from collections.abc import Collection, Iterable

from probes.reading.secrecy.harmless_forms import (
    SEPARATORS,
    describes_itself,
    harmless_part_of_url,
    holds_random_part,
    is_harmless,
)
from probes.reading.secrecy.known_programs import LAUNCHERS, WITH_SUBCOMMANDS, WITHOUT_SECRETS
from probes.reading.secrecy.secret_forms import MASK
from probes.reading.secrecy.secrets import digest_text, mask_command, mask_command_text

LEFT_OUT = "…"
_MAX_NAME = 24
_MAX_DEPTH = 4  # of assignments in assignments: `--mount=type=bind,source=/a`
# what a quoted text begins with where it is a command: names of programs have no capitals
_FIRST = re.compile(r"(?:[\w.+-]*/)*[a-z][a-z0-9._+-]{0,30}|[A-Za-z0-9][\w.+-]{0,31}:")  # or a variant's name
_NOTHING = re.compile(r"(?!)")
_UNQUOTED = re.compile(rf"[\w@%+=:,./*;|&$<>{LEFT_OUT}-]+")
_MODULE = re.compile(r"[a-z_]\w{0,30}(?:\.\w{1,40})*")  # python -m
_CLASS = re.compile(r"(?:[a-z]\w{0,30}\.)+[A-Z][A-Za-z]{0,60}")  # java
_SWITCH = re.compile(r"-XX:[+-]?[A-Za-z]{1,60}")
_SUBCOMMAND = re.compile(r"[a-z][a-z_-]{1,24}")
_STARTED = re.compile(r"[A-Za-z][A-Za-z_.+-]{1,30}")
_PLAIN = re.compile(r"[^\n`]{1,80}")
_ASSIGNED = re.compile(r"(-{0,2}[A-Za-z][\w.-]{0,60})([=:])(.*)", re.DOTALL)
_MASKED = re.compile(rf"(?:-{{0,2}}[A-Za-z][\w.-]{{0,60}}[=:]?|-[A-Za-z]+)?{re.escape(MASK)}")
_SHELL = frozenset(("do", "then", "else", "while", "if"))


def harmless_words(words: Iterable[str], known_words: Collection[str] = ()) -> list[str]:
    """Return the words with "…" in place of each that is not known to be harmless, and "***" where a secret is seen.

    `known_words` are words of the program's own, such as the names of its commands and choices.
    """
    kept_words: list[str] = []
    program, ran, before, behind = True, "", "", 0
    for word, without in zip(listed := list(words), mask_command(listed), strict=True):
        behind += 1
        if without != word and (" " not in word or _MASKED.fullmatch(without)):
            kept_words.append(without if _MASKED.fullmatch(without) else LEFT_OUT)
        elif (program and "=" not in word and _is_name(word)) or _is_started(ran, before, word):
            kept_words.append(word)
            ran, behind = word.rpartition("/")[2], 0
        elif without == word and _says_what_runs(ran, before, word, behind):
            kept_words.append(word)
        else:
            kept_words.append(_keep_harmless(word, known_words))
        before = word
        program = (word in SEPARATORS | _SHELL and not word.startswith((">", "<", "2"))) or (
            program and "=" in word
        )
    return kept_words


def harmless_text(text: str, first: re.Pattern[str] = _FIRST) -> str:
    """Return the text of a command with "…" for each word that is not known to be harmless.

    Where something is left out two hexadecimal digits follow, which differ for most other texts: enough to see that
    two commands are not the same, too few to confirm a guess. `first`: what its first word is taken for a program by.
    """
    try:
        words = _split_shell(text)
    except ValueError:
        words = []
    kept = _kept_command(words, (), first) if words else ""
    if words and LEFT_OUT not in kept and MASK not in kept:
        return text if mask_command_text(text) == text else kept
    return f"{kept or LEFT_OUT} #{digest_text(text)[-2:]}" if text else text


def harmless_value(name: str, value: str) -> str:
    """Return the value of a variable, "…" in place of what is not known to be harmless, as `harmless_text` does."""
    if harmless_words([":", f"{name}={value}"])[1] == f"{name}={value}":
        return value
    return harmless_text(value, _FIRST if " " in value else _NOTHING)


def _keep_harmless(word: str, known_words: Collection[str], depth: int = 0) -> str:
    """The word, its harmless part, or "…". A quoted command is judged word by word."""
    if depth > _MAX_DEPTH:
        return LEFT_OUT
    if url := harmless_part_of_url(word):
        return f"{url}{LEFT_OUT}"
    if is_harmless(word, known_words):
        return word
    assigned = _ASSIGNED.fullmatch(word)
    if (
        assigned is not None
        and (word.startswith("-") or " " not in word)
        and not holds_random_part(assigned[1])
    ):
        name, sign, value = assigned.groups()
        if (
            (value in ("", "=") and not name.startswith("-"))
            or len(name) > _MAX_NAME
            or (sign == ":" and "@" in value)
        ):
            return LEFT_OUT  # base64 ends so; a user and a password stand so before a host
        if sign == "=" and describes_itself(name, value):
            return word
        return f"{name}{sign}" + ",".join(
            _keep_harmless(part, known_words, depth + 1) for part in value.split(",")
        )
    try:
        inner = _split_shell(word) if " " in word else []
    except ValueError:
        inner = []
    if len(inner) < 2:
        return LEFT_OUT
    is_sentence = not any(
        part.startswith("-") or "/" in part for part in inner
    )  # or a phrase that is a secret
    return _kept_command(inner, known_words, _NOTHING if is_sentence else _FIRST)


def _kept_command(words: list[str], known: Collection[str], first: re.Pattern[str] = _FIRST) -> str:
    """The words of a text that may be a command; its first one stays if it is known or matches `first`."""
    kept = harmless_words(words, known)
    if "=" not in words[0] and not first.fullmatch(words[0]) and not is_harmless(words[0], known):
        kept[0] = LEFT_OUT
    return " ".join(word if _UNQUOTED.fullmatch(word) else shlex.quote(word) for word in kept)


def _split_shell(text: str) -> list[str]:
    """Split a text as a shell does, `;` and `|` as words of their own. Raises ValueError where a quote has no end."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|")
    lexer.whitespace_split, lexer.commenters = True, ""
    return list(lexer)


def _is_started(ran: str, before: str, word: str) -> bool:
    """True for the program that a launcher starts: the first word behind its options and their values."""
    return ran in LAUNCHERS and not before.startswith("-") and _STARTED.fullmatch(word) is not None


def _says_what_runs(program: str, before: str, word: str, behind: int) -> bool:
    """True for Python's module, Java's class, a subcommand, a described value, a tool without secrets."""
    if program.startswith("python"):
        return before == "-m" and _MODULE.fullmatch(word) is not None
    if program == "java" and (_CLASS.fullmatch(word) or _SWITCH.fullmatch(word)):
        return True
    if program in WITH_SUBCOMMANDS and behind == 1:
        return _SUBCOMMAND.fullmatch(word) is not None
    if program.rstrip(":") in WITHOUT_SECRETS or (program in LAUNCHERS and before.startswith("-")):
        return _PLAIN.fullmatch(word) is not None and not holds_random_part(word)
    return describes_itself(before, word)


def _is_name(word: str) -> bool:
    return re.fullmatch(r"[\w@.,+:%/~-]{1,200}", word) is not None

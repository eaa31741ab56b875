"""The one table of programs: which options of theirs take a secret, which take none, which start another program.

A program that stands in `programs.toml` has a known place for each secret, so its plain words elsewhere say what runs.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from hostdx.probes.files.safe_read import read_regular
from hostdx.probes.reading.parsed_toml import MAX_BYTES, parse_toml


class SecretArgument(msgspec.Struct, frozen=True):
    """`word` holds the secret itself, `value` where the word before is `option`; it begins behind their first group."""

    programs: str = ""
    word: str = "(?!)"
    option: str = "(?!)"
    value: str = "()(?!-).+"

    @property
    def has_secret(self) -> bool:
        return (self.word, self.option) != ("(?!)", "(?!)")


class _ProgramLists(msgspec.Struct, frozen=True):
    without_secrets: str
    with_subcommands: str
    harmless: str
    options_with_value: dict[str, str]
    code_options: dict[str, str]
    takes_secrets: tuple[SecretArgument, ...]


_FILE = Path(__file__).with_name("programs.toml")
_PROGRAMS = msgspec.convert(parse_toml(_FILE, read_regular(str(_FILE), MAX_BYTES)), _ProgramLists)
_BY_NAME = {name: takes for takes in _PROGRAMS.takes_secrets for name in takes.programs.split()}
TAKING_SECRETS = tuple(name.partition(":")[0] for name, takes in _BY_NAME.items() if takes.has_secret)
WITHOUT_SECRETS = frozenset(_PROGRAMS.without_secrets.split())
WITH_SUBCOMMANDS = frozenset(_PROGRAMS.with_subcommands.split())
HARMLESS = frozenset(_PROGRAMS.harmless.split())
CODE_OPTIONS = _PROGRAMS.code_options
_ANY_OPTION = r"-.*"
_OPTIONS_WITH_VALUE = _PROGRAMS.options_with_value
_INTERPRETERS = {"ssh", "python", "perl", "bash", "sh", "zsh", "ruby", "php", "node", "sudo"}
LAUNCHERS = frozenset(_OPTIONS_WITH_VALUE) - _INTERPRETERS
_BEHIND_A_HOST = frozenset(("ssh",))
KNOWN_PROGRAMS = WITHOUT_SECRETS | {name for name in _BY_NAME if ":" not in name} | {"ssh", "java"}
SEPARATORS = frozenset(
    ["|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1", "--", "{", "}", "(", ")", "[", "]", "!"]
)
WHERE_PROGRAMS_START = re.compile(r"[;|&\n(`]+")
_BETWEEN = re.compile(r"[;|&\n]+")
_ASSIGNMENT = re.compile(r"-{0,2}[A-Za-z][\w./:-]*=(?!=?$).+", re.DOTALL)
_SHELL = frozenset(("do", "then", "else", "while", "if"))
_TWO_WORDS = re.compile(r"--?g?mca|-genv")  # options with a name and a value
_STARTED = re.compile(r"[\w./+~$-]+")
_VERSION = re.compile(r"[\d.]+$")  # python3.11


class WordPlace(NamedTuple):
    """Where a word stands: the program that it is given to ("" of none), how many words behind it; 0: the program."""

    program: str
    behind: int


def find_word_places(words: Sequence[str]) -> list[WordPlace]:
    """Return the place of each word of a command line, as far as the launchers' options are known."""
    places: list[WordPlace] = []
    program, behind, hosts, earlier, before = "", 0, False, "", ""
    for word in words:
        behind += 1
        if word in SEPARATORS or word in _SHELL or WHERE_PROGRAMS_START.fullmatch(word):
            is_redirection = word.startswith((">", "<", "2")) or word in ("--", "{", "}", "[", "]", "!")
            program, behind = (program, behind) if is_redirection else ("", 0)
            places.append(WordPlace(program, max(behind, 1)))
        elif not program and not word.startswith("-") and not _ASSIGNMENT.fullmatch(word):
            program, behind = program_name(word), 0
            hosts = program in _BEHIND_A_HOST
            places.append(WordPlace(program, 0))
        elif not _TWO_WORDS.fullmatch(earlier) and _is_program_launched(word, before, program):
            if hosts:
                hosts = False
                places.append(WordPlace(program, behind))
            else:
                program, behind = program_name(word), 0
                hosts = program in _BEHIND_A_HOST
                places.append(WordPlace(program, 0))
        else:
            places.append(WordPlace(program, behind))
            if program == "python" and before == "-m":
                program = word
        earlier, before = before, word
    return places


def program_name(word: str) -> str:
    """Return the name of a program without its folder; `python` for each version of it."""
    name = re.split(r"[/(`]", word)[-1].removesuffix(":")
    return "python" if name.startswith("python") and _VERSION.sub("", name) == "python" else name


def _is_program_launched(word: str, before: str, program: str) -> bool:
    """True of the word that a launcher starts: no option, no number, no assignment, and no option's value."""
    with_value = _OPTIONS_WITH_VALUE.get(program)
    if with_value is None or word.startswith("-") or word[:1].isdigit() or not _STARTED.fullmatch(word):
        return False
    is_value = before.startswith("-") and "=" not in before and re.fullmatch(with_value, before) is not None
    is_clear = word.startswith(("./", "/")) or program_name(word) in WITHOUT_SECRETS
    return not is_value or (with_value == _ANY_OPTION and is_clear)


def find_secret_starts(words: Sequence[str]) -> list[int | None]:
    """For each word of a command where the secret in it begins; None where none is known."""
    starts: list[int | None] = []
    takes, before = SecretArgument(), ""
    for word in words:
        name = word.rpartition("/")[2]
        secret = re.fullmatch(takes.word, word, re.DOTALL)
        if re.fullmatch(takes.option, before):
            secret = re.fullmatch(takes.value, word, re.DOTALL)
        starts.append(secret.end(1) if secret else None)
        if _BETWEEN.fullmatch(word):
            takes = SecretArgument()
        elif secret is None:
            takes = _BY_NAME.get(f"{before.rpartition('/')[2]}:{name}") or _BY_NAME.get(name, takes)
        before = word
    return starts

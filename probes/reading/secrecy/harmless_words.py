"""Which words of a command line are shown: those with a reason. Every other word is left out.

`secrets` beside this file masks what looks like a secret. A secret that looks like any other word passes there, so here
it is the other way round. A program, a path, a number, the name of an option and a word of a list are kept; so are the
plain words of a program that is known, where its secrets have places of their own. It is the same with
`--with-arguments`, which also keeps names of hosts, users and the like behind options that take them.
"""

import re
import shlex
from collections.abc import Collection, Iterable

from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.reading.secrecy.harmless_forms import (
    harmless_part_of_url,
    holds_random_part,
    is_harmless_option_value,
    is_harmless_word,
)
from hostdx.probes.reading.secrecy.known_programs import (
    CODE_OPTIONS,
    KNOWN_PROGRAMS,
    LAUNCHERS,
    WITH_SUBCOMMANDS,
    WITHOUT_SECRETS,
    WordPlace,
    find_word_places,
)
from hostdx.probes.reading.secrecy.secret_forms import MASK
from hostdx.probes.reading.secrecy.secret_positions import (
    is_option_for_a_name,
    is_secret_name,
    looks_like_password,
)
from hostdx.probes.reading.secrecy.secrets import mask_by_position, mask_secrets, short_hash

LEFT_OUT = "…"
_IN_THE_TABLES = KNOWN_PROGRAMS | LAUNCHERS | WITH_SUBCOMMANDS | CODE_OPTIONS.keys()
_MAX_NAME = 24
_MAX_DEPTH = 4  # of assignments in assignments, of commands in commands
# what a quoted text begins with where it is a command: names of programs have no capitals
# or a variant's name
_FIRST = lazy_pattern(r"(?:[\w.+-]*/)*[a-z][a-z0-9._+-]{0,30}|[A-Za-z0-9][\w.+-]{0,31}:")
_FIRST_OF_SEVERAL = lazy_pattern(r"[A-Za-z][A-Za-z_.+-]{2,30}")  # `cmsRun`, where options or files follow
_NOTHING = lazy_pattern(r"(?!)")
_UNQUOTED = lazy_pattern(rf"[\w@%+=:,./*;|&$<>{LEFT_OUT}-]+")
_MODULE = lazy_pattern(r"[a-z_]\w{0,30}(?:\.\w{1,40})*")  # python -m
_CLASS = lazy_pattern(r"(?:[A-Za-z]\w{0,30}\.)+[A-Z][A-Za-z]{0,60}")  # java
_PROPERTY = lazy_pattern(r"-D[a-z]\w{0,30}(?:\.[A-Za-z]\w{0,40}){1,6}")  # java -Dlog4j.configurationFile=…
_SWITCH = lazy_pattern(r"-XX:[+-]?[A-Za-z]\w{1,60}")
_SUBCOMMAND = lazy_pattern(r"[a-z][a-z_.-]{1,24}\d{0,4}")
# A command of a program that nobody knows: one of these words, for any other may be a password
_FIRST_ARGUMENT = lazy_pattern(
    r"(?:start|stop|run|serve|runserver|build|train|convert|check|info|show|list|status|sync|export|import|watch|web|worker|"
    r"scheduler|migrate|evaluate|predict|fit|simulate|process|analy[sz]e|merge|plot|validate|submit|collect|report|clean|"
    r"prepare|replay|monitor|serve|daemon|launch|render|index|query|search|print|dump|load|copy|move|mirror|archive)"
    r"(?:[_-](?:all|jobs?|data|files?|nodes?|disks?|hosts?|runs?|dids|replicas|queue|status))?"
)
_STARTED = lazy_pattern(r"[A-Za-z][A-Za-z_.+-]{1,30}")
_PLAIN = lazy_pattern(r"[^\n`]{1,80}")
_NAME = lazy_pattern(r"[A-Za-z_@^][\w.:,/@+*%\[\]^#-]{0,60}")
_COMPOUND = lazy_pattern(r"(?:[A-Z]?[a-z]{3,12}){1,4}|(?:[a-z]{1,12}\.){1,4}[A-Z][a-zA-Z]{2,30}")
_OPTION_NAME = lazy_pattern(r"-[A-Za-z][\w.+-]{0,40}")
_OPTION_OF_UNKNOWN = lazy_pattern(r"-[b-jl-oq-rt-vyz][a-z_-]{2,20}")  # no letter that a secret is put behind
_ASSIGNED = lazy_pattern(r"(-{0,2}[A-Za-z][\w.-]{0,60})([=:])(.*)", re.DOTALL)
_MASKED = lazy_pattern(rf"(?:-{{0,2}}[A-Za-z][\w.-]{{0,60}}[=:]?|-[A-Za-z]+)?{re.escape(MASK)}")
_LITERAL = lazy_pattern(r"""'[^']*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$)|\\?\$\\?\$.*?(?:\$\\?\$|$)""", re.DOTALL)
# a thread of the kernel, or a process of systemd, of a database, of an SSH line
_KERNEL_THREAD = lazy_pattern(
    r"\[[\w/:.-]{1,40}\]|\([a-z-]{1,30}\)|ora_\w{2,5}_\w{1,20}|"
    r"sshd: [\w.-]{1,32}(?:@(?:pts/\d{1,4}|notty|internal-sftp)| \[[a-z]{1,9}\])"
)
_NAME_WITHIN = lazy_pattern(r"""(?:(?<=["'\s,;{])|(?<==))([A-Za-z]\w*)=""")  # `environment="KEY=…"`
# of sed, which looks like a path: what is looked for and what is put in its place may both be secrets
_PARTS = r"(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1"
_SUBSTITUTION = lazy_pattern(rf"(?:(?<=[;{{}}\s\d$!])|^)s([/|#,@:!]){_PARTS}")
# it takes any sign between the parts
_OF_SED = lazy_pattern(rf"(?:(?<=[;{{}}\s\d$!/])|^)s([^\w\s\\]|_){_PARTS}")
_TEXT_OF_SED = lazy_pattern(r"((?:^|[;{/\d$!\s])[aci](?:\\|\s)\s*).+", re.DOTALL)
_WORD_OF_CODE = lazy_pattern(r"[\w$@%/.-]+")


def mask_unknown_words(words: Iterable[str], known_words: Collection[str] = ()) -> list[str]:
    """Return the words with "…" in place of each that is not known to be harmless, and "***" where a secret is seen.

    `known_words` are words of the program's own, such as the names of its commands and choices.
    """
    return _keep_harmless_words(list(words), known_words, with_names=False)


def mask_all_but_names(words: Iterable[str], known_words: Collection[str] = ()) -> list[str]:
    """Return what `mask_unknown_words` returns, with the names of hosts, users and the like."""
    return _keep_harmless_words(list(words), known_words, with_names=True)


def _keep_harmless_words(
    words: list[str], known_words: Collection[str], with_names: bool, depth: int = 0
) -> list[str]:
    kept_words: list[str] = []
    for word, masked, before, place in zip(
        words, mask_by_position(words), ("", *words), find_word_places(words), strict=False
    ):
        script = _OF_SED if place.program == "sed" else _SUBSTITUTION
        word = script.sub(rf"s\1{LEFT_OUT}\1{LEFT_OUT}\1", word)
        if place.program == "sed":
            word = _TEXT_OF_SED.sub(rf"\1{LEFT_OUT}", word)
        without = (mask_secrets(word) if masked is None else masked) if word else word
        is_code = _is_code_argument(place.program, before, word)
        if without != word and (" " not in word or _MASKED.fullmatch(without) or masked is not None):
            is_whole = _MASKED.fullmatch(without) or (with_names and MASK in without and masked is not None)
            kept_word = without if is_whole else _keep_masked(without) if with_names else LEFT_OUT
        elif is_code:
            kept_word = _keep_harmless_of_code(without)
        elif _tells_what_runs(
            place, before, word, with_names, is_first=not kept_words, is_secret=without != word
        ):
            kept_word = word
        else:
            kept_word = _keep_harmless_part(word, known_words, with_names, depth)
        kept_words.append(kept_word)
    return kept_words


def _keep_masked(without: str) -> str:
    """What is left of a word whose secret has been masked: the rest of it has to be harmless as well."""
    if url := harmless_part_of_url(without):
        return f"{url}{LEFT_OUT}"
    parts = re.split(rf"({re.escape(MASK)}|[=:,;&?{{}}\[\]\"' ]+)", without)
    return "".join(
        part
        if part == MASK or index % 2 or not part or is_harmless_word(part) or _is_name(part)
        else LEFT_OUT
        for index, part in enumerate(parts)
    )


def _is_name(word: str) -> bool:
    return _NAME.fullmatch(word) is not None and not looks_like_password(word) and not holds_random_part(word)


def _may_be_name_value(word: str) -> bool:
    """True of the value of an option that takes a name: capitals between small letters are usual there."""
    return _is_name(word) or _COMPOUND.fullmatch(word) is not None


def _is_code_argument(program: str, before: str, word: str) -> bool:
    option = CODE_OPTIONS.get(program)
    return option is not None and " " in word and (not option or re.fullmatch(option, before) is not None)


def _keep_harmless_of_code(text: str) -> str:
    """The names of a text of code or SQL; of its literals those that are harmless by their form."""
    names = _WORD_OF_CODE.findall(_LITERAL.sub("", text.replace(MASK, "")))
    speaks_of_secrets = any(is_secret_name(name) for name in names)

    def keep_literal(literal: re.Match[str]) -> str:
        quote = literal[0][0]
        inside = literal[0].strip("'\"$\\")
        # base64 has such signs, too
        is_relative = "/" in inside and not inside.startswith(("/", "./", "../"))
        return literal[0] if is_harmless_word(inside) and not is_relative else f"{quote}{LEFT_OUT}{quote}"

    def keep_name(name: re.Match[str]) -> str:
        is_kept = is_harmless_word(name[0]) or (_is_name(name[0].strip("$@%.")) and not speaks_of_secrets)
        return name[0] if is_kept else LEFT_OUT

    out, at = "", 0
    for literal in _LITERAL.finditer(text):
        out += _WORD_OF_CODE.sub(keep_name, text[at : literal.start()]) + keep_literal(literal)
        at = literal.end()
    return out + _WORD_OF_CODE.sub(keep_name, text[at:])


def mask_unknown_text(text: str, first: re.Pattern[str] = _FIRST, with_names: bool = False) -> str:
    """Return the text of a command with "…" for each word that is not known to be harmless.

    Where something is left out two hexadecimal digits follow, which differ for most other texts:
    enough to see that two commands are not the same, too few to confirm a guess. `first`: what its
    first word is taken for a program by; `with_names`: as `mask_all_but_names` does.
    """
    try:
        words = _split_shell(text)
    except ValueError:
        words = []
    kept_text = _kept_command(words, (), with_names, first) if words else ""
    if words and LEFT_OUT not in kept_text and MASK not in kept_text:
        return text if mask_secrets(text) == text else kept_text
    return f"{kept_text or LEFT_OUT} #{short_hash(text)[-2:]}" if text else text


def harmless_value(name: str, value: str, with_names: bool = False) -> str:
    """Return the value of a variable, "…" in place of what is not known to be harmless, as `mask_unknown_text` does."""
    if mask_unknown_words([":", f"{name}={value}"])[1] == f"{name}={value}":
        return value
    return mask_unknown_text(value, _FIRST if " " in value else _NOTHING, with_names)


def _keep_harmless_part(word: str, words: Collection[str], with_names: bool, depth: int) -> str:
    """The word, its harmless part, or "…". A quoted command is judged word by word."""
    if depth > _MAX_DEPTH:
        return LEFT_OUT
    if url := harmless_part_of_url(word):
        return url if url == word else f"{url}{LEFT_OUT}"
    if is_harmless_word(word, words) or word in (MASK, LEFT_OUT):
        return word
    assigned = _ASSIGNED.fullmatch(word)
    if (
        assigned is not None
        and (word.startswith("-") or " " not in word or _is_command(assigned[3].split()))
        and not holds_random_part(assigned[1])
    ):
        name, sign, value = assigned.groups()
        if (
            (value in ("", "=") and not name.startswith("-"))
            or (len(name) > _MAX_NAME and not _PROPERTY.fullmatch(name))
            or (sign == ":" and "@" in value)
        ):
            return LEFT_OUT  # base64 ends so; a user and a password stand so before a host
        if sign == "=" and (
            is_harmless_option_value(name, value)
            or (with_names and is_option_for_a_name(name) and _may_be_name_value(value))
        ):
            return word
        if " " in value:
            return f"{name}{sign}" + _keep_harmless_part(value, words, with_names, depth + 1)
        return f"{name}{sign}" + ",".join(
            _keep_harmless_part(part, words, with_names, depth + 1) for part in value.split(",")
        )
    try:
        inner = _split_shell(word) if " " in word else []
    except ValueError:
        inner = []
    if len(inner) < 2:
        return LEFT_OUT
    return _kept_command(inner, words, with_names, _FIRST if _is_command(inner) else _NOTHING, depth + 1)


def _is_command(words: list[str]) -> bool:
    """True of words with an option or a path among them; others may be a phrase that is a secret."""
    return bool(words) and (
        is_known_program(words[0]) or any(word.startswith("-") or "/" in word for word in words)
    )


def is_known_program(word: str) -> bool:
    """True of a program that stands in one of the tables."""
    return find_word_places([word])[0].program in _IN_THE_TABLES


def _kept_command(
    words: list[str],
    known_words: Collection[str],
    with_names: bool,
    first: re.Pattern[str] = _FIRST,
    depth: int = 0,
) -> str:
    """The words of a text that may be a command; its first one stays if it is known or matches `first`."""
    kept_words = _keep_harmless_words(words, known_words, with_names, depth)
    forms = [first, _KERNEL_THREAD]
    if first is not _NOTHING and any(is_harmless_word(word) for word in words[1:]):
        forms.append(_FIRST_OF_SEVERAL)
    is_known = is_harmless_word(words[0], known_words) or is_known_program(words[0])
    if "=" not in words[0] and not is_known and not any(form.fullmatch(words[0]) for form in forms):
        kept_words[0] = LEFT_OUT
    return " ".join(word if _UNQUOTED.fullmatch(word) else shlex.quote(word) for word in kept_words)


def _split_shell(text: str) -> list[str]:
    """Split a text as a shell does, `;` and `|` as words of their own. Raises ValueError where a quote has no end."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|")
    lexer.whitespace_split, lexer.commenters = True, ""
    return list(lexer)


def _tells_what_runs(
    place: WordPlace, before: str, word: str, with_names: bool, *, is_first: bool, is_secret: bool
) -> bool:
    """True of a word whose place tells that it is no secret: each line is one kind of place."""
    program = place.program
    if place.behind == 0 and _may_be_program(word, is_first):
        return True
    if is_secret:
        return False
    if program == "java" and (_CLASS.fullmatch(word) or _SWITCH.fullmatch(word)):
        return True
    if before == "-m" and _MODULE.fullmatch(word) and not holds_random_part(word):
        return (place.behind > 0 and program == word) or program == "python"
    if program in WITH_SUBCOMMANDS and place.behind <= 2 and not before.startswith("-") and word[:1] != "-":
        return _SUBCOMMAND.fullmatch(word) is not None
    if "://" in word and "?" in word:
        return False  # what a query holds is given to a server: `?authz=…`, `?xrd.ztn=…`
    if program in WITHOUT_SECRETS or (program in LAUNCHERS and before.startswith("-")):
        names = [*(word.split() if " " in word else []), *_NAME_WITHIN.findall(word)]
        return (
            _PLAIN.fullmatch(word) is not None
            and not holds_random_part(word)
            and not any(is_secret_name(name) for name in names)
        )
    if program in KNOWN_PROGRAMS:
        return _is_name(word) or (_OPTION_NAME.fullmatch(word) is not None and not looks_like_password(word))
    if _OPTION_OF_UNKNOWN.fullmatch(word):
        return True
    if place.behind == 1 and _FIRST_ARGUMENT.fullmatch(word) and not is_secret_name(program):
        return True
    return is_harmless_option_value(before, word) or (
        with_names and is_option_for_a_name(before) and _may_be_name_value(word)
    )


def _may_be_program(word: str, is_first: bool) -> bool:
    """True of what may be a program's name: the first word is one in any case."""
    if _KERNEL_THREAD.fullmatch(word) or is_known_program(word):
        return True
    if is_first:
        return re.fullmatch(r"[\w@.,+:%/~-]{1,200}", word) is not None
    return _STARTED.fullmatch(word) is not None and not looks_like_password(word)

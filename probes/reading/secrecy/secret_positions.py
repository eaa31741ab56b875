"""Where a word of a command stands when it is likely a secret, whatever the program and whatever the word looks like.

What `secret_forms` and `known_programs` know are forms and programs. This knows kinds of places: behind
an option or a word whose name has to do with secrets, behind one-letter options that tools use for them, behind
`echo`, `<<<`, and all words of programs that are about passwords. A word there is masked unless its form is harmless.
It serves for command lines only: in a sentence most words would be masked.
"""

import re
from collections.abc import Iterator, Sequence

from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.reading.secrecy.harmless_forms import (
    harmless_part_of_url,
    holds_random_part,
    is_harmless_option_value,
    is_harmless_word,
)
from hostdx.probes.reading.secrecy.known_programs import (
    KNOWN_PROGRAMS,
    LAUNCHERS,
    SEPARATORS,
    WHERE_PROGRAMS_START,
    WITH_SUBCOMMANDS,
    WITHOUT_SECRETS,
    find_word_places,
)

_PARTS = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SECRET_PART = lazy_pattern(
    r"\w*(?:pass(?:w\w*|phrase|code)?|secrets?|token|pwd|pw|psk|key|creds?|credentials?)|o?auth\w{0,6}|cookies?|"
    r"j?session(?:id)?|sid|jwt|otp|pin|hmac|salt|licen[sc]e|ticket|bearer|rt|log[io]n|sas|pa|sec|access|refresh|sig|signature|assertion|"
    r"payload|phrase|encrypt|unseal|unlock|webhook|value|base64|\w*community|cert|seed|obscure|dsn|munge|crypt|"
    r"passe|kennwort|passwort|contrasena|clave|senha|parola|wachtwoord|losenord|salasana|haslo|heslo"
)
_SETS = lazy_pattern(
    r"(?:\w*[._-])?(?:set|add|change|reset|create|config|alias|adduser|useradd|register|enroll|join|connect|authorize|bind|"
    r"\w*init|sasl|using)(?:[._-]\w*)?"
)
_PROGRAM = lazy_pattern(
    r"[\w.-]*(?:pass|secret|token|cred|auth|login|unlock|init|setpw|\bpam|key(?!s?can))[\w.-]*|rad(?:test|client)|munge|pdbedit"
)
# behind a program or a word about secrets a number is one, and so are pairs of hexadecimal digits
_PIN = lazy_pattern(r"\d{4}|(?:[0-9A-Fa-f]{2}[:-]){3}")
_VARIABLE = lazy_pattern(r"[A-Z][A-Z0-9_]+")
_LETTER = lazy_pattern(r"-(?:[pPwWkKsStTaAxXyYNEeC]|ap|au|pw|pwd|sp|pa)")
_PASSWORD_LETTER = lazy_pattern(r"-(?:[pPwWkK]|ap|pw|pwd|sp|pa)")  # whose value is no command, blanks or not
_USER_OPTION = lazy_pattern(r"-[uU]|--user(?:name)?|-[uU]\w+|--user(?:name)?=.+")
_ATTACHED = lazy_pattern(r"(-[pPwW])[^-=].{3,}")
_USER_LETTER = lazy_pattern(r"-[a-zA-Z]*[uUn]")
_USER_PAIR = lazy_pattern(r"([A-Za-z_][\w.@+-]*[:%,/]).+", re.DOTALL)
# options whose values are names of hosts, users, objects and the like
_ADDRESSING = lazy_pattern(
    r"-[hHuUdDnrliIogGqfFbcmvzZRQ]|--?(?:[\w-]*host(?:name)?|server|user(?:name)?|login|database|db|dbname|cluster|region|zone|namespace|project|"
    r"bucket|group|owner|account|queue|topic|label|tag|image|network|interface|service|role|profile|domain|realm|"
    r"principal|activity|class|main-class|master|deploy-mode|filter|query|field|fields|sort|cmd|command|action|vo|voms|rm|nv|it|inventory|limit|tags|target|job-name|"
    r"scope|site|lib|library|drive|slot|channel|rack|nodes?|vendor|arch|os|distro|release|branch|phase|step|kind|area|"
    r"cp|classpath|module-path|constraint|gres|mail-type|mail-user|qos|time|mem|repo|exclude|include|format|output|states?|version)"
)
_USERS = frozenset(("root", "admin", "administrator", "user", "userid", "sa"))
_COLON_PAIR = lazy_pattern(r"([A-Za-z_][\w.+-]*:)(?!/)(.+)")
_PAIR = lazy_pattern(r"(-{0,2}[A-Za-z][\w./:-]*=)(?!=?\)?$).+", re.DOTALL)
_BASE64 = lazy_pattern(r"[\w+/-]{6,}={1,2}")
_HEADER = lazy_pattern(r"((?:-H|--header=)?([A-Za-z][\w-]*):\s*).+", re.DOTALL)
_HARMLESS_HEADER = lazy_pattern(
    r"(?i)accept.*|content-.*|user-agent|host|range|depth|destination|overwrite|cache-control|connection|expect|"
    r"referer|origin|if-.*|want-digest|digest|date|te|x-forwarded-.*"
)
# small and large letters, digits or signs mixed within a word, as in passwords and seldom in names of hosts and users
_MADE_UP = lazy_pattern(
    r"(?=[^\s/=:]*(?:[a-z][A-Z]|[A-Za-z]\d+[A-Za-z]|[A-Za-z\d][!#$^&*?~]))(?=[^\s]*[A-Za-z])[^\s/=:@(){}]{6,}"
)
_REPEATS = frozenset(("echo", "printf"))


def is_secret_name(name: str) -> bool:
    """Return True if a part of the name (`DB_PASS`, `masterUserPassword`, `--eab-hmac-key`) has to do with secrets."""
    return any(_SECRET_PART.fullmatch(part.lower()) for part in _PARTS.findall(name))


def is_option_for_a_name(option: str) -> bool:
    """Return True if the long option is known to take the name of a host, a user, an object and the like."""
    return len(option.lstrip("-")) > 2 and _ADDRESSING.fullmatch(option) is not None


def looks_like_password(word: str) -> bool:
    """Return True if small and large letters, digits or signs are mixed as in passwords."""
    return _MADE_UP.fullmatch(word) is not None


def find_secrets_by_position(words: Sequence[str]) -> list[int | None]:
    """For each word where the secret in it begins; None where nothing hints at one."""
    return list(_secret_start_of_each(words))


def _secret_start_of_each(words: Sequence[str]) -> Iterator[int | None]:
    about_secrets, sets = False, False
    names_user = any(_USER_OPTION.fullmatch(word) for word in words)
    # `-` alone is standard input, no option
    previous = ["", "", *("" if word == "-" else word for word in words)]
    for earlier, before, word, (program, behind) in zip(
        previous, previous[1:], words, find_word_places(words), strict=False
    ):
        if word in SEPARATORS or WHERE_PROGRAMS_START.fullmatch(word):
            about_secrets, sets = about_secrets and bool(program), sets and bool(program)
            yield None
            continue
        if behind == 0:
            about_secrets = bool(_PROGRAM.fullmatch(program)) or program in _REPEATS
            sets = _SETS.fullmatch(program) is not None and program not in WITHOUT_SECRETS
            yield None
            continue
        pair, header = _PAIR.fullmatch(word), _HEADER.fullmatch(word)
        if header and (before in ("-H", "--header") or word.startswith(("-H", "--header="))):
            yield None if _HARMLESS_HEADER.fullmatch(header[2]) or is_harmless_word(word) else header.end(1)
        elif pair and not is_harmless_word(word):
            value = word[pair.end(1) :]
            is_guarded = is_secret_name(pair[1]) or about_secrets or sets
            is_known = program in WITHOUT_SECRETS | LAUNCHERS or _takes_no_secret(pair[1][:-1], value)
            is_known &= pair[1].startswith("-") or not _MADE_UP.fullmatch(value)
            yield None if is_harmless_word(value) or (is_known and not is_guarded) else pair.end(1)
        elif word.startswith("-") and before != "<<<":
            attached = _ATTACHED.fullmatch(word) if names_user and program not in WITHOUT_SECRETS else None
            yield 2 if attached and not is_harmless_word(word) and not is_harmless_word(word[2:]) else None
        elif is_harmless_word(word) and not (
            (about_secrets or (before.startswith("-") and is_secret_name(before)))
            and "/" not in word
            and _PIN.search(word)
        ):
            yield None
        elif (
            about_secrets
            or (before.startswith("-") and is_harmless_word(word))
            or (sets and not before.startswith("-"))
        ):
            yield 0
        elif before.startswith("-") and "=" not in before:
            yield _secret_start_in_value(word, before, program)
        elif (
            earlier.startswith("-")
            and not before.startswith("-")
            and not is_harmless_word(before)
            and _secret_start_in_value(before, earlier, program) == 0
        ):
            yield 0  # a user and a password: `--auth me hunter2`
        else:
            yield _secret_start_in_argument(
                word, before if before == "<<<" or not earlier.startswith("-") else "", program
            )
        about_secrets |= not pair and not word.startswith("-") and "/" not in word and is_secret_name(word)
        sets |= _SETS.fullmatch(word.lower()) is not None and program not in WITHOUT_SECRETS


def _secret_start_in_value(word: str, option: str, program: str) -> int | None:
    """Where the secret begins in the value of an option, which is not harmless by its form."""
    if is_secret_name(option) or _BASE64.fullmatch(word) or holds_random_part(word):
        return 0
    if harmless_part_of_url(word):
        return None  # its path is left out
    pair = _USER_PAIR.fullmatch(word)
    is_pair = pair is not None and (_USER_LETTER.fullmatch(option) or pair[1][:-1].lower() in _USERS)
    if program in WITHOUT_SECRETS | LAUNCHERS:
        return None
    if program in KNOWN_PROGRAMS and not (program == "java" and _PASSWORD_LETTER.fullmatch(option)):
        return pair.end(1) if pair and is_pair else None  # what java starts is any program
    if (_PASSWORD_LETTER if " " in word else _LETTER).fullmatch(option):
        return 0
    if " " in word:
        return None  # a command or a text of its own
    if pair and is_pair:
        return pair.end(1)
    return None if _takes_no_secret(option, word) else 0


def _takes_no_secret(option: str, value: str) -> bool:
    """True where the option is one of those that take no secret. What has no dash is an assignment of a shell."""
    return (
        not option.startswith("-")
        or bool(_ADDRESSING.fullmatch(option))
        or is_harmless_option_value(option, value)
    )


def _secret_start_in_argument(word: str, before: str, program: str) -> int | None:
    """Where the secret begins in a word behind another one, which is not harmless by its form."""
    # `-genv REDIS_AUTH hunter2`
    has_secret_variable = _VARIABLE.fullmatch(before) is not None and is_secret_name(before)
    if (
        before == "<<<"
        or has_secret_variable
        or (before.lower() in _USERS and program not in WITHOUT_SECRETS)
        or _BASE64.fullmatch(word)
        or holds_random_part(word)
    ):
        return 0
    user_pair = _USER_PAIR.fullmatch(word)
    if user_pair and user_pair[1][:-1].lower() in _USERS:
        return user_pair.end(1)
    pair = _COLON_PAIR.fullmatch(word)
    if " " in word or program in KNOWN_PROGRAMS | WITH_SUBCOMMANDS | LAUNCHERS:
        return None
    if _MADE_UP.fullmatch(word):
        return 0  # behind a program that nobody knows: `push-metrics grafana hunTer2`
    return None if pair is None or is_harmless_word(pair[2]) else pair.end(1)

"""The settings that are no condition of a load, by `formats/neutral.toml`, and a command's other options as one."""

from functools import lru_cache

import msgspec

from hostdx.probes.imports.formats import load_format_toml

_MAX_LENGTH = 200


class NeutralSettings(msgspec.Struct, frozen=True):
    fields: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()


@lru_cache(maxsize=1)
def _load_neutral_settings() -> dict[str, NeutralSettings]:
    return load_format_toml("neutral.toml", dict[str, NeutralSettings])


def neutral_fields(import_kind: str) -> frozenset[str]:
    return _load_neutral_settings()[import_kind].fields


def significant_options(command: str | None, tool: str) -> str:
    """The options in a fixed order that only the command tells, without paths and neutral ones. "" where there is no
    command or no such option.
    """
    neutral = _load_neutral_settings()[tool]
    words = [word.strip("\"'") for word in (command or "").split()[1:]]
    kept_words: list[str] = []
    skip = False
    for word in words:
        is_option = word.startswith("-") and not word[1:2].isdigit()
        if skip and not is_option:
            skip = False
            continue
        skip = word in neutral.elsewhere
        if word in neutral.options or word in neutral.elsewhere or "/" in word:
            continue
        if is_option or not kept_words:
            kept_words.append(word)
        else:  # an option's value stays with it
            kept_words[-1] += f" {word}"
    return " ".join(sorted(word for word in kept_words if word.startswith("-")))[:_MAX_LENGTH]

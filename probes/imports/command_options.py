"""The options of a command line as one condition: what the tool was asked for and prints nowhere else."""

from collections.abc import Collection

_MAX_LENGTH = 200


def command_options(command: str | None, neutral: Collection[str], other_options: Collection[str]) -> str:
    """The command's options in a fixed order, without paths and `neutral` ones, and those `other_options`
    elsewhere with their values. "" where there is no command or no such option.
    """
    words = [word.strip("\"'") for word in (command or "").split()[1:]]
    kept_words: list[str] = []
    skip = False
    for word in words:
        is_option = word.startswith("-") and not word[1:2].isdigit()
        if skip and not is_option:
            skip = False
            continue
        skip = word in other_options
        if word in neutral or word in other_options or "/" in word:
            continue
        if is_option or not kept_words:
            kept_words.append(word)
        else:  # an option's value stays with it
            kept_words[-1] += f" {word}"
    return " ".join(sorted(word for word in kept_words if word.startswith("-")))[:_MAX_LENGTH]

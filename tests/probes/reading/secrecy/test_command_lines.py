"""Command lines of grid sites: how many secrets are kept, and how many harmless lines still tell what ran.

In `secrets.txt` a secret stands between « and »; in `harmless.txt` what an admin needs stands between ‹ and ›. The
lines were written by someone who had not read the code. When first measured, before the code was changed, 1.4 % of
the first 567 kept their secret in a recording, and 17.8 % with `--with-arguments`; of the next 244 0.4 % and 11.5 %;
of 550 more (29 November 2026, another author) 0.5 % either way, of the last 450 (the same day, a fourth author)
0.9 %. Of 280 harmless lines 92 % told what ran when first measured, of the last 220 89 %.
"""

import re
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hostdx.probes.reading.secrecy.harmless_words import (
    mask_all_but_names,
    mask_unknown_text,
    mask_unknown_words,
)
from hostdx.probes.reading.time_limit import limit_time
from tests.every_case import every_case

HERE = Path(__file__).parent
SECRETS = (HERE / "secrets.txt").read_text().splitlines()
HARMLESS = (HERE / "harmless.txt").read_text().splitlines()
MAX_KEPT, MIN_TOLD = 0.02, 0.95


def split_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


WAYS: dict[str, tuple[Callable[[str], str], bool]] = {
    "words in a recording": (lambda line: " ".join(mask_unknown_words(split_words(line))), True),
    "text in a recording": (mask_unknown_text, False),
    "words with arguments": (lambda line: " ".join(mask_all_but_names(split_words(line))), True),
    "text with arguments": (partial(mask_unknown_text, with_names=True), False),
}


def keeps_secret(secret: str, before: str, after: str) -> bool:
    """Half of the secret, and at least five characters of it, stands as often afterwards as before."""
    length = max(min(5, len(secret)), (len(secret) + 1) // 2)
    parts = {secret[i : i + length] for i in range(len(secret) - length + 1)}
    return any(0 < before.count(part) <= after.count(part) for part in parts)


@every_case("way", WAYS)
def test_few_secrets_are_kept(way: str) -> None:
    keep, as_words = WAYS[way]
    leaks = []
    for line in SECRETS:
        plain = re.sub("[«»]", "", line)
        before, after = " ".join(split_words(plain)) if as_words else plain, keep(plain)
        if any(keeps_secret(secret, before, after) for secret in re.findall("«(.*?)»", line)):
            leaks.append((line, after))
    assert len(leaks) <= MAX_KEPT * len(SECRETS), leaks


@every_case("way", WAYS)
def test_harmless_lines_tell_what_ran(way: str) -> None:
    keep, _ = WAYS[way]
    untold = []
    for line in HARMLESS:
        after = re.sub(r"[\s'\";]", "", keep(re.sub("[‹›]", "", line)))
        if not all(re.sub(r"[\s'\";]", "", mark) in after for mark in re.findall("‹(.*?)›", line)):
            untold.append((line, after))
    assert len(untold) <= (1 - MIN_TOLD) * len(HARMLESS), untold


@every_case(
    "part", ["'", "a:", "-u ", "a=", "\\", "echo ", "set_", "http://", "<a>", "-H x: ", "a/", "--a=b "]
)
def test_no_command_line_keeps_it_busy(part: str) -> None:
    for head in ("env ", "curl -u ", "echo "):
        text = head + part * (2_500 // len(part))
        for keep in (partial(mask_unknown_text, with_names=True), mask_unknown_text):
            with limit_time(2.5):
                keep(text)


@every_case(
    ("line", "masked"),
    [
        ("tool --reset-by hunter", "tool --reset-by ***"),
        ("tool --enrol=velvet", "tool --enrol=***"),
        ("tool -entry velvet", "tool -entry ***"),
        ("tool --host=node7 --output /a/b --count 12 --mode fast", ""),
        ("./enrol.sh grafana hunTer2", "./enrol.sh … ***"),
        ("./manage.sh export_data hunTer2", "./manage.sh export_data ***"),
        ("./set-passwd velvet", "./set-passwd ***"),
        ("./enrol.sh node17 worker cms_pool", "./enrol.sh node17 worker …"),
        ("srun --reservation spring ./a.out", ""),
    ],
)
def test_what_an_unknown_program_is_given_goes_with_arguments_too(line: str, masked: str) -> None:
    """No list knows each tool's option for a secret, so the options that take none are the list. Of its other words
    those stay whose form or place says that they are no secret.
    """
    text = mask_unknown_text(line, with_names=True).partition(" #")[0]
    assert text == " ".join(mask_all_but_names(line.split())) == (masked or line)

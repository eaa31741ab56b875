"""What hostdx promises to programs that read it, frozen as JSON files in `frozen/`.

Keys, numbers and enumerations are compared byte for byte. A text with two words or more is for people and may be
rewritten: it is replaced by "…". `HOSTDX_GOLDEN=write` writes the files anew; each line of the diff is a change that a
user's script can see.
"""

import json
import os
import re
from difflib import unified_diff
from pathlib import Path
from typing import get_args

from hostdx.probes.types import Json
from hostdx.scenarios.contract.verdict.verdict import Word

FROZEN = Path(__file__).with_name("frozen")
WORDS = re.compile(r"\S\s+\S")  # two words or more
ENUMERATIONS = frozenset(get_args(Word))  # of which some have two words


def without_sentences(value: Json) -> Json:
    """Return `value` with every text for people replaced by "…"; keys stay, also those with blanks."""
    if isinstance(value, str):
        return "…" if WORDS.search(value) and value not in ENUMERATIONS else value
    if isinstance(value, list):
        return [without_sentences(item) for item in value]
    if isinstance(value, dict):
        return {key: without_sentences(item) for key, item in value.items()}
    return value


def assert_frozen(name: str, value: Json) -> None:
    """Compare with `frozen/NAME.json`, or write that file where HOSTDX_GOLDEN=write asks for it."""
    path = FROZEN / f"{name}.json"
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("HOSTDX_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"{path} is missing: HOSTDX_GOLDEN=write writes it"
    change = list(
        unified_diff(path.read_text(encoding="utf-8").splitlines(), text.splitlines(), "frozen", "now", n=2)
    )
    assert not change, f"what programs read differs from {path}:\n" + "\n".join(change[:60])

"""BIOS settings as the vendor names them, from where they can be read without changing anything.

Only what is asked for is kept: a full answer also holds serial numbers, iSCSI secrets and the hashes of the setup
password.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

MAX_VALUE_CHARACTERS = 200  # characters; a setting's value is a word

Wanted: TypeAlias = Callable[[str], bool]


class BiosAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """Name -> value in the vendor's own words. `pending` holds what will be in force after the next start and
    differs.
    """

    source: str
    values: dict[str, str]
    vendor: str = ""
    model: str = ""
    pending: dict[str, str] = {}


def keep_wanted(answer: Mapping[str, object], wanted: Wanted) -> dict[str, str]:
    """The wanted ones of a parsed answer whose values are words, numbers or truth values."""
    return {
        name: str(value)[:MAX_VALUE_CHARACTERS]
        for name, value in answer.items()
        if isinstance(value, str | int | float) and wanted(name)
    }

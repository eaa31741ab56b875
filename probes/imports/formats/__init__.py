"""What is known of each tool's output as data: `NAME.toml` beside this module, one a format."""

from functools import lru_cache

import msgspec

from probes.safe_read import own_data


class FioSettings(msgspec.Struct, frozen=True):
    """`neutral`: options that change no load, by name or by its beginning. `zero_is_off`: 0 is as much as no option."""

    neutral: frozenset[str]
    neutral_beginnings: tuple[str, ...]
    zero_is_off: frozenset[str]
    alias: dict[str, str]


@lru_cache(maxsize=1)
def fio_settings() -> FioSettings:
    return own_data(__file__, "fio.toml", FioSettings)

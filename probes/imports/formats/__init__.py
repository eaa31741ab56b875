"""What is known of each tool's output as data: `NAME.toml` beside this module, one a format."""

import re
from functools import cached_property
from typing import TypeVar

import msgspec

from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.probes.imports.source import HEAD, ImportSource

T = TypeVar("T")


def load_format_toml(file: str, kind: type[T]) -> T:
    """The TOML file of that name, as this type."""
    return read_shipped_toml(__file__, file, kind)


class RecognisedFormat(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", dict=True):
    """What a file of a kind holds. `recognise`: patterns that all occur in its first bytes, as many as `within` says;
    0: anywhere in the file.
    """

    title: str
    recognise: tuple[str, ...] = ()
    within: int = HEAD

    @cached_property
    def compiled_patterns(self) -> list[re.Pattern[bytes]]:
        return [re.compile(text.encode(), re.MULTILINE) for text in self.recognise]

    def is_recognised(self, source: ImportSource) -> bool:
        text = source.head if self.within == HEAD else source.data[: self.within or None]
        return all(pattern.search(text) for pattern in self.compiled_patterns)

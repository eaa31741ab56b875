"""The forms of text that a secret has, whatever program it is given to: a table of pattern, what is kept, example."""

import re
from functools import cached_property
from pathlib import Path

import msgspec

from hostdx.probes.files.safe_read import read_regular
from hostdx.probes.reading.parsed_toml import MAX_BYTES, parse_toml

MASK = "***"


class SecretForm(msgspec.Struct, frozen=True, dict=True):
    """`regex` is replaced by `kept`, as `example` is by `masked_example`; what its groups hold is kept.

    `files`: a pattern of the paths that it is for; "" for all.
    """

    name: str
    pattern: str
    example: str
    masked_example: str
    kept: str = rf"\1{MASK}"
    files: str = ""

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(_join_lines(_fill_fragments(self.pattern)))

    def mask(self, text: str) -> str:
        """Return the text with what is kept of each match in its place."""
        # `re` would read `kept` anew for each text, which takes as long as the search
        return self.regex.sub(lambda match: match.expand(self.kept), text)


class _SecretFormTable(msgspec.Struct, frozen=True):
    fragment: dict[str, str]
    form: tuple[SecretForm, ...]
    setting: tuple[SecretForm, ...]
    line: tuple[SecretForm, ...]


def _fill_fragments(pattern: str) -> str:
    return re.sub("%([A-Z]+)%", lambda hole: _TABLE.fragment[hole[1]], pattern)


def _join_lines(pattern: str) -> str:
    """A long pattern stands in several lines of the file."""
    return "".join(pattern.splitlines())


_FILE = Path(__file__).with_name("secret_forms.toml")
_TABLE = msgspec.convert(parse_toml(_FILE, read_regular(str(_FILE), MAX_BYTES)), _SecretFormTable)
SECRET_FORMS, SETTING_FORMS, LINE_FORMS = _TABLE.form, _TABLE.setting, _TABLE.line
NAME, ENDING = (_join_lines(_TABLE.fragment[name]) for name in ("NAME", "ENDING"))

"""Why a file is not imported. No content of it is quoted: its name may lead to what only root reads."""

import re
from functools import lru_cache
from typing import Literal

import msgspec

from probes.imports.formats import load_format
from probes.imports.model import ImportRefusedError
from probes.imports.source import ImportSource
from probes.units import format_size

_NAMED: tuple[tuple[bytes, str, str], ...] = (
    (
        b"\x00\x05\x16\x07",
        "is an AppleDouble file that macOS left beside the result",
        "import the file without ._",
    ),
    (b"darshan log", "is a Darshan file", "import the log itself"),
    (b"SQLite format 3", "is a database", "export the result as JSON or text"),
    (b"\x89HDF", "is an HDF5 file", "export the result as JSON or text"),
    (b"\xef\xbe\xed\xfe", "is a raw file of atop", "convert it: atop -r FILE -P ALL > result.txt"),
    (b"\x7fELF", "is a program", "import its output"),
    (b"%PDF", "is a PDF", "import the text or JSON it was made from"),
)
_HINTS = ((b"No NUMA available on this system", "the host has one memory node: there is nothing to import"),)
_FIO_TEXT = re.compile(rb"^\S.{0,200}: \(g(?:roupid)?=\d+", re.MULTILINE)
_JSON = re.compile(rb"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\d\]-])")
_SYSSTAT_BINARY = (b"\x96\xd5", b"\xd5\x96")


class OtherTool(msgspec.Struct, frozen=True):
    """A tool that is recognised and not imported: `formats/other_tools.toml`."""

    name: str
    pattern: str
    kind: Literal["not read", "state", "form"] = "not read"
    instead: str = ""

    @property
    def refusal_error(self) -> ImportRefusedError:
        match self.kind:
            case "state":
                hint = "`hostdx triage` reads the state of a live host"
                return ImportRefusedError(f"is {self.name}'s output: no result that hostdx compares", hint)
            case "form":
                return ImportRefusedError(f"is {self.name}'s output in a form that is not read", self.instead)
        return ImportRefusedError(f"is {self.name}; not read", "`hostdx import --help` lists what is")


@lru_cache(maxsize=1)
def _other_tools() -> list[tuple[re.Pattern[bytes], OtherTool]]:
    tools = load_format("other_tools.toml", dict[str, list[OtherTool]])["tool"]
    return [(re.compile(tool.pattern.encode(), re.MULTILINE), tool) for tool in tools]


def refuse_unreadable(source: ImportSource) -> None:
    """Raises ImportRefusedError for what no kind can be: empty, packed, another program's binary."""
    if not source.head.strip() and not source.data.strip():  # of a large file no copy is made
        raise ImportRefusedError("is empty", "import the file that the tool wrote")
    if source.packer_names is not None:
        name, command = source.packer_names
        raise ImportRefusedError(f"is compressed ({name})", f"unpack it first: {command}")
    for magic, why, hint in _NAMED:
        if source.data.startswith(magic):
            raise ImportRefusedError(why, hint)
    if source.data[:2] in _SYSSTAT_BINARY:
        raise ImportRefusedError("is a binary sysstat file", "convert it: sadf -j FILE -- -A > result.json")


def unknown_kind_error(source: ImportSource) -> ImportRefusedError:
    if source.is_binary:
        return ImportRefusedError(
            "is binary and of no kind that can be imported", "`hostdx import --help` lists the kinds"
        )
    for pattern, tool in _other_tools():
        if pattern.search(source.head):
            return tool.refusal_error
    if source.head.lstrip().startswith((b"fio: ", b"fio-")) or _FIO_TEXT.search(source.head):
        return ImportRefusedError(
            "holds no fio result, but text that fio prints", "run fio with --output-format=json"
        )
    if source.contains_all(b"[ior-easy]", b"[mdtest-easy]"):
        return ImportRefusedError(
            "is the configuration of an IO500 run, not its result", "import result_summary.txt"
        )
    for words, hint in _HINTS:
        if words in source.head:
            return ImportRefusedError(
                f"is {format_size(source.size)} of text, and of no kind that can be imported", hint
            )
    if _JSON.match(source.head):
        return ImportRefusedError(
            "is JSON of no kind that can be imported", "`hostdx import --help` lists the kinds"
        )
    return ImportRefusedError(
        f"is {format_size(source.size)} of text, and of no kind that can be imported",
        "`hostdx import --help` lists the kinds",
    )

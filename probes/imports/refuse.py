"""Why a file is not imported. No content of it is quoted: its name may lead to what only root reads."""

import re

from probes.imports.model import Refused
from probes.imports.source import Source
from probes.units import size

_NAMED: tuple[tuple[bytes, str, str], ...] = (
    (
        b"\x00\x05\x16\x07",
        "is an AppleDouble file that macOS left beside the result",
        "import the file without ._",
    ),
    (b"darshan log", "is a Darshan file", "import the log itself"),
    (b"SQLite format 3", "is a database", "export the result as JSON or text"),
    (b"\x89HDF", "is an HDF5 file", "export the result as JSON or text"),
    (b"\x7fELF", "is a program", "import its output"),
    (b"%PDF", "is a PDF", "import the text or JSON it was made from"),
)
_HINTS = (
    (b"No NUMA available on this system", "the host has one memory node: there is nothing to import"),
    (b"Machine (", "run lstopo --of xml FILE"),
    (b"Connecting to host", "run iperf3 with -J"),
)
# Known, and not read: the program by what only it prints.
_NOT_READ: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (
        re.compile(
            rb"Version\s+\d\.\d+\S*\s+-+Sequential Output-+|^(?:name,)?1\.9\d[a-z]?,1\.9\d", re.MULTILINE
        ),
        "bonnie++",
    ),
    (re.compile(rb"Iozone: Performance Test of File I/O"), "IOzone"),
    (re.compile(rb"\d+\+\d+ records out\s"), "dd"),
    (re.compile(rb"Timing (?:buffered|cached|O_DIRECT) (?:disk )?reads:"), "hdparm"),
    (re.compile(rb"dbench version \d"), "dbench"),
    (re.compile(rb"Filebench Version"), "Filebench"),
    (re.compile(rb"(?:TCP|UDP) (?:STREAM|RR|REQUEST/RESPONSE) TEST from"), "netperf"),
    (re.compile(rb"^transaction type: ", re.MULTILINE), "pgbench"),
    (re.compile(rb"^pgbench \(|^starting vacuum\.\.\.", re.MULTILINE), "pgbench"),
    (re.compile(rb"^Vdbench distribution:|Vdbench summary report", re.MULTILINE), "Vdbench"),
    (re.compile(rb"^sockperf(?:\[\w+\])?: ", re.MULTILINE), "sockperf"),
    (re.compile(rb"^--- .{1,200} ioping statistics ---|^\d.{0,20} <<< .{1,200} request=\d", re.MULTILINE), "ioping"),
    (re.compile(rb"^Total time run:\s+[\d.]+[\s\S]{0,200}^Total (?:writes|reads) made:", re.MULTILINE), "rados bench"),
    (re.compile(rb"SPEC(?:int|fp|rate|speed|\(R\)|r)?[\w(). ]{0,20}CPU ?(?:2006|2017|20\d\d)|^spec\.cpu20", re.MULTILINE), "SPEC CPU"),
    (re.compile(rb"Phoronix Test Suite v?\d|<PhoronixTestSuite>|phoronix-test-suite"), "Phoronix Test Suite"),
)
_FIO_TEXT = re.compile(rb"^\S.{0,200}: \(g(?:roupid)?=\d+", re.MULTILINE)
_JSON = re.compile(rb"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\d\]-])")
_SYSSTAT_BINARY = (b"\x96\xd5", b"\xd5\x96")


# What tells the state of a host or a disk and measures nothing that could be compared.
_STATES: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"^smartctl \d|\"smartctl\"\s*:", re.MULTILINE), "smartctl"),
    (re.compile(rb"^Smart Log for NVME device|\"(?:percent_used|percentage_used)\"\s*:|^NVME Identify", re.MULTILINE), "nvme-cli"),
    (re.compile(rb"^turbostat version|^(?:usec\s+Time_Of_Day_Seconds\s+)?(?:Package\s+|Die\s+|Node\s+)*Core\s+CPU\s.{0,80}(?:Avg_MHz|Bzy_MHz)", re.MULTILINE), "turbostat"),
    (re.compile(rb"^\S+:\S* mounted on \S+:\s*$[\s\S]{0,400}(?:rpc bklog|ops/s)", re.MULTILINE), "nfsiostat"),
)
# A known tool, in a form that is not read, and the option that makes the one that is.
_OTHER_FORMS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (
        re.compile(rb"hepscore(?:\.\w+)?\s*(?:\[|-|:).{0,40}(?:INFO|DEBUG)|^.{0,60}\[(?:INFO|DEBUG)\].{0,40}hepscore", re.MULTILINE | re.IGNORECASE),
        "is hep-score's log",
        "import the result file that hep-score writes: hep-score -o result.json OUTDIR",
    ),
)


def unreadable(source: Source) -> None:
    """Raises Refused for what no kind can be: empty, packed, another program's binary."""
    if not source.head.strip() and not source.data.strip():  # of a large file no copy is made
        raise Refused("is empty", "import the file that the tool wrote")
    if source.packed is not None:
        name, command = source.packed
        raise Refused(f"is compressed ({name})", f"unpack it first: {command}")
    for magic, why, hint in _NAMED:
        if source.data.startswith(magic):
            raise Refused(why, hint)
    if source.data[:2] in _SYSSTAT_BINARY:
        raise Refused("is a binary sysstat file", "convert it: sadf -j FILE -- -A > result.json")


def unknown(source: Source) -> Refused:
    if source.binary:
        return Refused(
            "is binary and of no kind that can be imported", "`hostdx import --help` lists the kinds"
        )
    other = next((name for pattern, name in _NOT_READ if pattern.search(source.head)), None)
    if other is not None:
        return Refused(f"is {other}; not read", "`hostdx import --help` lists what is")
    if state := next((name for pattern, name in _STATES if pattern.search(source.head)), None):
        return Refused(
            f"is {state}'s output: no result that hostdx compares", "`hostdx triage` reads the same of a live host"
        )
    for pattern, why, hint in _OTHER_FORMS:
        if pattern.search(source.head):
            return Refused(why, hint)
    if source.head.lstrip().startswith((b"fio: ", b"fio-")) or _FIO_TEXT.search(source.head):
        return Refused("holds no fio result, but text that fio prints", "run fio with --output-format=json")
    if source.has(b"[ior-easy]", b"[mdtest-easy]"):
        return Refused("is the configuration of an IO500 run, not its result", "import result_summary.txt")
    for words, hint in _HINTS:
        if words in source.head:
            return Refused(f"is {size(source.size)} of text, and of no kind that can be imported", hint)
    if _JSON.match(source.head):
        return Refused("is JSON of no kind that can be imported", "`hostdx import --help` lists the kinds")
    return Refused(
        f"is {size(source.size)} of text, and of no kind that can be imported",
        "`hostdx import --help` lists the kinds",
    )

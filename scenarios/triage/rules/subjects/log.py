"""Rows about the kernel's log: the devices that its lines name."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import LineIndex, lazy_pattern
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.kernel_log import WARNING, LogLine, read_kernel_log
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.knowledge.ata_quirks import ata_quirks_of
from hostdx.scenarios.triage.knowledge.kernel_lines import harmless_line_patterns, kernel_line_patterns
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.read import kernel_log_index
from hostdx.scenarios.triage.rules.table import Reader, SubjectRow

T = TypeVar("T")
MAX_LINE_CHARACTERS = 300
_WITHOUT_TIMES = Absent("the lines have no times", "unsupported")
HOUR_SECONDS = 3600.0
START_SECONDS = 120.0
MAX_REPORT_SECONDS, MAX_REPORT_LINES = 1.0, 20  # between two lines about one fault
MAX_SPEAKER_WORDS = 3  # what is longer before its colon is a sentence, not a driver's name
_DISK = (
    r"(?!vdev\b|sdma\d)(?:(?:sd|vd|xvd)[a-z]{1,4}|nvme\d+(?:c\d+)?n\d+|dm-\d+|md\d+|mmcblk\d+"
    r"|rbd\d+|drbd\d+|bcache\d+)"
)
_ADDRESS = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
# By kind: of a line that names a card by its own name and by its bus address, its own name counts.
_NAMES = tuple(
    lazy_pattern(pattern)
    for pattern in (
        r"\b(?:[CU]E .*? on|fru_text:) ([^\s(](?:[^(\n]*[^\s(])?)(?= *\(|$)",
        r"EDAC .*\blabel \"([^\"]+)\"",
        r"(?:oom_memcg=|Memory cgroup out of memory: .*?|as a result of limit of )(/[^,\s]+)",
        r"^md/raid\w*:(md\w+):",
        r"^drbd (\S+?)(?:/\d+)?[ :]",
        rf"\b({_DISK}(?:p?\d+)?)\b",
        r"NETDEV WATCHDOG: (?!CPU)(\S+)|\b((?:en[opsxP]|eth|ib[ps]?|bond|wl|hsn|em|p\dp)\w*\d\w*)(?=[:\s(]| )",
        r"\b(nvme\d+|ata\d+(?:\.\d\d)?|mpt[23]sas(?:_cm)?\d+|mlx[45]_\d+|hfi1_\d+"
        r"|card\d+|(?:scsi )?host\d+|session\d+)\b",
        r"\bsd (\d+:\d+:\d+:\d+):|(?:thin: |swap-device \()(\d+:\d+)",
        r"vdev=(?:/dev/(?:disk/by-\w+/)?)?(\S+?)(?:-part\d+)? ",
        r"pids controller in (/\S+)",
        r"Request device \[((?:0000:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\]",
        rf"(?<![\w:])(?:PCI:)?({_ADDRESS}|0000:[0-9a-f]{{2}}:[0-9a-f]{{2}})(?![\w.]|:[0-9a-f])",
        r"(?i)^(?!.*(?:HANDLING MCE|Machine Check Event)).*?\b(?:EDAC )?(mc\d+)\b",
        r"libceph(?: \([^)]*\))?: ((?:osd|mds|mon)\d+) ",
        r"(?:server|mds|osd|ceph:?) (\S+?)[,:]? (?:not responding|hung|session lost|OK|down)",
        r"[Ll]ustre\w*: (\S+-(?:OST|MDT)\w+)",
        r"\b(\d{1,3}(?:\.\d{1,3}){3}@(?:o2ib|tcp|kfi|gni)\d*)",
    )
)


def rows_of_log_lines(
    host: Host,
    pattern: str,
    worse: str = "",
    words: Sequence[str] = (),
    settled: str = "",
    by_disk: bool = False,
) -> list[SubjectRow] | Absent:
    """One row per device that the matching lines name, one for those that name none; without any, one of no lines.

    A group `name` in the pattern names the row. `by_disk`: what names the same disk, its port, its partitions and its
    name of the maker, is one row.
    `lines`: how many; `last`: the last of them; `worse`: how many are of the worse kind; `worst`: the last of that
    kind, else the last; `in_an_hour`: how many came in the hour of most; `last_s`: seconds from boot to the last;
    `word`: what finds them again; `disk`: the whole disk, where one is named; `over`: a later line of the device meets
    `settled`.
    """
    log = host.compute_once(read_kernel_log)
    if isinstance(log, Absent):
        return log
    index = host.compute_once(kernel_log_index)
    matching = index.find_matches([(pattern, words)], range(len(index.lines)))
    if not matching:
        return _rows_by_device(host, log.source, {}, lambda _: False)
    is_worse = re.compile(worse).search if worse else None
    is_settling = re.compile(settled).search if settled else None
    lines: dict[str, list[str]] = {}
    times: dict[str, list[float]] = {}
    over: set[str] = set()
    for number, message in (
        enumerate(index.lines) if is_settling else ((n, index.lines[n]) for n in sorted(matching))
    ):
        if number in matching:
            for name in _devices_named_by(pattern, message) or ("",):
                lines.setdefault(name, []).append(message)
                if (time_s := log.lines[number].time_s) is not None:
                    times.setdefault(name, []).append(time_s)
                over.discard(name)
        elif is_settling is not None and is_settling(message):
            over.update(_devices_named_by(settled, message))
    if by_disk:
        kept_names = _names_by_disk(host, lines)
        lines, times = _merged_lists(lines, kept_names), _merged_lists(times, kept_names)
    return _rows_by_device(
        host, log.source, lines, lambda message: bool(is_worse and is_worse(message)), over, times
    )


def _names_by_disk(host: Host, names: Iterable[str]) -> dict[str, str]:
    """By name the one that stays: the disk's own for what names one disk; a name that is alone, such as that of a
    partition, is not changed.
    """
    alike: dict[str, list[str]] = {}
    for name in names:
        disk = _disk_of_kernel_name(host, name)
        alike.setdefault(name if isinstance(disk, Absent) else str(disk), []).append(name)
    return {
        name: disk if len(all_names) > 1 else name for disk, all_names in alike.items() for name in all_names
    }


def _merged_lists(lists: Mapping[str, list[T]], kept_names: Mapping[str, str]) -> dict[str, list[T]]:
    merged: dict[str, list[T]] = {}
    for name, items in lists.items():
        merged.setdefault(kept_names[name], []).extend(items)
    return merged


def _devices_named_by(pattern: str, message: str) -> tuple[str, ...]:
    """What the pattern's group `name` holds, where it has one; else the devices that the line names."""
    own = re.search(pattern, message) if "(?P<name>" in pattern else None
    return tuple(filter(None, (own["name"],))) if own else named_devices(message)


def rows_of_unlisted_lines(host: Host, listed: Mapping[str, Sequence[str]]) -> list[SubjectRow] | Absent:
    """One row per driver and device of the lines that none of these patterns meets and that are not harmless.

    `listed`: patterns, each with the words of which a line needs one.
    A line is taken up by its own priority, or by its words of a fault or a limit.
    """
    log = host.compute_once(read_kernel_log)
    if isinstance(log, Absent):
        return log
    index = host.compute_once(kernel_log_index)
    loud, settled, late = set[int](), set[int](), set[int]()
    for number, line in enumerate(log.lines):
        if line.priority is not None and line.priority <= WARNING:
            loud.add(number)
        # what a start says at a lower priority is about what it finds, not about what fails
        if line.time_s is not None and line.time_s >= START_SECONDS:
            late.add(number)
        if line.priority is None or number in late:
            settled.add(number)
    faulty_lines = index.find_matches(kernel_line_patterns("fault", "limit"), settled)
    faulty_lines |= index.find_matches(kernel_line_patterns("late"), late)
    heads = [number for number in sorted(loud | faulty_lines) if not _BODY.match(index.lines[number])]
    few = LineIndex([index.lines[number] for number in heads])  # little to search, by hundreds of patterns
    known_places = few.find_matches((*harmless_line_patterns(), *listed.items()), range(len(heads)))
    unlisted = {number for place, number in enumerate(heads) if place not in known_places}
    around = {n + step for n in unlisted for step in range(-MAX_REPORT_LINES, MAX_REPORT_LINES + 1)}
    listed_numbers = index.find_matches(listed.items(), around)
    unlisted -= {n for n in unlisted if any(_tell_same_fault(log.lines, (n, m)) for m in listed_numbers)}
    lines: dict[str, list[str]] = {}
    for number in sorted(unlisted):
        lines.setdefault(driver_and_device_of(index.lines[number]), []).append(index.lines[number])
    # `igc` beside `igc 0000:0a:00.0 eno1` is the same
    for driver in [name for name in lines if " " not in name]:
        if len(of_driver := [name for name in lines if name.startswith(f"{driver} ")]) == 1:
            lines[of_driver[0]] += lines.pop(driver)
    without_priority = {number for number in unlisted if log.lines[number].priority is None}
    grave_numbers = index.find_matches(kernel_line_patterns("grave"), loud & unlisted | without_priority)
    grave_numbers |= _repeated_numbers(log.lines, unlisted & faulty_lines)
    grave = {index.lines[number] for number in grave_numbers}
    return _rows_by_device(host, log.source, lines, grave.__contains__)


MIN_REPEATS = 3
_NUMBERS = lazy_pattern(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f]*\b|\d+")


def line_kind(message: str) -> str:
    """Return the line without its numbers: lines of one kind differ in them alone."""
    return _NUMBERS.sub("#", message)


def _repeated_numbers(lines: Sequence[LogLine], numbers: Iterable[int]) -> set[int]:
    """Return the lines that came again and again, numbers apart, and still when the start was long over."""
    by_kind: dict[str, list[int]] = {}
    for number in numbers:
        by_kind.setdefault(line_kind(lines[number].message), []).append(number)
    return {
        number
        for kind in by_kind.values()
        if len(kind) >= MIN_REPEATS and max(lines[n].time_s or 0.0 for n in kind) > START_SECONDS
        for number in kind
    }


def _tell_same_fault(lines: Sequence[LogLine], line_numbers: Sequence[int]) -> bool:
    """True of two lines by one driver, or about one device, of the same moment: a fault is told in several lines."""
    times = [time_s for number in line_numbers if (time_s := lines[number].time_s) is not None]
    first, second = (
        {driver_and_device_of(lines[n].message), *named_devices(lines[n].message)} - {"the kernel"}
        for n in line_numbers
    )
    if len(times) == 2 and abs(times[0] - times[1]) > MAX_REPORT_SECONDS:
        return False
    return abs(line_numbers[0] - line_numbers[1]) <= MAX_REPORT_LINES and not first.isdisjoint(second)


# What a report of the kernel's holds below its first line: stacks, registers, tables; and lines of no driver.
_BODY = lazy_pattern(
    r"\s|Call Trace|RIP:|RSP:|R[A-D0-9]\w?:|RAX|RDX|RBP|CR\d:|FS:|Code:|\[<|<|---\[|CPU: \d|Hardware name"
    r"|Modules linked|Workqueue:|task:|INFO: task|Tainted|ret_from|\? |Mem-Info|Node \d|Normal\b|DMA(?:32)?\b"
    r"|active_anon|lowmem|\d|\w+\+0x|={3}|\*{3}"
)
_LOUDNESS = lazy_pattern(r"^(?:WARNING|ERROR|Error|INFO|NOTICE|BUG|PANIC|CRITICAL): ")
_SPEAKER = lazy_pattern(
    rf"((?:\{{\d+\}})?\[?[\w./-]+\]?(?:[ \[]{_ADDRESS}\]?)?(?: [\w.-]*\d[\w.-]*)?)(?:\s*\(.{{1,60}}?\))?: "
)


def driver_and_device_of(message: str) -> str:
    """The driver and the device that a line begins with, `mlx5_core 0000:c1:00.0`; else the device that it names."""
    message = _LOUDNESS.sub("", message)
    speaker_match = _SPEAKER.match(message)
    names = named_devices(message)
    if speaker_match is None:
        beginning = message.partition(":")[0].strip()
        return (
            names[0]
            if names
            else beginning
            if 0 < len(beginning.split()) <= MAX_SPEAKER_WORDS
            else "the kernel"
        )
    speaker = speaker_match[1]
    return speaker if not names or names[0] in speaker else f"{speaker} {names[0]}"


def _rows_by_device(
    host: Host,
    source: str,
    lines: Mapping[str, Sequence[str]],
    is_worse: Callable[[str], bool],
    over: Collection[str] = (),
    times: Mapping[str, Sequence[float]] = {},
) -> list[SubjectRow]:
    """One row per key of `lines`, a device; "" is no device, and gives the only row where there are no lines."""
    if len(lines) > 1 and not any(map(is_worse, lines.get("", ()))):
        # what stands beside lines that name their device is mostly of the same
        lines = {name: messages for name, messages in lines.items() if name}
    rows = []
    for name, messages in (lines or {"": ()}).items():
        last = shorten_line(messages[-1]) if messages else ""
        worse = list(filter(is_worse, messages))
        columns: dict[str, Value | Reader] = {
            "name": name,
            "lines": len(messages),
            "worse": len(worse),
            "last": last,
            "worst": shorten_line(worse[-1]) if worse else last,
            "in_an_hour": partial(_max_lines_in_an_hour, times[name]) if name in times else _WITHOUT_TIMES,
            "last_s": times[name][-1] if name in times else _WITHOUT_TIMES,
            "over": name in over,
            "word": name if name and name in last else _text_before_first_number(last),
            "disk": partial(_disk_of_kernel_name, host, name),
            "source": source,
        }
        rows.append(SubjectRow(name, columns))
    return rows


def shorten_line(line: str) -> str:
    """Return the line, or the beginning and the end of a long one: a chain of errors ends with its cause."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    return f"{line[: MAX_LINE_CHARACTERS * 2 // 3]} ... {line[-MAX_LINE_CHARACTERS // 3 :]}"


def _max_lines_in_an_hour(times: Sequence[float]) -> int:
    first, most = 0, 0
    for number, time_s in enumerate(times):
        while time_s - times[first] > HOUR_SECONDS:
            first += 1
        most = max(most, number - first + 1)
    return most


def _text_before_first_number(message: str) -> str:
    """The beginning of a line up to its first number: what its like share."""
    beginning = re.match(r"\D{4,60}", message)
    return (beginning[0] if beginning else message[:40]).strip()


def _disk_of_kernel_name(host: Host, name: str) -> Value:
    """The disk that a kernel's name belongs to: a partition's, an NVMe controller's first, an ATA port's."""
    devices = block_devices(host)
    if name in devices:
        return devices[name].parent or name
    for disk in devices.values():
        inside = f"/{name.partition('.')[0]}/" in f"{disk.path}/"
        if name and not disk.parent and (inside or re.fullmatch(rf"{re.escape(name)}n\d+", disk.name)):
            return disk.name
    by_id = host.read_link(f"/dev/disk/by-id/{name}") if "_" in name else ""
    if is_present(by_id) and (device := devices.get(by_id.rpartition("/")[2])):
        return device.parent or device.name
    # a captured tree has no /dev: the maker's name with its serial number, of a model that is here once
    alike = [d.name for d in devices.values() if not d.parent and "_" in name and _is_udev_name_of(name, d)]
    if len(alike) == 1:
        return alike[0]
    return Absent(f"which disk {name or 'it'} is cannot be told", "unsupported")


def _is_udev_name_of(name: str, device: BlockDevice) -> bool:
    """Return whether it is a name of udev's for a disk of this model: `ata-Samsung_SSD_860_EVO_250GB_S3YJ...`."""
    model = "_".join(device.model.split()) if is_present(device.model) else ""
    return len(model) >= 6 and f"-{model}" in name


def named_devices(message: str) -> tuple[str, ...]:
    """The devices that a line names, by the first kind of name that is in it."""
    for kind in _NAMES:
        if names := [next(filter(None, name_match.groups())) for name_match in kind.finditer(message)]:
            # NVIDIA's driver leaves the function out; a graphics card is the first
            device_names = (
                f"{name}.0" if re.fullmatch(r"0000:[0-9a-f]{2}:[0-9a-f]{2}", name) else name for name in names
            )
            return tuple(dict.fromkeys(device_names))
    return ()


_PORT = lazy_pattern(r"(.*)/(ata(\d+))/")
_QUIRK_LINES = {
    "noncq": r"FPDMA QUEUED|Unaligned write command|SError|hard resetting",
    "noncqtrim": r"SEND FPDMA QUEUED",
    "nolpm": r"SError|hard resetting|link is slow to respond|COMRESET failed|SATA link down",
}


def ata_quirk_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per SATA disk that the kernel has a rule of its own for (knowledge/ata_quirks.toml): `lines` of its port
    speak of that fault, `last` is the last of them; `applied`: the kernel says that it follows the rule.
    """
    rows = []
    for disk in block_devices(host).values():
        port = None if disk.parent else _PORT.match(disk.path)
        if port is None or isinstance(disk.model, Absent):
            continue
        vendor = host.read_integer(f"{port[1]}/vendor")
        quirks = ata_quirks_of(disk.model, vendor if is_present(vendor) else None)
        log = host.compute_once(read_kernel_log) if quirks else None
        if isinstance(log, Absent):
            return log
        of_port = re.compile(rf"\b{port[2]}(?:\.\d\d)?: |\[{disk.name}\]")
        own = [line.message for line in log.lines if of_port.search(line.message)] if log else []
        for quirk in quirks:
            told = [message for message in own if re.search(_QUIRK_LINES[quirk.force], message)]
            applied = rf"applying (?:horkages|quirks):.*\b{quirk.force}"
            columns: dict[str, Value | Reader] = {
                "name": disk.name,
                "model": disk.model,
                "port": int(port[3]),
                "lines": len(told),
                "last": shorten_line(told[-1]) if told else "",
                "applied": any(re.search(applied, message) for message in own),
                "fails": quirk.fails,
                "force": quirk.force,
                "since": quirk.since,
                "origin": quirk.source,
                "source": log.source if log else "",
            }
            rows.append(SubjectRow(f"{disk.name} ({quirk.force})", columns))
    return rows


# Words of a line at fault; what every start says of the handling of errors is none.
FAULT = (
    r"(?i)(?!.*\b(?:no|0|without) (?:error|fault|fail)s?)"
    r".*\b(?:error|fail(?:ed|ure|ing)?|fault(?:ed|y)?|time(?:d[- ]?out|out)|abort(?:ed|ing)?|hung|hang|stuck|"
    r"stall(?:ed)?|degraded|uncorrect\w*|unrecover\w*|corrupt\w*|offline|dead|lost|overheat\w*|throttl\w*|fatal|panic|poison\w*|"
    r"unresponsive|not responding|reset(?:ting)?)\b"
)


def log_rows(host: Host) -> list[SubjectRow] | Absent:
    """What the log says of any device in words of a fault."""
    return rows_of_log_lines(host, FAULT)

"""What a CPU's pipeline did with its slots (top-down analysis, level 1: Yasin, ISPASS 2014): the
counters of this CPU that tell it, and their shares. Standard library only.

Intel and Arm describe theirs in sysfs; AMD's since Zen 4 are those of the kernel's tools/perf/pmu-events/arch/x86/
amdzen4 and amdzen5, pipeline.json (Linux 6.17). In most virtual machines there are none.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hostdx.probes.engine.command.process_tree import read_content_or_empty
from hostdx.probes.number_text import parse_hexadecimal, parse_real, parse_unsigned

DEVICES = "/sys/bus/event_source/devices"
RETIRING, FRONT, BACK, BAD = "retiring", "front-end bound", "back-end bound", "bad speculation"
SHARES = (RETIRING, FRONT, BACK, BAD)
# Intel since Ice Lake: the metrics count only in a group that `slots` leads, and sum up to it.
_METRICS = ("slots", "topdown-retiring", "topdown-fe-bound", "topdown-be-bound", "topdown-bad-spec")
_RECOVERY = "topdown-recovery-bubbles"  # which may be none
_OLD_INTEL = (
    "topdown-total-slots",
    "topdown-slots-retired",
    "topdown-slots-issued",
    "topdown-fetch-bubbles",
    _RECOVERY,
)
_ARM = ("stall_slot_frontend", "stall_slot_backend", "stall_slot", "op_retired", "op_spec", "cpu_cycles")
_ARM_FEW = ("stall_frontend", "stall_backend", "cpu_cycles")
_FORMS = (("metrics", _METRICS), ("old Intel", _OLD_INTEL), ("Arm", _ARM), ("Arm, few", _ARM_FEW))
_AMD = {
    "unhalted": 0x76,
    "retired": 0xC1,
    "dispatched": 0x07AA,
    "front": 0x1_0000_01A0,
    "back": 0x1_0000_1EA0,
}
_AMD_WIDTH = {25: 6, 26: 8}  # slots a cycle by family: Zen 4, Zen 5


class PerfEvent(NamedTuple):
    """As perf_event_open(2) takes it; `leader`: the event whose group it counts in."""

    kind: int
    config: int
    leader: str = ""


class TopDown(NamedTuple):
    """`width`: slots a cycle; `scales` of the counts, where not 1."""

    form: str
    events: dict[str, PerfEvent]
    width: int = 1
    scales: Mapping[str, float] = {}

    def slot_shares(self, counts: Mapping[str, float | None]) -> dict[str, float]:
        """Of all slots; empty where a count is missing or they make no sense together."""
        scaled_counts = {
            name: count * self.scales.get(name, 1.0) for name in self.events if (count := counts.get(name))
        }
        if len(scaled_counts) < len([name for name in self.events if name != _RECOVERY]):
            return {}
        parts = _FORMULAS[self.form](scaled_counts, self.width)
        return parts if all(-0.05 <= share <= 1.05 for share in parts.values()) else {}


def _new_intel_shares(c: Mapping[str, float], _: int) -> dict[str, float]:
    total = sum(c[name] for name in _METRICS[1:])
    return dict(zip(SHARES, (c[name] / total for name in _METRICS[1:]), strict=True))


def _old_intel_shares(c: Mapping[str, float], _: int) -> dict[str, float]:
    slots, retired, issued, bubbles, recovery = (c.get(name, 0.0) for name in _OLD_INTEL)
    front, bad = bubbles / slots, (issued - retired + recovery) / slots
    return {RETIRING: retired / slots, FRONT: front, BACK: 1 - front - bad - retired / slots, BAD: bad}


def _amd_shares(c: Mapping[str, float], width: int) -> dict[str, float]:
    slots = width * c["unhalted"]
    return {
        RETIRING: c["retired"] / slots,
        FRONT: c["front"] / slots,
        BACK: c["back"] / slots,
        BAD: (c["dispatched"] - c["retired"]) / slots,
    }


def _arm_shares(c: Mapping[str, float], width: int) -> dict[str, float]:
    slots = width * c["cpu_cycles"]
    used, retired_share = 1 - c["stall_slot"] / slots, c["op_retired"] / c["op_spec"]
    stalled = {FRONT: c["stall_slot_frontend"] / slots, BACK: c["stall_slot_backend"] / slots}
    return {RETIRING: used * retired_share, **stalled, BAD: used * (1 - retired_share)}


def _arm_stall_shares(c: Mapping[str, float], _: int) -> dict[str, float]:
    return {FRONT: c["stall_frontend"] / c["cpu_cycles"], BACK: c["stall_backend"] / c["cpu_cycles"]}


_FORMULAS = {
    "metrics": _new_intel_shares,
    "old Intel": _old_intel_shares,
    "AMD": _amd_shares,
    "Arm": _arm_shares,
    "Arm, few": _arm_stall_shares,
}


@cache
def find_top_down_events(devices: str = DEVICES, cpuinfo: str = "/proc/cpuinfo") -> TopDown | None:
    """None where this CPU, or this virtual machine, shows none. Looked for once: cpuinfo of many CPUs takes long."""
    folders = [Path(devices, name) for name in ("cpu", "cpu_core")]
    folders += sorted(Path(devices).glob("armv*_pmuv3*")) + sorted(Path(devices).glob("armv8_cortex*"))
    for folder in folders:
        if (kind := parse_unsigned(_read_text_or_empty(folder / "type"))) is None:
            continue
        for form, names in _FORMS:
            configs = {name: _read_event_config(folder, name) for name in names}
            width = parse_hexadecimal(_read_text_or_empty(folder / "caps/slots")) or 0
            if None in configs.values() or (form == "Arm" and not width):
                continue
            events = {name: PerfEvent(kind, config) for name, config in configs.items() if config is not None}
            if form == "metrics":
                events = {n: e._replace(leader="" if n == "slots" else "slots") for n, e in events.items()}
            scales = {
                name: parse_real(_read_text_or_empty(folder / "events" / f"{name}.scale")) or 1.0
                for name in events
            }
            return TopDown(form, events, width, scales)
        if folder.name == "cpu" and (width := _amd_pipeline_width(cpuinfo)):
            return TopDown("AMD", {name: PerfEvent(kind, config) for name, config in _AMD.items()}, width)
    return None


def _amd_pipeline_width(cpuinfo: str) -> int:
    """0 for another vendor, and before Zen 4, which lacks the counters: it shares its family's number with Zen 3."""
    fields = dict(
        re.findall(
            r"(?m)^(vendor_id|cpu family|model)\s*:\s*(\S+)$", _read_text_or_empty(Path(cpuinfo))[:4096]
        )
    )
    family, model = parse_unsigned(fields.get("cpu family", "")), parse_unsigned(fields.get("model", "")) or 0
    if fields.get("vendor_id") != "AuthenticAMD" or family not in _AMD_WIDTH:
        return 0
    zen3 = family == 25 and (model < 0x10 or 0x20 <= model < 0x60)
    return 0 if zen3 else _AMD_WIDTH[family]


def _read_event_config(folder: Path, event: str) -> int | None:
    return perf_event_config(
        _read_text_or_empty(folder / "events" / event),
        lambda name: _read_text_or_empty(folder / "format" / name),
    )


def perf_event_config(terms: str, format_of: Callable[[str], str]) -> int | None:
    """Of `event=0x3c,umask=0x1`, each field at its bits as sysfs's `format` has them
    (`config:0-7,32-35`); None where one is not plain bits of `config`, and of nothing.
    """
    config = 0
    for word in terms.split(",") if terms else ():
        name, _, value = word.partition("=")
        number = parse_hexadecimal(value) if value.startswith("0x") else parse_unsigned(value or "1")
        place, _, bits = format_of(name).partition(":")
        if number is None or place != "config":
            return None
        for part in bits.split(","):
            low, _, high = part.partition("-")
            first, last = parse_unsigned(low), parse_unsigned(high or low)
            if first is None or last is None or not 0 <= first <= last < 64:
                return None
            length = last - first + 1
            config |= (number & ((1 << length) - 1)) << first
            number >>= length
    return config if terms else None


def _read_text_or_empty(path: Path) -> str:
    return read_content_or_empty(str(path)).strip()

"""Rows about the guests of a KVM host, by libvirt's descriptions of them (libvirt: formatdomain)."""

import re
from collections.abc import Iterator

from hostdx.probes.cpu_list import parse_list
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.types import is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import SubjectRow

_FILES = ("/etc/libvirt/qemu/*.xml", "/sos_commands/virsh/*dumpxml*", "/sos_commands/libvirt/*dumpxml*")
_NAME = re.compile(r"<name>([^<]{1,200})</name>")
_PIN = re.compile(r"<(vcpupin|emulatorpin)\s[^>]*cpuset=['\"]([0-9,^-]+)['\"]")
_BOUND = re.compile(r"<memory\s[^>]*mode=['\"]strict['\"][^>]*nodeset=['\"]([0-9,-]+)['\"]")
_DISK = re.compile(r"<disk\s.*?</disk>", re.DOTALL)


def guest_rows(host: Host) -> list[SubjectRow]:
    """One row per guest: `kind` (kvm, qemu), `arch`, `unsafe` disks, `layers` of the disk with most files below each
    other, the `nodes` of its pinned CPUs and the `memory_nodes` it is bound to, and the CPUs that only one virtual CPU
    of it and one of another guest (`other`) are pinned to (`shared`).
    """
    texts = {match[1]: (path, text) for path, text in _descriptions(host) if (match := _NAME.search(text))}
    pins = {name: _single_pins(text) for name, (_, text) in texts.items()}
    rows = []
    for name, (path, text) in texts.items():
        disks = _DISK.findall(text)
        others = [(other, pins[name] & pins[other]) for other in sorted(pins) if other != name]
        other, shared = next(((o, both) for o, both in others if both), ("", frozenset[int]()))
        columns: dict[str, Value] = {
            "name": name,
            "path": path,
            "kind": _first_match(r"<domain\s[^>]*type=['\"](\w+)['\"]", text),
            "arch": _first_match(r"<type\s[^>]*arch=['\"](\w+)['\"]", text),
            "unsafe": sum("cache='unsafe'" in disk or 'cache="unsafe"' in disk for disk in disks),
            "layers": max((len(re.findall(r"<backingStore\s+type=", disk)) for disk in disks), default=0),
            "nodes": _nodes_of_cpus(host, _pinned_cpus(text)),
            "memory_nodes": tuple(sorted(parse_list(bound[1]) or ()))
            if (bound := _BOUND.search(text))
            else (),
            "other": other,
            "shared": tuple(sorted(shared)),
        }
        rows.append(SubjectRow(name, columns))
    return rows


def _descriptions(host: Host) -> Iterator[tuple[str, str]]:
    for path in (path for pattern in _FILES for path in host.glob_paths(pattern)):
        text = host.read_file_text(path, 4 << 20)
        if is_present(text):
            yield path, text


def _first_match(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""


def _pinned_cpus(text: str) -> frozenset[int]:
    lists = (parse_list(cpus) for kind, cpus in _PIN.findall(text) if kind == "vcpupin")
    return frozenset().union(*(cpus for cpus in lists if cpus))


def _single_pins(text: str) -> frozenset[int]:
    """Return the CPUs to which something of this guest is pinned that may run nowhere else."""
    return frozenset(
        number
        for kind, cpus in _PIN.findall(text)
        if kind == "vcpupin" and (number := parse_unsigned(cpus)) is not None
    )


def _nodes_of_cpus(host: Host, cpus: frozenset[int]) -> tuple[int, ...]:
    nodes = read_numa(host)
    return tuple(n.number for n in nodes.nodes if cpus & n.cpus) if is_present(nodes) else ()

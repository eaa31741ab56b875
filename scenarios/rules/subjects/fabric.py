"""Rows about InfiniBand, Omni-Path and RoCE ports (Documentation/ABI/stable/sysfs-class-infiniband)."""

import re
from functools import partial

from probes.host import Host
from probes.types import Absent, present
from scenarios.rules.expression import Value
from scenarios.rules.table import SubjectRow

ROOT = "/sys/class/infiniband"


def fabric_rows(host: Host) -> list[SubjectRow]:
    """One row per port: state, layer, `rate` in bit/s, lanes; `peers`: the fastest active port of the same board."""
    return [_port(host, path) for path in host.glob(f"{ROOT}/*/ports/*")]


def _port(host: Host, path: str) -> SubjectRow:
    _, _, _, _, device, _, number = path.split("/")
    columns = {
        "path": path,
        "device": device,
        "number": number,
        "interface": partial(_interface, host, device),
        "state": partial(_word, host, f"{path}/state"),
        "physical": partial(_word, host, f"{path}/phys_state"),
        "linked": lambda: _word(host, f"{path}/phys_state") == "LinkUp",
        "layer": partial(host.word, f"{path}/link_layer"),
        "told": partial(host.word, f"{path}/rate"),
        "rate": partial(_rate, host, path),
        "lanes": partial(_lanes, host, path),
        "peers": lambda: host.once(_fastest).get(
            _board(host, device), Absent("no other port of its kind is active")
        ),
        "others_up": lambda: len(host.once(_fastest)),
        "used": lambda: host.text(f"{path}/lid", 64) not in ("0x0", "0x0000", "0xffff"),
    }
    return SubjectRow(f"{device} port {number}", columns, path)


def _interface(host: Host, device: str) -> Value:
    """The network interface of the same adapter."""
    names = host.listing(f"{ROOT}/{device}/device/net")
    return names if isinstance(names, Absent) else next(iter(names), Absent(f"{device} has no interface"))


def _word(host: Host, path: str) -> Value:
    """`4: ACTIVE` gives ACTIVE."""
    text = host.word(path)
    return text if isinstance(text, Absent) else text.rpartition(": ")[2]


def _rate(host: Host, path: str) -> Value:
    text = host.word(f"{path}/rate")
    found = re.match(r"([0-9.]{1,9}) Gb/sec", text) if present(text) else None
    return (
        float(found[1]) * 1e9
        if found
        else (text if isinstance(text, Absent) else Absent(f"{path}/rate: {text!r}"))
    )


def _lanes(host: Host, path: str) -> Value:
    text = host.word(f"{path}/rate")
    found = re.search(r"\(([0-9]{1,2})X", text) if present(text) else None
    return int(found[1]) if found else Absent(f"{path}/rate names no lanes", "unsupported")


def _board(host: Host, device: str) -> str:
    """Ports of one kind of card are alike; of two kinds the slower is no fault."""
    found = (host.word(f"{ROOT}/{device}/{name}") for name in ("board_id", "hca_type"))
    return next((word for word in found if present(word) and word), device)


def _fastest(host: Host) -> dict[str, float]:
    """By kind of card, over the active ports."""
    found: dict[str, float] = {}
    for path in host.glob(f"{ROOT}/*/ports/*"):
        rate = _rate(host, path)
        if present(rate) and _word(host, f"{path}/state") == "ACTIVE":
            kind = _board(host, path.split("/")[4])
            found[kind] = max(found.get(kind, 0.0), rate)
    return found

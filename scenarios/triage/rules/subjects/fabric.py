"""Rows about InfiniBand, Omni-Path and RoCE ports (Documentation/ABI/stable/sysfs-class-infiniband)."""

import re
from collections.abc import Sequence
from functools import partial

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import Reader, SubjectRow

ROOT = "/sys/class/infiniband"
# What starts jobs, by its unit: limits of PAM (limits.d) do not reach it, those of its unit go on to each job.
_JOB_DAEMONS = {
    "slurmd": "slurmd",
    "pbs_mom": "pbs",
    "condor_startd": "condor",
    "sge_execd": "sgeexecd",
    "sbatchd": "lsfd",
}
_LOCKED = re.compile(r"^Max locked memory +(unlimited|[0-9]{1,19})", re.MULTILINE)


def fabric_rows(host: Host) -> list[SubjectRow]:
    """One row per port: state, layer, `rate` in bit/s, lanes; `peers`: the fastest active port of the same board."""
    return [_fabric_port_row(host, path) for path in host.glob_paths(f"{ROOT}/*/ports/*")]


def job_daemon_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per daemon of a batch system that starts jobs, where there is an RDMA adapter: `locked`, the bytes of
    memory that it and its jobs may lock (getrlimit(2), RLIMIT_MEMLOCK); -1 without a limit; `users`: processes that
    use an adapter with at most this limit.
    """
    adapters = host.list_names(ROOT)
    if isinstance(adapters, Absent) or not adapters:
        return Absent("no InfiniBand or RoCE adapter", "unsupported", ROOT)
    names = host.list_names("/proc")
    if isinstance(names, Absent):
        return names
    rows = []
    pids = [number for name in names if (number := parse_unsigned(name)) is not None]
    for pid in pids:
        name = host.read_word(f"/proc/{pid}/comm")
        if isinstance(name, Absent) or name not in _JOB_DAEMONS:
            continue
        locked = _lockable_bytes(host, pid)
        columns: dict[str, Value | Reader] = {
            "name": name,
            "pid": pid,
            "locked": locked,
            "users": partial(_adapter_users_limited_to, host, pids, locked),
            "service": _JOB_DAEMONS[name],
        }
        rows.append(SubjectRow(f"{name} [{pid}]", columns))
    return rows


def _lockable_bytes(host: Host, pid: int) -> int | Absent:
    limits = host.read_file_text(f"/proc/{pid}/limits")
    limit_match = _LOCKED.search(limits) if is_present(limits) else None
    if limit_match is None:
        return Absent("no limit is named", "missing", f"/proc/{pid}/limits")
    return -1 if limit_match[1] == "unlimited" else int(limit_match[1])


def _adapter_users_limited_to(host: Host, pids: Sequence[int], most: int | Absent) -> Value:
    """Return the processes with an adapter open (/dev/infiniband/uverbsN) that may lock no more than `most` bytes."""
    limits = {pid: locked for pid in pids if is_present(locked := _lockable_bytes(host, pid))}
    limited = [pid for pid, locked in limits.items() if is_present(most) and 0 <= locked <= most]
    return tuple(
        f"{host.read_word(f'/proc/{pid}/comm')} [{pid}]"
        for pid in limited
        if any("/infiniband/uverbs" in str(host.read_link(fd)) for fd in host.glob_paths(f"/proc/{pid}/fd/*"))
    )


def _fabric_port_row(host: Host, path: str) -> SubjectRow:
    _, _, _, _, device, _, number = path.split("/")
    columns = {
        "path": path,
        "device": device,
        "number": number,
        "interface": partial(_interface_name, host, device),
        "state": partial(_state_word, host, f"{path}/state"),
        "physical": partial(_state_word, host, f"{path}/phys_state"),
        "linked": lambda: _state_word(host, f"{path}/phys_state") == "LinkUp",
        "layer": partial(host.read_word, f"{path}/link_layer"),
        "told": partial(host.read_word, f"{path}/rate"),
        "rate": partial(_rate_bits_per_s, host, path),
        "lanes": partial(_lane_count, host, path),
        "peers": lambda: host.compute_once(_fastest_by_board).get(
            _board_kind(host, device), Absent("no other port of its kind is active")
        ),
        "others_up": lambda: len(host.compute_once(_fastest_by_board)),
        "used": lambda: host.read_file_text(f"{path}/lid", 64) not in ("0x0", "0x0000", "0xffff"),
    }
    return SubjectRow(f"{device} port {number}", columns, path)


def _interface_name(host: Host, device: str) -> Value:
    """The network interface of the same adapter."""
    names = host.list_names(f"{ROOT}/{device}/device/net")
    return names if isinstance(names, Absent) else next(iter(names), Absent(f"{device} has no interface"))


def _state_word(host: Host, path: str) -> Value:
    """`4: ACTIVE` gives ACTIVE."""
    text = host.read_word(path)
    return text if isinstance(text, Absent) else text.rpartition(": ")[2]


def _rate_bits_per_s(host: Host, path: str) -> Value:
    text = host.read_word(f"{path}/rate")
    rate_match = re.match(r"([0-9.]{1,9}) Gb/sec", text) if is_present(text) else None
    return (
        float(rate_match[1]) * 1e9
        if rate_match
        else (text if isinstance(text, Absent) else Absent(f"{path}/rate: {text!r}"))
    )


def _lane_count(host: Host, path: str) -> Value:
    text = host.read_word(f"{path}/rate")
    lanes_match = re.search(r"\(([0-9]{1,2})X", text) if is_present(text) else None
    return int(lanes_match[1]) if lanes_match else Absent(f"{path}/rate names no lanes", "unsupported")


def _board_kind(host: Host, device: str) -> str:
    """Ports of one kind of card are alike; of two kinds the slower is no fault."""
    words = (host.read_word(f"{ROOT}/{device}/{name}") for name in ("board_id", "hca_type"))
    return next((word for word in words if is_present(word) and word), device)


def _fastest_by_board(host: Host) -> dict[str, float]:
    """By kind of card, over the active ports."""
    rates: dict[str, float] = {}
    for path in host.glob_paths(f"{ROOT}/*/ports/*"):
        rate = _rate_bits_per_s(host, path)
        if is_present(rate) and _state_word(host, f"{path}/state") == "ACTIVE":
            kind = _board_kind(host, path.split("/")[4])
            rates[kind] = max(rates.get(kind, 0.0), rate)
    return rates

"""IPv4's rp_filter inside a private namespace: /proc/sys/net shows the settings of the reader's own namespace."""

from __future__ import annotations

from pathlib import Path

from probes.bench.measured import NotApplicable

_CONF = Path("/proc/sys/net/ipv4/conf")


def set_rp_filter(interface: str, value: int) -> None:
    """Sets `all` and the interface, since the larger of both counts. The caller has asserted a private namespace."""
    for name in ("all", interface):
        path = _CONF / name / "rp_filter"
        try:
            if int(path.read_text("ascii")) != value:
                path.write_text(str(value), "ascii")
        except (OSError, ValueError) as error:
            if value == 0:
                continue  # a read-only /proc/sys (a container): 0 is what a new namespace has by default
            reason = getattr(error, "strerror", None) or error
            raise NotApplicable(f"rp_filter cannot be set in the private namespace: {reason}") from None

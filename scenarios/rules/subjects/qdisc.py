"""Rows about queueing disciplines: what waits and is dropped between the stack and a card."""

from __future__ import annotations

import re

from probes.host import Host
from probes.types import Absent, present
from scenarios.rules.expression import Value
from scenarios.rules.table import Row

_HEAD = re.compile(r"^qdisc (\S+) \S+ (?:dev (\S+) )?(.*)$", re.MULTILINE)
_SENT = re.compile(
    r"Sent ([0-9]{1,19}) bytes ([0-9]{1,19}) pkt \(dropped ([0-9]{1,19}), overlimits ([0-9]{1,19})"
)
_RATE = re.compile(r"\b(?:rate|bandwidth) ([0-9.]{1,12})([KMGT]?)bit\b")
_FACTORS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def qdisc_rows(host: Host) -> list[Row] | Absent:
    """One row per discipline by `tc -s qdisc show` (tc(8)): packets sent, dropped since it was set; `rate` in bit/s."""
    text = host.command("tc", "-s", "qdisc", "show")
    if isinstance(text, Absent):
        return text
    heads = list(_HEAD.finditer(text))
    rows = []
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        kind, card, rest = head[1], head[2] or "", head[3]
        told = text[head.start() : after.start() if after else len(text)]
        counts = _SENT.search(told)
        rate = _RATE.search(rest)
        columns: dict[str, Value] = {
            "name": card,
            "kind": kind,
            "words": rest,
            "sent": int(counts[2]) if counts else Absent("tc reports no counts"),
            "dropped": int(counts[3]) if counts else Absent("tc reports no counts"),
            "rate": float(rate[1]) * _FACTORS[rate[2]] if rate else Absent("it has no rate"),
            # what a child of mq drops is counted by mq as well
            "child": " parent " in f" {rest} ",
            "software": card == "lo" or not present(host.real(f"/sys/class/net/{card}/device")),
        }
        rows.append(Row(f"{card} {kind}".strip(), columns))
    return rows

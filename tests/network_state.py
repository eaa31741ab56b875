"""The live firewall, links, routes, namespaces and settings of this machine as text: what no test may change."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

COMMANDS = (
    ("nft", "--stateless", "list", "ruleset"),  # counters go on by themselves
    ("ip", "-o", "link", "show"),
    ("ip", "route", "show", "table", "all"),
    ("ip", "-6", "route", "show", "table", "all"),
    ("ip", "netns", "list"),
)


def network_state() -> str:
    parts = []
    for command in COMMANDS:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        said = re.sub(r" expires \d+sec", "", done.stdout)  # a route that a router told of grows old
        parts.append(f"{' '.join(command)} {done.returncode}\n{said}")
    for path in sorted(Path("/proc/sys/net").glob("*/conf/*/rp_filter")):
        parts.append(f"{path} {path.read_text()}")
    return "\n".join(parts)

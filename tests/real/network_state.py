"""The firewall, links, routes, namespaces and all settings of a network namespace as text: what no test may change."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

COMMANDS = (
    ("nft", "--stateless", "list", "ruleset"),  # counters go on by themselves
    ("ip", "-o", "link", "show"),
    ("ip", "-o", "addr", "show"),
    ("ip", "-4", "rule", "show"),
    ("ip", "-6", "rule", "show"),
    ("ip", "route", "show", "table", "all"),
    ("ip", "-6", "route", "show", "table", "all"),
    ("ip", "netns", "list"),
    ("grep", "-rs", ".", "/proc/sys/net"),  # those of the namespace that the command lives in
)
# What grows old (a route or an address that a router told of), and what counts, though it stands among the settings.
_LIVING = re.compile(r" expires \d+sec|_lft \d+sec|/nf_conntrack_count:\d+")


def network_state(join: Callable[[], None] | None = None) -> str:
    """Of this machine, or of the namespace that `join` (a preexec_fn) enters."""
    parts = []
    for command in COMMANDS:
        if shutil.which(command[0]) is None:
            continue
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=False,
            preexec_fn=join,
        )
        output = "\n".join(sorted(_LIVING.sub("", done.stdout).splitlines()))
        parts.append(f"{' '.join(command)} {done.returncode}\n{output}")
    return "\n".join(parts)


def namespaces_in_use() -> set[str]:
    """Every network namespace that some process is in."""
    namespaces = set()
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            namespaces.add(str(path.readlink()))
        except OSError:
            continue
    return namespaces

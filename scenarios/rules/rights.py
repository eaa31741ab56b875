"""Who may type a command: for a user one that only root may run begins with sudo."""

from __future__ import annotations

import os
import re
import shlex

_PLACES = r"['\"]?/(?:sys|proc|etc)/"
_WRITES = re.compile(rf"(?:>>?|\|\s*tee(?: -a)?)\s*{_PLACES}|^cd {_PLACES}")
_CHANGES = re.compile(
    rf"^(?:(?:rm|mkdir|mv|cp|chmod|sed) .*{_PLACES}|sysctl (?:-w |[\w./-]+=|--system)"
    r"|systemctl (?!--user|status|show|list)|(?:mount|umount|fsfreeze|cpupower frequency-set|tuned-adm (?:profile|off)"
    r"|udevadm (?:control|trigger)|grubby|nft|ip6?tables(?:-legacy)?|firewall-cmd|dmsetup|dmidecode|smartctl|hdparm"
    r"|ipmitool|mdadm|multipath|cryptsetup|ethtool -[GKLs]|tc qdisc (?:add|del|replace)|blockdev --set\w+|service"
    r"|netfilter-persistent|nvme|ip link set|nmcli connection modify|rpc\.nfsd|auditctl|aureport|turbostat|rdmsr"
    r"|lvs|lvextend|multipathd)\b)"
)
_SEVERAL = re.compile(r"[|&;<>]|\$\(")


def is_root() -> bool:
    return os.geteuid() == 0


def typable(line: str) -> str:
    """As it can be typed here. A redirection is the shell's own: `sudo echo` would open the file without the rights."""
    if is_root() or line.startswith(("#", "sudo ")):
        return line
    command = line.partition("  # ")[0]
    if _WRITES.search(command) or (_CHANGES.match(command) and _SEVERAL.search(command)):
        return f"sudo sh -c {shlex.quote(line)}"
    return f"sudo {line}" if _CHANGES.match(command) else line

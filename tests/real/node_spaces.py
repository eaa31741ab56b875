"""Nodes on one machine: each a network, UTS and mount namespace with a /run and an sshd of its own, reached by ssh.

sshd runs as inetd would start it, one a connection, entered into the node's namespaces by ssh's ProxyCommand: no
network of this machine is touched.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

PROXY = """#!/bin/sh
# the sshd of one connection, within the node's control group where it has one
[ -z "$2" ] || echo 0 > "$2/cgroup.procs"
exec nsenter -t "$1" -n -u -m /usr/sbin/sshd -i -e -f {place}/sshd.conf 2>>{place}/sshd.log
"""
SSHD = """HostKey {place}/host
AuthorizedKeysFile {place}/user.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
"""
SSH = """Host {node}
ProxyCommand {place}/proxy {pid} {group}
IdentityFile {place}/user
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
LogLevel ERROR
User root
"""
NODE = """set -e
mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /dev/shm
mkdir /run/sshd; hostname {name}; {extra}
echo ready; exec sleep infinity"""


class NodeSpaces:
    """Those that are named, with what each does at its start (`sysctl -w …`); gone with `with`."""

    def __init__(self, place: Path, nodes: dict[str, str], groups: dict[str, str] | None = None) -> None:
        self.config = place / "ssh.conf"
        self._holders: list[subprocess.Popen[bytes]] = []
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", place / name], check=True)
        (place / "sshd.conf").write_text(SSHD.format(place=place))
        (place / "proxy").write_text(PROXY.format(place=place))
        (place / "proxy").chmod(0o755)
        text = ""
        for node, extra in nodes.items():
            script = NODE.format(name=node, extra=extra)
            argv = ["unshare", "--net", "--uts", "--mount", "--propagation", "private", "sh", "-c", script]
            holder = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self._holders.append(holder)
            assert holder.stdout is not None and holder.stdout.readline() == b"ready\n", node
            text += SSH.format(node=node, place=place, pid=holder.pid, group=(groups or {}).get(node, ""))
        self.config.write_text(text)

    def __enter__(self) -> NodeSpaces:
        return self

    def in_memory(self) -> list[str]:
        """What lies in the nodes' /dev/shm."""
        return [
            path.name
            for holder in self._holders
            for path in Path(f"/proc/{holder.pid}/root/dev/shm").iterdir()
        ]

    def __exit__(self, *_: object) -> None:
        for holder in self._holders:
            holder.kill()
            holder.wait()
            if holder.stdout is not None:
                holder.stdout.close()

"""The logs of containers: one file for each container of a pod, or what its engine printed of it.

Sources: kubernetes, pkg/kubelet/kuberuntime/helpers.go (/var/log/pods, /var/log/containers); the CRI's logging format
(kubernetes/design-proposals, kubelet-cri-logging.md); moby, daemon/logger/jsonfilelog; sos, report/plugins/docker.py.
"""

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.software.system_log import MAX_LINE_CHARACTERS, ServiceLine, clock_time
from hostdx.probes.types import is_present

MAX_LOG_BYTES = 12 << 20  # kubelet starts a new file at 10 MiB (containerLogMaxSize)
_POD = lazy_pattern(r"/var/log/pods/(?P<pod>[^/]+)/(?P<container>[^/]+)/[^/]+\.log$")
_LINK = lazy_pattern(r"/var/log/containers/(?P<pod>.+?)_[^_/]+_(?P<container>.+)-[0-9a-f]{64}\.log$")
_PRINTED = lazy_pattern(r"/containers/(?:docker|podman)_logs_-t_(?P<pod>(?P<container>[^/]+))$")
# the containers of Rook's pods have short names: `mon` of rook-ceph-mon-a
_CEPH_DAEMON = lazy_pattern(r"(?:^|[_-])(ceph-(?:mon|osd|mds|mgr))\b")
_CRI_LINE = lazy_pattern(r"(\S+) (?:stdout|stderr) [FP] (.*)$")
_JSON = '{"log":'
_PRINTED_LINE = lazy_pattern(r"(\d{4}-\d\d-\d\dT\S+) (.*)$")


class _DockerLine(msgspec.Struct, frozen=True):
    """What Docker writes for each line."""

    log: str


def container_log_paths(host: Host) -> dict[str, list[str]]:
    """Return the files by program: the container's name, and the daemon that a pod of Rook's is named after."""
    paths = host.glob_paths("/var/log/pods/*/*/*.log") or host.glob_paths("/var/log/containers/*.log")
    printed = host.glob_paths("/sos_commands/*/containers/*_logs_-t_*")
    programs: dict[str, list[str]] = {}
    for path in (*paths, *printed):
        match = _POD.match(path) or _LINK.match(path) or _PRINTED.search(path)
        if match is None:
            continue
        daemon = _CEPH_DAEMON.search(match["pod"])
        for name in {match["container"], daemon[1] if daemon else match["container"]}:
            programs.setdefault(name, []).append(path)
    return programs


def read_container_log(host: Host, path: str) -> list[ServiceLine]:
    """Return the lines of one file, without the time and the stream that kubelet or the engine put before them."""
    text = host.read_file_text(path, MAX_LOG_BYTES)
    lines = text.splitlines() if is_present(text) else []
    return [ServiceLine(_log_message(line)[:MAX_LINE_CHARACTERS], path, clock_time(line)) for line in lines]


def _log_message(line: str) -> str:
    if match := _CRI_LINE.match(line) or _PRINTED_LINE.match(line):
        return match[2]
    if line.startswith(_JSON):
        try:
            return msgspec.json.decode(line, type=_DockerLine).log.rstrip("\n")
        except msgspec.DecodeError:
            return line
    return line

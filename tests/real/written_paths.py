"""What a run opens for writing, seen by strace: nothing but what is ours.

That is: a name below a descriptor that was checked (a private directory, `O_TMPFILE`), the state, run-time and
temporary directories, the journalled attributes of the test's own disk, what a process may write of itself. A path from
the root anywhere else is a mistake.
"""

import re
import subprocess
from pathlib import Path

from tests.app.launcher import argv, own_env
from tests.real.loop_disk import LoopDisk
from tests.real.short_runs import short_run

CALLS = (
    "open,openat,openat2,creat,unlink,unlinkat,rmdir,mkdir,mkdirat,rename,renameat,renameat2,symlink,symlinkat,link,"
    "linkat,mknod,mknodat,truncate,chmod,fchmodat,chown,lchown,fchownat"
)
_OPENED = re.compile(
    r"(?:openat2?\((?P<at>AT_FDCWD|\d+)(?:<(?P<base>[^>]*)>)?, |open\(|creat\()\"(?P<path>[^\"]*)\"(?P<rest>.*)= \d+"
)
_MADE = re.compile(
    r"(?:unlink|rmdir|mkdir|rename|symlink|link|mknod|truncate|chmod|chown)\w*\((?P<all>.*)\)\s*= 0"
)
# What a process may write of itself, and what holds nothing.
_ITSELF = re.compile(
    r"/dev/(null|tty|ptmx|pts/\d+|shm/.*|zero|full)|/proc/(self|thread-self|\d+)/(task/\d+/)?"
    r"(oom_score_adj|uid_map|gid_map|setgroups|comm|coredump_filter|clear_refs|loginuid|fd/\d+)|memfd:.*"
)


def read_written_paths(trace: Path) -> dict[str, str]:
    """Path to the call: every path from the root that was opened for writing, or made, renamed, deleted by name."""
    calls: dict[str, str] = {}
    for file in sorted(trace.parent.glob(f"{trace.name}*")):
        for line in file.read_text(errors="replace").splitlines():
            opening = _OPENED.search(line)
            if opening and re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TMPFILE|O_TRUNC|creat\(", line):
                path = opening["path"]
                if (
                    not path.startswith("/")
                    and opening["base"] is None
                    and opening["at"] in (None, "AT_FDCWD")
                ):
                    path = f"(the working directory)/{path}"
                if path.startswith(("/", "(")):
                    calls[path] = line[:200]
            match = _MADE.search(line)
            for path in (
                re.findall(r"(?:^|AT_FDCWD(?:<[^>]*>)?, )\"(/[^\"]*)\"", match["all"]) if match else ()
            ):
                calls[path] = line[:200]
    return calls


def trace_run(name: str, place: Path, disk: LoopDisk) -> list[str]:
    """Runs it; one line for each call that it must not have made, and for a run that was none."""
    trace = place / "trace"
    (place / "tmp").mkdir(exist_ok=True)
    variables = own_env(place) | {"TMPDIR": str(place / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
    strace = [
        "strace",
        "--seccomp-bpf",
        "-ff",
        "-y",
        "-qq",
        "-s",
        "500",
        "-e",
        f"trace={CALLS}",
        "-o",
        str(trace),
    ]
    done = subprocess.run(
        [*strace, *argv(*short_run(name, disk))],
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    calls = read_written_paths(trace)
    for file in place.glob("trace.*"):
        file.unlink()
    if done.returncode != 0:
        return [f"{name} was not run: status {done.returncode}: {done.stderr[-300:]}"]
    if not any(path.startswith(f"{place}/state/") for path in calls):
        return [f"{name}: strace saw nothing of it"]
    folders = tuple(f"{place}/{part}" for part in ("state", "run", "tmp"))
    allowed = (*(f"{folder}/" for folder in folders), f"/sys/block/{disk.device}/queue/")
    foreign = (
        p for p in calls if not p.startswith(allowed) and p not in folders and not _ITSELF.fullmatch(p)
    )
    return [f"{name}: {path}: {calls[path]}" for path in foreign]

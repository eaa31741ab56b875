"""Runs another program's read-only query: an argument list, no input, C locale, bounded time and output."""

# os functions on text: pathlib costs several times as much on thousands of files.
# ruff: noqa: PTH112

import os
import selectors
import signal
import subprocess
import time

from hostdx.probes.files.path_ownership import find_root_objection
from hostdx.probes.files.safe_read import decode_host_text
from hostdx.probes.types import Absent

MAX_OUTPUT_BYTES = 8 << 20
ADMIN_PATH = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")
_DENIED = (
    "permission denied",
    "operation not permitted",
    "must be root",
    "you need to be root",
    "not privileged",
)


def find_tool(name: str) -> str | None:
    """Where a program lies. Relative entries of PATH are left out: root must not run what lies here.

    Nor does root run what lies in a folder of PATH that somebody else rules, or is somebody else's. The admin folders
    are searched as well: a user's PATH on Debian lacks /usr/sbin.
    """
    if "/" in name:
        return name if name.startswith("/") and os.access(name, os.X_OK) else None
    user = [folder for folder in os.environ.get("PATH", "").split(":") if folder.startswith("/")]
    for folder in dict.fromkeys((*user, *ADMIN_PATH)):
        path = f"{folder}/{name}"
        if os.access(path, os.X_OK) and not os.path.isdir(path) and not _could_others_replace(path):
            return path
    return None


def _could_others_replace(path: str) -> bool:
    """Return True for root where another user could have put this file there."""
    folder, _, _ = path.rpartition("/")
    if os.geteuid() != 0 or folder in ADMIN_PATH:
        return False
    return bool(find_root_objection(path))


def run_command(
    argv: tuple[str, ...], timeout_s: float, *, any_status: bool = False, with_errors: bool = False
) -> str | Absent:
    """The command's standard output; `with_errors`: then what it wrote to stderr. A failure's reason is the first
    line of that.
    """
    source = " ".join(argv)
    path = find_tool(argv[0]) if argv else None
    if path is None:
        return Absent(f"{argv[0] if argv else 'the command'} is not installed", "tool", source)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LC_")} | {"LC_ALL": "C"}
    try:
        child = subprocess.Popen(
            [path, *argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Absent(f"{argv[0]} cannot be started: {error}", "tool", source)
    out, err, problem = _collect_output_errors_and_problem(child, time.monotonic() + timeout_s)
    if problem == "timeout":
        return Absent(f"{argv[0]} did not answer within {timeout_s:g} s", "timeout", source)
    if problem == "size":
        return Absent(f"{argv[0]} printed more than {MAX_OUTPUT_BYTES} bytes", "invalid", source)
    status = child.returncode
    if status == 0 or (any_status and out):
        return decode_host_text(b"\n".join(filter(None, (out.rstrip(b"\n"), err))) if with_errors else out)
    error_line = next((line.strip() for line in decode_host_text(err).splitlines() if line.strip()), "")
    reason = f"{argv[0]} exited with status {status}" + (f": {error_line[:200]}" if error_line else "")
    denied = any(word in error_line.lower() for word in _DENIED)
    return Absent(reason, "permission" if denied else "unsupported", source)


def _collect_output_errors_and_problem(
    child: subprocess.Popen[bytes], deadline: float
) -> tuple[bytes, bytes, str]:
    assert child.stdout is not None and child.stderr is not None
    parts: dict[int, bytearray] = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    out, err = parts.values()
    problem = ""
    with child.stdout, child.stderr, selectors.DefaultSelector() as ready:
        for fd in parts:
            ready.register(fd, selectors.EVENT_READ)
        while ready.get_map() and not problem:
            left = deadline - time.monotonic()
            events = ready.select(left) if left > 0 else []
            if not events:
                problem = "timeout"
            for key, _ in events:
                data = os.read(key.fd, 1 << 16)
                parts[key.fd] += data
                if not data:
                    ready.unregister(key.fd)
                elif len(out) + len(err) > MAX_OUTPUT_BYTES:
                    problem = "size"
        if not problem:
            try:
                child.wait(max(0.05, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                problem = "timeout"
        _kill_process_group(child)
    return bytes(out), bytes(err), problem


def _kill_process_group(child: subprocess.Popen[bytes]) -> None:
    """Kills what is left of the command's process group; one that the kernel holds is left behind."""
    if child.returncode is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except OSError:
            pass
        try:
            child.wait(0.2)
        except subprocess.TimeoutExpired:
            pass

"""The child process that reads what may hang (a dead NFS server, a dying disk).

Started as `python -m hostdx.probes.reading.hang_safe.child`.

One request a line on stdin, one answer each on stdout; ends when stdin closes, so it never outlives
its parent (unless the kernel holds it, which is why it exists).
"""

# os functions on text: pathlib costs several times as much on thousands of files.
# ruff: noqa: PTH110

import json
import os
import sys

from hostdx.probes.files.safe_read import list_directory, read_regular
from hostdx.probes.reading.captured.captured_paths import resolve_host_path, to_local_path


def answer_request(operation: str, path: str, root: str, limit_bytes: int) -> object:
    """Return what one request gives; raises OSError and ValueError."""
    if root:  # what comes out holds no symlink; one that appears meanwhile is not followed
        path = to_local_path(root, resolve_host_path(root, path))
    if operation == "text":
        return read_regular(path, limit_bytes, follow=not root).decode("utf-8", "backslashreplace")
    if operation == "listing":
        return list_directory(path)
    if operation == "real":
        return os.path.realpath(path, strict=True)
    if operation == "exists":
        return os.path.exists(path)
    if operation == "statvfs":
        return list(os.statvfs(path))
    raise ValueError(f"unknown operation {operation}")


def main() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            reply: dict[str, object] = {"value": answer_request(*request)}
        except OSError as error:
            reply = {"errno": error.errno or 0, "text": error.strerror or str(error)}
        except ValueError as error:
            reply = {"errno": 22, "text": str(error)}
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

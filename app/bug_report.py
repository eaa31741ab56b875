"""A mistake of ours: one line for the admin, the traceback in a file for whoever mends it."""

import errno
import os
import sys
import time
import traceback

from hostdx.app import __version__
from hostdx.app.state import make_private_dir, state_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.printable import make_lines_printable
from hostdx.probes.reading.secrecy.harmless_words import mask_unknown_words

_NO_MEMORY = "not enough memory; free some, or raise the limit (ulimit -v, the control group's memory.max)"
_NO_PROCESS = (
    "no further thread or process; raise the limit (ulimit -u, ulimit -v, the control group's pids.max)"
)
_REFUSED = {
    errno.EMFILE: "too many open files; raise the limit (ulimit -n 1024)",
    errno.ENFILE: "too many open files on this host; raise fs.file-max",
    errno.ENOMEM: _NO_MEMORY,
    errno.EAGAIN: _NO_PROCESS,
}


def save_traceback_and_get_line(error: BaseException) -> str:
    """Keeps the traceback and gives the line that says where; what the machine refused is no bug, but a line."""
    if why := _limit_reached_reason(error):
        return why
    argv = mask_unknown_words(sys.argv) if "--private" not in sys.argv else [*sys.argv[:3], "--private ..."]
    error_text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    head = f"hostdx {__version__}, Python {sys.version.split()[0]}, {' '.join(os.uname()[:3])}\n{argv}\n\n"
    text = head + "".join(traceback.format_exception(error))
    try:
        directory = make_private_dir(state_dir() / "bugs")
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = directory / f"{stamp}-{os.getpid()}.txt"
        path.touch(0o600)
        path.write_text(make_lines_printable(text), "utf-8")
    except (OSError, Failure):
        return f"a bug in hostdx: {error_text}; the traceback could not be saved"
    return f"a bug in hostdx: {error_text}; please report it with {path}"


def _limit_reached_reason(error: BaseException) -> str:
    """Return which limit of the process or the host ended it; empty for a mistake of ours."""
    if isinstance(error, OSError):
        return _REFUSED.get(error.errno or 0, "")
    # Modules/_threadmodule.c
    if isinstance(error, RuntimeError) and error.args == ("can't start new thread",):
        return _NO_PROCESS
    # the linker, of a compiled module (glibc, elf/dl-load.c)
    mapped = isinstance(error, ImportError) and "failed to map segment" in str(error)
    return _NO_MEMORY if mapped or isinstance(error, MemoryError) else ""

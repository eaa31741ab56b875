"""A mistake of ours: one line for the admin, the traceback in a file for whoever mends it."""

from __future__ import annotations

import os
import sys
import time
import traceback

from app import __version__
from app.failure import Failure
from app.printable import printable_lines
from app.state import private, state_dir
from probes.secrets import masked_words


def save(error: BaseException) -> str:
    """Keeps the traceback and gives the line that says where."""
    argv = masked_words(sys.argv) if "--private" not in sys.argv else [*sys.argv[:3], "--private ..."]
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    head = f"hostdx {__version__}, Python {sys.version.split()[0]}, {' '.join(os.uname()[:3])}\n{argv}\n\n"
    text = head + "".join(traceback.format_exception(error))
    try:
        directory = private(state_dir() / "bugs")
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = directory / f"{stamp}-{os.getpid()}.txt"
        path.write_text(printable_lines(text), "utf-8")
    except (OSError, Failure):
        return f"a bug in hostdx: {what}; the traceback could not be saved"
    return f"a bug in hostdx: {what}; please report it with {path}"

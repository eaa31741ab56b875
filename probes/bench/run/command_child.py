"""Becomes the user's command: `python -m probes.bench.run.command_child PARENT_PID FD DIRECTORY_FD COMMAND ...`.

Standard library only. Tied to the runner's life before it becomes the command (the tie outlives execve, prctl(2)), and
in the directory of DIRECTORY_FD. Writes the time just before that to FD, so that the interpreter's own start is not
measured; and an error where the command cannot start.
"""

from __future__ import annotations

import os
import sys
import time

from probes.bench.engine.parent_death import as_a_shell_would, tie_to


def main() -> None:
    parent, fd, directory, *argv = sys.argv[1:]
    tie_to(int(parent))
    os.set_inheritable(int(fd), False)
    os.fchdir(int(directory))
    os.close(int(directory))
    as_a_shell_would()
    os.write(int(fd), b"%d\n" % time.perf_counter_ns())
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(int(fd), (error.strerror or str(error)).encode())
        os._exit(127)


if __name__ == "__main__":
    main()

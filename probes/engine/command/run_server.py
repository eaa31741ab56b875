"""Forks a supervisor for each run: `python -m hostdx.probes.engine.command.run_server`. Standard library only.

An interpreter takes longer to start than many a command takes to run. Each file descriptor that comes over the socket
on fd 0 is a new supervisor's stdin and stdout; the next one is taken when that has ended. It changes nothing of its
own for a run, so that no run inherits from another. It ends with its socket; a supervisor that loses it ends its run.
"""

import gc
import os
import signal
import socket

from hostdx.probes.children.parent_death import adopt_orphans, die_with_parent
from hostdx.probes.engine.command import process_tree, supervisor


def main() -> None:
    adopt_orphans()
    supervisor.load_modules_before_forks()
    gc.freeze()
    own = os.getpid()
    with socket.socket(fileno=0) as control:
        while True:
            data, fds, _, _ = socket.recv_fds(control, 1, 1, socket.MSG_CMSG_CLOEXEC)
            if not data:
                return
            pid = os.fork()
            if pid == 0:
                _become_supervisor(fds[0], own)
            os.close(fds[0])
            _, status = os.waitpid(pid, 0)
            if status:  # killed: it ended nothing of its run
                process_tree.end_descendants(own, supervisor.GRACE_S, _reap_ended_children)


def _become_supervisor(talk_fd: int, server_pid: int) -> None:
    """In the child: never returns."""
    try:
        os.setsid()
        os.dup2(talk_fd, 0)
        os.dup2(talk_fd, 1)
        os.close(talk_fd)
        adopt_orphans()
        die_with_parent(server_pid, signal.SIGTERM)
        supervisor.supervise_one_command()
    except BaseException:
        os._exit(1)
    os._exit(0)


def _reap_ended_children() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main()

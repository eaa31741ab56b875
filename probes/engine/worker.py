"""The storage engine's workers: `python -m hostdx.probes.engine.worker PARENT_PID`. Standard library only.

The first process only forks: each file descriptor that comes over the socket on fd 0 becomes a worker's socket. Forked
workers share the interpreter's memory: 16 of them took 7.2 µs of CPU a read, 16 interpreters 10.5 µs (their caches).

A worker is fed one JSON object a line and answers likewise. All ignore the terminal's signals. Each
dies with the process that forked it, and that one with the runner, however it ends.
"""

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator

from hostdx.probes.children.parent_death import die_with_parent, make_first_oom_victim
from hostdx.probes.engine import residency
from hostdx.probes.engine.loads import corners
from hostdx.probes.engine.operations import POOL_BYTES, WorkerState, run_block
from hostdx.probes.engine.slices import SliceBarrier, run_slice_batch
from hostdx.probes.engine.spec import WorkerCommand

LOOKED_AT = 64  # small files whose residency is asked, a worker


def read_commands() -> Iterator[WorkerCommand]:
    with os.fdopen(0, "rb", closefd=False) as lines:
        for line in lines:
            yield json.loads(line)


def fill_file(fd: int, size_bytes: int, source: WorkerState, progress: Callable[[int], None]) -> None:
    """Completely: only what was written is read from the device. `progress` is called with the
    bytes written, every 4 MiB; returns after fsync.

    O_DIRECT reads of a file that was only allocated ran at 1.18 million IOPS here, of a written one at 15,000.
    """
    written = 0
    while written < size_bytes:
        part = memoryview(source.random_pool())[: min(POOL_BYTES, size_bytes - written)]
        moved = os.pwritev(fd, [part], written)
        if moved <= 0 or moved % 4096:
            raise OSError(f"only {moved} bytes of {len(part)} could be written")
        written += moved
        progress(written)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    die_with_parent(int(sys.argv[1]))
    make_first_oom_victim()
    gc.disable()
    gc.freeze()
    own = os.getpid()
    barrier = SliceBarrier()
    with socket.socket(fileno=0) as control:
        while True:
            data, fds, _, _ = socket.recv_fds(control, 1, 1)
            if not data:
                return
            if os.fork() == 0:
                die_with_parent(own)
                # A session of its own, as fio gives its jobs: with kernel.sched_autogroup_enabled the scheduler shares
                # the CPUs among sessions first, and all workers in one would get the share of one.
                os.setsid()
                os.dup2(fds[0], 0)
                os.dup2(fds[0], 1)
                os.close(fds[0])
                run_worker(barrier)
                os._exit(0)
            os.close(fds[0])


def run_worker(barrier: SliceBarrier) -> None:
    """A worker's life, until its socket closes."""
    incoming = read_commands()
    source = WorkerState()

    def send_answer(to: int, **fields: object) -> None:
        data = memoryview(json.dumps({"to": to, **fields}, separators=(",", ":")).encode() + b"\n")
        while data:
            data = data[os.write(1, data) :]

    send_answer(0, hello=os.getpid())
    for command in incoming:
        serve_command(command, incoming, source, barrier, send_answer)


def serve_command(
    command: WorkerCommand,
    incoming: Iterator[WorkerCommand],
    source: WorkerState,
    barrier: SliceBarrier,
    answer: Callable[..., None],
) -> None:
    to = command["id"]

    def wait_for_start() -> int:
        answer(to, ready=True)
        return int(next(incoming)["go"])

    try:
        match command["do"]:
            case "fill":
                fill_file(command["fd"], command["bytes"], source, lambda n: answer(to, written=n))
                answer(to, done=True)
            case "sync":
                for fd in command["fds"]:
                    os.fdatasync(fd)
                answer(to, done=True)
            case "drop":
                answer(
                    to,
                    done=True,
                    resident=max(map(residency.drop_pages_and_get_resident_share, command["fds"])),
                )
            case "drop names":
                folder = corners.open_folder(command["folders"][0], command["fds"][0])
                try:
                    share = residency.drop_named_and_get_resident_share(
                        folder, corners.file_names_of(command), LOOKED_AT
                    )
                finally:
                    os.close(folder)
                answer(to, done=True, resident=share)
            case "train":
                answer(to, done=True, **run_slice_batch(command, source, barrier, wait_for_start))
            case "block":
                answer(to, done=True, **run_block(command, source, wait_for_start))
    except OSError as error:
        message = os.strerror(error.errno) if error.errno else str(error)
        answer(to, error=message, errno=error.errno or 0, side=getattr(error, "side", None))
    except StopIteration:
        os._exit(0)
    except Exception as error:
        answer(to, error=f"{type(error).__name__}: {error}", errno=0)


if __name__ == "__main__":
    main()

"""`hostdx pin --cores N -- COMMAND`: starts a command on cores of its own, one NUMA node where it fits.

Only the command is moved, by its own affinity and memory policy before it starts: nothing is left to undo.
"""

import ctypes
import os
import platform

import click

from hostdx.app.terminal.failure import COULD_NOT, Failure
from hostdx.app.terminal.output import print_problem
from hostdx.app.terminal.printable import make_printable
from hostdx.probes.units import count_noun

_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261, "ppc64": 261, "s390x": 270}
_PREFERRED, _INTERLEAVE = 1, 3  # include/uapi/linux/mempolicy.h
_BITS = 1024
NOT_FOUND, NOT_STARTED = 127, 126  # as shells say it


CORES = click.IntRange(min=1)
CORES.name = "number of cores"  # click says "integer range"


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--cores", type=CORES, required=True, metavar="N", help="How many cores, with all their threads."
)
@click.option("--dry-run", is_flag=True, help="Show where it would run; start nothing.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def pin(cores: int, dry_run: bool, command: tuple[str, ...]) -> int:
    """Run a command on dedicated cores: on one node and one cache if possible, and whole nodes stay free.

    Memory is preferred on the same node, not bound to it. CPUs of other pinned processes are avoided.
    """
    from hostdx.probes.children.parent_death import restore_signals_for_exec
    from hostdx.probes.cpu_list import format_cpu_list
    from hostdx.probes.reading.host import Host
    from hostdx.probes.system.running.allowed import find_pinned_cpus
    from hostdx.scenarios.triage.cpus.slot import choose_pinning_slot
    from hostdx.scenarios.triage.cpus.usable import usable_cpus

    if not command and not dry_run:
        raise click.UsageError("name a command: hostdx pin --cores 8 -- COMMAND")
    host = Host()
    usable = usable_cpus(host)
    chosen = choose_pinning_slot(usable, cores, find_pinned_cpus(host, frozenset({os.getpid()})))
    host.close()
    if chosen is None:
        count = count_noun(len(usable.usable_cores()), "core")
        raise Failure(
            f"pin: {count} may be used here (CPUs {format_cpu_list(usable.cpus)}), --cores asks for {cores}",
            COULD_NOT,
        )
    nodes = f", memory on node {', '.join(map(str, chosen.nodes))}" if chosen.nodes else ""
    crowded = "; other pinned processes use some of them" if chosen.shared else ""
    print_problem(f"pin: {count_noun(chosen.cores, 'core')}, {chosen.cpu_words}{nodes}{crowded}")
    if dry_run:
        return 0
    os.sched_setaffinity(0, chosen.cpus)
    if chosen.nodes and not _prefer_memory_nodes(chosen.nodes):
        print_problem("pin: the memory policy cannot be set here; memory comes from where the CPUs are")
    restore_signals_for_exec()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        status = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_STARTED
        raise Failure(f"pin: {make_printable(command[0])}: {error.strerror}", status) from None


def _prefer_memory_nodes(nodes: tuple[int, ...]) -> bool:
    """set_mempolicy(2), which the command inherits: one node is preferred, several are used in turn."""
    number = _SET_MEMPOLICY.get(platform.machine())
    if number is None or max(nodes) >= _BITS:
        return False
    width = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * (_BITS // width))()
    for node in nodes:
        mask[node // width] |= 1 << node % width
    mode = _PREFERRED if len(nodes) == 1 else _INTERLEAVE
    libc = ctypes.CDLL(None, use_errno=True)
    done: int = libc.syscall(ctypes.c_long(number), ctypes.c_int(mode), mask, ctypes.c_ulong(_BITS + 1))
    return done == 0

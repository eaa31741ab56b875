"""What a library that reads somebody else's file may do: little memory, time and disk, and nothing by right of root."""

import os
import resource
import sys

MEMORY_BYTES = 4 << 30  # of addresses: numpy alone takes 1 GiB of them
SECONDS = 100
MAX_WRITTEN_BYTES = 64 << 20
NOBODY = 65534  # nobody and nogroup, or the kernel's overflow user: proc_sys_kernel(5)


def confine_process() -> None:
    """For the process that calls it, for good. Open descriptors and the working directory stay usable.

    Rights are given up where the kernel lets us: in a user namespace without that user they cannot be.
    """
    for limit, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, MAX_WRITTEN_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
    if os.geteuid() != 0:
        return
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError as error:
        print(f"it keeps the rights of root: {error.strerror}", file=sys.stderr)

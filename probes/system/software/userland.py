"""The libraries and services under every program: glibc, what the interpreter links, tuned."""

import os
import platform
import zlib

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent


class Userland(msgspec.Struct, frozen=True, kw_only=True):
    """`libraries` by name: those of the running interpreter, live only. `tuned`: the active profile."""

    libraries: dict[str, str]
    tuned: str | Absent


def read_userland(host: Host) -> Userland:
    return Userland(
        libraries=_list_libraries() if host.live else {}, tuned=host.read_word("/etc/tuned/active_profile")
    )


def _list_libraries() -> dict[str, str]:
    import ssl  # 10 ms, and only here

    versions = {
        "python": platform.python_version(),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "openssl": ssl.OPENSSL_VERSION,
    }
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        libc = None  # musl
    return versions | ({"glibc": libc.removeprefix("glibc ")} if libc else {})
